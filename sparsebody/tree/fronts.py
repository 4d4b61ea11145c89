"""Fronts of a tree with loops, eliminated from its leaves inwards: a multifrontal LDL'.

A front is the symmetric matrix F of all that couples with a link, f = F y + g: accelerations of
links, and multipliers of open loops. Eliminating a freedom of link i, with U = F S_i, leaves
F - U U' / (S_i' U); then the rows of i move to its parent's origin. A loop's rows are eliminated
likewise, by pivots that are negative: [H K'; K -mu] is quasi-definite. Duff and Reid (1983).

Eliminating the freedoms of a link couples all that it is coupled with: its parent, the multipliers
of open loops through it, and the links that closed loops have left beside it. Of the leaves, that
which leaves the smallest front is next, as in minimum degree.

The multipliers of a loop follow when the paths from its ends to the world have met: all freedoms
that can close it are eliminated then, so that a small pivot means a dependent row. Where that makes
fronts too large, they follow as soon as both its links are eliminated; a row that the freedoms of
these cannot satisfy is a stiff spring then, and needs a larger proximal term.

Fronts are narrow where the tree follows the mechanism level by level, away from the world, and
numerically sound where it is grown depth first: then every loop joins a link with one of those that
support it, and closes where its ends meet at no cost.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sparsebody.arrays import FloatArray, IntArray, offsets
from sparsebody.errors import ModelError
from sparsebody.tree.spanning_tree import SpanningTree

LANES = 4  # of a vector register; rows of fronts are padded to multiples


class Loops(NamedTuple):
    """The loop joints that have rows, in order."""

    joint: IntArray  # (n,) the system's indices
    ends: IntArray  # (n, 2) links of predecessor and successor, -1 for the world
    first_row: IntArray  # (n + 1,) among all loop rows


def constrained_loops(tree: SpanningTree) -> Loops:
    """Return the loops of a tree."""
    rows = np.diff(tree.system.first_row)[tree.loop_joint]
    has_rows = rows > 0
    return Loops(tree.loop_joint[has_rows], tree.loop_ends[has_rows], offsets(rows[has_rows]))


class Front:
    """The rows of a front, by node: links 0 .. n - 1, then loops from n on."""

    def __init__(self) -> None:
        self.slots: dict[int, int] = {}  # first row of each node
        self.sizes: dict[int, int] = {}
        self.used = b""  # a byte for each row up to the last one in use, zero if it is free
        self.height = 0  # rows ever used
        self.base, self.side = -1, -1  # where its matrix and its right-hand side begin

    @property
    def stride(self) -> int:
        """Entries from one row to the next."""
        return padded(self.height)

    @property
    def width(self) -> int:
        """Entries of a row that are in use now."""
        return padded(len(self.used))

    def slot_of(self, node: int, size: int) -> int:
        """Return the first row of a node, after making room for its rows if they are new."""
        if node not in self.slots:
            hole = self.used.find(bytes(size))
            first = hole if hole >= 0 else len(self.used)
            self._mark(first, b"\1" * size)
            self.slots[node], self.sizes[node] = first, size
            self.height = max(self.height, len(self.used))
        return self.slots[node]

    def free(self, node: int) -> None:
        """Give a node's rows back."""
        self._mark(self.slots.pop(node), bytes(self.sizes.pop(node)))

    def _mark(self, first: int, rows: bytes) -> None:
        self.used = (self.used[:first] + rows + self.used[first + len(rows) :]).rstrip(b"\0")

    def rename(self, node: int, other: int) -> None:
        """Rename a node; its rows become those of `other`."""
        self.slots[other], self.sizes[other] = self.slots.pop(node), self.sizes.pop(node)


