"""What the generated mechanisms share: checked parameters, bars, hinges, placement on a joint."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.model.bodies import Polyline
from sparsebody.model.connections import Joint
from sparsebody.model.frames import Frame, Frames, all_axes
from sparsebody.model.joints import JOINT_TYPES, JointType, Revolute
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.time_functions import TimeFunction
from sparsebody.spatial import box_inertia, quaternion_from_rotation

WORDS = {"true": True, "yes": True, "on": True, "1": True}
WORDS |= {"false": False, "no": False, "off": False, "0": False}


LARGEST = 10_000_000  # bodies; more do not fit into the memory of a machine


def check_size(sizes: Mapping[str, int]) -> None:
    """Raise ModelError, naming the parameters, where they ask for more than LARGEST parts."""
    if math.prod(max(1, size) for size in sizes.values()) > LARGEST:
        listed = ", ".join(f"{name} is {size:.6g}" for name, size in sizes.items())
        raise ModelError(f"{listed}; a mechanism has {LARGEST} bodies at most")


def converted(value: Any, annotation: Any, name: str) -> Any:
    """Return `value` as its parameter's annotation asks.

    Parameters
    ----------
    value : object
        A string, or already of the right type.
    annotation : type
        int, float, bool, str, a Literal of strings or a tuple of floats.
    name : str
        Of the parameter, for the message.

    Raises
    ------
    ModelError
        Naming the parameter, the value and what it should be.
    """
    if get_origin(annotation) is Literal:
        if value not in get_args(annotation):
            raise ModelError(f"{name} is {value!r}; give one of: {', '.join(get_args(annotation))}")
        return value
    if get_origin(annotation) is tuple:
        return _numbers(value, len(get_args(annotation)), name)
    return {int: _integer, float: _number, bool: _truth, str: _word}[annotation](value, name)


def _integer(value: Any, name: str) -> int:
    number = _number(value, name)
    if not number.is_integer():
        raise ModelError(f"{name} is {value!r}; give a whole number")
    return int(number)


def _number(value: Any, name: str) -> float:
    try:
        number = math.nan if isinstance(value, bool | np.bool_) else float(value)
    except (OverflowError, TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ModelError(f"{name} is {value!r}; give a number")
    return number


def _truth(value: Any, name: str) -> bool:
    if str(value).lower() not in WORDS:
        raise ModelError(f"{name} is {value!r}; give true or false")
    return WORDS[str(value).lower()]


def _word(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ModelError(f"{name} is {value!r}; give a word")
    return value


def _numbers(value: Any, size: int, name: str) -> tuple[float, ...]:
    parts = value.split(",") if isinstance(value, str) else list(np.atleast_1d(value))
    if len(parts) != size:
        raise ModelError(f"{name} is {value!r}; give {size} numbers, such as 0,0,-9.81")
    return tuple(_number(part, name) for part in parts)


Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

DOWN_Y: Vector = (0.0, -9.81, 0.0)  # of mechanisms in the xy plane [m/s^2]
DOWN_Z: Vector = (0.0, 0.0, -9.81)


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


def turned(angle: float) -> Quaternion:
    """Return the quaternion of a rotation about z."""
    return (float(np.cos(angle / 2)), 0.0, 0.0, float(np.sin(angle / 2)))


def add_bar(
    mechanism: Mechanism, name: str, start: ArrayLike, end: ArrayLike, **options: Any
) -> None:
    """Add a straight bar between two points (3,) in the world [m]; `options` as of `add_bars`."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    along = end - start
    middle, length = (start + end)[None] / 2, float(np.linalg.norm(along))
    add_bars(mechanism, [name], middle, along, length, **options)


def add_hinge(
    mechanism: Mechanism,
    name: str,
    predecessor: str,
    successor: str,
    predecessor_point: ArrayLike,
    successor_point: ArrayLike,
    *,
    prescribed: TimeFunction | None = None,
) -> Joint:
    """Add a revolute about the z axes of both bodies; its angle is that between their x axes."""
    return mechanism.add_joint(
        name,
        Revolute(),
        predecessor,
        successor,
        predecessor_frame=Frame(predecessor_point),
        successor_frame=Frame(successor_point),
        prescribed=prescribed,
    )


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
    """Add n straight bars of one length, and return their numbers (n,).

    The frame of each sits in its middle, x along it, z towards `side`.

    Parameters
    ----------
    mechanism : Mechanism
        Gets the bars.
    names : sequence of str, or str
        As for `Mechanism.add_bodies`.
    middle : (n, 3) float array
        Where their frames are in the world [m].
    along : (3,) or (n, 3) array_like
        Directions from start to end, for all or for each.
    length : float
        Of each bar [m].
    mass, width : float
        Mass [kg] and side of its square section [m].
    inertia : (3,) array_like, optional
        Moments of each bar in its axes instead of those of the box [kg m^2].
    side : (3,) array_like
        Direction in the world whose part across the bar is the z axis.
    linear_velocity, angular_velocity : (3,) or (n, 3) array_like
        Of the middle, in world axes [m/s, rad/s].
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


def add_hinges(
    mechanism: Mechanism,
    names: Sequence[str] | str,
    predecessor: IntArray,
    successor: IntArray,
    predecessor_point: ArrayLike,
    successor_point: ArrayLike,
    compliance: float = 0.0,
) -> IntArray:
    """Add n revolutes, as `add_hinge`, at points (3,) or (n, 3), and return their numbers (n,)."""
    n = len(names)
    return mechanism.add_joints(
        names,
        Revolute(),
        predecessor,
        successor,
        predecessor_frame=Frames(np.broadcast_to(np.asarray(predecessor_point), (n, 3))),
        successor_frame=Frames(np.broadcast_to(np.asarray(successor_point), (n, 3))),
        compliance=compliance,
    )
