"""No motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.joints.base import JointKernels, JointType, unit_columns
from sparsebody.model.joints.kernels import point_error, turn_error


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
        point_error(E[j], r[j], error, first_row[j] + 3)


@dataclass(frozen=True)
class Fixed(JointType):
    """A weld: S and P stay together; it has no coordinate. RBDA table 8.1, zero dof."""

    name: ClassVar[str] = "fixed"
    n_velocities: ClassVar[int] = 0
    n_positions: ClassVar[int] = 0
    coordinate_units: ClassVar[tuple[str, ...]] = ()
    kernels: ClassVar[JointKernels] = JointKernels(_error)

    def transform(self, q: FloatArray) -> FloatArray:
        """X_SP (6, 6): the identity."""
        return np.eye(6)

    def coordinates(self, E: FloatArray, r: FloatArray) -> FloatArray:
        """Nothing."""
        return np.zeros(0)

    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, 0)."""
        return unit_columns()

    def constraint_force_subspace(self, q: FloatArray) -> FloatArray:
        """T (6, 6): the identity."""
        return np.eye(6)
