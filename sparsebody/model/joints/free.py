"""No constraint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.joints.base import JointKernels, JointType, pose_coordinates, pose_transform
from sparsebody.model.joints.kernels import unit_dual


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
        error[first_row[j] : first_row[j]] = 0.0  # it has no rows


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
        q[item] = 0.0  # a whole pose has no scalar positions
        drift[item] = 0.0


@dataclass(frozen=True)
class Free(JointType):
    """No constraint: q is the quaternion of S in P and its place in P; velocity v_J, in S.

    It carries dampers and actuators, and gives a free body joint coordinates. RBDA sec. 4.4.
    """

    name: ClassVar[str] = "free"
    n_velocities: ClassVar[int] = 6
    n_positions: ClassVar[int] = 7
    coordinate_units: ClassVar[tuple[str, ...]] = ("", "", "", "", "m", "m", "m")
    kernels: ClassVar[JointKernels] = JointKernels(_error, _coordinate)

    def transform(self, q: FloatArray) -> FloatArray:
        """X_SP (6, 6) of the pose q."""
        return pose_transform(q)

    def coordinates(self, E: FloatArray, r: FloatArray) -> FloatArray:
        """Quaternion and place of S in P."""
        return pose_coordinates(E, r)

    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, 6): the identity."""
        return np.eye(6)
