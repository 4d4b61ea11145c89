"""Frames fixed in bodies, one or many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.errors import ModelError
from sparsebody.model.columns import (
    column,
    direction,
    distinct,
    first_wrong,
    joined,
    repeated,
    vector,
)
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


@dataclass(frozen=True, eq=False)
class Frames:
    """Frame with a leading axis: origins (n, 3) [m] and unit quaternions (n, 4).

    One of the two may lack the leading axis, and then holds for all n frames.
    """

    position: ArrayLike = (0.0, 0.0, 0.0)
    orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        n = next((len(a) for a in (self.position, self.orientation) if np.ndim(a) == 2), 1)  # type: ignore[arg-type]
        position = column(self.position, (3,), n, "frames", "position")
        orientation = column(self.orientation, (4,), n, "frames", "orientation")
        if not _are_right(position, orientation):
            i = first_wrong(n, lambda some: _are_right(position[some], orientation[some]))
            try:
                Frame(position[i], orientation[i])
            except ModelError as error:
                raise ModelError(f"frames[{i}]: {error}") from error
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "orientation", orientation)

    @classmethod
    def trusted(cls, position: FloatArray, orientation: FloatArray) -> Frames:
        """Frames of read-only arrays (n, 3) and (n, 4) that need no check."""
        return _trusted(cls, position, orientation)

    @classmethod
    def of(cls, frames: Sequence[Frame]) -> Frames:
        """Frames from one object each."""
        origins = np.array([frame.origin for frame in frames]).reshape(-1, 3)
        return _trusted(cls, origins, np.reshape([f.orientation for f in frames], (-1, 4)))

    @classmethod
    def repeated(cls, frame: Frame, n: int) -> Frames:
        """The same frame n times."""
        return _trusted(cls, repeated(frame.origin, n), repeated(np.asarray(frame.orientation), n))

    @classmethod
    def joined(cls, parts: Sequence[Frames]) -> Frames:
        """The frames of all parts in turn."""
        origins, quaternions = ([getattr(p, f) for p in parts] for f in ("origins", "quaternions"))
        return _trusted(cls, joined(origins), joined(quaternions))

    def __len__(self) -> int:
        return len(self.origins)

    def __getitem__(self, index: Any) -> Any:
        position, orientation = self.origins[index], self.quaternions[index]
        return _trusted(Frame if position.ndim == 1 else Frames, position, orientation)

    @property
    def origins(self) -> FloatArray:
        """(n, 3) the origins in body coordinates [m]."""
        return np.asarray(self.position)

    @property
    def quaternions(self) -> FloatArray:
        """(n, 4) the orientations as given."""
        return np.asarray(self.orientation)

    @property
    def rotations(self) -> FloatArray:
        """(n, 3, 3) from frame to body coordinates."""
        return rotations(self.quaternions)


def _trusted(kind: type[Any], position: FloatArray, orientation: FloatArray) -> Any:
    """Return what needs no check, because it comes from what was checked."""
    frame = object.__new__(kind)
    position.flags.writeable = orientation.flags.writeable = False
    object.__setattr__(frame, "position", position)
    object.__setattr__(frame, "orientation", orientation)
    return frame


def _are_right(position: FloatArray, orientation: FloatArray) -> bool:
    return model.is_regular(position, orientation, position, position[:, 0])


def unit_quaternions(orientation: FloatArray) -> FloatArray:
    """(n, 4) the quaternions, unit to rounding."""
    rows = distinct(orientation)
    return _as_many(rows / np.linalg.norm(rows, axis=1, keepdims=True), len(orientation))


def rotations(orientation: FloatArray) -> FloatArray:
    """(n, 3, 3) rotations of nearly unit quaternions (n, 4)."""
    rows = distinct(unit_quaternions(orientation))
    return _as_many(rotation_from_quaternion(rows), len(orientation))


def _as_many(rows: FloatArray, n: int) -> FloatArray:
    """Return n rows, the only one repeated without storing it again."""
    return rows if len(rows) == n else repeated(rows[0], n)


def axes(z: ArrayLike, x: ArrayLike | None, who: str) -> FloatArray:
    """(3, 3) right-handed unit axes as columns, the third along z, the first as near x as can be.

    Without x the choice is a smooth function of z, except at -z: the least rotation of the world
    axes that brings z where it is asked for.
    """
    e_z = direction(z, who, "axis")
    given = tuple(np.array(z, dtype=float).tolist())
    if x is None:
        return _axes_of(given)
    e_x = direction(x, who, "x axis")
    direction(e_x - e_z * (e_z @ e_x), who, "part of the x axis across the axis")
    return _axes_of(given, tuple(np.array(x, dtype=float).tolist()))


@lru_cache(maxsize=64)
def _axes_of(z: tuple[float, ...], x: tuple[float, ...] | None = None) -> FloatArray:
    """Return `all_axes` of one direction: few axes serve the joints of most mechanisms."""
    turned = all_axes(np.array([z]), None if x is None else np.array([x]))[0]
    turned.flags.writeable = False
    return turned


def all_axes(z: FloatArray, x: FloatArray | None = None) -> FloatArray:
    """(n, 3, 3) as `axes` of directions z and x (n, 3), of any length but zero."""
    e_z = z / np.linalg.norm(z, axis=1, keepdims=True)
    if x is None:
        h = e_z + np.array([0.0, 0.0, 1.0])
        square = np.sum(h * h, axis=1)
        against = h[:, 2] < 1e-12
        square[against] = 1.0
        half_turn = 2.0 * h[:, :, None] * h[:, None, :] / square[:, None, None] - np.eye(3)
        half_turn *= np.array([-1.0, -1.0, 1.0])  # half a turn about the bisector, and about z
        half_turn[against] = np.diag([1.0, -1.0, -1.0])
        return np.asarray(half_turn)
    across = x - e_z * np.sum(e_z * x, axis=1, keepdims=True)
    e_x = across / np.linalg.norm(across, axis=1, keepdims=True)
    return np.stack([e_x, np.cross(e_z, e_x), e_z], axis=2)
