"""First and second derivatives of functions written with NumPy, by forward differentiation.

A Jet carries a value, its slopes in several directions, and its second derivative along the last
of them; arrays of jets go through NumPy's arithmetic and elementary functions, which call the
methods here. Derivatives are exact to rounding, as no differences are taken.
Griewank and Walther (2008), chs. 3 and 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partialmethod, total_ordering, wraps
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray

_DERIVATIVES: dict[str, Callable[[float, float], tuple[float, float]]] = {  # f', f'' of x, f
    "sin": lambda x, f: (math.cos(x), -f),
    "cos": lambda x, f: (-math.sin(x), -f),
    "tan": lambda x, f: (1.0 + f * f, 2.0 * f * (1.0 + f * f)),
    "arcsin": lambda x, f: ((1.0 - x * x) ** -0.5, x * (1.0 - x * x) ** -1.5),
    "arccos": lambda x, f: (-((1.0 - x * x) ** -0.5), -x * (1.0 - x * x) ** -1.5),
    "arctan": lambda x, f: (1.0 / (1.0 + x * x), -2.0 * x / (1.0 + x * x) ** 2),
    "exp": lambda x, f: (f, f),
    "log": lambda x, f: (1.0 / x, -1.0 / x**2),
    "sqrt": lambda x, f: (0.5 / f, -0.25 / f**3),
    "sinh": lambda x, f: (math.cosh(x), f),
    "cosh": lambda x, f: (math.sinh(x), f),
    "tanh": lambda x, f: (1.0 - f * f, -2.0 * f * (1.0 - f * f)),
    "reciprocal": lambda x, f: (-f * f, 2.0 * f**3),
}


def _by_elements(operation: Callable[[Jet, Any], Any]) -> Callable[[Jet, Any], Any]:
    """Leave arrays to NumPy, which comes back with their elements."""

    @wraps(operation)
    def operate(jet: Jet, other: Any) -> Any:
        if isinstance(other, np.ndarray) and other.ndim:
            return NotImplemented
        return operation(jet, other)

    return operate


@total_ordering
class Jet:
    """A number with its derivatives `slope` (m + 1,) in m directions and along a curve.

    `curvature` is the second derivative along the curve.
    """

    __slots__ = ("curvature", "slope", "value")

    def __init__(self, value: float, slope: FloatArray, curvature: float) -> None:
        self.value, self.slope, self.curvature = float(value), slope, float(curvature)

    def _through(self, value: float, first: float, second: float) -> Jet:
        """A function of this jet, by its value and its two derivatives: the chain rule."""
        along = self.slope[-1]
        return Jet(value, first * self.slope, first * self.curvature + second * along * along)

    def through(self, name: str) -> Jet:
        """The function of this name in NumPy, which calls it as a method of that name."""
        value = float(getattr(np, name)(self.value))
        return self._through(value, *_DERIVATIVES[name](self.value, value))

    def _like(self, other: Any) -> Jet:
        return other if isinstance(other, Jet) else Jet(other, np.zeros_like(self.slope), 0.0)

    def __repr__(self) -> str:
        return f"Jet({self.value!r}, {self.slope!r}, {self.curvature!r})"

    @_by_elements
    def __add__(self, other: Any) -> Jet:
        b = self._like(other)
        return Jet(self.value + b.value, self.slope + b.slope, self.curvature + b.curvature)

    __radd__ = __add__

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.slope, -self.curvature)

    def __pos__(self) -> Jet:
        return self

    def __sub__(self, other: Any) -> Jet:
        return self + (-other)

    def __rsub__(self, other: Any) -> Jet:
        return -self + other

    @_by_elements
    def __mul__(self, other: Any) -> Jet:
        b = self._like(other)
        twice = 2.0 * self.slope[-1] * b.slope[-1]
        curvature = self.value * b.curvature + twice + b.value * self.curvature
        return Jet(self.value * b.value, self.value * b.slope + b.value * self.slope, curvature)

    __rmul__ = __mul__

    @_by_elements
    def __truediv__(self, other: Any) -> Jet:
        return self * self._like(other).through("reciprocal")

    @_by_elements
    def __rtruediv__(self, other: Any) -> Jet:
        return self.through("reciprocal") * other

    @_by_elements
    def __pow__(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return (self.through("log") * other).through("exp")
        x, n = self.value, float(other)
        first = n * x ** (n - 1.0) if n != 0.0 else 0.0
        second = n * (n - 1.0) * x ** (n - 2.0) if n not in (0.0, 1.0) else 0.0
        return self._through(x**n, first, second)

    def __rpow__(self, other: Any) -> Jet:
        return (self * math.log(other)).through("exp")

    def __abs__(self) -> Jet:
        return -self if self.value < 0.0 else self

    def __eq__(self, other: object) -> bool:
        return self.value == self._like(other).value

    def __lt__(self, other: Any) -> bool:
        return self.value < self._like(other).value

    def conjugate(self) -> Jet:
        """X itself: it is real."""
        return self

    def arctan2(self, other: Any) -> Jet:
        """Angle of the point (other, self), in its quadrant."""
        x = self._like(other)
        angle = math.atan2(self.value, x.value)
        s, c = math.sin(angle), math.cos(angle)
        return ((self * c - x * s) / (self * s + x * c)).through("arctan") + angle

    def hypot(self, other: Any) -> Jet:
        """Root of the sum of squares."""
        return (self * self + self._like(other) * other).through("sqrt")


for _name in _DERIVATIVES:
    setattr(Jet, _name, partialmethod(Jet.through, _name))


def differentiate(
    function: Callable[[Any], Any], y: FloatArray, rate: FloatArray, bend: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a function's value (n,), its Jacobian (n, m), and its second derivative (n,).

    The last is along y + rate t + bend t^2 / 2 at t = 0; `function` takes (m,) numbers of NumPy's.
    """
    m = len(y)
    slopes = np.concatenate([np.eye(m), np.asarray(rate)[:, None]], axis=1)
    bend = np.zeros(m) if bend is None else bend
    jets = np.empty(m, dtype=object)
    jets[:] = [Jet(*parts) for parts in zip(y, slopes, bend, strict=True)]
    none = Jet(0.0, np.zeros(m + 1), 0.0)
    results = [none + part for part in np.asarray(function(jets), dtype=object).ravel()]
    value = np.array([jet.value for jet in results])  # constants have become jets
    jacobian = np.array([jet.slope[:-1] for jet in results]).reshape(len(results), m)
    return value, jacobian, np.array([jet.curvature for jet in results])
