"""The spanning tree of a mechanism, in its own regular numbering, and its constants for kernels.

A link is a body in the axes of its own frame on its tree joint, with the origin there: S on the
successor, or P on the predecessor where the tree runs the other way. That is the distal frame of
the joint; the other one, on the parent, is the proximal frame.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import BoolArray, FloatArray, IntArray, offsets
from sparsebody.errors import ModelError
from sparsebody.model import System, joints

N_POSITIONS, N_VELOCITIES, N_SCALARS = np.array(  # of joint types; scalar positions come last
    [(info.n_positions, info.n_velocities, info.n_scalars) for info in joints.INFO], dtype=np.intp
).T
N_SURPLUS, FIRST_SCALAR = N_POSITIONS - N_VELOCITIES, N_VELOCITIES - N_SCALARS

# Columns of `constants`
PROXIMAL, PROXIMAL_POINT = 0, 9  # proximal frame to the parent link's axes, and its origin there
FRAME, FRAME_POINT = 12, 21  # the link's axes to body axes, and its origin from the com there
COM, INERTIA, MASS = 24, 27, 33  # com and lower triangle of the inertia about it in link axes
PARAMETER = 34  # pitch or length
WIDTH = 35


class Links(NamedTuple):
    """Constants of a tree; the last row of `indices` ends the offsets."""

    indices: IntArray  # (n + 1, 6) parent, kind, direction, body, first velocity and position
    constants: FloatArray  # (n, WIDTH)
    gravity: FloatArray  # (3,) in the world [m/s^2]


class BranchPattern(NamedTuple):
    """Where the entries of a triangle with branch-induced sparsity are."""

    parent: IntArray  # (n,) lambda(k), the expanded parent array
    depth: IntArray  # (n,) number of coordinates before k on its support
    start: IntArray  # (n + 1,) where each row begins in the values; entry (k, j) is at
    #   start[k] + depth[j], for every j on the support of k


class PrescribedCoordinates(NamedTuple):
    """Prescribed coordinates of tree joints: rows that fix qdd[velocity], one number each."""

    velocity: IntArray  # (n,) velocity coordinates of the tree
    row: IntArray  # (n,) their constraint rows in the system
    item: IntArray  # (n,) their indices in TrackedCoordinates.prescribed


@dataclass(frozen=True, eq=False)
class SpanningTree:
    """A spanning tree of a System; every array is in the tree's own, depth-first numbering.

    Body i has tree joint i, which leads to it from body parent[i] < i; -1 is the world. A joint
    keeps its own coordinates, velocities and forces if the tree runs through it from successor to
    predecessor; direction -1 says so, and its motion subspace in the tree is then -X S. A body
    that no joint leads to has a virtual free joint: its coordinates are those of a Free joint from
    the world's frame to its center of mass in body axes.
    """

    system: System
    choice: str  # a name from TREE_CHOICES
    body: IntArray  # (n,) the system's index of each body
    joint: IntArray  # (n,) the system's index of each tree joint, -1 for a virtual free joint
    parent: IntArray  # (n,) lambda(i)
    direction: IntArray  # (n,) 1, or -1 where the parent is the joint's successor
    kind: IntArray  # (n,) index of the joint type in the native list
    first_velocity: IntArray  # (n + 1,) where each joint's velocity coordinates begin
    first_position: IntArray  # (n + 1,) where its position coordinates begin
    loop_joint: IntArray  # (n_loops,) the system's numbers of the joints that close loops

    @property
    def n_bodies(self) -> int:
        """Number of bodies, and of tree joints."""
        return len(self.body)

    @property
    def n_loops(self) -> int:
        """Number of loop joints."""
        return len(self.loop_joint)

    @property
    def n_velocities(self) -> int:
        """Number of velocity coordinates qd: the freedoms of the tree."""
        return int(self.first_velocity[-1])

    @property
    def n_positions(self) -> int:
        """Number of position coordinates q."""
        return int(self.first_position[-1])

    @cached_property
    def index(self) -> IntArray:
        """(n + 1,) the tree's number of each body of the system, and -1 for the world."""
        index = np.full(self.n_bodies + 1, -1)
        index[self.body] = np.arange(self.n_bodies)
        return index

    @cached_property
    def tree_index(self) -> IntArray:
        """(n_joints,) the tree's number of each joint of the system, -1 for loop joints."""
        index = np.full(self.system.n_joints, -1, dtype=np.intp)
        is_real = self.joint >= 0
        index[self.joint[is_real]] = np.flatnonzero(is_real)
        return index

    @cached_property
    def links(self) -> Links:
        """Joint frames, masses and inertias in the axes of the links, for the kernels."""
        return _links(self)

    @cached_property
    def pattern(self) -> BranchPattern:
        """The branch-induced sparsity of H."""
        parent = self.expanded_parent
        depth = native.depths(parent, np.ones_like(parent)) - 1
        return BranchPattern(parent, depth, offsets(depth + 1))

    @cached_property
    def freedoms(self) -> IntArray:
        """(n,) number of velocity coordinates of each tree joint."""
        return np.diff(self.first_velocity)

    @cached_property
    def expanded_parent(self) -> IntArray:
        """(n_velocities,) the velocity coordinate before each one. Featherstone, sec. 6.5."""
        expanded, has_freedoms = np.arange(self.n_velocities) - 1, self.freedoms > 0
        first, parent = self.first_velocity[:-1][has_freedoms], self.parent[has_freedoms]
        expanded[first] = self.last_velocity[parent]
        return expanded

    @cached_property
    def last_velocity(self) -> IntArray:
        """(n + 1,) the last velocity coordinate on each link's support, -1 for none; the world."""
        last = np.append(np.where(self.freedoms > 0, self.first_velocity[1:] - 1, -2), -1)
        while (last == -2).any():  # links on fixed joints
            last[:-1] = np.where(last[:-1] == -2, last[self.parent], last[:-1])
        return last

    @cached_property
    def depth(self) -> IntArray:
        """(n,) number of joints between the world and each body."""
        return native.depths(self.parent, np.ones(self.n_bodies, dtype=np.intp))

    @cached_property
    def n_inertia_nonzeros(self) -> int:
        """Nonzeros of the lower triangle of H: freedoms couple with all on their support."""
        depth, own = native.depths(self.parent, self.freedoms), self.freedoms
        return int((own * (2 * depth - own + 1)).sum()) // 2

    @cached_property
    def loop_rows(self) -> IntArray:
        """Rows of the system's loop joints, prescribed coordinates among them, in order."""
        return np.flatnonzero(self.tree_index[self.system.row_joint] < 0)

    @cached_property
    def prescribed(self) -> PrescribedCoordinates:
        """The prescribed coordinates of tree joints; those of loop joints are loop rows."""
        tracked = self.system.coordinates
        joint = self.tree_index[tracked.joint[tracked.prescribed]]
        item = np.flatnonzero(joint >= 0)
        own = tracked.prescribed[item]
        velocity = self.first_velocity[joint[item]] + tracked.index[own]
        return PrescribedCoordinates(velocity, tracked.row[own], item)

    @cached_property
    def is_prescribed(self) -> BoolArray:
        """(n_velocities,) whether qdd is prescribed, or (0,) if none is."""
        n = self.n_velocities if len(self.prescribed.velocity) else 0
        is_prescribed = np.zeros(n, dtype=bool)
        is_prescribed[self.prescribed.velocity] = True
        return is_prescribed

    @cached_property
    def loop_ends(self) -> IntArray:
        """(n_loops, 2) links of predecessor and successor of the loop joints, -1 for the world."""
        return self.ends(self.loop_joint)

    def ends(self, joint: IntArray) -> IntArray:
        """Return the links (m, 2) of predecessor and successor of the system's joints (m,)."""
        return self.index[self.system.ends[joint]]

    def velocities(self, i: int) -> slice:
        """Return the velocity coordinates of tree joint i."""
        return slice(int(self.first_velocity[i]), int(self.first_velocity[i + 1]))

    def support(self, i: int) -> IntArray:
        """Return kappa(i): the joints between the world and body i, outermost last."""
        support = []
        while i >= 0:
            support.append(i)
            i = int(self.parent[i])
        return np.array(support[::-1], dtype=np.intp)

    def velocity_name(self, k: int) -> str:
        """Say which velocity coordinate number k is, for messages."""
        i = int(np.searchsorted(self.first_velocity, k, side="right")) - 1
        system, j = self.system, int(self.joint[i])
        if j < 0:
            return f"the free motion of body {system.body_names[int(self.body[i])]!r}"
        return f"coordinate {k - int(self.first_velocity[i])} of joint {system.joint_names[j]!r}"


