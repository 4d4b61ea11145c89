"""Rigid bodies, one or many, as columns with a leading axis; and shapes that pictures show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import ArrayLike, FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.model.columns import (
    ObjectArray,
    column,
    distinct,
    first_wrong,
    joined,
    numbers,
    objects,
    positive,
    put_checked,
    scalar,
    shown,
    vector,
)
from sparsebody.model.frames import Frame
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
        put_checked(self, "box", _sides, "sides")
        put_checked(self, "box", _frame, "frame")


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A cylinder about the z axis of its frame, centred on it [m]."""

    name: ClassVar[str] = "cylinder"
    radius: float
    length: float
    frame: Frame = field(default_factory=Frame)

    def __post_init__(self) -> None:
        put_checked(self, "cylinder", positive, "radius", "length")
        put_checked(self, "cylinder", _frame, "frame")


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball [m]."""

    name: ClassVar[str] = "sphere"
    radius: float
    frame: Frame = field(default_factory=Frame)

    def __post_init__(self) -> None:
        put_checked(self, "sphere", positive, "radius")
        put_checked(self, "sphere", _frame, "frame")


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


def _sides(value: ArrayLike, who: str, what: str) -> tuple[float, ...]:
    return tuple(positive(side, who, "a side") for side in vector(value, who, what))


def _frame(value: object, who: str, what: str) -> Frame:
    if not isinstance(value, Frame):
        raise ModelError(f"{who}: {what} is {value!r}; give a Frame(position)")
    return value


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
    """Inertia and approximate initial motion of one body, as `Mechanism.add_body` takes them."""

    name: str
    mass: float  # [kg]
    inertia: FloatArray  # (3, 3) about the center of mass in body axes [kg m^2]
    center_of_mass: FloatArray  # (3,) in the body frame [m]
    position: FloatArray  # (3,) of the body frame's origin in the world [m]
    orientation: FloatArray  # (4,) unit quaternion (w, x, y, z), body to world
    linear_velocity: FloatArray  # (3,) of the body frame's origin, in world axes [m/s]
    angular_velocity: FloatArray  # (3,) [rad/s]
    shape: Shape | None  # for pictures only

    @property
    def rotation(self) -> FloatArray:
        """(3, 3) from body to world coordinates at the initial pose."""
        return rotation_from_quaternion(self.orientation / np.linalg.norm(self.orientation))

    def to_world(self, point: ArrayLike) -> FloatArray:
        """World position [m] of a point given in the body frame, at the initial pose."""
        return self.position + self.rotation @ np.asarray(point, dtype=float)

    def to_body(self, point: ArrayLike) -> FloatArray:
        """Body-frame position [m] of a point given in the world, at the initial pose."""
        return np.asarray(self.rotation.T @ (np.asarray(point, dtype=float) - self.position))


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
        mass, *others = (values[index] for values in vars(self).values())
        return RigidBody(name, float(mass), *others)

    def take(self, index: IntArray | slice) -> BodyColumns:
        """The columns of some bodies."""
        return BodyColumns(*(values[index] for values in vars(self).values()))

    @classmethod
    def joined(cls, parts: Sequence[BodyColumns]) -> BodyColumns:
        """The columns of all parts in turn."""
        return cls(*map(joined, zip(*(vars(part).values() for part in parts), strict=True)))


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
    if not _are_right(columns):
        i = first_wrong(n, lambda some: _are_right(columns.take(some)))
        _refuse(columns.item(i, names[i]))
    return columns


def _inertia(value: ArrayLike, n: int, who: str) -> FloatArray:
    """(n, 3, 3) tensors, from (3,) or (n, 3) moments, or (1, 3, 3) or (n, 3, 3) tensors."""
    what = "rotational inertia"
    given = numbers(value, who, what)
    if n == 1 and given.shape == (3, 3):
        given = given[None]
    if given.shape not in ((3,), (n, 3), (1, 3, 3), (n, 3, 3)):
        remedy = f"moments (3,) for all or ({n}, 3), or tensors (1, 3, 3) for all or ({n}, 3, 3)"
        remedy = "moments (3,), or a tensor (3, 3)" if n == 1 else remedy
        raise ModelError(f"{who}: {what} has shape {given.shape}; give {remedy}")
    if given.ndim == 3:
        return column(given if len(given) == n else given[0], (3, 3), n, who, what)
    tensors = np.zeros((*given.shape, 3))
    tensors[..., range(3), range(3)] = given
    return column(tensors, (3, 3), n, who, what)


def _are_right(some: BodyColumns) -> bool:
    """Whether no body has anything wrong."""
    orientation, inertia = some.orientation, distinct(some.inertia)
    return (
        model.is_regular(some.position, orientation, some.linear_velocity, some.mass)
        and model.is_regular(
            some.center_of_mass, orientation, some.angular_velocity, inertia.ravel()
        )
        and bool((some.mass >= 0.0).all() and inertia_verdicts(inertia)[1][:3].all())
        and all(isinstance(shape, Shape | None) for shape in distinct(some.shape))
    )


def _refuse(body: RigidBody) -> None:
    """Raise ModelError that says what is wrong with a body."""
    who = f"body {body.name!r}"
    for name, size in BODY_NUMBERS.items():
        value, what = getattr(body, name), name.replace("_", " ")
        vector(value, who, what, *size) if size else scalar(value, who, what)
    check_inertia(body.mass, body.inertia, who, may_be_singular=True)
    check_unit_quaternion(body.orientation, who)
    raise ModelError(f"{who}: shape is {body.shape!r}; give one such as Box((1, 1, 1))")
