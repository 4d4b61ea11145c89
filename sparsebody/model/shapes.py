"""Shapes that a body may carry for pictures; they have no mass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from sparsebody.model.frames import Frame


@dataclass(frozen=True, eq=False)
class Box:
    """A box with the given sides [m], centred on its frame."""

    name: ClassVar[str] = "box"
    sides: tuple[float, float, float]
    frame: Frame = field(default_factory=Frame)


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A cylinder about the z axis of its frame, centred on it [m]."""

    name: ClassVar[str] = "cylinder"
    radius: float
    length: float
    frame: Frame = field(default_factory=Frame)


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball [m]."""

    name: ClassVar[str] = "sphere"
    radius: float
    frame: Frame = field(default_factory=Frame)


@dataclass(frozen=True, eq=False)
class Polyline:
    """Straight lines between points in the body frame [m]: bars, plates, frames."""

    name: ClassVar[str] = "polyline"
    points: tuple[tuple[float, float, float], ...]


Shape = Box | Cylinder | Sphere | Polyline
SHAPES: dict[str, type[Box] | type[Cylinder] | type[Sphere] | type[Polyline]] = {
    "box": Box,
    "cylinder": Cylinder,
    "sphere": Sphere,
    "polyline": Polyline,
}
