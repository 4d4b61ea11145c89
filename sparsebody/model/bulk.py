"""Many bodies or joints at once, from arrays; errors are those of a single one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sparsebody.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.model.bodies import RigidBody
from sparsebody.model.checks import column, distinct, finite_rows, numbers, vector
from sparsebody.model.columns import BodyColumns, JointColumns, ObjectArray, distinct_objects
from sparsebody.model.connections import Motion, frames_in_bodies, prescribed_motions
from sparsebody.model.frames import Frame, Frames, all_axes, are_unit_quaternions, axes
from sparsebody.model.joints import JointType
from sparsebody.model.names import Counted, Names, numbered
from sparsebody.model.shapes import Shape
from sparsebody.model.tables import WORLD
from sparsebody.spatial.inertia import INERTIA_TOLERANCE, ROUNDING

BODY_NUMBERS: dict[str, tuple[int, ...]] = {
    "mass": (),
    "center_of_mass": (3,),
    "position": (3,),
    "orientation": (4,),
    "linear_velocity": (3,),
    "angular_velocity": (3,),
}


def named(names: Sequence[str] | str, what: str, **given: Any) -> Sequence[str]:
    """Return the names; a template is numbered from 0 as far as the arrays `given` go.

    `given` holds each argument and how many axes one body or joint has of it.
    """
    if not isinstance(names, str):
        return names if isinstance(names, Counted | Names) else list(names)
    for value, n_axes in given.values():
        if value is not None and np.ndim(value) == n_axes + 1:
            return numbered(names, np.arange(len(value)))
    raise ModelError(
        f"{what} {names!r}: how many? No argument has one entry for each; give the names as "
        f"numbered({names!r}, range(n))"
    )


def check_name(name: object, what: str) -> None:
    """Raise ModelError unless it is a word."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"the name of a {what} is {name!r}; give a non-empty string")


def check_names(names: Sequence[str], taken: Names, what: str, reserved: str = "") -> None:
    """Raise ModelError unless every name is a word of its own."""
    words = names.words if isinstance(names, Names) else names
    if not isinstance(words, Counted) and (not set(map(type, words)) <= {str} or "" in words):
        for name in words:
            check_name(name, what)
    if not isinstance(words, Counted) and reserved in words:
        raise ModelError(
            f"{what} {reserved!r}: this name is the name of the fixed node; choose another"
        )
    twice = taken.clash(names)
    if twice is not None:
        raise ModelError(f"{what} {twice!r}: this name is taken by another {what}; choose another")


# ---- bodies -----------------------------------------------------------------------------------