AnyTree: TypeAlias = SpanningTree | str
"""A tree, or what `spanning_tree` is to choose it by."""


def _links(tree: SpanningTree) -> Links:
    system, n = tree.system, tree.n_bodies

    def of_joints(values: FloatArray, virtual: object) -> FloatArray:
        """Rows of the tree joints; a virtual free joint (-1) has the last."""
        return np.concatenate([values, [virtual]])[tree.joint]

    one, zero = np.eye(3), np.zeros(3)
    P = of_joints(system.predecessor_rotation, one), of_joints(system.predecessor_point, zero)
    S = of_joints(system.successor_rotation, one), of_joints(system.successor_point, zero)
    is_forward = (tree.direction > 0)[:, None]
    distal, proximal = (
        np.where(is_forward[..., None], *pair) for pair in ((S[0], P[0]), (P[0], S[0]))
    )
    distal_point, proximal_point = (
        np.where(is_forward, *pair) for pair in ((S[1], P[1]), (P[1], S[1]))
    )
    parent_frame = np.concatenate([distal, [one]])[tree.parent]
    parent_point = np.concatenate([distal_point, [zero]])[tree.parent]
    constants = np.empty((n, WIDTH))
    to_parent = np.swapaxes(parent_frame, 1, 2) @ proximal
    constants[:, PROXIMAL:PROXIMAL_POINT] = to_parent.reshape(n, 9)
    constants[:, PROXIMAL_POINT:FRAME] = np.einsum(
        "nij,ni->nj", parent_frame, proximal_point - parent_point
    )
    constants[:, FRAME:FRAME_POINT] = distal.reshape(n, 9)
    constants[:, FRAME_POINT:COM] = distal_point
    constants[:, COM:INERTIA] = -np.einsum("nij,ni->nj", distal, distal_point)
    turned = np.swapaxes(distal, 1, 2) @ system.inertia[tree.body] @ distal
    constants[:, INERTIA:MASS] = turned[:, *np.tril_indices(3)]
    constants[:, MASS] = system.mass[tree.body]
    constants[:, PARAMETER] = of_joints(system.parameter, 0.0)
    indices = np.zeros((n + 1, 6), dtype=np.intp)
    indices[:n, :4] = np.stack([tree.parent, tree.kind, tree.direction, tree.body], axis=1)
    indices[:, 4], indices[:, 5] = tree.first_velocity, tree.first_position
    return Links(indices, constants, np.array(system.gravity, dtype=float))


def loop_error(tree: SpanningTree, method: str, others: Iterable[str]) -> ModelError:
    """Return the error of a method for trees that is given a mechanism with loops."""
    name = tree.system.joint_names[int(tree.loop_joint[0])]
    listed = ", ".join(repr(other) for other in others)
    return ModelError(
        f"method {method!r} takes trees only, and joint {name!r} closes a loop "
        f"({tree.n_loops} joints do); use one of {listed}"
    )
