"""A massless rod between two points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.model.checks import scalar
from sparsebody.model.joints.base import (
    JointKernels,
    JointType,
    pose_coordinates,
    pose_parts,
    pose_transform,
)
from sparsebody.spatial import orthogonal_complement


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
        distance = math.sqrt(r[j, 0] ** 2 + r[j, 1] ** 2 + r[j, 2] ** 2)
        error[first_row[j]] = distance - parameter[j]


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


@dataclass(frozen=True)
class ConstantDistance(JointType):
    """The origins of S and P stay `length` apart, as on a massless rod with ball ends.

    q is the whole relative pose (quaternion of S in P, place of S in P [m]); S is any basis of
    the motions that keep the distance.
    """

    length: float  # [m]

    name: ClassVar[str] = "constant-distance"
    n_velocities: ClassVar[int] = 5
    n_positions: ClassVar[int] = 7
    coordinate_units: ClassVar[tuple[str, ...]] = ("", "", "", "", "m", "m", "m")
    kernels: ClassVar[JointKernels] = JointKernels(_error, None, _subspace)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", scalar(self.length, "constant distance", "length"))
        if not self.length > 0.0:
            raise ModelError(
                f"length of a constant distance is {self.length}; it must be positive "
                "(for two points that coincide use Spherical)"
            )

    @property
    def parameter(self) -> float:
        """The length [m]."""
        return self.length

    def transform(self, q: FloatArray) -> FloatArray:
        """X_SP (6, 6) of the pose q, its place scaled to the length."""
        place = q[4:] * (self.length / np.linalg.norm(q[4:]))
        return pose_transform(np.concatenate([q[:4], place]))

    def coordinates(self, E: FloatArray, r: FloatArray) -> FloatArray:
        """Quaternion and place of S in P."""
        return pose_coordinates(E, r)

    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, 5): an orthonormal basis of the motions across the rod."""
        return orthogonal_complement(self.constraint_force_subspace(q))

    def constraint_force_subspace(self, q: FloatArray) -> FloatArray:
        """T (6, 1): a force along the rod."""
        E, r = pose_parts(self, q)
        T = np.zeros((6, 1))
        T[3:, 0] = E @ r / np.linalg.norm(r)
        return T
