"""System: a compiled mechanism, and State: where it is and how it moves."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import BoolArray, BriefRepr, FloatArray, Int32Array, IntArray, offsets
from sparsebody.errors import ModelError, ShapeError
from sparsebody.html_tables import counts_text, first_names, html_facts, largest_norm, lengths
from sparsebody.model.columns import ObjectArray
from sparsebody.model.connections import count_cycles
from sparsebody.model.elasticity import FRAMES, ElasticElements
from sparsebody.model.joints import JOINT_TYPES, JointType
from sparsebody.model.names import Names
from sparsebody.model.time_functions import TimeFunction, TimeFunctions
from sparsebody.spatial import symmetric_inverse


@dataclass(frozen=True, eq=False, repr=False)
class State(BriefRepr):
    """Pose and velocity of all bodies at a time.

    Body coordinates: the axes of the body frame, with the origin at the center of mass.
    """

    position: FloatArray  # (n_bodies, 3) centers of mass in the world [m]
    orientation: FloatArray  # (n_bodies, 4) unit quaternions (w, x, y, z), body to world
    velocity: FloatArray  # (n_bodies, 6) spatial, in body coordinates, angular first [rad/s, m/s]
    coordinate: FloatArray  # (n_coordinates,) tracked joint coordinates, whole turns included
    time: float = 0.0  # [s]

    def _html_facts(self) -> Mapping[str, object]:
        turn, speed = (largest_norm(part) for part in np.split(self.velocity, 2, axis=1))
        facts: dict[str, object] = {"bodies": len(self.position), "time": f"{self.time:.6g} s"}
        if len(self.position):
            facts["extent of the centers of mass"] = lengths(np.ptp(self.position, axis=0))
        return facts | {
            "fastest body": f"{speed:.3g} m/s, {turn:.3g} rad/s",
            "tracked coordinates": len(self.coordinate),
        }

    def with_(self, **changes: Any) -> "State":
        """Return a copy with some fields replaced."""
        return replace(self, **changes)


class States(NamedTuple):
    """The arrays of `State` at k times, which are their first axis."""

    position: FloatArray  # (k, n_bodies, 3)
    orientation: FloatArray  # (k, n_bodies, 4)
    velocity: FloatArray  # (k, n_bodies, 6)
    coordinate: FloatArray  # (k, n_coordinates)
    time: FloatArray  # (k,)

    @classmethod
    def of(cls, *states: State) -> "States":
        """Return the arrays of some states, views of those of a single one."""
        names = ("position", "orientation", "velocity", "coordinate")
        arrays = [[getattr(state, name) for state in states] for name in names]
        joined = (of[0][None] if len(of) == 1 else np.array(of) for of in arrays)
        return cls._make([*joined, np.array([state.time for state in states])])

    def at(self, k: int) -> State:
        """Return the state at the k-th time, in memory of its own."""
        position, orientation, velocity, coordinate = (array[k].copy() for array in self[:4])
        return State(position, orientation, velocity, coordinate, float(self.time[k]))

    def chosen(self, k: Sequence[int] | slice) -> "States":
        """Return the states at some of the times."""
        return States._make(array[k] for array in self)


@dataclass(frozen=True, eq=False)
class TrackedCoordinates:
    """Joint coordinates with a spring, a damper or an actuator, or with a prescribed motion."""

    joint: IntArray  # (n,)
    index: IntArray  # (n,) which coordinate of the joint
    is_angle: BoolArray  # (n,) known from a pose only up to whole turns
    row: IntArray  # (n,) constraint row of a prescribed coordinate, -1 where it is free
    motion: tuple[TimeFunction | None, ...]  # (n,) the prescribed motion

    @cached_property
    def prescribed(self) -> IntArray:
        """The items that are given functions of time."""
        return np.flatnonzero(self.row >= 0)

    @cached_property
    def motions(self) -> TimeFunctions:
        """These functions."""
        motions = [self.motion[item] for item in self.prescribed]
        return TimeFunctions([motion for motion in motions if motion is not None])


@dataclass(frozen=True, eq=False)
class Springs:
    """Stiffness, damping and effort of springs, dampers and actuators, on angles or lengths."""

    labels: tuple[str, ...]  # their names in messages
    stiffness: FloatArray  # (n,) [N m/rad] or [N/m]
    damping: FloatArray  # (n,) [N m s/rad] or [N s/m]
    effort: tuple[TimeFunction, ...]  # (n,) [N m] or [N]

    @cached_property
    def _functions(self) -> TimeFunctions:
        return TimeFunctions(self.effort)

    def efforts(self, time: float) -> FloatArray:
        """Return (n,) the efforts at a time [N or N m]; ModelError names one that is not finite."""
        return self.efforts_at([time])[0]

    def efforts_at(self, times: Sequence[float]) -> FloatArray:
        """Return (k, n) the efforts at k times; ModelError names the first one not finite."""
        values = np.zeros((len(times), len(self.effort), 3))
        for of_time, time in zip(values, times, strict=True):
            self._functions.fill(time, of_time)
        efforts = values[:, :, 0]
        is_finite = np.isfinite(efforts)
        if not is_finite.all():
            k, bad = np.argwhere(~is_finite)[0]
            raise ModelError(
                f"the effort of {self.labels[bad]} is {efforts[k, bad]} at t = {times[k]:.6g} s; "
                "it must be finite"
            )
        return efforts


@dataclass(frozen=True, eq=False)
class JointForces(Springs):
    """Springs, dampers and efforts on tracked coordinates."""

    item: IntArray  # (n,) into TrackedCoordinates
    rest: FloatArray  # (n,) unloaded coordinate [rad] or [m]


@dataclass(frozen=True, eq=False)
class PointForces(Springs):
    """Springs, dampers and efforts between points; points from the com in body axes [m]."""

    first: IntArray  # (n,) bodies, -1 for the world
    second: IntArray
    first_point: FloatArray  # (n, 3)
    second_point: FloatArray
    rest_length: FloatArray  # (n,) [m]

    @property
    def springs(self) -> Any:
        """Bodies, points and the constants of the springs, as kernels take them."""
        points = self.first, self.second, self.first_point, self.second_point
        return *points, self.stiffness, self.rest_length, self.damping

    def check_directions(self, bad: int) -> None:
        """Raise ModelError that names the force `bad`, -1 for none, whose points coincide."""
        if bad >= 0:
            raise ModelError(f"{self.labels[bad]}: its points coincide, so it has no direction")


@dataclass(frozen=True, eq=False)
class ExternalForces:
    """Constant forces and moments about the com, in world or in body axes."""

    body: IntArray  # (n,)
    wrench: FloatArray  # (n, 6) moment first; the moment of a shifted force is added at run time
    point: FloatArray  # (n, 3) from the com in body axes [m]
    in_world: BoolArray  # (n,)
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class System:
    """Flat arrays and topology of a mechanism; immutable, and knows no solver.

    Bodies and joints keep the order of declaration; -1 stands for the world. A compliant joint is
    of the type that its rigid rows make, free if there are none, and an elastic element.
    """

    name: str
    gravity: FloatArray  # (3,) [m/s^2]
    body_names: Names
    mass: FloatArray  # (n_bodies,) [kg]
    inertia: FloatArray  # (n_bodies, 3, 3) about the com, in body axes [kg m^2]
    center_of_mass: FloatArray  # (n_bodies, 3) in the user's body frame [m]
    joint_names: Names
    joint_types: tuple[JointType, ...]
    joint_kind: IntArray  # (n_joints,) the index of each joint's type in the native list
    predecessor: IntArray  # (n_joints,)
    successor: IntArray
    predecessor_rotation: FloatArray  # (n_joints, 3, 3) joint frame to body axes
    predecessor_point: FloatArray  # (n_joints, 3) from the com in body axes [m]
    successor_rotation: FloatArray
    successor_point: FloatArray
    parameter: FloatArray  # (n_joints,) pitch or length of those types that have one
    first_row: IntArray  # (n_joints + 1,) constraint rows, those of prescribed motions last
    subspace_rows: FloatArray  # (k, 6) the different rows of T' in S coordinates, or zeros
    subspace_index: Int32Array  # (n_rows,) which of these each constraint row has

    coordinates: TrackedCoordinates
    joint_forces: JointForces
    point_forces: PointForces
    external_forces: ExternalForces
    elastic: ElasticElements
    initial_state: State
    shapes: ObjectArray  # (n_bodies,) Shape or None, in the user's body frames, for pictures only

    def __repr__(self) -> str:
        counts = f"{self.n_bodies} bodies, {self.n_joints} joints, {self.n_rows} constraint rows"
        return f"System({self.name!r}: {counts})"

    def _repr_html_(self) -> str:
        names = {kind.kind: kind.name for kind in JOINT_TYPES.values()}
        count = np.bincount(self.joint_kind).tolist()
        facts: dict[str, object] = {
            "bodies": f"{self.n_bodies}: {first_names(self.body_names)}",
            "joints": f"{self.n_joints}: {first_names(self.joint_names)}",
            "joint types": counts_text({names[kind]: n for kind, n in enumerate(count)}),
            "loops": self.n_loops,
            "constraint rows": self.n_rows,
            "mobility": f"{6 * self.n_bodies - self.n_rows} at least: freedoms less rows",
            "prescribed coordinates": len(self.coordinates.prescribed),
        }
        if self.n_bodies:
            facts["mass"] = f"{self.mass.sum():.6g} kg"
            extent = np.ptp(self.initial_state.position, axis=0)
            facts["extent of the centers of mass"] = lengths(extent)
        return html_facts(f"System {self.name!r}", facts)

    @property
    def n_bodies(self) -> int:
        """Number of moving bodies."""
        return len(self.mass)

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return len(self.predecessor)

    @property
    def n_rows(self) -> int:
        """Number of constraint rows, dependent ones included."""
        return int(self.first_row[-1])

    @property
    def joint_frames(self) -> Any:
        """Predecessors, successors, and the joint frames (rotation, point) on either."""
        return tuple(getattr(self, name) for name in FRAMES)

    @property
    def subspaces(self) -> tuple[FloatArray, Int32Array]:
        """The different rows of T', and which of these each constraint row has."""
        return self.subspace_rows, self.subspace_index

    @cached_property
    def subspace(self) -> FloatArray:
        """(n_rows, 6) T' in S coordinates, where it is constant, else zeros."""
        return np.take(self.subspace_rows, self.subspace_index, axis=0)

    @cached_property
    def coordinate_types(self) -> tuple[IntArray, FloatArray]:
        """(n_joints,) kinds and parameters of the types that joints were declared with.

        They state the coordinates, also where rows of the joint are compliant.
        """
        own = self.elastic.joint >= 0
        if not own.any():
            return self.joint_kind, self.parameter
        kind, parameter = self.joint_kind.copy(), self.parameter.copy()
        kind[self.elastic.joint[own]] = self.elastic.kind[own]
        parameter[self.elastic.joint[own]] = self.elastic.parameter[own]
        return kind, parameter

    @cached_property
    def attachments(self) -> tuple[IntArray, FloatArray]:
        """Bodies (n,) and points (n, 3) from their centers, where joints and elements end."""
        elements = [getattr(self.elastic, side)[self.elastic.joint < 0] for side in FRAMES]
        first, second, _, first_point, _, second_point = elements
        body = np.concatenate([self.predecessor, self.successor, first, second])
        point = [self.predecessor_point, self.successor_point, first_point, second_point]
        return body[body >= 0], np.concatenate(point)[body >= 0]

    @property
    def has_loads(self) -> bool:
        """Whether there are forces besides gravity: loads, springs, dampers, efforts, elements."""
        loads = self.external_forces.body, self.joint_forces.item, self.point_forces.first
        return any(map(len, (*loads, self.elastic.kind)))

    @cached_property
    def n_loops(self) -> int:
        """Independent cycles of the graph of bodies and joints that have rows."""
        edges = np.flatnonzero(np.diff(self.first_row) > 0)
        return count_cycles(self.n_bodies, self.predecessor[edges], self.successor[edges])

    @cached_property
    def varying_joints(self) -> IntArray:
        """The joints whose T varies in S coordinates."""
        kinds = [kind.kind for kind in JOINT_TYPES.values() if kind.has_varying_T]
        return np.flatnonzero(np.isin(self.joint_kind, kinds))

    @cached_property
    def typical_length(self) -> float:
        """Mean distance of joints from the centers of mass [m]; lengths of beams count as such."""
        arms = self.successor_point, self.predecessor_point, self.elastic.rest[:, 3:]
        on_successor, on_predecessor, rest = (np.sqrt(np.einsum("na,na->n", a, a)) for a in arms)
        length = np.concatenate(
            [on_successor[self.successor >= 0], on_predecessor[self.predecessor >= 0], rest]
        )
        return float(length.mean()) if length.any() else 1.0

    @cached_property
    def ends(self) -> IntArray:
        """(n_joints, 2) predecessor and successor of each joint, -1 for the world."""
        return np.stack([self.predecessor, self.successor], axis=1)

    @cached_property
    def row_joint(self) -> IntArray:
        """(n_rows,) the joint of each constraint row."""
        return np.repeat(np.arange(self.n_joints, dtype=np.intp), np.diff(self.first_row))

    @property
    def spatial_inertia(self) -> FloatArray:
        """(n_bodies, 6, 6) diag(I_c, m 1), constant in body coordinates; made anew at each use."""
        inertia = np.zeros((self.n_bodies, 6, 6))
        inertia[:, :3, :3] = self.inertia
        inertia.reshape(-1, 36)[:, 21::7] = self.mass[:, None]
        return inertia

    @property
    def inverse_inertia(self) -> FloatArray:
        """(n_bodies, 6, 6) inverse of the spatial inertia; made anew at each use."""
        inverse = np.zeros((self.n_bodies, 6, 6))
        inverse[:, :3, :3] = symmetric_inverse(self.inertia)
        inverse.reshape(-1, 36)[:, 21::7] = 1.0 / self.mass[:, None]
        return inverse

    def body(self, name: str) -> int:
        """Return the index of a body."""
        remedy = "give the body that it is welded to if it has no mass or moments of its own"
        return self._index(self.body_names, f"body {name!r}; {remedy}", name)

    def joint(self, name: str) -> int:
        """Return the index of a joint."""
        return self._index(self.joint_names, f"joint {name!r}", name)

    def _index(self, names: Names, what: str, name: str) -> int:
        if (index := names.find(name)) < 0:
            raise ModelError(f"system {self.name!r} has no {what}")
        return index

    def rows(self, joint: int) -> slice:
        """Return the constraint rows of a joint."""
        return slice(int(self.first_row[joint]), int(self.first_row[joint + 1]))


