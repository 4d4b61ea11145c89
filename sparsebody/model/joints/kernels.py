"""Position-error formulas that several joint types share. Featherstone (2008), table 8.1.

They follow from X = X_err X_J with X_err ~ 1 - d x; d3 and d6 along and about the common z axis.
"""

from __future__ import annotations

import math

from numba import njit

from sparsebody.arrays import FloatArray


@njit(cache=True, inline="always")
def tilt_error(E: FloatArray, error: FloatArray, row: int) -> None:
    """d1, d2: the z axes of P and S are not parallel."""
    error[row] = E[1, 2]
    error[row + 1] = -E[0, 2]


@njit(cache=True, inline="always")
def offset_error(E: FloatArray, r: FloatArray, error: FloatArray, row: int) -> None:
    """d4, d5: S is off the z axis of P, at whatever height (X53, -X43)."""
    error[row] = E[1, 1] * r[0] - E[1, 0] * r[1]
    error[row + 1] = E[0, 0] * r[1] - E[0, 1] * r[0]


@njit(cache=True, inline="always")
def point_error(E: FloatArray, r: FloatArray, error: FloatArray, row: int) -> None:
    """d4, d5, d6: the origins of S and P do not coincide."""
    for a in range(3):
        error[row + a] = E[a, 0] * r[0] + E[a, 1] * r[1] + E[a, 2] * r[2]


@njit(cache=True, inline="always")
def turn_angle(E: FloatArray) -> float:
    """Angle of S about the common z axis, in (-pi, pi]."""
    return math.atan2(E[0, 1] - E[1, 0], E[0, 0] + E[1, 1])


@njit(cache=True, inline="always")
def unit_dual(W: FloatArray, item: int, axis: int) -> None:
    """W = the unit vector along one of the six axes."""
    for a in range(6):
        W[item, a] = 0.0
    W[item, axis] = 1.0


@njit(cache=True, inline="always")
def axis_of_predecessor(
    E: FloatArray, axis: int, velocity: FloatArray, rows: FloatArray, row: int
) -> float:
    """Fill a row with the force [0; e] along an axis e of P, in S; return (d[0; e]/dt)' v_J."""
    drift = 0.0
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        rows[row, a] = 0.0
        rows[row, a + 3] = E[a, axis]
        drift -= (velocity[b] * E[c, axis] - velocity[c] * E[b, axis]) * velocity[a + 3]
    return drift
