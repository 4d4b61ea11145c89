"""The base of the joint types: the motion that core/joints states, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparsebody._core import joints
from sparsebody.arrays import FloatArray
from sparsebody.errors import ShapeError
from sparsebody.spatial import plucker_transform

INFO = joints.types()  # by kind, the index of a type in the native list
KINDS = {info.name: kind for kind, info in enumerate(INFO)}


@dataclass(frozen=True)
class JointType:
    """Relative motion of a successor frame S and a predecessor frame P.

    The pose of S seen from P is (E, r): E rotates P to S coordinates, r is the origin of S in P
    coordinates. Joint velocities, S and T are in S coordinates at the origin of S.

    A type derived from this class names its header in core/joints, which states the motion, and
    holds the one number that a type may have.
    """

    name: ClassVar[str]
    kind: ClassVar[int]  # index in the native list of types
    n_velocities: ClassVar[int]
    n_positions: ClassVar[int]
    coordinate_units: ClassVar[tuple[str, ...]]  # of the position coordinates, for people
    subgroup: ClassVar[str]  # the smallest displacement subgroup of the motion; empty for none
    has_varying_T: ClassVar[bool]  # T varies with the pose, in S coordinates
    has_named_coordinates: ClassVar[bool]  # velocities as documented, not of an arbitrary basis

    def __init_subclass__(cls) -> None:
        """Take the sizes from the native type."""
        cls.kind = KINDS[cls.name]
        info = INFO[cls.kind]
        cls.n_velocities, cls.n_positions = info.n_velocities, info.n_positions
        cls.coordinate_units = tuple(info.units)
        cls.subgroup, cls.has_varying_T = info.subgroup, info.has_varying_T
        cls.has_named_coordinates = info.has_named_coordinates

    @property
    def n_constraints(self) -> int:
        """Rows that the joint adds: the columns of T."""
        return 6 - self.n_velocities

    @property
    def parameter(self) -> float:
        """The one number that the motion of the type depends on (a pitch, a length)."""
        return 0.0

    @property
    def scalar_positions(self) -> tuple[int, ...]:
        """The velocity coordinates that are rates of scalar positions: what springs can act on."""
        n = self.n_velocities
        return tuple(range(n - INFO[self.kind].n_scalars, n))

    @property
    def angles(self) -> tuple[int, ...]:
        """The scalar positions that a pose gives only up to whole turns."""
        if INFO[self.kind].counts_turns:
            return ()
        units = self.coordinate_units[self.n_positions - self.n_velocities :]
        return tuple(i for i in self.scalar_positions if units[i] == "rad")

    def transform(self, q: FloatArray) -> FloatArray:
        """X_SP (6, 6): from predecessor to successor coordinates at joint position q."""
        return plucker_transform(*self.pose(q))

    def pose(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(E, r) at joint position q."""
        q = np.asarray(q)
        if q.shape != (self.n_positions,):
            raise ShapeError(
                f"q of a {self.name} joint has shape {q.shape}; give {self.n_positions} numbers"
            )
        return joints.pose(self.kind, self.parameter, q)

    def coordinates(self, E: FloatArray, r: FloatArray) -> FloatArray:
        """Joint position q (n_positions,) of the pose (E, r), angles in (-pi, pi]."""
        if np.shape(E) != (3, 3) or np.shape(r) != (3,):
            raise ShapeError(f"the pose has shapes {np.shape(E)}, {np.shape(r)}; give (3, 3), (3,)")
        return joints.coordinates(self.kind, self.parameter, E, r)

    def motion_subspace(self, q: FloatArray) -> FloatArray:
        """S (6, n_velocities) in successor coordinates at joint position q."""
        return joints.motion_subspace(self.kind, self.parameter, *self.pose(q))

    def constraint_force_subspace(self, q: FloatArray) -> FloatArray:
        """T (6, n_constraints) in successor coordinates; T' S = 0. Featherstone (2008), 3.33."""
        return joints.constraint_force_subspace(self.kind, self.parameter, *self.pose(q))

    def active_force_subspace(self, q: FloatArray) -> FloatArray:
        """T_a (6, n_velocities) with T_a' S = 1: the active joint force is T_a tau."""
        return joints.active_force_subspace(self.kind, self.parameter, *self.pose(q))
