"""Translation along one axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.joints.base import JointKernels, JointType, unit_columns
from sparsebody.model.joints.kernels import offset_error, turn_error, unit_dual
from sparsebody.spatial import plucker_transform


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
        turn_error(E[j], error, first_row[j])
        offset_error(E[j], r[j], error, first_row[j] + 3)


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
        q[item] = r[joint[item], 2]
        unit_dual(W, item, 5)
        drift[item] = 0.0


@dataclass(frozen=True)
class Prismatic(JointType):
    """A slide: translation along the common z axis; q is the distance [m]. RBDA sec. 4.4."""

    name: ClassVar[str] = "prismatic"
    n_velocities: ClassVar[int] = 1
    n_positions: ClassVar[int] = 1
    coordinate_units: ClassVar[tuple[str, ...]] = ("m",)
    kernels: ClassVar[JointKernels] = JointKernels(_error, _coordinate)

    def transform(self, q: FloatArray) -> FloatArray:
        """X_SP (6, 6): a translation by q along z."""
        return plucker_transform(np.eye(3), np.array([0.0, 0.0, q[0]]))

    def coordinates(self, E: FloatArray, r: FloatArray) -> FloatArray:
        """The distance along z."""
        return np.array([r[2]])

    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, 1): the linear z axis."""
        return unit_columns(5)
