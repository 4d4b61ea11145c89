"""Rotation about a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.joints.base import (
    JointKernels,
    JointType,
    pose_coordinates,
    pose_transform,
    unit_columns,
)
from sparsebody.model.joints.kernels import point_error, unit_dual


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
        point_error(E[j], r[j], error, first_row[j])


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
        unit_dual(W, item, index[item])
        q[item] = 0.0  # three angular velocities have no scalar positions
        drift[item] = 0.0


@dataclass(frozen=True)
class Spherical(JointType):
    """A ball: q is the unit quaternion of S in P, the velocity is angular, in S. RBDA sec. 4.4."""

    name: ClassVar[str] = "spherical"
    n_velocities: ClassVar[int] = 3
    n_positions: ClassVar[int] = 4
    coordinate_units: ClassVar[tuple[str, ...]] = ("", "", "", "")
    kernels: ClassVar[JointKernels] = JointKernels(_error, _coordinate)

    def transform(self, q: FloatArray) -> FloatArray:
        """X_SP (6, 6): the rotation of the quaternion q."""
        return pose_transform(np.concatenate([q, np.zeros(3)]))

    def coordinates(self, E: FloatArray, r: FloatArray) -> FloatArray:
        """The unit quaternion of S in P."""
        return pose_coordinates(E, r)[:4]

    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, 3): the three angular axes."""
        return unit_columns(0, 1, 2)
