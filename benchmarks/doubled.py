"""Numbers of 31 digits: unevaluated sums of two doubles, as arrays.

Dekker (1971), Numer. Math. 18:224; Hida, Li and Bailey (2001), Quad-double arithmetic, sec. 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SPLITTER = 2.0**27 + 1.0
EPS = 2.0**-104  # relative error of one operation


class Doubled:
    """An array of numbers high + low, |low| at most half a unit in the last place of high."""

    __array_ufunc__ = None  # arrays of floats leave operations to this class

    def __init__(self, high: Any, low: Any = 0.0) -> None:
        self.high = np.asarray(high, dtype=float)
        self.low = np.broadcast_to(np.asarray(low, dtype=float), self.high.shape)

    def __add__(self, other: Any) -> Doubled:
        other = doubled(other)
        s, e = _sum(self.high, other.high)
        t, f = _sum(self.low, other.low)
        s, e = _ordered_sum(s, e + t)
        return Doubled(*_ordered_sum(s, e + f))

    def __mul__(self, other: Any) -> Doubled:
        other = doubled(other)
        p, e = _product(self.high, other.high)
        return Doubled(*_ordered_sum(p, e + (self.high * other.low + self.low * other.high)))

    def __truediv__(self, other: Any) -> Doubled:
        other = doubled(other)
        first = self.high / other.high
        remainder = self - other * first
        second = remainder.high / other.high
        remainder = remainder - other * second
        return Doubled(*_ordered_sum(first, second)) + remainder.high / other.high

    def __neg__(self) -> Doubled:
        return Doubled(-self.high, -self.low)

    def __sub__(self, other: Any) -> Doubled:
        return self + -doubled(other)

    __radd__, __rmul__ = __add__, __mul__

    def __getitem__(self, key: Any) -> Doubled:
        return Doubled(self.high[key], self.low[key])

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Doubled:
        """Move both parts alike, as NumPy's functions do that move entries and nothing else."""
        return Doubled(*(function(*_parts(args, name), **kwargs) for name in ("high", "low")))

    def total(self) -> Doubled:
        """Return the sums along the last axis."""
        part = self
        while (n := part.high.shape[-1]) > 1:
            last = part[..., n - n % 2 :]
            part = part[..., : n - n % 2 : 2] + part[..., 1::2]
            part = np.concatenate([part, last], -1) if n % 2 else part
        return part[..., 0]

    def root(self) -> Doubled:
        """Return square roots; of positive numbers."""
        guess = 1.0 / np.sqrt(self.high)
        first = self.high * guess
        return Doubled(first) + (self - Doubled(first) * first).high * (0.5 * guess)

    def largest(self) -> float:
        """Return the largest absolute value, as a double."""
        return float(np.abs(self.high).max(initial=0.0))


def doubled(x: Any) -> Doubled:
    """Return doubles as numbers of twice the length."""
    return x if isinstance(x, Doubled) else Doubled(x)


def _parts(args: Any, name: str) -> Any:
    """Return arguments with one part, "high" or "low", of each array among them."""
    if isinstance(args, list | tuple):
        return [_parts(one, name) for one in args]
    return getattr(args, name) if isinstance(args, Doubled) else args


def dot(a: Any, b: Any) -> Doubled:
    """Return the dot products of vectors (..., k)."""
    return (doubled(a) * b).total()


def cross(a: Doubled, b: Doubled) -> Doubled:
    """Return the cross products of vectors (..., 3)."""
    after, before = [1, 2, 0], [2, 0, 1]
    return a[..., after] * b[..., before] - a[..., before] * b[..., after]


def apply(matrix: Any, vector: Any) -> Doubled:
    """Return products of matrices (..., 3, 3) with vectors (..., 3)."""
    return dot(matrix, doubled(vector)[..., None, :])


def product(a: Doubled, b: Doubled) -> Doubled:
    """Return products of matrices (..., 3, 3)."""
    return dot(a[..., None, :], transposed(b)[..., None, :, :])


def transposed(matrix: Doubled) -> Doubled:
    """Return matrices (..., 3, 3) with rows and columns exchanged."""
    return np.swapaxes(matrix, -1, -2)


def unit(vector: Doubled) -> Doubled:
    """Return vectors (..., k) scaled to length one."""
    return vector / dot(vector, vector).root()[..., None]


def _sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a + b rounded, and the rounding error. Knuth."""
    s = a + b
    back = s - a
    return s, (a - (s - back)) + (b - back)


def _ordered_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a + b rounded, and the rounding error, where |a| >= |b|. Dekker."""
    s = a + b
    return s, b - (s - a)


def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a b rounded, and the rounding error."""
    p = a * b
    (a1, a2), (b1, b2) = _split(a), _split(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def _split(a: Any) -> tuple[Any, Any]:
    """Return two numbers of 26 bits with the sum a."""
    t = SPLITTER * a
    high = t - (t - a)
    return high, a - high
