"""First and second derivatives of functions written with NumPy, by forward differentiation.

A Jet carries a value, its slopes in several directions, and its second derivative along the last
of them; arrays of jets go through NumPy's arithmetic and elementary functions, which call the
methods here. Derivatives are exact to rounding, as no differences are taken.
Griewank and Walther (2008), chs. 3 and 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray


def _by_elements(operation: Callable[[Jet, Any], Any]) -> Callable[[Jet, Any], Any]:
    """Leave arrays to NumPy, which comes back with their elements."""

    @wraps(operation)
    def operate(jet: Jet, other: Any) -> Any:
        if isinstance(other, np.ndarray) and other.ndim:
            return NotImplemented
        return operation(jet, other)

    return operate


class Jet:
    """A number that depends on parameters.

    Parameters
    ----------
    value : float
        The number.
    slope : (m + 1,) array
        Its derivatives in m directions and along a curve.
    curvature : float
        Its second derivative along the curve.
    """

    __slots__ = ("curvature", "slope", "value")

    def __init__(self, value: float, slope: FloatArray, curvature: float) -> None:
        self.value, self.slope, self.curvature = float(value), slope, float(curvature)

    def _through(self, value: float, first: float, second: float) -> Jet:
        """A function of this jet, by its value and its two derivatives: the chain rule."""
        along = self.slope[-1]
        return Jet(value, first * self.slope, first * self.curvature + second * along * along)

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
        slope = self.value * b.slope + b.value * self.slope
        twice = 2.0 * self.slope[-1] * b.slope[-1]
        return Jet(
            self.value * b.value,
            slope,
            self.value * b.curvature + twice + b.value * self.curvature,
        )

    __rmul__ = __mul__

    def reciprocal(self) -> Jet:
        """1 / x."""
        x = 1.0 / self.value
        return self._through(x, -x * x, 2.0 * x**3)

    @_by_elements
    def __truediv__(self, other: Any) -> Jet:
        return self * self._like(other).reciprocal()

    @_by_elements
    def __rtruediv__(self, other: Any) -> Jet:
        return self.reciprocal() * other

    @_by_elements
    def __pow__(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return (self.log() * other).exp()
        x, n = self.value, float(other)
        first = n * x ** (n - 1.0) if n != 0.0 else 0.0
        second = n * (n - 1.0) * x ** (n - 2.0) if n not in (0.0, 1.0) else 0.0
        return self._through(x**n, first, second)

    def __rpow__(self, other: Any) -> Jet:
        return (self * math.log(other)).exp()

    def __abs__(self) -> Jet:
        return -self if self.value < 0.0 else self

    def __lt__(self, other: Any) -> bool:
        return self.value < self._like(other).value

    def __le__(self, other: Any) -> bool:
        return self.value <= self._like(other).value

    def __gt__(self, other: Any) -> bool:
        return self.value > self._like(other).value

    def __ge__(self, other: Any) -> bool:
        return self.value >= self._like(other).value

    def conjugate(self) -> Jet:
        """X itself: it is real."""
        return self

    def sin(self) -> Jet:
        """Sine."""
        s, c = math.sin(self.value), math.cos(self.value)
        return self._through(s, c, -s)

    def cos(self) -> Jet:
        """Cosine."""
        s, c = math.sin(self.value), math.cos(self.value)
        return self._through(c, -s, -c)

    def tan(self) -> Jet:
        """Tangent."""
        t = math.tan(self.value)
        return self._through(t, 1.0 + t * t, 2.0 * t * (1.0 + t * t))

    def arcsin(self) -> Jet:
        """Inverse sine."""
        root = math.sqrt(1.0 - self.value**2)
        return self._through(math.asin(self.value), 1.0 / root, self.value / root**3)

    def arccos(self) -> Jet:
        """Inverse cosine."""
        return 0.5 * math.pi - self.arcsin()

    def arctan(self) -> Jet:
        """Inverse tangent."""
        first = 1.0 / (1.0 + self.value**2)
        return self._through(math.atan(self.value), first, -2.0 * self.value * first**2)

    def arctan2(self, other: Any) -> Jet:
        """Angle of the point (other, self), in its quadrant."""
        x = self._like(other)
        angle = math.atan2(self.value, x.value)
        turned = (self * math.cos(angle) - x * math.sin(angle)) / (
            self * math.sin(angle) + x * math.cos(angle)
        )
        return turned.arctan() + angle

    def hypot(self, other: Any) -> Jet:
        """Root of the sum of squares."""
        return (self * self + self._like(other) * other).sqrt()

    def sqrt(self) -> Jet:
        """Square root."""
        root = math.sqrt(self.value)
        return self._through(root, 0.5 / root, -0.25 / root**3)

    def exp(self) -> Jet:
        """Exponential."""
        e = math.exp(self.value)
        return self._through(e, e, e)

    def log(self) -> Jet:
        """Natural logarithm."""
        x = self.value
        return self._through(math.log(x), 1.0 / x, -1.0 / x**2)

    def sinh(self) -> Jet:
        """Hyperbolic sine."""
        s, c = math.sinh(self.value), math.cosh(self.value)
        return self._through(s, c, s)

    def cosh(self) -> Jet:
        """Hyperbolic cosine."""
        s, c = math.sinh(self.value), math.cosh(self.value)
        return self._through(c, s, c)

    def tanh(self) -> Jet:
        """Hyperbolic tangent."""
        t = math.tanh(self.value)
        return self._through(t, 1.0 - t * t, -2.0 * t * (1.0 - t * t))


def differentiate(
    function: Callable[[Any], Any], y: FloatArray, rate: FloatArray, bend: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a function's value, its Jacobian, and its second derivative along a curve.

    Parameters
    ----------
    function : callable
        From (m,) numbers to a sequence of n, written with NumPy.
    y, rate, bend : (m,) float arrays
        The curve y + rate t + bend t^2 / 2; default: a straight line.

    Returns
    -------
    value : (n,) float array
    jacobian : (n, m) float array
    second : (n,) float array
        d^2/dt^2 at t = 0.
    """
    m = len(y)
    slopes = np.concatenate([np.eye(m), np.asarray(rate)[:, None]], axis=1)
    bend = np.zeros(m) if bend is None else bend
    jets = np.empty(m, dtype=object)
    for i in range(m):
        jets[i] = Jet(y[i], slopes[i], bend[i])
    parts = np.asarray(function(jets), dtype=object).ravel()
    none = Jet(0.0, np.zeros(m + 1), 0.0)
    found = [none + part for part in parts]  # constants become jets
    value = np.array([jet.value for jet in found])
    jacobian = np.array([jet.slope[:-1] for jet in found]).reshape(len(found), m)
    return value, jacobian, np.array([jet.curvature for jet in found])
