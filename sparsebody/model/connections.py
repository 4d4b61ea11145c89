"""Joints between bodies, one or many: their fields as columns with a leading axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import ArrayLike, FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.model import columns, elasticity
from sparsebody.model.bodies import Frame, Frames, all_axes, axes, rotations, trusted
from sparsebody.model.columns import column, distinct, joined, objects, repeated, shown, vector
from sparsebody.model.joints import JointType
from sparsebody.model.names import WORLD, Names
from sparsebody.model.time_functions import TimeFunction, time_function
from sparsebody.spatial import quaternion_from_rotation

PLAIN_COLUMNS = (
    *("predecessor", "successor", "predecessor_frame", "successor_frame"),
    *("compliance", "damping"),
)
Motion = Mapping[int, float | TimeFunction] | float | TimeFunction | None
InBody = Frame | Frames | None
Poses = Sequence[tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class Joint:
    """An edge of the graph: the type, and a frame fixed in either body."""

    name: str
    type: JointType
    predecessor: str
    successor: str
    predecessor_frame: Frame = field(default_factory=Frame)  # in the predecessor's body frame
    successor_frame: Frame = field(default_factory=Frame)
    prescribed: Mapping[int, TimeFunction] = field(default_factory=dict)
    # of the rows of the type; zero beyond them [m/N, rad/(N m)], [N s/m, N m s/rad]
    compliance: FloatArray = field(default_factory=lambda: np.zeros((6, 6)))
    damping: FloatArray = field(default_factory=lambda: np.zeros((6, 6)))

    @property
    def n_constraints(self) -> int:
        """Constraint rows, those of prescribed coordinates included, compliant ones not."""
        n_compliant = int(np.linalg.matrix_rank(self.compliance)) if self.compliance.any() else 0
        return self.type.n_constraints - n_compliant + len(self.prescribed)


@dataclass(frozen=True, eq=False)
class JointColumns:
    """The fields of n joints; what is the same for all may be stored once (broadcast)."""

    types: tuple[JointType, ...]
    type_index: IntArray  # (n,) into types
    predecessor: IntArray  # (n,) bodies, -1 for the world
    successor: IntArray
    predecessor_frame: Frames
    successor_frame: Frames
    prescribed: Mapping[int, Mapping[int, TimeFunction]]  # of those joints that have any
    compliance: FloatArray  # (n, 6, 6) of the rows of each joint, zero beyond them [m/N, rad/(N m)]
    damping: FloatArray  # (n, 6, 6) [N s/m, N m s/rad]

    def __len__(self) -> int:
        return len(self.type_index)

    def type_of(self, index: int) -> JointType:
        """Return the type of one joint."""
        return self.types[self.type_index[index]]

    def item(self, index: int, name: str, bodies: Names) -> Joint:
        """Return one joint."""
        first, second = int(self.predecessor[index]), int(self.successor[index])
        return Joint(
            name,
            self.type_of(index),
            WORLD if first < 0 else bodies[first],
            WORLD if second < 0 else bodies[second],
            self.predecessor_frame[index],
            self.successor_frame[index],
            dict(self.prescribed.get(index, {})),
            self.compliance[index],
            self.damping[index],
        )

    def take(self, index: IntArray) -> "JointColumns":
        """The columns of some joints."""
        prescribed = {
            k: self.prescribed[j] for k, j in enumerate(index.tolist()) if j in self.prescribed
        }
        fields = {name: getattr(self, name)[index] for name in ("type_index", *PLAIN_COLUMNS)}
        return replace(self, **fields, prescribed=prescribed)

    @classmethod
    def joined(cls, parts: "Sequence[JointColumns]") -> "JointColumns":
        """The columns of all parts in turn."""
        types = tuple(dict.fromkeys(kind for part in parts for kind in part.types))
        index = {kind: i for i, kind in enumerate(types)}
        numbers = (np.array([index[kind] for kind in part.types]) for part in parts)
        starts = np.cumsum([0, *map(len, parts[:-1])]).tolist()
        return cls(
            types,
            joined([number[p.type_index] for number, p in zip(numbers, parts, strict=True)]),
            prescribed={
                start + j: motions
                for part, start in zip(parts, starts, strict=True)
                for j, motions in part.prescribed.items()
            },
            **{name: joined([getattr(part, name) for part in parts]) for name in PLAIN_COLUMNS},
        )


def joint_columns(
    names: Sequence[str],
    joint_type: JointType | Sequence[JointType],
    ends: tuple[IntArray, IntArray],
    frames: tuple[Frames, ...],
    prescribed: Motion | Sequence[Motion],
    compliance: Any = 0.0,
    damping: Any = 0.0,
) -> JointColumns:
    """Return the columns of joints, checked."""
    types, type_index = distinct_types(names, joint_type)
    motions = objects(prescribed, len(names), shown("joints", names), "prescribed")
    time_functions = {
        j: functions
        for j, motion in enumerate(() if prescribed is None else motions)
        if motion is not None
        if (functions := _prescribed(f"joint {names[j]!r}", types[type_index[j]], motion))
    }
    matrices = (
        elasticity.row_matrices(names, types, type_index, compliance, "compliance"),
        elasticity.row_matrices(names, types, type_index, damping, "damping"),
    )
    first, second = frames
    joints = JointColumns(types, type_index, *ends, first, second, time_functions, *matrices)
    _check_compliances(names, joints)
    return joints


def _check_compliances(names: Sequence[str], joints: JointColumns) -> None:
    """Raise ModelError where a compliance or a damping does not suit its joint."""
    index, compliance, damping = joints.type_index, joints.compliance, joints.damping
    if len(index) == 0 or not (compliance.any() or damping.any()):
        return
    first = np.unique(index, return_index=True)[1].tolist()  # others are as these
    is_same = compliance.strides[0] == damping.strides[0] == 0
    seen: set[Any] = set()
    for j in sorted({*first, *joints.prescribed}) if is_same else range(len(index)):
        who = f"joint {names[j]!r}"
        is_compliant = compliance[j].any()
        if damping[j].any() and not is_compliant:
            raise ModelError(
                f"{who}: has a damping, but its rows are rigid; give them a compliance, or add a "
                "damper to a coordinate by add_joint_force"
            )
        if is_compliant and j in joints.prescribed:
            raise ModelError(
                f"{who}: has a compliance and a prescribed coordinate; prescribe it at a rigid "
                "joint to a small body between the two"
            )
        key = int(index[j]), compliance[j].tobytes(), damping[j].tobytes()
        if is_compliant and key not in seen:
            elasticity.split(who, joints.type_of(j), compliance[j], damping[j])
            seen.add(key)


def distinct_types(
    names: Sequence[str], joint_type: JointType | Sequence[JointType]
) -> tuple[tuple[JointType, ...], IntArray]:
    """Return the types in the order in which they occur, and the index of each joint's."""
    n = len(names)
    if isinstance(joint_type, JointType):
        return (joint_type,), np.broadcast_to(np.intp(0), n)
    kinds = objects(joint_type, n, shown("joints", names), "type").tolist()
    for j, kind in enumerate(kinds):
        if not isinstance(kind, JointType):
            raise ModelError(
                f"joint {names[j]!r}: type is {kind!r}; give a joint type such as Revolute()"
            )
    index = {kind: k for k, kind in enumerate(dict.fromkeys(kinds))}
    return tuple(index), np.array([index[kind] for kind in kinds], dtype=np.intp)


