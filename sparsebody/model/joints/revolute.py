"""Rotation about one axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.joints.base import JointKernels, JointType, unit_columns
from sparsebody.model.joints.kernels import point_error, tilt_error, turn_angle, unit_dual
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
        point_error(E[j], r[j], error, first_row[j] + 2)


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
        q[item] = turn_angle(E[joint[item]])
        unit_dual(W, item, 2)
        drift[item] = 0.0


@dataclass(frozen=True)
class Revolute(JointType):
    """A hinge: rotation about the common z axis; q is the angle [rad]. RBDA sec. 4.4."""

    name: ClassVar[str] = "revolute"
    n_velocities: ClassVar[int] = 1
    n_positions: ClassVar[int] = 1
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad",)
    kernels: ClassVar[JointKernels] = JointKernels(_error, _coordinate)

    def transform(self, q: FloatArray) -> FloatArray:
        """X_SP (6, 6): a rotation by q about z."""
        return plucker_transform(rotation_about([0, 0, 1], q[0]).T, np.zeros(3))

    def coordinates(self, E: FloatArray, r: FloatArray) -> FloatArray:
        """The angle about z."""
        return np.array([turn_angle(E)])

    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, 1): the angular z axis."""
        return unit_columns(2)
