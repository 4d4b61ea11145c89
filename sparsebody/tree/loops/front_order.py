"""The order in which a tree with loops is eliminated from its leaves inwards, and its fronts.

A link's rows in it pass on to its parent, so that along a mechanism one front is carried inwards.

Eliminating the freedoms of a link couples all that it is coupled with: its parent, the multipliers
of open loops through it, and the links that closed loops have left beside it. Of the leaves, that
which leaves the smallest front is next, as in minimum degree.

The multipliers of a loop follow when the ways from its two ends to the world have met: all freedoms
that can close it are eliminated then, so that a small pivot means a dependent row. Where that makes
fronts too large, they follow as soon as both its links are eliminated; a row that the freedoms of
these cannot satisfy is a stiff spring then, and needs a larger proximal term.

Fronts are narrow where the tree follows the mechanism level by level, away from the world, and
numerically sound where it is grown depth first: then every loop joins a link with one of those that
support it, and closes where its ends meet at no cost.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sparsebody.errors import ModelError
from sparsebody.tree.loops.front_tables import (
    LINK,
    LOOP,
    OWNER,
    WORLD,
    Front,
    FrontPlan,
    Step,
    constrained_loops,
    factor_size,
    front_plan,
)
from sparsebody.tree.spanning_tree import SpanningTree

SIZE = 6  # of a link
MOST_NUMBERS = 1 << 28  # in fronts and factors together


class FrontSize(NamedTuple):
    """What an elimination takes."""

    widest: int  # rows of the largest front
    work: float  # multiplications of the factorization
    numbers: int  # in the factors


class Elimination:
    """The elimination of a tree, link by link and loop by loop.

    Parameters
    ----------
    tree : SpanningTree
        The tree.
    closing : {"met", "early"}
        When the rows of loops are eliminated.
    most : float
        Work at which to give up; is_complete tells.
    """

    def __init__(self, tree: SpanningTree, closing: str = "met", most: float = np.inf) -> None:
        self.tree, self.closing, self.n = tree, closing, tree.n_bodies
        self.parent, self.freedoms = tree.parent.tolist(), tree.freedoms.tolist()
        self.loops = constrained_loops(tree)
        self.first_row = self.loops.first_row.tolist()
        self.rows = np.diff(self.loops.first_row).tolist()
        self.holders = self.loops.ends.tolist()  # the links that hold each loop now
        self.joined: list[list[tuple[int, int]]] = [[] for _ in range(self.n)]  # loop, end
        for loop, ends in enumerate(self.holders):
            for end, link in enumerate(ends):
                if link >= 0:
                    self.joined[link].append((loop, end))
        self.held = [{loop for loop, _ in joined} for joined in self.joined]
        self.waits = [sum(link >= 0 for link in ends) for ends in self.holders]
        self.fronts: dict[int, list[Front]] = {}
        self.steps: list[Step] = []
        self.closed_early = np.zeros(len(self.rows), dtype=bool)
        self.work, self.numbers, self.widest = 0.0, 0, 0
        self.is_complete = self._run(most)

    @property
    def size(self) -> FrontSize:
        """What the elimination takes."""
        return FrontSize(self.widest, self.work, self.numbers)

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
        """Return what the least of is eliminated next."""
        sizes: dict[int, int] = {}
        for front in self.fronts.get(i, ()):
            sizes.update(front.sizes)
        sizes.update((self.n + loop, self.rows[loop]) for loop, _ in self.joined[i])
        own = {loop for loop, _ in self.joined[i]}
        for loop in self.held[i]:
            if self._closes(loop, i, self.waits[loop] - (loop in own)):
                del sizes[self.n + loop]
        sizes.pop(i, None)
        if self.parent[i] >= 0:
            sizes[self.parent[i]] = SIZE
        return sum(sizes.values()), -i

    def _closes(self, loop: int, i: int, waits: int) -> bool:
        """Tell whether a loop can be eliminated once link i is, `waits` ends being left then."""
        first, second = (self.parent[i] if link == i else link for link in self.holders[loop])
        return waits == 0 and (first == second or self.closing == "early")

    def _front(self, node: int) -> tuple[Front, bool, list[tuple[Front, list[tuple[int, int]]]]]:
        """Return the front of a node, all others that have it added to the largest of them."""
        fronts = self.fronts.get(node, [])
        if not fronts:
            return Front(), True, []
        base = max(fronts, key=lambda front: front.end)
        joins = []
        for other in fronts:
            if other is base:
                continue
            rows = []
            for name, slot in other.slots.items():
                size = other.sizes[name]
                here = base.slot_of(name, size)
                rows += [(slot + e, here + e) for e in range(size)]
                at = self.fronts[name]
                if name != node:
                    at.remove(other)
                    if base not in at:
                        at.append(base)
            joins.append((other, rows))
        self.fronts[node] = [base]
        return base, False, joins

    def _place(self, front: Front, node: int, size: int) -> int:
        at = self.fronts.setdefault(node, [])
        if front not in at:
            at.append(front)
        return front.slot_of(node, size)

    def _eliminate_link(self, i: int) -> list[int]:
        """Return the nodes whose front has changed."""
        front, is_new, joins = self._front(i)
        slot = self._place(front, i, SIZE)
        entries = []
        for loop, end in self.joined[i]:
            node, size = self.n + loop, self.rows[loop]
            is_first = node not in self.fronts
            rows = self.first_row[loop], self.first_row[loop + 1]
            entries.append((self._place(front, node, size), *rows, end, is_first))
            self.waits[loop] -= 1
        p, width = self.parent[i], front.width
        self.fronts.pop(i)
        if p < 0:
            front.free(i)
            parent_slot = WORLD
        elif p in front.slots:
            parent_slot = front.slots[p]
            front.free(i)
        else:
            parent_slot = OWNER
            front.pass_on(i, p)
            self.fronts.setdefault(p, []).append(front)
        self._add(
            Step(LINK, i, front, width, slot, parent_slot, is_new, joins, entries, self.freedoms[i])
        )
        for loop in sorted(self.held[i]):
            closes = self._closes(loop, i, self.waits[loop])
            holders = [p if link == i else link for link in self.holders[loop]]
            self.holders[loop] = holders
            if closes:
                for link in holders:
                    if link >= 0:
                        self.held[link].discard(loop)
                self.closed_early[loop] = holders[0] != holders[1]
                front = self._eliminate_loop(loop)
            elif p >= 0:
                self.held[p].add(loop)
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
        self.numbers += factor_size(step.n_pivots, step.width)

    def plan(self) -> FrontPlan:
        """Return the tables.

        Raises
        ------
        ModelError
            If the fronts and factors would take too much memory.
        """
        system = self.tree.system
        if self.numbers + self.widest**2 > MOST_NUMBERS:
            raise ModelError(
                f"the fronts of {system.name!r} on a {self.tree.choice} tree have {self.widest} "
                f"rows and factors of {self.numbers:.1e} numbers; use another tree, or method "
                "'sparse'"
            )
        return front_plan(self.steps)


EARLY_PRICE = 2.0  # work of an elimination that closes loops early counts so many times


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
    best, least = None, np.inf
    for tree in trees:
        own = cost(least_elimination(tree, least))
        if best is None or own < least:
            best, least = tree, own
    if best is None:
        raise ValueError("there is no tree to choose from")
    return best