def count_cycles(n_bodies: int, predecessor: IntArray, successor: IntArray) -> int:
    """Return edges - nodes + components of bodies and joints, the world (-1) being one node."""
    n = n_bodies + 1  # the world is the last node
    return int(model.spanning_forest(n, predecessor % n, successor % n)[1].sum())


# ---- bodies and frames ----------------------------------------------------------------------
# `what` are the elements that messages name, such as "joints".


def joint_ends(
    what: str, names: Sequence[str], predecessor: Any, successor: Any, bodies: Names
) -> tuple[IntArray, IntArray]:
    """(n,) predecessors and (n,) successors, two different bodies each."""
    first = _ends(what, names, predecessor, bodies, "predecessor")
    second = _ends(what, names, successor, bodies, "successor")
    is_self_loop = first == second
    if is_self_loop.any():
        j = int(np.argmax(is_self_loop))
        body = WORLD if second[j] < 0 else bodies[int(second[j])]
        who = shown(what, names[j : j + 1])
        raise ModelError(f"{who}: connects {body!r} to itself; give two bodies")
    return first, second


def _ends(what: str, names: Sequence[str], ends: Any, bodies: Names, side: str) -> IntArray:
    """(n,) bodies from their names or numbers, one for all or one for each; -1 is the world."""
    n = len(names)
    if isinstance(ends, str | int | np.integer):
        return np.broadcast_to(_ends(what, names[:1], [ends], bodies, side), n)
    is_array = isinstance(ends, np.ndarray) and ends.dtype.kind in "iu"
    if is_array or all(isinstance(body, int | np.integer) for body in ends):
        index = np.array(ends, dtype=np.intp)
        wrong = (index < -1) | (index >= len(bodies))
        remedy = f"give 0 to {len(bodies) - 1}, or -1 for the world"
    else:
        ends = list(ends)
        index = bodies.find_all(ends)
        wrong = (index < 0) & np.fromiter((body != WORLD for body in ends), bool, len(ends))
        remedy = f"add it with add_body first (bodies: {', '.join(bodies[:5]) or 'none'}, ...)"
    if index.shape != (n,):
        who = shown(what, names)
        raise ModelError(f"{who}: {side} has shape {index.shape}; give one body, or {n}")
    if wrong.any():
        j = int(np.argmax(wrong))
        raise ModelError(f"{shown(what, names[j : j + 1])}: there is no body {ends[j]!r}; {remedy}")
    return index


