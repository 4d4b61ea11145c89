"""The array types that stand in every signature, checks of array arguments, and large arrays."""

import contextlib
import dataclasses
import math
import mmap
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray as NDArray

from sparsebody._core import base
from sparsebody.errors import ModelError, ShapeError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
Int32Array: TypeAlias = NDArray[np.int32]
BoolArray: TypeAlias = NDArray[np.bool_]


def offsets(sizes: IntArray | BoolArray) -> IntArray:
    """Return the sums of the sizes before each one, and of all."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)


FEW = 6  # entries that are printed


class HtmlRepr:
    """Show the fields of a dataclass as a table in notebooks."""

    def _brief_fields(self) -> dict[str, str]:
        fields = (field.name for field in dataclasses.fields(self) if field.repr)  # type: ignore[arg-type]
        return {name: _brief(getattr(self, name)) for name in fields}

    def _html_facts(self) -> Mapping[str, object]:
        """Return what the table says, by name."""
        return self._brief_fields()

    def _repr_html_(self) -> str:
        from sparsebody.html_tables import html_facts

        return html_facts(type(self).__name__, self._html_facts())


class BriefRepr(HtmlRepr):
    """Print the fields of a dataclass: large arrays and collections by their sizes."""

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}={value}" for name, value in self._brief_fields().items())
        return f"{type(self).__name__}({listed})"


def _brief(value: object) -> str:
    if isinstance(value, np.ndarray) and value.size > FEW:
        return f"<{value.dtype} {value.shape}>"
    if isinstance(value, (Sequence, dict)) and not isinstance(value, str) and len(value) > FEW:
        return f"<{type(value).__name__} of {len(value)}>"
    return repr(value)


LARGE = 2**20  # bytes from which an allocation of its own is worth it
HUGE_PAGE = 2**21


def large_zeros(shape: int | tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
    """Return zeros that begin with a cache line, whatever was freed before.

    Large arrays lie in huge pages where there are any: what is read from end to end at every
    evaluation is read faster from them. Vectors across two lines take twice the time.
    """
    kind = np.dtype(dtype)
    n_bytes = (math.prod(shape) if isinstance(shape, tuple) else int(shape)) * kind.itemsize
    if n_bytes < LARGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return base.zero_bytes(n_bytes).view(kind).reshape(shape)
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    memory = mmap.mmap(-1, n_bytes + HUGE_PAGE, flags=private)
    with contextlib.suppress(OSError):  # a system that has none
        memory.madvise(mmap.MADV_HUGEPAGE)
    skipped = -np.frombuffer(memory, dtype=np.uint8).ctypes.data % HUGE_PAGE
    return np.ndarray(shape, dtype=kind, buffer=memory, offset=skipped)


# ---- arguments, so that an error names them ---------------------------------------------------


def floats(value: ArrayLike, trailing: tuple[int, ...], name: str) -> FloatArray:
    """Return `value` as a float array (..., *trailing), or raise ShapeError naming it."""
    try:
        array = np.asarray(value, dtype=float)
    except (OverflowError, TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be an array of numbers, got {value!r}") from error
    if array.shape[array.ndim - len(trailing) :] != trailing:
        expected = ", ".join(map(str, trailing))
        raise ShapeError(f"{name} must have shape (..., {expected}), got {array.shape}")
    return array


def leading_shape(**leading: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that these leading axes broadcast to, or raise ShapeError naming them."""
    try:
        return np.broadcast_shapes(*leading.values())
    except ValueError as error:
        shapes = ", ".join(f"{name} {shape}" for name, shape in leading.items())
        raise ShapeError(f"leading axes do not fit each other: {shapes}") from error


def numbers(value: ArrayLike, what: str, remedy: str = "numbers") -> FloatArray:
    """Return a copy as a float array of any shape, or raise ModelError that begins with `what`."""
    try:
        if value is None or (isinstance(value, np.ndarray) and np.iscomplexobj(value)):
            raise TypeError  # NumPy makes it NaN, or takes the real part
        return np.array(value, dtype=float)
    except (OverflowError, TypeError, ValueError) as error:
        raise ModelError(f"{what} is {repr(value)[:1000]}; give {remedy}") from error


def check_finite(array: FloatArray, what: str) -> None:
    """Raise ModelError that begins with `what`, and names the entry, unless all are finite."""
    finite = np.isfinite(array)
    if not finite.all():
        at = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ModelError(f"{what} [{', '.join(map(str, at))}] is {array[at]}; it must be finite")


def model_array(value: ArrayLike, shape: tuple[int, ...], what: str) -> FloatArray:
    """Return a read-only finite copy of this shape, or raise ModelError that begins with `what`."""
    remedy = f"{shape[0]} numbers" if len(shape) == 1 else f"numbers of shape {shape}"
    array = numbers(value, what, remedy)
    if array.shape != shape:
        raise ModelError(f"{what} has shape {array.shape}; give {remedy}")
    if not np.isfinite(array).all():
        raise ModelError(f"{what} is {array.tolist()}; every number must be finite")
    array.flags.writeable = False
    return array
