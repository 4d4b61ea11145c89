"""Joint types: the motion of each is a header in core/joints, its parameters a class here.

RBDA is Featherstone (2008).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparsebody._core import joints
from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError, ShapeError
from sparsebody.model.columns import put_checked, scalar
from sparsebody.spatial import plucker_transform

INFO = joints.types()  # by kind, the index of a type in the native list
KINDS = {info.name: kind for kind, info in enumerate(INFO)}


@dataclass(frozen=True)
class JointType:
    """Relative motion of a successor frame S and a predecessor frame P.

    The pose of S seen from P is (E, r): E rotates P to S coordinates, r is the origin of S in P
    coordinates. Joint velocities, S and T are in S coordinates at the origin of S.

    A type derived from this class gives the name of its header in core/joints, which states the
    motion, and holds the one number that a type may have.
    """

    name: ClassVar[str]
    kind: ClassVar[int]  # index in the native list of types
    n_velocities: ClassVar[int]
    n_positions: ClassVar[int]
    coordinate_units: ClassVar[tuple[str, ...]]  # of the position coordinates, for people
    subgroup: ClassVar[str]  # the smallest displacement subgroup of the motion; empty for none
    has_varying_T: ClassVar[bool]  # T varies with the pose, in S coordinates
    has_named_coordinates: ClassVar[bool]  # velocities as documented, not of an arbitrary basis

    def __init_subclass__(cls, name: str) -> None:
        """Take the sizes from the native type of this name."""
        cls.name, cls.kind = name, KINDS[name]
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
        """The one number that the motion of the type depends on (a pitch, a length), or zero."""
        return float(next(iter(vars(self).values()), 0.0))

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

    @property
    def neutral_rows(self) -> FloatArray:
        """T' (n_constraints, 6) where the joint frames coincide."""
        zero = self.coordinates(np.eye(3), np.zeros(3))
        return self.constraint_force_subspace(zero).T

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


@dataclass(frozen=True)
class Revolute(JointType, name="revolute"):
    """Revolute: rotation about the common z axis; q is the angle [rad]. RBDA sec. 4.4."""


@dataclass(frozen=True)
class Prismatic(JointType, name="prismatic"):
    """Prismatic: translation along the common z axis; q is the distance [m]. RBDA sec. 4.4."""


@dataclass(frozen=True)
class Helical(JointType, name="helical"):
    """A screw on the common z axis; q is the angle [rad], pitch q the travel. RBDA table 4.1.

    The angle of a pose includes whole turns, which show in the travel.
    """

    pitch: float  # [m/rad]

    def __post_init__(self) -> None:
        put_checked(self, "helical joint", pitch=scalar)
        if self.pitch == 0.0:
            raise ModelError(f"helical pitch is {self.pitch}; a screw without travel is a Revolute")


@dataclass(frozen=True)
class Cylindrical(JointType, name="cylindrical"):
    """Rotation about the common z axis and translation along it; q = (angle [rad], distance [m]).

    RBDA example 8.1.
    """


@dataclass(frozen=True)
class Planar(JointType, name="planar"):
    """S slides in the xy plane of P and turns about z; q = (x [m], y [m], angle [rad]).

    The velocities are the rates of q. RBDA table 4.1.
    """


@dataclass(frozen=True)
class Spherical(JointType, name="spherical"):
    """Spherical: q is the unit quaternion of S in P, velocity angular, in S. RBDA sec. 4.4."""


@dataclass(frozen=True)
class Universal(JointType, name="universal"):
    """A cross with one arm along x of P, the other along y of S; q = (angle about x_P, about y_S).

    The origins coincide, and at q = 0 so do the axes. The velocities are the rates of q [rad/s].
    """


@dataclass(frozen=True)
class Fixed(JointType, name="fixed"):
    """A weld: S and P stay together; it has no coordinate. RBDA table 8.1, zero dof."""


@dataclass(frozen=True)
class Free(JointType, name="free"):
    """No constraint: q is the quaternion of S in P and the origin of S in P [m].

    The velocity is v_J, in S. It carries dampers and actuators, and gives a free body joint
    coordinates. RBDA sec. 4.4.
    """


@dataclass(frozen=True)
class PointOnLine(JointType, name="point-on-line"):
    """The origin of S stays on the z axis of P; q is (quaternion of S in P, height [m]).

    The velocities are the angular velocity in S and the rate of the height. A sphere in a cylinder.
    """


@dataclass(frozen=True)
class PointOnPlane(JointType, name="point-on-plane"):
    """The origin of S stays in the xy plane of P; q is (quaternion of S in P, x [m], y [m]).

    The velocities are the angular velocity in S and the rates of x and y. A sphere on a plane.
    """


@dataclass(frozen=True)
class ConstantDistance(JointType, name="constant-distance"):
    """The origins of S and P stay `length` apart, as on a massless rod with spherical ends.

    q is the relative pose (quaternion of S in P, origin of S in P [m], scaled to the length); S is
    any basis of the motions that keep the distance.
    """

    length: float  # [m]

    def __post_init__(self) -> None:
        put_checked(self, "constant distance", length=scalar)
        if not self.length > 0.0:
            raise ModelError(
                f"length of a constant distance is {self.length}; it must be positive "
                "(for two points that coincide use Spherical)"
            )


# By kind, the index in the native list.
JOINT_TYPES: dict[str, type[JointType]] = {
    kind.name: kind for kind in sorted(JointType.__subclasses__(), key=lambda kind: kind.kind)
}
