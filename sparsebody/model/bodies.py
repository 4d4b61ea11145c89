"""Rigid bodies, one or many, as columns with a leading axis; and shapes that pictures show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from sparsebody.arrays import ArrayLike, BoolArray, FloatArray
from sparsebody.errors import ModelError
from sparsebody.model.columns import (
    ObjectArray,
    column,
    distinct,
    finite_rows,
    joined,
    numbers,
    objects,
    positive,
    scalar,
    shown,
    vector,
)
from sparsebody.model.frames import Frame, are_unit_quaternions
from sparsebody.spatial import (
    check_inertia,
    check_unit_quaternion,
    inertia_verdicts,
    rotation_from_quaternion,
)


@dataclass(frozen=True, eq=False)
class Box:
    """A box with the given sides [m], centred on its frame."""

    name: ClassVar[str] = "box"
    sides: tuple[float, float, float]
    frame: Frame = field(default_factory=Frame)

    def __post_init__(self) -> None:
        sides = tuple(
            positive(side, "box", "a side") for side in vector(self.sides, "box", "sides")
        )
        object.__setattr__(self, "sides", sides)
        _check_frame(self.frame, "box")


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A cylinder about the z axis of its frame, centred on it [m]."""

    name: ClassVar[str] = "cylinder"
    radius: float
    length: float
    frame: Frame = field(default_factory=Frame)

    def __post_init__(self) -> None:
        for size in ("radius", "length"):
            object.__setattr__(self, size, positive(getattr(self, size), "cylinder", size))
        _check_frame(self.frame, "cylinder")


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball [m]."""

    name: ClassVar[str] = "sphere"
    radius: float
    frame: Frame = field(default_factory=Frame)

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "sphere", "radius"))
        _check_frame(self.frame, "sphere")


@dataclass(frozen=True, eq=False)
class Polyline:
    """Straight lines between points in the body frame [m]: bars, plates, frames."""

    name: ClassVar[str] = "polyline"
    points: tuple[tuple[float, float, float], ...]

    def __post_init__(self) -> None:
        points = numbers(self.points, "polyline", "points")
        if points.ndim != 2 or len(points) < 2:
            raise ModelError(f"polyline: points is {self.points!r}; give two points or more")
        checked = tuple(tuple(vector(p, "polyline", "a point").tolist()) for p in points)
        object.__setattr__(self, "points", checked)


def _check_frame(frame: object, who: str) -> None:
    if not isinstance(frame, Frame):
        raise ModelError(f"{who}: frame is {frame!r}; give a Frame(position)")


Shape = Box | Cylinder | Sphere | Polyline
SHAPES: dict[str, type[Shape]] = {kind.name: kind for kind in (Box, Cylinder, Sphere, Polyline)}


BODY_NUMBERS: dict[str, tuple[int, ...]] = {
    "mass": (),
    "center_of_mass": (3,),
    "position": (3,),
    "orientation": (4,),
    "linear_velocity": (3,),
    "angular_velocity": (3,),
}


@dataclass(frozen=True, eq=False)
class RigidBody:
    """Inertia and approximate initial motion of one body.

    Parameters
    ----------
    name : str
        Its name in the mechanism.
    mass : float
        Mass [kg]; zero, or an inertia with zero moments, only as `Mechanism.compile` says.
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
        If a number is not finite, the mass is negative, the inertia is not that of a solid, the
        quaternion is not unit or the shape is none.
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
        check_inertia(self.mass, inertia, who, may_be_singular=True)
        inertia.flags.writeable = False
        put(self, "inertia", inertia)
        for name in ("center_of_mass", "position", "linear_velocity", "angular_velocity"):
            put(self, name, vector(getattr(self, name), who, name.replace("_", " ")))
        put(self, "orientation", vector(self.orientation, who, "orientation", 4))
        check_unit_quaternion(np.asarray(self.orientation), who)
        if self.shape is not None and not isinstance(self.shape, Shape):
            raise ModelError(f"{who}: shape is {self.shape!r}; give one such as Box((1, 1, 1))")

    @property
    def rotation(self) -> FloatArray:
        """(3, 3) from body to world coordinates at the initial pose."""
        quaternion = np.asarray(self.orientation, dtype=float)
        return rotation_from_quaternion(quaternion / np.linalg.norm(quaternion))

    def to_world(self, point: ArrayLike) -> FloatArray:
        """World position [m] of a point given in the body frame, at the initial pose."""
        return np.asarray(self.position) + self.rotation @ np.asarray(point, dtype=float)

    def to_body(self, point: ArrayLike) -> FloatArray:
        """Body-frame position [m] of a point given in the world, at the initial pose."""
        arm = np.asarray(point, dtype=float) - np.asarray(self.position)
        return np.asarray(self.rotation.T @ arm)


