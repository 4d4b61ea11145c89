"""Forces that act besides gravity and the constraints."""

from __future__ import annotations

from dataclasses import dataclass

from sparsebody.arrays import ArrayLike
from sparsebody.errors import ModelError
from sparsebody.model.checks import scalar, vector
from sparsebody.model.time_functions import TimeFunction, time_function


@dataclass(frozen=True, eq=False)
class JointForce:
    """Spring, damper and actuator on one coordinate of a joint.

    tau = -stiffness (q - rest) - damping qd + effort(t), a force [N] or torque [N m] on the
    successor along the coordinate, its opposite on the predecessor.
    """

    name: str
    joint: str
    coordinate: int = 0
    stiffness: float = 0.0  # [N/m] or [N m/rad]
    rest: float = 0.0  # [m] or [rad]
    damping: float = 0.0  # [N s/m] or [N m s/rad]
    effort: float | TimeFunction = 0.0  # [N] or [N m]

    def __post_init__(self) -> None:
        who = f"joint force {self.name!r}"
        for field in ("stiffness", "rest", "damping"):
            object.__setattr__(self, field, scalar(getattr(self, field), who, field))
        object.__setattr__(self, "effort", time_function(self.effort, who))


@dataclass(frozen=True, eq=False)
class PointForce:
    """Spring, damper and actuator along the line between points of two bodies.

    The points attract each other with stiffness (l - rest_length) + damping dl/dt - effort(t):
    an effort pushes them apart.
    """

    name: str
    first: str
    second: str
    first_point: ArrayLike  # in the body frame [m]
    second_point: ArrayLike
    stiffness: float = 0.0  # [N/m]
    rest_length: float = 0.0  # [m]
    damping: float = 0.0  # [N s/m]
    effort: float | TimeFunction = 0.0  # [N]

    def __post_init__(self) -> None:
        who = f"point force {self.name!r}"
        for field in ("first_point", "second_point"):
            put = vector(getattr(self, field), who, field.replace("_", " "))
            object.__setattr__(self, field, put)
        for field in ("stiffness", "rest_length", "damping"):
            object.__setattr__(self, field, scalar(getattr(self, field), who, field))
        object.__setattr__(self, "effort", time_function(self.effort, who))


@dataclass(frozen=True, eq=False)
class ExternalForce:
    """A constant force and moment on a body, in world axes or turning with the body."""

    name: str
    body: str
    force: ArrayLike = (0.0, 0.0, 0.0)  # [N]
    moment: ArrayLike = (0.0, 0.0, 0.0)  # [N m]
    point: ArrayLike | None = None  # where the force acts, in the body frame; default: the com
    axes: str = "world"  # or "body"

    def __post_init__(self) -> None:
        who = f"external force {self.name!r}"
        for field in ("force", "moment") + (() if self.point is None else ("point",)):
            object.__setattr__(self, field, vector(getattr(self, field), who, field))
        if self.axes not in ("world", "body"):
            raise ModelError(f"{who}: axes is {self.axes!r}; give 'world' or 'body'")


Force = JointForce | PointForce | ExternalForce
