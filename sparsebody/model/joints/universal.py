"""Two crossed hinges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.joints.base import JointKernels, JointType, unit_columns
from sparsebody.model.joints.kernels import point_error
from sparsebody.spatial import plucker_transform, rotation_about


@njit(cache=True)
def _error(
    joints: IntArray,
    first_row: IntArray,
    E: FloatArray,
    r: FloatArray,
    parameter: FloatArray,
    error: FloatArray,
) -> None:
    for j in joints:
        error[first_row[j]] = -E[j, 1, 0]  # the cross axes are not perpendicular
        point_error(E[j], r[j], error, first_row[j] + 1)


@njit(cache=True)
def _coordinate(
    items: IntArray,
    joint: IntArray,
    index: IntArray,
    E: FloatArray,
    r: FloatArray,
    parameter: FloatArray,
    velocity: FloatArray,
    q: FloatArray,
    W: FloatArray,
    drift: FloatArray,
) -> None:
    for item in items:
        j = joint[item]
        x, w = E[j, :, 0], velocity[j]  # the x axis of P, which turns with -w seen from S
        for a in range(6):
            W[item, a] = 0.0
        if index[item] == 0:  # W = (x_0, 0, x_2) / (x_0^2 + x_2^2), perpendicular to the other axis
            q[item] = math.atan2(E[j, 1, 2], E[j, 1, 1])
            size = x[0] * x[0] + x[2] * x[2]
            rate_0, rate_2 = w[2] * x[1] - w[1] * x[2], w[1] * x[0] - w[0] * x[1]
            power = x[0] * w[0] + x[2] * w[2]
            W[item, 0], W[item, 2] = x[0] / size, x[2] / size
            growth = 2.0 * (x[0] * rate_0 + x[2] * rate_2) / size
            drift[item] = (rate_0 * w[0] + rate_2 * w[2] - growth * power) / size
        else:
            q[item] = math.atan2(E[j, 2, 0], E[j, 0, 0])
            W[item, 1] = 1.0
            drift[item] = 0.0


@njit(cache=True)
def _subspace(
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


@dataclass(frozen=True)
class Universal(JointType):
    """A cross with one arm along x of P, the other along y of S; q = (angle about x_P, about y_S).

    The origins coincide, and at q = 0 so do the axes. The velocities are the rates of q [rad/s].
    """

    name: ClassVar[str] = "universal"
    n_velocities: ClassVar[int] = 2
    n_positions: ClassVar[int] = 2
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad", "rad")
    kernels: ClassVar[JointKernels] = JointKernels(_error, _coordinate, _subspace)

    def transform(self, q: FloatArray) -> FloatArray:
        """X_SP (6, 6): a rotation by q[0] about x, then one by q[1] about the new y."""
        turn = rotation_about([1, 0, 0], q[0]) @ rotation_about([0, 1, 0], q[1])
        return plucker_transform(turn.T, np.zeros(3))

    def coordinates(self, E: FloatArray, r: FloatArray) -> FloatArray:
        """The angles about x of P and about y of S."""
        return np.array([math.atan2(E[1, 2], E[1, 1]), math.atan2(E[2, 0], E[0, 0])])

    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, 2): the x axis of P in S coordinates, and the y axis."""
        S = unit_columns(0, 1)
        S[:3, 0] = [math.cos(q[1]), 0.0, math.sin(q[1])]
        return S

    def constraint_force_subspace(self, q: FloatArray) -> FloatArray:
        """T (6, 4): the moment about the normal of both arms, and three forces."""
        T = unit_columns(2, 3, 4, 5)
        T[:3, 0] = [-math.sin(q[1]), 0.0, math.cos(q[1])]
        return T