def body_columns(
    names: Sequence[str], inertia: ArrayLike, shape: Any, **given: ArrayLike
) -> BodyColumns:
    """Return the columns of bodies that can be; `given` are the entries of BODY_NUMBERS."""
    n, who = len(names), f"bodies {shown(names)}"
    columns = BodyColumns(
        inertia=_inertia(inertia, n, who),
        shape=_objects(shape, n, who, "shape"),
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
    good &= columns.mass > 0.0
    good &= _can_be_solid(distinct(columns.inertia))
    good &= are_unit_quaternions(columns.orientation)
    if columns.shape.strides[0] == 0:
        return good & isinstance(columns.shape[0], Shape | None) if len(good) else good
    return good & np.fromiter((isinstance(s, Shape | None) for s in columns.shape), bool, len(good))


def _can_be_solid(inertia: FloatArray) -> BoolArray:
    """(n,) what `check_inertia` asks for, of tensors (n, 3, 3)."""
    finite = finite_rows(inertia)
    if not finite.all():
        inertia = np.where(finite[:, None, None], inertia, np.eye(3))
    upper, lower = inertia[:, [0, 0, 1], [1, 2, 2]], inertia[:, [1, 2, 2], [0, 0, 1]]
    difference = np.abs(upper - lower).max(axis=1)
    symmetric = difference <= INERTIA_TOLERANCE * np.abs(inertia).max(axis=(1, 2))
    if upper.any() or lower.any():
        low, middle, high = np.linalg.eigvalsh(inertia).T
    else:
        low, middle, high = np.sort(np.diagonal(inertia, axis1=1, axis2=2), axis=1).T
    positive = low > ROUNDING * np.maximum(np.abs(low), np.abs(high))
    possible = high <= (1.0 + INERTIA_TOLERANCE) * (low + middle)
    return np.asarray(finite & symmetric & positive & possible)


# ---- joints -----------------------------------------------------------------------------------


def ends(names: Sequence[str], given: Any, bodies: Names, what: str) -> IntArray:
    """(n,) bodies from their names or numbers, one for all or one for each; -1 is the world."""
    n, who = len(names), f"joints {shown(names)}"
    if isinstance(given, str | int | np.integer):
        return np.broadcast_to(ends(names[:1], [given], bodies, what), n)
    index = given if isinstance(given, np.ndarray) else np.array([])
    if index.dtype.kind in "iu" or all(isinstance(body, int | np.integer) for body in given):
        index = np.array(given)
        wrong = (index < -1) | (index >= len(bodies))
        remedy = f"give 0 to {len(bodies) - 1}, or -1 for the world"
    else:
        given = list(given)
        index = bodies.find_all(given)
        wrong = (index < 0) & np.fromiter((body != WORLD for body in given), bool, len(given))
        remedy = "add it with add_body first"
    if index.shape != (n,):
        raise ModelError(f"{who}: {what} has shape {index.shape}; give one body, or {n}")
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ModelError(f"joint {names[first]!r}: there is no body {given[first]!r}; {remedy}")
    return index.astype(np.intp)


def joint_columns(
    names: Sequence[str],
    joint_type: JointType | Sequence[JointType],
    predecessor: IntArray,
    successor: IntArray,
    frames: tuple[Frames, Frames],
    prescribed: Motion | Sequence[Motion],
    bodies: Names,
) -> JointColumns:
    """Return the columns of joints that can be."""
    n, who = len(names), f"joints {shown(names)}"
    if isinstance(joint_type, JointType):
        types: tuple[JointType, ...] = (joint_type,)
        type_index = np.broadcast_to(np.intp(0), n)
    else:
        types, type_index = distinct_objects(_objects(joint_type, n, who, "type").tolist())
    known = np.array([isinstance(kind, JointType) for kind in types])[type_index]
    if not known.all():
        first = int(np.argmin(known))
        raise ModelError(
            f"joint {names[first]!r}: type is {types[type_index[first]]!r}; "
            "give a joint type such as Revolute()"
        )
    within = predecessor == successor
    if within.any():
        first = int(np.argmax(within))
        body = WORLD if successor[first] < 0 else bodies[int(successor[first])]
        raise ModelError(f"joint {names[first]!r}: connects {body!r} to itself; give two bodies")
    motions = {
        j: prescribed_motions(f"joint {names[j]!r}", types[type_index[j]], motion)
        for j, motion in _motions(prescribed, n, who)
    }
    return JointColumns(types, type_index, predecessor, successor, *frames, motions)


def _motions(given: Any, n: int, who: str) -> Iterable[tuple[int, Motion]]:
    """Return what is prescribed to which joint."""
    if given is None:
        return []
    if not isinstance(given, list | tuple | np.ndarray):
        return [(j, given) for j in range(n)]
    if len(given) != n:
        raise ModelError(f"{who}: prescribed has {len(given)} entries; give one for all, or {n}")
    return [(j, motion) for j, motion in enumerate(given) if motion is not None]


def frames_of_bodies(
    names: Sequence[str], predecessor: Frame | Frames | None, successor: Frame | Frames | None
) -> tuple[Frames, Frames]:
    """Return joint frames that are given in the bodies, one for all or one for each."""
    n, who = len(names), f"joints {shown(names)}"
    frames = []
    for given in (predecessor, successor):
        frame = Frame() if given is None else given
        if isinstance(frame, Frame):
            frame = Frames.repeated(frame, n)
        if not isinstance(frame, Frames) or len(frame) != n:
            description = f"{len(frame)} Frames" if isinstance(frame, Frames) else repr(given)
            raise ModelError(
                f"{who}: a joint frame is {description}; give a Frame, or Frames of {n}"
            )
        frames.append(frame)
    return frames[0], frames[1]


def frames_of_world(
    names: Sequence[str],
    ends: tuple[IntArray, IntArray],
    poses: BodyColumns,
    point: ArrayLike | None,
    axis: ArrayLike | None,
    x_axis: ArrayLike | None,
) -> tuple[Frames, Frames]:
    """Return joint frames in both bodies that coincide with frames given in the world."""
    n, who = len(names), f"joints {shown(names)}"
    position = np.concatenate([poses.position, np.zeros((1, 3))])  # the world last, at -1
    orientation = np.concatenate([poses.orientation, [[1.0, 0.0, 0.0, 0.0]]])
    if point is None:
        place = position[np.where(ends[1] >= 0, ends[1], ends[0])]
    else:
        place = column(point, (3,), n, who, "point")
        for i in np.flatnonzero(~finite_rows(place)).tolist():
            vector(place[i], f"joint {names[i]!r}", "point")
    turned = _axes(names, (0.0, 0.0, 1.0) if axis is None else axis, x_axis)
    first, second = (frames_in_bodies(place, turned, position[e], orientation[e]) for e in ends)
    return first, second


def _axes(names: Sequence[str], z: ArrayLike, x: ArrayLike | None) -> FloatArray:
    """(n, 3, 3) axes as columns, from directions for all or for each."""
    n, who = len(names), f"joints {shown(names)}"
    e_z = column(z, (3,), n, who, "axis")
    e_x = None if x is None else column(x, (3,), n, who, "x axis")
    if n and all(d is None or d.strides[0] == 0 for d in (e_z, e_x)):
        one = axes(e_z[0], None if e_x is None else e_x[0], f"joint {names[0]!r}")
        return np.broadcast_to(one, (n, 3, 3))
    with np.errstate(all="ignore"):
        turned = all_axes(e_z, e_x)
    for i in np.flatnonzero(~np.isfinite(turned).all(axis=(1, 2))).tolist():
        axes(e_z[i], None if e_x is None else e_x[i], f"joint {names[i]!r}")
    return turned


# ---- helpers ----------------------------------------------------------------------------------


def _objects(value: Any, n: int, who: str, what: str) -> ObjectArray:
    """(n,) objects from one for all or one for each."""
    if isinstance(value, list | tuple | np.ndarray):
        if len(value) != n:
            raise ModelError(f"{who}: {what} has {len(value)} entries; give one for all, or {n}")
        array = np.empty(n, dtype=object)
        array[:] = value
        return array
    one = np.empty((), dtype=object)
    one[()] = value
    return np.broadcast_to(one, n)


def shown(names: Sequence[str]) -> str:
    """Return the first name, for messages that concern all."""
    return f"{names[0]!r}, ..." if len(names) else "(none)"
