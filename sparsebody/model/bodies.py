"""Rigid bodies, as the user gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.errors import ModelError
from sparsebody.model.checks import numbers, scalar, vector
from sparsebody.model.shapes import Shape
from sparsebody.spatial import check_inertia, check_unit_quaternion, rotation_from_quaternion


@dataclass(frozen=True, eq=False)
class RigidBody:
    """Inertia and approximate initial motion of one body.

    Parameters
    ----------
    name : str
        Its name in the mechanism.
    mass : float
        Mass [kg], positive.
    inertia : (3, 3) or (3,) array_like
        Rotational inertia about the center of mass in body axes [kg m^2]; (3,) for a diagonal.
    center_of_mass : (3,) array_like
        In the body frame [m].
    position, orientation : (3,) and (4,) array_like
        Pose of the body frame in the world: origin [m] and unit quaternion (w, x, y, z).
    linear_velocity, angular_velocity : (3,) array_like
        Of the body frame's origin, in world axes [m/s, rad/s].
    shape : Shape, optional
        For pictures only.

    Raises
    ------
    ModelError
        If a number is not finite, the mass is not positive, the inertia is not that of a solid,
        the quaternion is not unit or the shape is none.
    """

    name: str
    mass: float
    inertia: ArrayLike
    center_of_mass: ArrayLike = (0.0, 0.0, 0.0)
    position: ArrayLike = (0.0, 0.0, 0.0)
    orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    linear_velocity: ArrayLike = (0.0, 0.0, 0.0)
    angular_velocity: ArrayLike = (0.0, 0.0, 0.0)
    shape: Shape | None = None

    def __post_init__(self) -> None:
        who = f"body {self.name!r}"
        put = object.__setattr__
        put(self, "mass", scalar(self.mass, who, "mass"))
        inertia = numbers(self.inertia, who, "rotational inertia")
        if inertia.shape == (3,):
            inertia = np.diag(inertia)
        check_inertia(self.mass, inertia, who)
        inertia.flags.writeable = False
        put(self, "inertia", inertia)
        for field in ("center_of_mass", "position", "linear_velocity", "angular_velocity"):
            put(self, field, vector(getattr(self, field), who, field.replace("_", " ")))
        put(self, "orientation", vector(self.orientation, who, "orientation", 4))
        check_unit_quaternion(np.asarray(self.orientation), who)
        if self.shape is not None and not isinstance(self.shape, Shape):
            raise ModelError(f"{who}: shape is {self.shape!r}; give one such as Box((1, 1, 1))")

    @property
    def rotation(self) -> FloatArray:
        """(3, 3) from body to world coordinates at the initial pose."""
        return rotation_from_quaternion(self.unit_quaternion)

    @property
    def unit_quaternion(self) -> FloatArray:
        """(4,) the orientation, unit to rounding; what was given is kept for files."""
        quaternion = np.asarray(self.orientation, dtype=float)
        return np.asarray(quaternion / np.linalg.norm(quaternion))

    def to_world(self, point: ArrayLike) -> FloatArray:
        """World position [m] of a point given in the body frame, at the initial pose."""
        return np.asarray(self.position) + self.rotation @ np.asarray(point, dtype=float)

    def to_body(self, point: ArrayLike) -> FloatArray:
        """Body-frame position [m] of a point given in the world, at the initial pose."""
        return np.asarray(
            self.rotation.T @ (np.asarray(point, dtype=float) - np.asarray(self.position))
        )
