"""The elimination of a tree with loops in fronts, as tables that the native kernels follow.

A front is the symmetric matrix F of all that couples with a link, f = F y + g: accelerations of
links, and multipliers of open loops. Eliminating a freedom of link i, with U = F S_i, leaves
F - U U' / (S_i' U); then the rows of i move to its parent's origin. A loop's rows are eliminated
likewise, by pivots that are negative: [H K'; K -mu] is quasi-definite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.tree.fronts.front import Front

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
