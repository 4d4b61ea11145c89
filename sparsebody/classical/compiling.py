"""The decorator of kernels: compiled where Numba is installed, plain Python elsewhere.

Only measured times depend on it: `pip install 'sparsebody[classical]'`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
IS_COMPILED = find_spec("numba") is not None


def kernel(function: F) -> F:
    """Return a function compiled at its first call, or itself; `py_func` is the plain one."""
    if IS_COMPILED:
        from numba import njit

        return cast(F, njit(cache=True)(function))
    function.py_func = function  # type: ignore[attr-defined]
    return function
