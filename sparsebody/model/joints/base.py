"""What a joint type states: its motion, its constraint, and the compiled form of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.spatial import (
    orthogonal_complement,
    plucker_parts,
    plucker_transform,
    quaternion_from_rotation,
    rotation_from_quaternion,
)

Kernel = Callable[..., None]


@dataclass(frozen=True)
class JointKernels:
    """Compiled loops over the joints of one type; E, r is the pose of S seen from P.

    error(joints, first_row, E, r, parameter, error)
        Fill the rows of the position error delta, one per column of T.
    coordinate(items, joint, index, E, r, parameter, velocity, q, W, drift)
        For each tracked coordinate fill its value q, the dual vector W with W' S = 1 on it (so
        that qd = W' v_J and the active force is W tau), and drift = (dW/dt)' v_J.
    subspace(joints, first_row, E, r, velocity, T, drift)
        Fill the rows of T and drift = (dT/dt)' v_J; None where T is constant in S.
    """

    error: Kernel
    coordinate: Kernel | None = None
    subspace: Kernel | None = None


@dataclass(frozen=True)
class JointType(ABC):
    """Relative motion of a successor frame S and a predecessor frame P.

    The pose of S seen from P is (E, r): E rotates P to S coordinates, r is the origin of S in P
    coordinates. Joint velocities, S and T are in S coordinates at the origin of S.
    """

    name: ClassVar[str]
    n_velocities: ClassVar[int]
    n_positions: ClassVar[int]
    coordinate_units: ClassVar[tuple[str, ...]]  # of the position coordinates, for people
    kernels: ClassVar[JointKernels]

    @property
    def n_constraints(self) -> int:
        """Rows that the joint adds: the columns of T."""
        return 6 - self.n_velocities

    @property
    def parameter(self) -> float:
        """The one number that the kernels of the type need (a pitch, a length)."""
        return 0.0

    @property
    def scalar_positions(self) -> tuple[int, ...]:
        """The velocity coordinates that are rates of scalar positions: what springs can act on."""
        same = self.n_positions == self.n_velocities
        return tuple(range(self.n_velocities)) if same else ()

    @property
    def angles(self) -> tuple[int, ...]:
        """The scalar positions that a pose gives only up to whole turns."""
        return tuple(i for i in self.scalar_positions if self.coordinate_units[i] == "rad")

    @abstractmethod
    def transform(self, q: FloatArray) -> FloatArray:
        """X_SP (6, 6): from predecessor to successor coordinates at joint position q."""

    @abstractmethod
    def coordinates(self, E: FloatArray, r: FloatArray) -> FloatArray:
        """Joint position q (n_positions,) of the pose (E, r), angles in (-pi, pi]."""

    @abstractmethod
    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, n_velocities) in successor coordinates at joint position q."""

    def constraint_force_subspace(self, q: FloatArray) -> FloatArray:
        """T (6, n_constraints) in successor coordinates; T' S = 0. Featherstone (2008), 3.33."""
        return orthogonal_complement(self.motion_subspace(q))

    def active_force_subspace(self, q: FloatArray) -> FloatArray:
        """T_a (6, n_velocities) with T_a' S = 1: the active joint force is T_a tau."""
        return np.asarray(np.linalg.pinv(self.motion_subspace(q)).T)


def unit_columns(*axes: int) -> FloatArray:
    """Columns of the 6x6 identity: angular axes 0, 1, 2 and linear axes 3, 4, 5."""
    return np.eye(6)[:, list(axes)]


def pose_coordinates(E: FloatArray, r: FloatArray) -> FloatArray:
    """(quaternion of S in P, r): the seven numbers of a whole relative pose."""
    return np.concatenate([quaternion_from_rotation(E.T), r])


def pose_transform(q: FloatArray) -> FloatArray:
    """X_SP of the relative pose with the seven numbers of `pose_coordinates`."""
    return plucker_transform(rotation_from_quaternion(q[:4] / np.linalg.norm(q[:4])).T, q[4:])


def pose_parts(joint_type: JointType, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(E, r) of a joint at position q."""
    E, r = plucker_parts(joint_type.transform(q))
    return E, r
