"""The joint types: their coordinates in words, and checks of their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sparsebody.errors import ModelError
from sparsebody.model.checks import scalar
from sparsebody.model.joints.base import JointType


@dataclass(frozen=True)
class Revolute(JointType):
    """A hinge: rotation about the common z axis; q is the angle [rad]. RBDA sec. 4.4."""

    name: ClassVar[str] = "revolute"


@dataclass(frozen=True)
class Prismatic(JointType):
    """A slide: translation along the common z axis; q is the distance [m]. RBDA sec. 4.4."""

    name: ClassVar[str] = "prismatic"


@dataclass(frozen=True)
class Helical(JointType):
    """A screw on the common z axis; q is the angle [rad], pitch q the travel. RBDA table 4.1.

    The angle of a pose includes whole turns, which show in the travel.
    """

    pitch: float  # [m/rad]

    name: ClassVar[str] = "helical"

    def __post_init__(self) -> None:
        object.__setattr__(self, "pitch", scalar(self.pitch, "helical joint", "pitch"))
        if self.pitch == 0.0:
            raise ModelError(f"helical pitch is {self.pitch}; a screw without travel is a Revolute")

    @property
    def parameter(self) -> float:
        """The pitch [m/rad]."""
        return self.pitch


@dataclass(frozen=True)
class Cylindrical(JointType):
    """Turn and slide on the common z axis; q = (angle [rad], distance [m]). RBDA example 8.1."""

    name: ClassVar[str] = "cylindrical"


@dataclass(frozen=True)
class Planar(JointType):
    """S slides in the xy plane of P and turns about z; q = (x [m], y [m], angle [rad]).

    The velocities are the rates of q. RBDA table 4.1.
    """

    name: ClassVar[str] = "planar"


@dataclass(frozen=True)
class Spherical(JointType):
    """A ball: q is the unit quaternion of S in P, the velocity is angular, in S. RBDA sec. 4.4."""

    name: ClassVar[str] = "spherical"


@dataclass(frozen=True)
class Universal(JointType):
    """A cross with one arm along x of P, the other along y of S; q = (angle about x_P, about y_S).

    The origins coincide, and at q = 0 so do the axes. The velocities are the rates of q [rad/s].
    """

    name: ClassVar[str] = "universal"


@dataclass(frozen=True)
class Fixed(JointType):
    """A weld: S and P stay together; it has no coordinate. RBDA table 8.1, zero dof."""

    name: ClassVar[str] = "fixed"


@dataclass(frozen=True)
class Free(JointType):
    """No constraint: q is the quaternion of S in P and its place in P; velocity v_J, in S.

    It carries dampers and actuators, and gives a free body joint coordinates. RBDA sec. 4.4.
    """

    name: ClassVar[str] = "free"


@dataclass(frozen=True)
class PointOnLine(JointType):
    """The origin of S stays on the z axis of P; q is (quaternion of S in P, height [m]).

    The velocities are the angular velocity in S and the rate of the height. A sphere in a cylinder.
    """

    name: ClassVar[str] = "point-on-line"


@dataclass(frozen=True)
class PointOnPlane(JointType):
    """The origin of S stays in the xy plane of P; q is (quaternion of S in P, x [m], y [m]).

    The velocities are the angular velocity in S and the rates of x and y. A sphere on a plane.
    """

    name: ClassVar[str] = "point-on-plane"


@dataclass(frozen=True)
class ConstantDistance(JointType):
    """The origins of S and P stay `length` apart, as on a massless rod with ball ends.

    q is the relative pose (quaternion of S in P, origin of S in P [m], scaled to the length); S is
    any basis of the motions that keep the distance.
    """

    length: float  # [m]

    name: ClassVar[str] = "constant-distance"

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


# By kind, the index in the native list.
JOINT_TYPES: dict[str, type[JointType]] = {
    kind.name: kind for kind in sorted(JointType.__subclasses__(), key=lambda kind: kind.kind)
}
