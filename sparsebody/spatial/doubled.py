"""Numbers of 31 digits in compiled code: unevaluated sums of two doubles, as tuples.

References
----------
Dekker (1971), Numer. Math. 18:224; Hida, Li and Bailey (2001), Quad-double arithmetic, sec. 2.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

from typing import Any

from numba import njit

# Still used by corpus/reference.py.
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
def scaled(a, s):
    """Return a times a double."""
    p, e = product(a[0], s)
    return _ordered(p, e + a[1] * s)
