"""Trees of bodies for robot files: which joint leads to each body, and which joints close loops."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.sparse import csgraph, csr_array

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ModelWarning, warn_user
from sparsebody.kinematics.joint_motion import body_rotations, joint_frames, joint_motion
from sparsebody.model import WORLD, JointType, Mechanism, State, System, rigid_clusters
from sparsebody.model import time_functions as functions
from sparsebody.model.system import check_state
from sparsebody.model.time_functions import TimeFunction

NEVER = 0  # a cost: this joint is no joint of a tree


@dataclass(frozen=True, eq=False)
class PosedMechanism:
    """A mechanism at a state; frames of bodies and joints in the world, the world's own last."""

    mechanism: Mechanism  # without bodies of singular inertia
    system: System
    state: State

    @classmethod
    def of(cls, mechanism: Mechanism, state: State | None) -> "PosedMechanism":
        """Return it at a state; default: the consistent initial one."""
        regular = rigid_clusters.with_regular_inertias(mechanism)
        system = regular.compile()
        if state is not None:
            check_state(system, state)
        return cls(regular, system, consistent_state(system) if state is None else state)

    @cached_property
    def joint_types(self) -> list[JointType]:
        """(n_joints,) the types that joints were declared with."""
        joints = self.mechanism.columns()[1]
        return [joints.types[k] for k in joints.type_index.tolist()]

    @cached_property
    def rotation(self) -> FloatArray:
        """(n_bodies + 1, 3, 3) from body to world axes."""
        return np.concatenate([body_rotations(self.state), np.eye(3)[None]])

    @cached_property
    def center(self) -> FloatArray:
        """(n_bodies + 1, 3) centers of mass, from which points are given, in the world [m]."""
        return np.concatenate([self.state.position, np.zeros((1, 3))])

    @cached_property
    def origin(self) -> FloatArray:
        """(n_bodies + 1, 3) origins of the users' body frames in the world [m]."""
        local = np.concatenate([self.system.center_of_mass, np.zeros((1, 3))])
        return self.center - np.einsum("nij,nj->ni", self.rotation, local)

    @cached_property
    def twist(self) -> FloatArray:
        """(n_bodies + 1, 2, 3) angular velocity, and velocity of the origin, in world axes."""
        w, u = self.state.velocity[:, :3], self.state.velocity[:, 3:]
        local = np.stack([w, u - np.cross(w, self.system.center_of_mass)], axis=1)
        turned = np.einsum("nij,nkj->nki", self.rotation[:-1], local)
        return np.concatenate([turned, np.zeros((1, 2, 3))])

    @cached_property
    def joint_frames(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """Axes (n_joints, 3, 3) and origins (n_joints, 3) of P, and of S, in the world."""
        return joint_frames(self.system, self.state)

    @cached_property
    def coordinates(self) -> list[tuple[FloatArray, FloatArray]]:
        """(n_joints,) q with whole turns where they are tracked, and the velocity coordinates."""
        motion, tracked = joint_motion(self.system, self.state), self.system.coordinates
        parts = self.joint_types, motion.rotation, motion.translation, motion.velocity
        coordinates = []
        for kind, E, r, v in zip(*parts, strict=True):
            q = np.array(kind.coordinates(E, r))
            coordinates.append((q, kind.active_force_subspace(q).T @ v))
        for k in np.flatnonzero(tracked.is_angle).tolist():
            j, index = int(tracked.joint[k]), int(tracked.index[k])
            kind = self.joint_types[j]
            q = coordinates[j][0]
            q[kind.n_positions - kind.n_velocities + index] = self.state.coordinate[k]
        return coordinates

    def name(self, body: int) -> str:
        """Return the name of a body, -1 for the world."""
        return WORLD if body < 0 else self.system.body_names[body]

    def in_body(self, body: int, point: FloatArray) -> FloatArray:
        """Return a point of the world in the user's frame of a body [m]."""
        return np.asarray(self.rotation[body].T @ (point - self.origin[body]))


@dataclass(frozen=True, eq=False)
class BodyTree:
    """The joint that leads to each body from its parent; -1 stands for the world and no joint."""

    parent: IntArray  # (n_bodies,)
    joint: IntArray  # (n_bodies,) -1 where a body moves freely in the world
    order: IntArray  # (n_bodies,) parents before children
    depth: IntArray  # (n_bodies,) bodies from the world to each, itself included
    loop_joints: IntArray  # (n,) the joints that lead to no body


def body_tree(system: System, cost: IntArray) -> BodyTree:
    """Return a spanning tree of least total cost, as shallow as that allows.

    `cost` (n_joints,) holds positive numbers, or NEVER. In a component without a joint to the world
    one body is a child of the world, its joint -1.
    """
    n, usable = system.n_bodies, np.flatnonzero(cost != NEVER)
    ends = np.stack([system.predecessor[usable], system.successor[usable]], axis=1) + 1
    graph = csr_array((np.ones(len(ends)), ends.T), shape=(n + 1, n + 1))
    component = csgraph.connected_components(graph, directed=False)[1]
    roots = np.unique(component, return_index=True)[1]  # the first body of each
    roots = roots[roots > 0]
    ends = np.concatenate([ends, np.stack([np.zeros_like(roots), roots], axis=1)])
    joint = np.concatenate([usable, np.full(len(roots), -1)])
    graph = csr_array((np.ones(len(ends)), ends.T), shape=(n + 1, n + 1))
    level = csgraph.dijkstra(graph, directed=False, indices=0, unweighted=True)
    weight = level[ends].max(axis=1) + (n + 2.0) * np.append(cost[usable], np.ones(len(roots)))
    first, second = ends.min(axis=1), ends.max(axis=1)
    best = np.lexsort([weight, first * (n + 1) + second])
    key, index = np.unique((first * (n + 1) + second)[best], return_index=True)
    edges = best[index]  # the cheapest of parallel joints
    chosen = csr_array((weight[edges], (first[edges], second[edges])), shape=(n + 1, n + 1))
    least = csgraph.minimum_spanning_tree(chosen)
    order, before = csgraph.breadth_first_order(least, 0, directed=False)
    child = order[1:]
    parent = before[child]
    pair = np.minimum(parent, child) * np.intp(n + 1) + np.maximum(parent, child)
    leading = np.empty(n, dtype=np.intp)
    leading[child - 1] = joint[edges[np.searchsorted(key, pair)]]
    parents, depth = np.empty(n, dtype=np.intp), np.zeros(n + 1, dtype=np.intp)
    parents[child - 1] = parent - 1
    for body in (child - 1).tolist():
        depth[body] = depth[parents[body]] + 1  # the world's, the last, is zero
    is_loop = np.ones(system.n_joints, dtype=bool)
    is_loop[leading[leading >= 0]] = False
    return BodyTree(parents, leading, child - 1, depth[:-1], np.flatnonzero(is_loop))


@dataclass(frozen=True)
class Notes:
    """What a file cannot hold: items by reason, one warning for each reason."""

    _items: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, *names: str) -> None:
        """Note items of the mechanism, by their names."""
        self._items.setdefault(reason, []).extend(map(repr, names))

    def add_compliant(self, at: PosedMechanism) -> None:
        """Note the joints whose compliance is lost."""
        compliance = at.mechanism.columns()[1].compliance
        if compliance.any():
            soft = np.flatnonzero(compliance.any(axis=(1, 2))).tolist()
            names = (at.system.joint_names[j] for j in soft)
            self.add("compliant joints are rigid in the file", *names)

    def warn(self, path: object) -> None:
        """Warn once for each reason."""
        for reason, items in self._items.items():
            warn_user(f"{path}: {reason}: {', '.join(items)}", ModelWarning)


def is_constant(function: float | TimeFunction) -> bool:
    """Tell whether a function of time is a number."""
    return isinstance(function, int | float) or functions.is_constant(function)


def value_at(function: float | TimeFunction, time: float) -> float:
    """Return the value of a number or function at a time."""
    return float(function) if isinstance(function, int | float) else float(function(time)[0])


def numbers(values: Iterable[float]) -> str:
    """Return numbers as robot files have them, to the last bit."""
    return " ".join(repr(float(value)) for value in np.asarray(values, dtype=float).ravel())
