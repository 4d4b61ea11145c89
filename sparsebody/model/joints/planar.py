"""Motion in a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.joints.base import JointKernels, JointType, unit_columns
from sparsebody.model.joints.kernels import height_error, tilt_error, turn_angle, unit_dual
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
        tilt_error(E[j], error, first_row[j])
        height_error(E[j], r[j], error, first_row[j] + 2)


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
        axis = index[item]
        if axis == 2:
            q[item] = turn_angle(E[j])
            unit_dual(W, item, 2)
            drift[item] = 0.0
        else:  # W = [0; e], e the axis of P in S coordinates; de/dt = -w x e
            q[item] = r[j, axis]
            w = velocity[j]
            e = E[j, :, axis]
            drift[item] = 0.0
            for a in range(3):
                b, c = (a + 1) % 3, (a + 2) % 3
                W[item, a] = 0.0
                W[item, a + 3] = e[a]
                drift[item] -= (w[b] * e[c] - w[c] * e[b]) * w[a + 3]


@dataclass(frozen=True)
class Planar(JointType):
    """S slides in the xy plane of P and turns about z; q = (x [m], y [m], angle [rad]).

    The velocities are the rates of q. RBDA table 4.1.
    """

    name: ClassVar[str] = "planar"
    n_velocities: ClassVar[int] = 3
    n_positions: ClassVar[int] = 3
    coordinate_units: ClassVar[tuple[str, ...]] = ("m", "m", "rad")
    kernels: ClassVar[JointKernels] = JointKernels(_error, _coordinate)

    def transform(self, q: FloatArray) -> FloatArray:
        """X_SP (6, 6): a translation by (q[0], q[1]) and a rotation by q[2] about z."""
        turn = rotation_about([0, 0, 1], q[2]).T
        return plucker_transform(turn, np.array([q[0], q[1], 0.0]))

    def coordinates(self, E: FloatArray, r: FloatArray) -> FloatArray:
        """Place in the plane and angle about its normal."""
        return np.array([r[0], r[1], turn_angle(E)])

    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, 3): the x and y axes of P in S coordinates, and the angular z axis."""
        S = np.zeros((6, 3))
        S[3:, :2] = rotation_about([0, 0, 1], q[2]).T[:, :2]
        S[2, 2] = 1.0
        return S

    def constraint_force_subspace(self, q: FloatArray) -> FloatArray:
        """T (6, 3): d1, d2 and d6."""
        return unit_columns(0, 1, 5)
