"""Shapes that a body may carry for pictures; they have no mass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from sparsebody.errors import ModelError
from sparsebody.model.checks import numbers, positive, vector
from sparsebody.model.frames import Frame


@dataclass(frozen=True, eq=False)
class Box:
    """A box with the given sides [m], centred on its frame."""

    name: ClassVar[str] = "box"
    sides: tuple[float, float, float]
    frame: Frame = field(default_factory=Frame)

    def __post_init__(self) -> None:
        sides = [positive(side, "box", "a side") for side in vector(self.sides, "box", "sides")]
        object.__setattr__(self, "sides", tuple(sides))
        _check_frame(self.frame, "box")


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A cylinder about the z axis of its frame, centred on it [m]."""

    name: ClassVar[str] = "cylinder"
    radius: float
    length: float
    frame: Frame = field(default_factory=Frame)

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "cylinder", "radius"))
        object.__setattr__(self, "length", positive(self.length, "cylinder", "length"))
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
SHAPES: dict[str, type[Box] | type[Cylinder] | type[Sphere] | type[Polyline]] = {
    "box": Box,
    "cylinder": Cylinder,
    "sphere": Sphere,
    "polyline": Polyline,
}
