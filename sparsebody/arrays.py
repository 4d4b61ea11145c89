"""The array types that stand in every signature, and large arrays."""

import contextlib
import mmap
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]

__all__ = ["ArrayLike", "BoolArray", "FloatArray", "IntArray", "large_zeros"]

LARGE = 2**20  # bytes from which on a place of its own is worth it
HUGE_PAGE = 2**21
LINE = 64  # bytes that memory gives at a time


def large_zeros(shape: int | tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
    """Return zeros that begin with a cache line, whatever was freed before.

    Large arrays lie in huge pages where there are any: what is read from end to end at every
    evaluation is read faster from them. Vectors across two lines take twice the time.
    """
    kind = np.dtype(dtype)
    n_bytes = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    if n_bytes < LARGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        small = np.zeros(n_bytes + LINE, dtype=np.uint8)
        return np.ndarray(shape, dtype=kind, buffer=small, offset=-small.ctypes.data % LINE)
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    memory = mmap.mmap(-1, n_bytes + HUGE_PAGE, flags=private)
    with contextlib.suppress(OSError):  # a system that has none
        memory.madvise(mmap.MADV_HUGEPAGE)
    skipped = -np.frombuffer(memory, dtype=np.uint8).ctypes.data % HUGE_PAGE
    return np.ndarray(shape, dtype=kind, buffer=memory, offset=skipped)