def frames_of_bodies(what: str, names: Sequence[str], *given: InBody) -> tuple[Frames, ...]:
    """Return frames that are given in the bodies of joints, one for all or one for each."""
    n, frames = len(names), []
    for one in given:
        frame = Frame() if one is None else one
        if isinstance(frame, Frame):
            frame = Frames.repeated(frame, n)
        if not isinstance(frame, Frames) or len(frame) != n:
            description = f"{len(frame)} Frames" if isinstance(frame, Frames) else repr(one)
            who = f"{shown(what, names)}: a joint frame is {description}"
            raise ModelError(f"{who}; give a Frame, or Frames of {n}")
        frames.append(frame)
    return tuple(frames)


def frames_of_world(
    what: str, names: Sequence[str], poses: Poses, point: ArrayLike, *axes_given: ArrayLike | None
) -> tuple[Frames, ...]:
    """Return joint frames in both bodies that coincide with frames given in the world.

    `poses` are positions (n, 3) and orientations (n, 4) of predecessors and successors;
    `axes_given` the z and x axes of the frames.
    """
    n, who, (axis, x_axis) = len(names), shown(what, names), axes_given
    origin = column(point, (3,), n, who, "point")
    if not np.isfinite(distinct(origin)).all():
        i = columns.first_wrong(n, lambda some: bool(np.isfinite(origin[some]).all()))
        vector(origin[i], shown(what, names[i : i + 1]), "point")
    e_z = column((0.0, 0.0, 1.0) if axis is None else axis, (3,), n, who, "axis")
    e_x = None if x_axis is None else column(x_axis, (3,), n, who, "x axis")

    def one(i: int) -> FloatArray:
        return axes(e_z[i], None if e_x is None else e_x[i], shown(what, names[i : i + 1]))

    if e_z.strides[0] == 0 and (e_x is None or e_x.strides[0] == 0):
        turned = repeated(one(0), n)
    else:
        with np.errstate(all="ignore"):
            turned = all_axes(e_z, e_x)
        for i in np.flatnonzero(~np.isfinite(turned).all(axis=(1, 2))).tolist():
            one(i)
    frames = []
    for position, orientation in poses:
        if (orientation == orientation[0]).all():
            orientation = repeated(orientation[0], n)
        to_body = np.swapaxes(rotations(orientation), 1, 2)
        turn = quaternion_from_rotation(distinct(to_body) @ distinct(turned))
        turn = turn if len(turn) == n else repeated(turn[0], n)
        frames.append(trusted(Frames, np.einsum("nij,nj->ni", to_body, origin - position), turn))
    return tuple(frames)


# ---- prescribed motions -------------------------------------------------------------------------


def check_coordinate(who: str, joint_type: JointType, coordinate: object) -> None:
    """Raise ModelError unless the joint type has a velocity coordinate of this number."""
    if not (isinstance(coordinate, int | np.integer) and 0 <= coordinate < joint_type.n_velocities):
        raise ModelError(
            f"{who}: coordinate is {coordinate!r}, but a {joint_type.name} joint has "
            f"{joint_type.n_velocities} (counted from 0)"
        )
    if not joint_type.has_named_coordinates:
        raise ModelError(
            f"{who}: a {joint_type.name} joint has no named coordinates; use add_point_force"
        )


def _prescribed(who: str, joint_type: JointType, motion: Any) -> dict[int, TimeFunction]:
    """Return the functions of time of the coordinates that are prescribed."""
    items = motion if isinstance(motion, Mapping) else {0: motion}
    for coordinate in items:
        check_coordinate(who, joint_type, coordinate)
        if coordinate not in joint_type.scalar_positions:
            raise ModelError(
                f"{who}: coordinate {coordinate} of a {joint_type.name} joint has no position that "
                "could be prescribed"
            )
    return {i: time_function(items[i], f"{who}, coordinate {i}") for i in sorted(items)}
