"""Scalar operations counted while an algorithm runs, and the plain form of compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cache
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

_ROUNDED = 1e-14  # relative; less is left where known numbers cancel
N = TypeVar("N", bound=tuple[Any, ...])


@dataclass
class Tally:
    """Operations so far; a division counts as a multiplication, a subtraction as an addition.

    What a programmer who knows the constants of an arm would not write is counted apart: products
    by a known 0, 1 or -1, sums with a known 0, and operations on known numbers alone.
    """

    multiplications: int = 0
    additions: int = 0
    trivial_multiplications: int = 0
    trivial_additions: int = 0

    def __sub__(self, other: Tally) -> Tally:
        """Return what was counted since `other`."""
        return Tally(*(a - b for a, b in zip(self.values, other.values, strict=True)))

    @property
    def values(self) -> tuple[int, ...]:
        """The four numbers."""
        return astuple(self)

    def multiply(self, is_trivial: bool) -> None:
        """Count a multiplication."""
        self.multiplications += not is_trivial
        self.trivial_multiplications += is_trivial

    def add(self, is_trivial: bool) -> None:
        """Count an addition."""
        self.additions += not is_trivial
        self.trivial_additions += is_trivial


@dataclass(slots=True, eq=False, repr=False)
class Counted:
    """A number whose arithmetic is counted, and which may be known before the motion, a constant.

    Examples
    --------
    >>> tally = Tally()
    >>> x, zero = Counted(3.0, tally), Counted(0.0, tally, known=True)
    >>> (x * x + zero * x).value, tally
    (9.0, Tally(multiplications=1, additions=0, trivial_multiplications=1, trivial_additions=1))
    """

    value: float
    tally: Tally
    known: bool = False

    def __repr__(self) -> str:
        return f"Counted({self.value}, {'known' if self.known else 'unknown'})"

    def __float__(self) -> float:
        return float(self.value)

    def __neg__(self) -> Counted:
        return Counted(-self.value, self.tally, self.known)

    def __mul__(self, other: Any) -> Counted:
        value, known = _parts(other)
        both = self.known and known
        is_zero = (self.known and self.value == 0.0) or (known and value == 0.0)
        is_one = (self.known and abs(self.value) == 1.0) or (known and abs(value) == 1.0)
        self.tally.multiply(both or is_zero or is_one)
        return Counted(self.value * value, self.tally, both or is_zero)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Counted:
        value, known = _parts(other)
        trivial = (self.known and (known or self.value == 0.0)) or (known and abs(value) == 1.0)
        self.tally.multiply(trivial)
        return Counted(self.value / value, self.tally, self.known and trivial)

    def __rtruediv__(self, other: Any) -> Counted:
        return Counted(float(other), self.tally, known=True) / self

    def __add__(self, other: Any) -> Counted:
        value, known = _parts(other)
        return self._sum(self.value + value, value, known)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Counted:
        value, known = _parts(other)
        return self._sum(self.value - value, value, known)

    def __rsub__(self, other: Any) -> Counted:
        return -(self - other)

    def _sum(self, value: float, other_value: float, other_known: bool) -> Counted:
        both = self.known and other_known
        if both and abs(value) < _ROUNDED * abs(other_value):
            value = 0.0  # what cancels is known to
        has_zero = (self.known and self.value == 0.0) or (other_known and other_value == 0.0)
        self.tally.add(both or has_zero)
        return Counted(value, self.tally, both)


def _parts(number: Any) -> tuple[float, bool]:
    """Return value and whether it is known; a literal is."""
    return (number.value, number.known) if isinstance(number, Counted) else (float(number), True)


def lifted(arrays: N, make: Callable[[float], Any]) -> N:
    """Return a named tuple of arrays with every float replaced by make(float)."""
    return type(arrays)(*(lifted_array(array, make) for array in arrays))


def lifted_array(array: Any, make: Callable[[float], Any]) -> Any:
    """Return an array of make(float); arrays of other kinds are left as they are."""
    if array.dtype.kind != "f":
        return array
    lifted = np.empty(array.shape, dtype=object)
    lifted.ravel()[:] = [make(x) for x in array.ravel().tolist()]
    return lifted


@cache
def interpreted(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function of a compiled kernel, and of those that it calls."""
    function = getattr(kernel, "py_func", kernel)
    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        if hasattr(names.get(name), "py_func"):
            names[name] = interpreted(names[name])
    return FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