def padded(n: int) -> int:
    """Return n rounded up to a multiple of LANES."""
    return -(-n // LANES) * LANES


LINK, LOOP = 0, 1
WORLD, RENAMED = -1, -2  # parent's slot: none; the link's own, as its rows become the parent's
FIRST_JOIN, FIRST_PIVOT = 9, 11  # columns of `steps`


class FrontPlan(NamedTuple):
    """The elimination as tables; the last rows of steps and joins end their offsets."""

    steps: IntArray  # (n_steps + 1, 13) kind, node, base, stride, width, slot, parent's slot, is it
    #   new, side, and the first join, entry, pivot and number of the factor
    joins: IntArray  # (n_joins + 1, 4) extend-add: base, stride, side of a front; first in `pairs`
    pairs: IntArray  # (n, 2) row in the front added, row in that of the step
    entries: IntArray  # (n_entries, 5) slot of a loop, its first and last row, end, is it new
    sizes: IntArray  # (3,) entries of all fronts, of their right-hand sides, of the factors


class Step(NamedTuple):
    """One elimination; offsets of the front are not yet known."""

    kind: int
    node: int
    front: Front
    width: int
    slot: int
    parent_slot: int
    is_new: bool
    joins: list[tuple[Front, list[tuple[int, int]]]]  # a front, (its row, row in `front`)
    entries: list[tuple[int, int, int, int, bool]]  # as in FrontPlan.entries
    n_pivots: int

    @property
    def n_factor_entries(self) -> int:
        """Entries of the factors: the pivots' rows on themselves and on the front."""
        return self.n_pivots * (padded(self.n_pivots) + self.width)


def front_plan(steps: list[Step]) -> FrontPlan:
    """Return the tables of an elimination, fronts placed where earlier ones are no longer used."""
    free: dict[int, list[tuple[int, int]]] = defaultdict(list)  # bases and sides, by stride
    table, joins, rows = list[tuple[int, ...]](), list[tuple[int, ...]](), list[tuple[int, int]]()
    entries: list[tuple[int, int, int, int, bool]] = []
    matrix, side, pivots, factor = 0, 0, 0, 0
    for step in steps:
        front = step.front
        if step.is_new and free[front.stride]:
            front.base, front.side = free[front.stride].pop()
        elif step.is_new:
            front.base, front.side = matrix, side
            matrix, side = matrix + front.stride**2, side + front.stride
        slots = front.base, front.stride, step.width, step.slot, step.parent_slot
        first = len(joins), len(entries), pivots, factor
        table.append((step.kind, step.node, *slots, step.is_new, front.side, *first))
        for other, pairs in step.joins:
            joins.append((other.base, other.stride, other.side, len(rows)))
            rows += pairs
            free[other.stride].append((other.base, other.side))
        entries += step.entries
        pivots += step.n_pivots
        factor += step.n_factor_entries
    table.append((0,) * FIRST_JOIN + (len(joins), len(entries), pivots, factor))
    joins.append((0, 0, 0, len(rows)))
    return FrontPlan(
        np.array(table, dtype=np.intp),
        np.array(joins, dtype=np.intp),
        np.array(rows, dtype=np.intp).reshape(-1, 2),
        np.array(entries, dtype=np.intp).reshape(-1, 5),
        np.array([matrix, side, factor], dtype=np.intp),
    )


class Fronts(NamedTuple):
    """Work space of the fronts, and the factors that their elimination leaves."""

    front: FloatArray  # all fronts, row by row
    side: FloatArray  # their right-hand sides g, or their solutions y
    U: FloatArray  # rows of the factors
    u: FloatArray  # (n_pivots,) right-hand sides


def empty_fronts(plan: FrontPlan) -> Fronts:
    """Return arrays of the right sizes."""
    n_pivots = int(plan.steps[-1, FIRST_PIVOT])
    return Fronts(*(np.zeros(n) for n in (*plan.sizes.tolist(), n_pivots)))


LINK_SIZE = 6  # rows of a link
MOST_ENTRIES = 1 << 28  # of fronts and factors together: 2 GiB


class Elimination:
    """The elimination of a tree and its loops, left incomplete once its work exceeds `most`.

    `closing` of loops: "met", once the paths from their ends have met, or "early", once both their
    links are eliminated.
    """

    def __init__(self, tree: SpanningTree, closing: str = "met", most: float = np.inf) -> None:
        self.tree, self.closing, self.n = tree, closing, tree.n_bodies
        self.parent, self.freedoms = tree.parent.tolist(), tree.freedoms.tolist()
        self.loops = constrained_loops(tree)
        self.first_row = self.loops.first_row.tolist()
        self.rows = np.diff(self.loops.first_row).tolist()
        self.ends = self.loops.ends.tolist()  # the links that each loop joins now
        self.joined: list[list[tuple[int, int]]] = [[] for _ in range(self.n)]  # loop, end
        for loop, ends in enumerate(self.ends):
            for end, link in enumerate(ends):
                if link >= 0:
                    self.joined[link].append((loop, end))
        self.loops_at = [{loop for loop, _ in joined} for joined in self.joined]
        self.pending_ends = [sum(link >= 0 for link in ends) for ends in self.ends]
        self.fronts: dict[int, list[Front]] = {}
        self.steps: list[Step] = []
        self.closed_early = np.zeros(len(self.rows), dtype=bool)
        self.work = 0.0  # multiplications of the factorization
        self.n_factor_entries, self.widest = 0, 0  # rows of the largest front
        self.is_complete = self._run(most)

    def _run(self, most: float) -> bool:
        children = [0] * self.n
        for p in self.parent:
            if p >= 0:
                children[p] += 1
        keys = {i: self._key(i) for i in range(self.n) if children[i] == 0}
        queue = [(key, i) for i, key in keys.items()]
        heapq.heapify(queue)
        while queue:
            key, i = heapq.heappop(queue)
            if keys.get(i) != key:
                continue
            del keys[i]
            changed = self._eliminate_link(i)
            p = self.parent[i]
            if p >= 0:
                children[p] -= 1
                if children[p] == 0:
                    keys[p] = self._key(p)
                    heapq.heappush(queue, (keys[p], p))
            for node in changed:
                if node in keys and node != p:
                    keys[node] = self._key(node)
                    heapq.heappush(queue, (keys[node], node))
            if self.work > most:
                return False
        return True

    def _key(self, i: int) -> tuple[int, int]:
        """Return (rows of the front that link i would leave, -i): the least is next."""
        sizes: dict[int, int] = {}
        for front in self.fronts.get(i, ()):
            sizes.update(front.sizes)
        sizes.update((self.n + loop, self.rows[loop]) for loop, _ in self.joined[i])
        own = {loop for loop, _ in self.joined[i]}
        for loop in self.loops_at[i]:
            if self._closes(loop, i, self.pending_ends[loop] - (loop in own)):
                del sizes[self.n + loop]
        sizes.pop(i, None)
        if self.parent[i] >= 0:
            sizes[self.parent[i]] = LINK_SIZE
        return sum(sizes.values()), -i

    def _closes(self, loop: int, i: int, pending_ends: int) -> bool:
        """Whether a loop can be eliminated once link i is, with these ends not eliminated yet."""
        first, second = (self.parent[i] if link == i else link for link in self.ends[loop])
        return pending_ends == 0 and (first == second or self.closing == "early")

    def _front(self, node: int) -> tuple[Front, bool, list[tuple[Front, list[tuple[int, int]]]]]:
        """Return the front of a node, after the extend-add of all that have it to the largest."""
        fronts = self.fronts.get(node, [])
        if not fronts:
            return Front(), True, []
        base = max(fronts, key=lambda front: len(front.used))
        joins = []
        for other in fronts:
            if other is base:
                continue
            rows = []
            for name, slot in other.slots.items():
                size = other.sizes[name]
                base_slot = base.slot_of(name, size)
                rows += [(slot + e, base_slot + e) for e in range(size)]
                holding = self.fronts[name]
                if name != node:
                    holding.remove(other)
                    if base not in holding:
                        holding.append(base)
            joins.append((other, rows))
        self.fronts[node] = [base]
        return base, False, joins

    def _slot(self, front: Front, node: int, size: int) -> int:
        holding = self.fronts.setdefault(node, [])
        if front not in holding:
            holding.append(front)
        return front.slot_of(node, size)

    def _eliminate_link(self, i: int) -> list[int]:
        """Return the nodes whose front has changed."""
        front, is_new, joins = self._front(i)
        slot, entries = self._slot(front, i, LINK_SIZE), []
        for loop, end in self.joined[i]:
            node, size = self.n + loop, self.rows[loop]
            is_first = node not in self.fronts
            rows = self.first_row[loop], self.first_row[loop + 1]
            entries.append((self._slot(front, node, size), *rows, end, is_first))
            self.pending_ends[loop] -= 1
        p, width = self.parent[i], front.width
        self.fronts.pop(i)
        if p < 0:
            front.free(i)
            parent_slot = WORLD
        elif p in front.slots:
            parent_slot = front.slots[p]
            front.free(i)
        else:
            parent_slot = RENAMED
            front.rename(i, p)
            self.fronts.setdefault(p, []).append(front)
        self._add(
            Step(LINK, i, front, width, slot, parent_slot, is_new, joins, entries, self.freedoms[i])
        )
        for loop in sorted(self.loops_at[i]):
            closes = self._closes(loop, i, self.pending_ends[loop])
            ends = [p if link == i else link for link in self.ends[loop]]
            self.ends[loop] = ends
            if closes:
                for link in ends:
                    if link >= 0:
                        self.loops_at[link].discard(loop)
                self.closed_early[loop] = ends[0] != ends[1]
                front = self._eliminate_loop(loop)
            elif p >= 0:
                self.loops_at[p].add(loop)
        return list(front.slots)

    def _eliminate_loop(self, loop: int) -> Front:
        node = self.n + loop
        front, is_new, joins = self._front(node)
        slot, width = front.slots[node], front.width
        self.fronts.pop(node)
        front.free(node)
        self._add(Step(LOOP, loop, front, width, slot, WORLD, is_new, joins, [], self.rows[loop]))
        return front

    def _add(self, step: Step) -> None:
        self.steps.append(step)
        self.widest = max(self.widest, step.width)
        self.work += (step.n_pivots + 1) * float(step.width) ** 2
        self.work += sum(float(len(rows)) ** 2 for _, rows in step.joins)
        self.n_factor_entries += step.n_factor_entries

    def plan(self) -> FrontPlan:
        """Return the tables; raise ModelError if fronts and factors would take too much memory."""
        system = self.tree.system
        if self.n_factor_entries + self.widest**2 > MOST_ENTRIES:
            raise ModelError(
                f"the fronts of {system.name!r} on a {self.tree.choice} tree have {self.widest} "
                f"rows and factors of {self.n_factor_entries:.1e} numbers; use another tree, or "
                "method 'sparse'"
            )
        return front_plan(self.steps)


EARLY_PRICE = 2.0  # factor on the work of eliminations that close loops early: less accurate


def least_elimination(tree: SpanningTree, most: float = np.inf) -> Elimination:
    """Return the elimination of a tree that costs least; its cost is infinite if above `most`."""
    early = Elimination(tree, "early", most)
    if not tree.n_loops:
        return early
    met = Elimination(tree, "met", min(most, cost(early)))
    return met if met.is_complete else early


def cost(elimination: Elimination) -> float:
    """Return the work of an elimination, less accurate ones counting more."""
    if not elimination.is_complete:
        return np.inf
    return elimination.work * (EARLY_PRICE if elimination.closed_early.any() else 1.0)


def least_fronts(trees: Iterable[SpanningTree]) -> SpanningTree:
    """Return the tree whose elimination costs least, the first of equals."""
    trees = iter(trees)
    best = next(trees)
    least = cost(least_elimination(best))
    for tree in trees:
        own = cost(least_elimination(tree, least))
        if own < least:
            best, least = tree, own
    return best
