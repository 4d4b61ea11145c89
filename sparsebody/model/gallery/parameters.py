"""What the generated mechanisms share: checked parameters, bars and hinges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.model.bodies import Polyline
from sparsebody.model.frames import Frames, all_axes
from sparsebody.model.joints import JOINT_TYPES, JointType, Revolute
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


def check_size(sizes: Mapping[str, int]) -> None:
    """Raise ModelError, naming the parameters, where they ask for more than LARGEST parts."""
    if math.prod(max(1, size) for size in sizes.values()) > LARGEST:
        listed = ", ".join(f"{name} is {size:.6g}" for name, size in sizes.items())
        raise ModelError(f"{listed}; a mechanism has {LARGEST} bodies at most")


def check_at_least(minimum: float, **values: float) -> None:
    """Raise ModelError, naming the parameter, unless every value is at least `minimum`."""
    for name, value in values.items():
        if not value >= minimum:
            raise ModelError(f"{name} is {value}; give {minimum} or more")


def check_between(low: float, high: float, **values: float) -> None:
    """Raise ModelError, naming the parameter, unless low < value < high."""
    for name, value in values.items():
        if not low < value < high:
            raise ModelError(f"{name} is {value}; give a number between {low:.6g} and {high:.6g}")


def named_joint(joint: str, *allowed: str) -> JointType:
    """Return the joint type called `joint`, one of those that the mechanism can be built with."""
    if joint not in allowed:
        raise ModelError(f"joint is {joint!r}; give one of: {', '.join(allowed)}")
    return JOINT_TYPES[joint]()


def converted(value: Any, annotation: Any, name: str) -> Any:
    """Return the value of a parameter, perhaps a string, as its annotation asks.

    That is int, float, bool, a Literal of strings or a tuple of floats; ModelError names the
    parameter, the value and what it should be.
    """
    if get_origin(annotation) is Literal:
        if value not in get_args(annotation):
            raise ModelError(f"{name} is {value!r}; give one of: {', '.join(get_args(annotation))}")
        return value
    if get_origin(annotation) is tuple:
        parts = value.split(",") if isinstance(value, str) else list(np.atleast_1d(value))
        size = len(get_args(annotation))
        if len(parts) != size:
            raise ModelError(f"{name} is {value!r}; give {size} numbers, such as 0,0,-9.81")
        return tuple(_number(part, name) for part in parts)
    if annotation is bool:
        if str(value).lower() not in WORDS:
            raise ModelError(f"{name} is {value!r}; give true or false")
        return WORDS[str(value).lower()]
    number = _number(value, name)
    if annotation is int and not number.is_integer():
        raise ModelError(f"{name} is {value!r}; give a whole number")
    return annotation(number)


def _number(value: Any, name: str) -> float:
    try:
        number = math.nan if isinstance(value, bool | np.bool_) else float(value)
    except (OverflowError, TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ModelError(f"{name} is {value!r}; give a number")
    return number


# ---- bars and hinges ------------------------------------------------------------------------


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
    inertia: ArrayLike | None = None,
    side: ArrayLike = (0.0, 0.0, 1.0),
    linear_velocity: ArrayLike = (0.0, 0.0, 0.0),
    angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
) -> IntArray:
    """Add n straight bars of one length [m] and mass [kg], and return their numbers (n,).

    The frame of each is in its middle (n, 3), x along (3,) or (n, 3), z towards `side`. The inertia
    is that of a box with sides of `width` [m], or the moments (3,) in its axes [kg m^2]; velocities
    as of `Mechanism.add_bodies`.
    """
    directions = np.atleast_2d(np.asarray(along, dtype=float))
    directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    across = np.asarray(side) - (directions @ np.asarray(side))[:, None] * directions
    orientation = quaternion_from_rotation(all_axes(across, directions))
    return mechanism.add_bodies(
        names,
        mass=mass,
        inertia=box_inertia(mass, [length, width, width])[None] if inertia is None else inertia,
        position=middle,
        orientation=orientation if len(orientation) > 1 else orientation[0],
        linear_velocity=linear_velocity,
        angular_velocity=angular_velocity,
        shape=Polyline(((-length / 2, 0.0, 0.0), (length / 2, 0.0, 0.0))),
    )


def add_hinge(
    mechanism: Mechanism, name: str, first: str, second: str, point: ArrayLike, other: ArrayLike
) -> None:
    """Add a revolute about the z axes of two bodies, at points (3,) of either."""
    ends = mechanism.body_names.find_all([first, second])
    add_hinges(mechanism, [name], ends[:1], ends[1:], point, other)


def add_hinges(
    mechanism: Mechanism,
    names: Sequence[str] | str,
    predecessor: IntArray,
    successor: IntArray,
    predecessor_point: ArrayLike,
    successor_point: ArrayLike,
    compliance: float = 0.0,
) -> None:
    """Add n revolutes about the z axes of bodies, at points (3,) or (n, 3) of either.

    Their angles are those between the x axes.
    """
    shape = len(names), 3
    mechanism.add_joints(
        names,
        Revolute(),
        predecessor,
        successor,
        predecessor_frame=Frames(np.broadcast_to(np.asarray(predecessor_point), shape)),
        successor_frame=Frames(np.broadcast_to(np.asarray(successor_point), shape)),
        compliance=compliance,
    )


HingeFamily = tuple[str, IntArray, IntArray | int, IntArray, ArrayLike, ArrayLike]


def add_hinge_cells(
    mechanism: Mechanism, families: Sequence[HingeFamily], compliance: float = 0.0
) -> None:
    """Add the hinges of a row of n cells in turn; the first cell has but that of the first family.

    A family is the template of names and their numbers (n,), predecessors and successors (n,), and
    points (3,) or (n, 3) of either.
    """
    n, step = len(families[0][1]), len(families)
    kept = np.r_[0, step : step * n]
    names = interleaved(*(numbered(template, number[1:]) for template, number, *_ in families))

    def in_turn(part: int, *shape: int) -> FloatArray:
        columns = [np.broadcast_to(family[part], (n, *shape)) for family in families]
        return np.stack(columns, axis=1).reshape(-1, *shape)[kept]

    template, number = families[0][:2]
    add_hinges(
        mechanism,
        chained(numbered(template, number[:1]), names),
        in_turn(2).astype(np.intp),
        in_turn(3).astype(np.intp),
        in_turn(4, 3),
        in_turn(5, 3),
        compliance,
    )
