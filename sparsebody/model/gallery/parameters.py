"""Checked parameters, bars and revolute joints of the generated mechanisms."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.model import bodies, joints
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.names import chained, interleaved, numbered
from sparsebody.spatial import box_inertia, quaternion_from_rotation

Vector = tuple[float, float, float]

DOWN_Y: Vector = (0.0, -9.81, 0.0)  # of mechanisms in the xy plane [m/s^2]
DOWN_Z: Vector = (0.0, 0.0, -9.81)
LARGEST = 10_000_000  # bodies; more do not fit into the memory of a machine
WORDS = {"true": True, "yes": True, "on": True, "1": True}
WORDS |= {"false": False, "no": False, "off": False, "0": False}


# ---- parameters -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Range:
    """The values that a parameter may have, as its annotation says."""

    contains: Callable[[float], bool]
    remedy: str
    is_size: bool = False  # a number of parts


def at_least(low: float, is_size: bool = False) -> Range:
    """Return the numbers from `low` on."""
    return Range(lambda value: value >= low, f"{low} or more", is_size)


def between(low: float, high: float) -> Range:
    """Return the numbers between two, these excluded."""
    return Range(lambda x: low < x < high, f"a number between {low:.6g} and {high:.6g}")


Count = Annotated[int, at_least(1, is_size=True)]
CountOfRing = Annotated[int, at_least(3, is_size=True)]
Seed = Annotated[int, at_least(0)]
Positive = Annotated[float, between(0.0, math.inf)]
NotNegative = Annotated[float, at_least(0.0)]
AcuteAngle = Annotated[float, between(0.0, math.pi / 2)]


def checked_parameters(
    values: Mapping[str, Any], hints: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Return values, perhaps strings, as the annotations of a function ask.

    ModelError names the parameter, the value and what it should be.
    """
    checked: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    for name, hint in hints.items():
        kind, *ranges = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if name in values:
            checked[name] = converted(values[name], kind, name)
            for one in ranges:
                if not one.contains(checked[name]):
                    raise ModelError(f"{name} is {checked[name]}; give {one.remedy}")
        if any(one.is_size for one in ranges):
            sizes[name] = checked.get(name, defaults[name])
    if math.prod(sizes.values()) > LARGEST:
        listed = ", ".join(f"{name} is {size:.6g}" for name, size in sizes.items())
        raise ModelError(f"{listed}; a mechanism has {LARGEST} bodies at most")
    return checked


def converted(value: Any, annotation: Any, name: str) -> Any:
    """Return a value as int, float, bool, a Literal of strings or a tuple of floats."""
    if get_origin(annotation) is Literal:
        if value not in get_args(annotation):
            raise ModelError(f"{name} is {value!r}; give one of: {', '.join(get_args(annotation))}")
        return value
    if get_origin(annotation) is tuple:
        parts = value.split(",") if isinstance(value, str) else list(np.atleast_1d(value))
        size = len(get_args(annotation))
        if len(parts) != size:
            raise ModelError(f"{name} is {value!r}; give {size} numbers, such as 0,0,-9.81")
        return tuple(converted(part, float, name) for part in parts)
    if annotation is bool:
        if str(value).lower() not in WORDS:
            raise ModelError(f"{name} is {value!r}; give true or false")
        return WORDS[str(value).lower()]
    try:
        number = math.nan if isinstance(value, bool | np.bool_) else float(value)
    except (OverflowError, TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ModelError(f"{name} is {value!r}; give a number")
    if annotation is int and not number.is_integer():
        raise ModelError(f"{name} is {value!r}; give a whole number")
    return annotation(number)


# ---- bars and revolute joints -----------------------------------------------------------------


def add_bar(
    mechanism: Mechanism, name: str, start: ArrayLike, end: ArrayLike, **options: Any
) -> None:
    """Add a straight bar between two points (3,) in the world [m]; `options` as of `add_bars`."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    along = end - start
    middle, length = (start + end)[None] / 2, float(np.linalg.norm(along))
    add_bars(mechanism, [name], middle, along, length, **options)


def add_bars(
    mechanism: Mechanism,
    names: Sequence[str] | str,
    middle: FloatArray,
    along: ArrayLike,
    length: float,
    *,
    mass: float = 1.0,
    width: float = 0.05,
    side: ArrayLike = (0.0, 0.0, 1.0),
    **options: ArrayLike,
) -> IntArray:
    """Add n straight bars of one length [m] and mass [kg], and return their numbers (n,).

    The frame of each is in its middle (n, 3), x along (3,) or (n, 3), z towards `side`. The inertia
    is that of a box with sides of `width` [m], unless `options` of `Mechanism.add_bodies` tell.
    """
    directions = np.atleast_2d(np.asarray(along, dtype=float))
    directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    across = np.asarray(side) - (directions @ np.asarray(side))[:, None] * directions
    orientation = quaternion_from_rotation(bodies.all_axes(across, directions))
    solid: dict[str, Any] = {
        "mass": mass,
        "inertia": box_inertia(mass, [length, width, width])[None],
    }
    return mechanism.add_bodies(
        names,
        position=middle,
        orientation=orientation if len(orientation) > 1 else orientation[0],
        shape=bodies.Polyline(((-length / 2, 0.0, 0.0), (length / 2, 0.0, 0.0))),
        **solid | options,
    )


def add_revolute(
    mechanism: Mechanism, name: str, first: str, second: str, point: ArrayLike, other: ArrayLike
) -> None:
    """Add a revolute joint about the z axes of two bodies, at a point (3,) of each."""
    ends = mechanism.body_names.find_all([first, second])
    add_revolutes(mechanism, [name], ends[:1], ends[1:], point, other)


def add_revolutes(
    mechanism: Mechanism,
    names: Sequence[str] | str,
    predecessor: IntArray,
    successor: IntArray,
    predecessor_point: ArrayLike,
    successor_point: ArrayLike,
    compliance: float = 0.0,
) -> None:
    """Add n revolute joints about the z axes of bodies, at points (3,) or (n, 3) of each.

    Their angles are those between the x axes.
    """
    shape = len(names), 3
    mechanism.add_joints(
        names,
        joints.Revolute(),
        predecessor,
        successor,
        predecessor_frame=bodies.Frames(np.broadcast_to(np.asarray(predecessor_point), shape)),
        successor_frame=bodies.Frames(np.broadcast_to(np.asarray(successor_point), shape)),
        compliance=compliance,
    )


RevoluteFamily = tuple[str, IntArray, IntArray | int, IntArray, ArrayLike, ArrayLike]


def add_revolute_cells(
    mechanism: Mechanism, families: Sequence[RevoluteFamily], compliance: float = 0.0
) -> None:
    """Add revolute joints of a row of n cells; the first cell has that of the first family only.

    A family is the template of names and their numbers (n,), predecessors and successors (n,), and
    points (3,) or (n, 3) of each.
    """
    n, step = len(families[0][1]), len(families)
    index = np.r_[0, step : step * n]
    names = interleaved(*(numbered(template, number[1:]) for template, number, *_ in families))

    def in_turn(part: int, *shape: int) -> FloatArray:
        columns = [np.broadcast_to(family[part], (n, *shape)) for family in families]
        return np.stack(columns, axis=1).reshape(-1, *shape)[index]

    template, number = families[0][:2]
    add_revolutes(
        mechanism,
        chained(numbered(template, number[:1]), names),
        in_turn(2).astype(np.intp),
        in_turn(3).astype(np.intp),
        in_turn(4, 3),
        in_turn(5, 3),
        compliance,
    )