@dataclass(frozen=True, eq=False)
class BodyColumns:
    """The fields of n rigid bodies; what is the same for all may be stored once (broadcast)."""

    mass: FloatArray  # (n,) [kg]
    inertia: FloatArray  # (n, 3, 3) about the centers of mass [kg m^2]
    center_of_mass: FloatArray  # (n, 3) in the body frames [m]
    position: FloatArray  # (n, 3) [m]
    orientation: FloatArray  # (n, 4) as given, unit to 1e-6
    linear_velocity: FloatArray  # (n, 3) [m/s]
    angular_velocity: FloatArray  # (n, 3) [rad/s]
    shape: ObjectArray  # (n,) Shape or None

    def __len__(self) -> int:
        return len(self.mass)

    def item(self, index: int, name: str) -> RigidBody:
        """Return one body."""
        body = object.__new__(RigidBody)  # its numbers are checked already
        object.__setattr__(body, "name", name)
        for part in fields(self):
            object.__setattr__(body, part.name, getattr(self, part.name)[index])
        object.__setattr__(body, "mass", float(self.mass[index]))
        return body

    @classmethod
    def joined(cls, parts: Sequence[BodyColumns]) -> BodyColumns:
        """The columns of all parts in turn."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: joined([getattr(part, name) for part in parts]) for name in names})

    @classmethod
    def of(cls, body: RigidBody) -> BodyColumns:
        """The columns of one body."""
        given = {field.name: getattr(body, field.name) for field in fields(cls)}
        shape = objects(given.pop("shape"), 1, "", "")
        return cls(**{name: np.asarray(v)[None] for name, v in given.items()}, shape=shape)


def body_columns(
    names: Sequence[str], inertia: ArrayLike, shape: Any, **given: ArrayLike
) -> BodyColumns:
    """Return the columns of bodies that can be; `given` are the entries of BODY_NUMBERS."""
    n, who = len(names), shown("bodies", names)
    columns = BodyColumns(
        inertia=_inertia(inertia, n, who),
        shape=objects(shape, n, who, "shape"),
        **{
            name: column(given[name], size, n, who, name.replace("_", " "))
            for name, size in BODY_NUMBERS.items()
        },
    )
    for i in np.flatnonzero(~_are_right(columns)).tolist():
        body = columns.item(i, names[i])
        RigidBody(**vars(body))
    return columns


def _inertia(value: ArrayLike, n: int, who: str) -> FloatArray:
    """(n, 3, 3) tensors, from (3,) or (n, 3) moments, or (1, 3, 3) or (n, 3, 3) tensors."""
    what = "rotational inertia"
    given = numbers(value, who, what)
    if given.shape not in ((3,), (n, 3), (1, 3, 3), (n, 3, 3)):
        raise ModelError(
            f"{who}: {what} has shape {given.shape}; give moments (3,) for all or ({n}, 3), or "
            f"tensors (1, 3, 3) for all or ({n}, 3, 3)"
        )
    if given.ndim == 3:
        return column(given if len(given) == n else given[0], (3, 3), n, who, what)
    tensors = np.zeros((*given.shape, 3))
    tensors[..., range(3), range(3)] = given
    return column(tensors, (3, 3), n, who, what)


def _are_right(columns: BodyColumns) -> BoolArray:
    """(n,) False where a body has something wrong."""
    good = np.ones(len(columns), dtype=bool)
    for name in BODY_NUMBERS:
        good &= finite_rows(getattr(columns, name))
    inertia = distinct(columns.inertia)
    is_finite = finite_rows(inertia)
    good &= is_finite
    if not is_finite.all():
        inertia = np.where(is_finite[:, None, None], inertia, np.eye(3))
    good &= inertia_verdicts(inertia)[1][:3].all(axis=0) & (columns.mass >= 0.0)
    good &= are_unit_quaternions(columns.orientation)
    if columns.shape.strides[0] == 0:
        return good & isinstance(columns.shape[0], Shape | None) if len(good) else good
    return good & np.fromiter((isinstance(s, Shape | None) for s in columns.shape), bool, len(good))
