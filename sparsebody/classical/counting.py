"""Scalar operations counted while an algorithm runs, and the Python form of compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cache
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

_ROUNDED = 1e-14  # relative: a sum of constants that is less is zero but for rounding
N = TypeVar("N", bound=tuple[Any, ...])


@dataclass
class Tally:
    """Operations so far; a division counts as a multiplication, a subtraction as an addition.

    Changes of sign are not counted. Operations that a programmer who knows the constants of an arm
    would not write are counted as trivial: products by a constant 0, 1 or -1, sums with a constant
    0, and operations on constants alone.
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
    """A number whose arithmetic is counted; a constant is known before the motion.

    Examples
    --------
    >>> tally = Tally()
    >>> x, zero = Counted(3.0, tally), Counted(0.0, tally, is_constant=True)
    >>> (x * x + zero * x).value, tally
    (9.0, Tally(multiplications=1, additions=0, trivial_multiplications=1, trivial_additions=1))
    """

    value: float
    tally: Tally
    is_constant: bool = False

    def __repr__(self) -> str:
        return f"Counted({self.value}, {'constant' if self.is_constant else 'variable'})"

    def __float__(self) -> float:
        return float(self.value)

    def __neg__(self) -> Counted:
        return Counted(-self.value, self.tally, self.is_constant)

    def __mul__(self, other: Any) -> Counted:
        value, constant = _parts(other)
        both = self.is_constant and constant
        is_zero = (self.is_constant and self.value == 0.0) or (constant and value == 0.0)
        is_one = (self.is_constant and abs(self.value) == 1.0) or (constant and abs(value) == 1.0)
        self.tally.multiply(both or is_zero or is_one)
        return Counted(self.value * value, self.tally, both or is_zero)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Counted:
        value, constant = _parts(other)
        trivial = (self.is_constant and (constant or self.value == 0.0)) or (
            constant and abs(value) == 1.0
        )
        self.tally.multiply(trivial)
        return Counted(self.value / value, self.tally, self.is_constant and trivial)

    def __rtruediv__(self, other: Any) -> Counted:
        return Counted(float(other), self.tally, is_constant=True) / self

    def __add__(self, other: Any) -> Counted:
        value, constant = _parts(other)
        return self._sum(self.value + value, value, constant)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Counted:
        value, constant = _parts(other)
        return self._sum(self.value - value, value, constant)

    def __rsub__(self, other: Any) -> Counted:
        return -(self - other)

    def _sum(self, value: float, other_value: float, other_constant: bool) -> Counted:
        both = self.is_constant and other_constant
        if both and abs(value) < _ROUNDED * abs(other_value):
            value = 0.0  # as a programmer would simplify it
        has_zero = (self.is_constant and self.value == 0.0) or (
            other_constant and other_value == 0.0
        )
        self.tally.add(both or has_zero)
        return Counted(value, self.tally, both)


def _parts(number: Any) -> tuple[float, bool]:
    """Return the value, and whether it is constant, as literals are."""
    return (
        (number.value, number.is_constant) if isinstance(number, Counted) else (float(number), True)
    )


def converted(arrays: N, make: Callable[[float], Any]) -> N:
    """Return a named tuple of arrays with every float replaced by make(float)."""
    return type(arrays)(*(converted_array(array, make) for array in arrays))


def converted_array(array: Any, make: Callable[[float], Any]) -> Any:
    """Return an array of make(float); arrays of other kinds are left as they are."""
    if array.dtype.kind != "f":
        return array
    numbers = np.empty(array.shape, dtype=object)
    numbers.ravel()[:] = [make(x) for x in array.ravel().tolist()]
    return numbers


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
