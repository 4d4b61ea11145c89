"""Numbers of 31 digits in compiled code: unevaluated sums of two doubles, as tuples.

References
----------
Dekker (1971), Numer. Math. 18:224; Hida, Li and Bailey (2001), Quad-double arithmetic, sec. 2.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

import math
from typing import Any

from numba import njit

SPLITTER = 2.0**27 + 1.0
EXACT: dict[str, Any] = {"cache": True, "error_model": "numpy", "forceinline": True}  # no fastmath


@njit(**EXACT)
def _ordered(a, b):
    """Return a + b and its rounding error, where |a| >= |b|."""
    s = a + b
    return s, b - (s - a)


@njit(**EXACT)
def product(a, b):
    """Return a b of two doubles, exactly."""
    p = a * b
    t = SPLITTER * a
    a1 = t - (t - a)
    t = SPLITTER * b
    b1 = t - (t - b)
    a2, b2 = a - a1, b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


@njit(**EXACT)
def plus(a, b):
    """Return a + b."""
    s = a[0] + b[0]
    back = s - a[0]
    e = (a[0] - (s - back)) + (b[0] - back)
    t = a[1] + b[1]
    back = t - a[1]
    f = (a[1] - (t - back)) + (b[1] - back)
    s, e = _ordered(s, e + t)
    return _ordered(s, e + f)


@njit(**EXACT)
def minus(a, b):
    """Return a - b."""
    return plus(a, (-b[0], -b[1]))


@njit(**EXACT)
def times(a, b):
    """Return a b."""
    p, e = product(a[0], b[0])
    return _ordered(p, e + (a[0] * b[1] + a[1] * b[0]))


@njit(**EXACT)
def scaled(a, s):
    """Return a times a double."""
    p, e = product(a[0], s)
    return _ordered(p, e + a[1] * s)


@njit(**EXACT)
def pair(a, b, c, d):
    """Return a b + c d."""
    return plus(times(a, b), times(c, d))


@njit(**EXACT)
def dot(a, b):
    """Return the product of two vectors of three."""
    return plus(pair(a[0], b[0], a[1], b[1]), times(a[2], b[2]))


@njit(**EXACT)
def cross(a, b):
    """Return the vector product of two vectors of three."""
    return (
        minus(times(a[1], b[2]), times(a[2], b[1])),
        minus(times(a[2], b[0]), times(a[0], b[2])),
        minus(times(a[0], b[1]), times(a[1], b[0])),
    )


@njit(**EXACT)
def inverse_root(a):
    """Return 1 / sqrt(a)."""
    guess = 1.0 / math.sqrt(a[0])
    rest = minus((1.0, 0.0), scaled(scaled(a, guess), guess))
    return plus((guess, 0.0), scaled(rest, 0.5 * guess))


@njit(**EXACT)
def along(vector, factor):
    """Return a vector of three times a number."""
    return times(vector[0], factor), times(vector[1], factor), times(vector[2], factor)


@njit(**EXACT)
def vector_of(a, b, c):
    """Return a vector of three doubles."""
    return (a, 0.0), (b, 0.0), (c, 0.0)