_STATE = ("position", "orientation", "velocity", "coordinate")


def check_state(system: System, state: State) -> None:
    """Raise ShapeError or ModelError unless `state` is a state of `system`."""
    n = system.n_bodies
    shapes: tuple[tuple[int, ...], ...] = (n, 3), (n, 4), (n, 6), (len(system.coordinates.joint),)
    for field, shape in zip(_STATE, shapes, strict=True):
        array = getattr(state, field)
        if not isinstance(array, np.ndarray) or array.dtype != np.float64:
            kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
            raise ShapeError(f"state.{field} is of type {kind}; give a float64 array")
        if array.shape != shape:
            raise ShapeError(f"state.{field} has shape {array.shape}, the system needs {shape}")
    if not math.isfinite(state.time):
        raise ModelError(f"state.time is {state.time}; it must be finite")
    if model.is_regular(state.position, state.orientation, state.velocity, state.coordinate):
        return
    for field in _STATE:
        array = getattr(state, field)
        finite = np.isfinite(array).all(axis=tuple(range(1, array.ndim)))
        if not finite.all():
            bad = int(np.argmin(finite))
            of_joint = [system.joint_names[j] for j in system.coordinates.joint]
            who = of_joint[bad] if field == "coordinate" else system.body_names[bad]
            raise ModelError(f"state.{field} of {who!r} is {array[bad]}; it must be finite")
    norm = np.linalg.norm(state.orientation, axis=1)
    bad = int(np.argmax(np.abs(norm - 1.0)))
    raise ModelError(
        f"state.orientation of body {system.body_names[bad]!r} has norm {norm[bad]:.6g}; "
        "normalize the quaternion"
    )


