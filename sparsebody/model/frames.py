"""A frame fixed in a body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.model.checks import direction, vector
from sparsebody.spatial import (
    check_unit_quaternion,
    quaternion_from_rotation,
    rotation_from_quaternion,
)


@dataclass(frozen=True, eq=False)
class Frame:
    """Origin [m] and unit quaternion (w, x, y, z) of a frame, both in the frame of its body."""

    position: ArrayLike = (0.0, 0.0, 0.0)
    orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        quaternion = vector(self.orientation, "frame", "orientation", 4)
        check_unit_quaternion(quaternion, "frame")
        object.__setattr__(self, "position", vector(self.position, "frame", "position"))
        object.__setattr__(self, "orientation", quaternion)

    @property
    def origin(self) -> FloatArray:
        """(3,) the origin in body coordinates [m]."""
        return np.asarray(self.position)

    @property
    def rotation(self) -> FloatArray:
        """(3, 3) from frame to body coordinates."""
        quaternion = np.asarray(self.orientation, dtype=float)
        return rotation_from_quaternion(quaternion / np.linalg.norm(quaternion))

    @classmethod
    def from_axes(
        cls, origin: ArrayLike, z: ArrayLike = (0, 0, 1), x: ArrayLike | None = None
    ) -> Frame:
        """Frame with the given z axis; x is made perpendicular to it, or chosen where not given."""
        rotation = axes(z, x, "frame")
        return cls(origin, quaternion_from_rotation(rotation))


def axes(z: ArrayLike, x: ArrayLike | None, who: str) -> FloatArray:
    """(3, 3) right-handed unit axes as columns, the third along z, the first as near x as can be.

    Without x the choice is a smooth function of z, except at -z: the least rotation of the world
    axes that brings z where it is asked for.
    """
    e_z = direction(z, who, "axis")
    if x is None:
        h = np.array([e_z[0], e_z[1], e_z[2] + 1.0])
        if h[2] < 1e-12:
            return np.diag([1.0, -1.0, -1.0])
        mirror = 2.0 * np.outer(h, h) / (h @ h) - np.eye(3)  # half turn about the bisector
        return np.asarray(mirror @ np.diag([-1.0, -1.0, 1.0]))
    e_x = direction(x, who, "x axis")
    e_x = e_x - e_z * (e_z @ e_x)
    e_x = direction(e_x, who, "part of the x axis across the axis")
    return np.column_stack([e_x, np.cross(e_z, e_x), e_z])
