"""The elimination of a tree with loops in fronts, as tables that the native kernels follow.

A front is the symmetric matrix F of all that couples with a link, f = F y + g: accelerations of
links, and multipliers of open loops. Eliminating a freedom of link i, with U = F S_i, leaves
F - U U' / (S_i' U); then the rows of i move to its parent's origin. A loop's rows are eliminated
likewise, by pivots that are negative: [H K'; K -mu] is quasi-definite.

loop_constraints gives the same with drives and stabilization, by way of all joints of the system.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.equations.system_motion import NativeTerms
from sparsebody.model.system import State, with_joints
from sparsebody.tree.spanning_tree import SpanningTree
from sparsebody.tree.tree_motion import FRAME, FRAME_POINT, TreeMotion

LANES = 4  # rows of fronts are multiples of this many numbers


class Loops(NamedTuple):
    """The loops that have rows, by number."""

    ends: IntArray  # (n, 2) links of predecessor and successor, -1 for the world
    first_row: IntArray  # (n + 1,) among all loop rows


def constrained_loops(tree: SpanningTree) -> Loops:
    """Return the loop joints of a tree that have rows, in order."""
    first = tree.system.first_row
    joint = tree.loop_joint
    rows = first[joint + 1] - first[joint]
    offsets = np.concatenate([[0], np.cumsum(rows[rows > 0])])
    return Loops(tree.loop_ends[rows > 0], offsets.astype(np.intp))


class Front:
    """The rows of a front in the making: which node has which.

    Nodes are numbers: links, then loops.
    """

    def __init__(self) -> None:
        self.slots: dict[int, int] = {}  # first row of each node
        self.sizes: dict[int, int] = {}
        self.holes: list[tuple[int, int]] = []  # first row, number of rows
        self.end = 0
        self.height = 0  # rows ever used
        self.base, self.side = -1, -1  # where its matrix and its right-hand side begin

    @property
    def stride(self) -> int:
        """Numbers in a row."""
        return padded(self.height)

    @property
    def width(self) -> int:
        """Numbers of a row that are in use now."""
        return padded(self.end)

    def slot_of(self, node: int, size: int) -> int:
        """Return the first row of a node, after making room for its rows if they are new."""
        if node in self.slots:
            return self.slots[node]
        self.sizes[node] = size
        for k, (first, room) in enumerate(self.holes):
            if room >= size:
                self.holes[k : k + 1] = [(first + size, room - size)] if room > size else []
                self.slots[node] = first
                return first
        self.slots[node] = self.end
        self.end += size
        self.height = max(self.height, self.end)
        return self.slots[node]

    def free(self, node: int) -> None:
        """Give a node's rows back."""
        self.holes.append((self.slots.pop(node), self.sizes.pop(node)))
        self.holes.sort()
        merged: list[tuple[int, int]] = []
        for first, room in self.holes:
            start, size = first, room
            if merged and sum(merged[-1]) == first:
                start, before = merged.pop()
                size += before
            merged.append((start, size))
        if merged and sum(merged[-1]) == self.end:
            self.end = merged.pop()[0]
        self.holes = merged

    def pass_on(self, node: int, other: int) -> None:
        """Give a node's rows to another one of the same size."""
        self.slots[other], self.sizes[other] = self.slots.pop(node), self.sizes.pop(node)