def body_arrays(system: System, state: State) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return positions, orientations and velocities for a kernel, or raise what `check_state` does.

    Only their shapes are looked at: a kernel never reads beyond them.
    """
    arrays, n = (state.position, state.orientation, state.velocity), system.n_bodies
    if tuple(array.shape for array in arrays) != ((n, 3), (n, 4), (n, 6)):
        check_state(system, state)
    return arrays


def with_joints(system: System, joints: IntArray) -> System:
    """Return a System of the same bodies and forces with the joints of these indices, in turn.

    `joints` (m,) must contain all joints with tracked coordinates.
    """
    if np.array_equal(joints, np.arange(system.n_joints)):
        return system
    index = np.full(system.n_joints, -1, dtype=np.intp)
    index[joints] = np.arange(len(joints))
    sizes = np.diff(system.first_row)[joints]
    first_row = offsets(sizes)
    rows = np.repeat(system.first_row[joints] - first_row[:-1], sizes) + np.arange(first_row[-1])
    tracked, elastic = system.coordinates, system.elastic
    joint = index[tracked.joint]
    row = np.where(
        tracked.row >= 0, tracked.row - system.first_row[tracked.joint] + first_row[joint], -1
    )
    return replace(
        system,
        joint_names=Names(system.joint_names[j] for j in joints),
        joint_types=tuple(system.joint_types[j] for j in joints),
        **{name: getattr(system, name)[joints] for name in (*FRAMES, "joint_kind", "parameter")},
        first_row=first_row,
        subspace_index=system.subspace_index[rows],
        coordinates=replace(tracked, joint=joint, row=row),
        elastic=replace(elastic, joint=np.where(elastic.joint < 0, -1, index[elastic.joint])),
    )
