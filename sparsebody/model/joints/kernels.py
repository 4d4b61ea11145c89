"""Rows of joint types whose T varies, for Numba; still used by dynamics/compiled/varying.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from numba import njit

from sparsebody.arrays import FloatArray, IntArray

Kernel = Callable[..., None]


@dataclass(frozen=True)
class JointKernels:
    """subspace(joints, first_row, E, r, velocity, T, drift); None where T is constant in S."""

    subspace: Kernel | None = None


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


@njit(cache=True)
def _universal(
    joints: IntArray,
    first_row: IntArray,
    E: FloatArray,
    r: FloatArray,
    velocity: FloatArray,
    T: FloatArray,
    drift: FloatArray,
) -> None:
    for j in joints:
        row = first_row[j]
        x, w = E[j, :, 0], velocity[j]  # x_P in S coordinates; dx/dt = -w x x
        for a in range(6):
            T[row, a] = 0.0
        T[row, 0], T[row, 2] = -x[2], x[0]  # the moment about x_P x y_S
        rate_0, rate_2 = w[2] * x[1] - w[1] * x[2], w[1] * x[0] - w[0] * x[1]
        drift[row] = -rate_2 * w[0] + rate_0 * w[2]
        for a in range(3):
            for b in range(6):
                T[row + 1 + a, b] = 1.0 if b == a + 3 else 0.0
            drift[row + 1 + a] = 0.0


@njit(cache=True)
def _point_on_line(
    joints: IntArray,
    first_row: IntArray,
    E: FloatArray,
    r: FloatArray,
    velocity: FloatArray,
    T: FloatArray,
    drift: FloatArray,
) -> None:
    for j in joints:
        for axis in range(2):
            row = first_row[j] + axis
            drift[row] = axis_of_predecessor(E[j], axis, velocity[j], T, row)


@njit(cache=True)
def _point_on_plane(
    joints: IntArray,
    first_row: IntArray,
    E: FloatArray,
    r: FloatArray,
    velocity: FloatArray,
    T: FloatArray,
    drift: FloatArray,
) -> None:
    for j in joints:
        row = first_row[j]
        drift[row] = axis_of_predecessor(E[j], 2, velocity[j], T, row)


@njit(cache=True)
def _constant_distance(
    joints: IntArray,
    first_row: IntArray,
    E: FloatArray,
    r: FloatArray,
    velocity: FloatArray,
    T: FloatArray,
    drift: FloatArray,
) -> None:
    for j in joints:
        row, w = first_row[j], velocity[j]
        distance = math.sqrt(r[j, 0] ** 2 + r[j, 1] ** 2 + r[j, 2] ** 2)
        if distance == 0.0:  # only before assembly: any direction takes the points apart
            for a in range(6):
                T[row, a] = 1.0 if a == 5 else 0.0
            drift[row] = 0.0
            continue
        along, across = 0.0, 0.0  # u = E r / |r|, p = E r, dp/dt = v - w x p
        for a in range(3):
            u = (E[j, a, 0] * r[j, 0] + E[j, a, 1] * r[j, 1] + E[j, a, 2] * r[j, 2]) / distance
            T[row, a] = 0.0
            T[row, a + 3] = u
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            rate = w[a + 3] - distance * (w[b] * T[row, c + 3] - w[c] * T[row, b + 3])
            along += T[row, a + 3] * rate
            across += rate * w[a + 3]
        speed = w[3] * T[row, 3] + w[4] * T[row, 4] + w[5] * T[row, 5]
        drift[row] = (across - along * speed) / distance  # (du/dt)' v


subspace_kernels: dict[str, Kernel] = {
    "universal": _universal,
    "point-on-line": _point_on_line,
    "point-on-plane": _point_on_plane,
    "constant-distance": _constant_distance,
}