def padded(n: int) -> int:
    """Return the number of lanes that n numbers fill, times their size."""
    return -(-n // LANES) * LANES


LINK, LOOP = 0, 1
WORLD, OWNER = -1, -2  # parents' rows: none; the link's own, which pass on
COLUMNS = 13  # of `steps`: kind, node, base, stride, width, slot, parent's slot, is it new, side,
#   and the first join, entry, pivot and number of the factor
FIRST_JOIN, FIRST_PIVOT = 9, 11


class FrontPlan(NamedTuple):
    """The elimination as tables; the last rows of steps and joins end their offsets."""

    steps: IntArray  # (n_steps + 1, COLUMNS)
    joins: IntArray  # (n_joins + 1, 4) base, stride, side of a front added here; first in `pairs`
    pairs: IntArray  # (n, 2) row there, row here
    entries: IntArray  # (n_entries, 5) slot of a loop, its first and last row, end, is it new
    sizes: IntArray  # (3,) numbers in all fronts, in their right-hand sides, in the factors


class Step(NamedTuple):
    """One elimination; offsets of the front are not yet known."""

    kind: int
    node: int
    front: Front
    width: int
    slot: int
    parent_slot: int
    is_new: bool
    joins: list[tuple[Front, list[tuple[int, int]]]]  # a front, (row there, row here)
    entries: list[tuple[int, int, int, int, bool]]  # as in FrontPlan.entries
    n_pivots: int


def front_plan(steps: list[Step]) -> FrontPlan:
    """Return the tables of an elimination, fronts placed where earlier ones are no longer used."""
    sizes = _place_fronts(steps)
    n = len(steps)
    table = np.zeros((n + 1, COLUMNS), dtype=np.intp)
    joins: list[tuple[int, int, int, int]] = []
    rows: list[tuple[int, int]] = []
    entries: list[tuple[int, int, int, int, bool]] = []
    pivots, factor = 0, 0
    for k, step in enumerate(steps):
        front = step.front
        table[k] = (
            step.kind,
            step.node,
            front.base,
            front.stride,
            step.width,
            step.slot,
            step.parent_slot,
            step.is_new,
            front.side,
            len(joins),
            len(entries),
            pivots,
            factor,
        )
        for other, pairs in step.joins:
            joins.append((other.base, other.stride, other.side, len(rows)))
            rows += pairs
        entries += step.entries
        pivots += step.n_pivots
        factor += step.n_pivots * step.width
    table[n, FIRST_JOIN:] = len(joins), len(entries), pivots, factor
    joins.append((0, 0, 0, len(rows)))
    return FrontPlan(
        table,
        np.array(joins, dtype=np.intp).reshape(-1, 4),
        np.array(rows, dtype=np.intp).reshape(-1, 2),
        np.array(entries, dtype=np.intp).reshape(-1, 5),
        np.array([*sizes, factor], dtype=np.intp),
    )


def _place_fronts(steps: list[Step]) -> tuple[int, int]:
    """Say where fronts and their right-hand sides are; return how many numbers they take."""
    free: dict[int, list[tuple[int, int]]] = {}
    numbers, side = 0, 0
    for step in steps:
        front = step.front
        if step.is_new:
            spare = free.get(front.stride)
            if spare:
                front.base, front.side = spare.pop()
            else:
                front.base, front.side = numbers, side
                numbers += front.stride**2
                side += front.stride
        for other, _ in step.joins:
            free.setdefault(other.stride, []).append((other.base, other.side))
    return numbers, side


class Fronts(NamedTuple):
    """Work space of the fronts, and the factors that their elimination leaves."""

    front: FloatArray  # all fronts, row by row
    side: FloatArray  # their right-hand sides g, or their solutions y
    U: FloatArray  # rows of the factor, as wide as their fronts
    inverse: FloatArray  # (n_pivots,) of the pivots
    u: FloatArray  # (n_pivots,) right-hand sides


def empty_fronts(plan: FrontPlan) -> Fronts:
    """Return arrays of the right sizes."""
    n_front, n_side, n_factor = plan.sizes
    n_pivots = plan.steps[-1, FIRST_PIVOT]
    return Fronts(
        np.zeros(n_front),
        np.zeros(n_side),
        np.zeros(n_factor),
        np.zeros(n_pivots),
        np.zeros(n_pivots),
    )


class LoopTable(NamedTuple):
    """Constants of the loop joints that have rows."""

    ends: IntArray  # (n, 2) links of predecessor and successor, -1 for the world
    first_row: IntArray  # (n + 1,) among loop rows
    row: FloatArray  # (m, 6) T' in the axes of the successor's link about its origin
    anchor: FloatArray  # (n, 3) origin of S in the world, where the successor is the world


def loop_table(tree: SpanningTree) -> LoopTable:
    """Return the constants of the loop joints of a tree."""
    system, loops = tree.system, constrained_loops(tree)
    first = system.first_row
    joint = tree.loop_joint[first[tree.loop_joint + 1] > first[tree.loop_joint]]
    own = np.repeat(np.arange(len(joint)), np.diff(loops.first_row))
    rows = tree.loop_rows
    link = loops.ends[:, 1]
    is_link = (link >= 0)[:, None]
    to_body = tree.links.constants[link, FRAME:FRAME_POINT].reshape(-1, 3, 3)
    origin = tree.links.constants[link, FRAME_POINT : FRAME_POINT + 3]
    to_body = np.where(is_link[:, :, None], to_body, np.eye(3))
    point, rotation = system.successor_point[joint], system.successor_rotation[joint]
    to_link = np.einsum("nba,nbc->nac", to_body, rotation)
    arm = np.einsum("nba,nb->na", to_body, np.where(is_link, point - origin, 0.0))
    moment, force = (
        np.einsum("mab,mb->ma", to_link[own], part)
        for part in (system.subspace[rows, :3], system.subspace[rows, 3:])
    )
    row = np.concatenate([moment + np.cross(arm[own], force), force], axis=1)
    return LoopTable(loops.ends, loops.first_row, row, np.where(is_link, 0.0, point))


class VaryingLoops:
    """The rows of those loop joints whose T varies on both bodies.

    Parameters
    ----------
    tree : SpanningTree
        A tree of a system without springs or drives on joints.
    """

    def __init__(self, tree: SpanningTree) -> None:
        system = tree.system
        joint = tree.loop_joint[np.isin(tree.loop_joint, system.varying_joints)]
        of_loops = system.row_joint[tree.loop_rows]
        self.row = np.flatnonzero(np.isin(of_loops, joint))  # (k,) among loop rows
        self._varying, self._links = NativeTerms(with_joints(system, joint)), tree.links

    def overwrite(
        self,
        state: State,
        motion: TreeMotion,
        link: IntArray,
        wrench: FloatArray,
        gamma: FloatArray,
    ) -> None:
        """Overwrite those of all loop rows, `wrench` (m, 2, 6) on `link` (m, 2) and gamma (m,)."""
        if len(self.row) == 0:
            return
        self._varying.fill(state)
        own = self._varying.rows.copy()
        native.rows_to_links(self._links, motion, link[self.row], own)
        wrench[self.row], gamma[self.row] = own, self._varying.gamma
