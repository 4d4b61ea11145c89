"""Position-error formulas that several joint types share. Featherstone (2008), table 8.1.

They follow from X = X_err X_J with X_err ~ 1 - d x; d3 and d6 along and about the common z axis.
Angles are whole ones, not the sines of the table, which vanish for a joint put together backwards.
"""

from __future__ import annotations

import math

from numba import njit

from sparsebody.arrays import FloatArray


@njit(cache=True, inline="always")
def tilt_error(E: FloatArray, error: FloatArray, row: int) -> None:
    """d1, d2: the z axes of P and S are not parallel; the turn that takes z_P to z_S."""
    sine = math.sqrt(E[0, 2] ** 2 + E[1, 2] ** 2)
    if sine < 1e-8 and E[2, 2] < 0.0:  # opposite: a turn about any axis across
        error[row], error[row + 1] = math.pi, 0.0
        return
    stretch = math.atan2(sine, E[2, 2]) / sine if sine > 0.0 else 1.0
    error[row] = stretch * E[1, 2]
    error[row + 1] = -stretch * E[0, 2]


@njit(cache=True, inline="always")
def turn_error(E: FloatArray, error: FloatArray, row: int) -> None:
    """d1, d2, d3: S is turned; the rotation vector of S in P."""
    square = 0.0
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        error[row + a] = 0.5 * (E[b, c] - E[c, b])
        square += error[row + a] ** 2
    sine, cosine = math.sqrt(square), 0.5 * (E[0, 0] + E[1, 1] + E[2, 2] - 1.0)
    if sine < 1e-8 and cosine < 0.0:  # half a turn: E = 2 n n' - 1
        k = 0
        for a in range(1, 3):
            if E[a, a] > E[k, k]:
                k = a
        n_k = math.sqrt(0.5 * (1.0 + E[k, k]))
        for a in range(3):
            error[row + a] = math.pi * (n_k if a == k else 0.5 * E[a, k] / n_k)
        return
    stretch = math.atan2(sine, cosine) / sine if sine > 0.0 else 1.0
    for a in range(3):
        error[row + a] *= stretch


@njit(cache=True, inline="always")
def offset_error(E: FloatArray, r: FloatArray, error: FloatArray, row: int) -> None:
    """d4, d5: S is off the z axis of P, at whatever height (X53, -X43 where z axes are parallel).

    As long as that distance, and never away from the x and y axes of S along which the rows act:
    the orthogonal matrix nearest to E[:2, :2], a reflection for opposite z axes, times r.
    """
    side = 1.0 if E[2, 2] >= 0.0 else -1.0
    scale = 1.0 / (1.0 + abs(E[2, 2]))
    c, s = scale * (E[0, 0] + side * E[1, 1]), scale * (E[0, 1] - side * E[1, 0])
    error[row] = c * r[0] + s * r[1]
    error[row + 1] = side * (c * r[1] - s * r[0])


@njit(cache=True, inline="always")
def height_error(E: FloatArray, r: FloatArray, error: FloatArray, row: int) -> None:
    """d6: S is off the xy plane of P; with the sign of the side that the z axis of S points to."""
    error[row] = r[2] if E[2, 2] >= 0.0 else -r[2]


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
