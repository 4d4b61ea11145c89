"""Rotation about an axis and translation along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.joints.base import JointKernels, JointType, unit_columns
from sparsebody.model.joints.kernels import (
    offset_error,
    tilt_error,
    turn_angle,
    unit_dual,
)
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
        offset_error(E[j], r[j], error, first_row[j] + 2)


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
        if index[item] == 0:
            q[item] = turn_angle(E[j])
            unit_dual(W, item, 2)
        else:
            q[item] = r[j, 2]
            unit_dual(W, item, 5)
        drift[item] = 0.0


@dataclass(frozen=True)
class Cylindrical(JointType):
    """Turn and slide on the common z axis; q = (angle [rad], distance [m]). RBDA example 8.1."""

    name: ClassVar[str] = "cylindrical"
    n_velocities: ClassVar[int] = 2
    n_positions: ClassVar[int] = 2
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad", "m")
    kernels: ClassVar[JointKernels] = JointKernels(_error, _coordinate)

    def transform(self, q: FloatArray) -> FloatArray:
        """X_SP (6, 6): a rotation by q[0] about z and a translation by q[1] along it."""
        return plucker_transform(rotation_about([0, 0, 1], q[0]).T, np.array([0.0, 0.0, q[1]]))

    def coordinates(self, E: FloatArray, r: FloatArray) -> FloatArray:
        """Angle about z and distance along it."""
        return np.array([turn_angle(E), r[2]])

    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, 2): the angular and the linear z axis."""
        return unit_columns(2, 5)
