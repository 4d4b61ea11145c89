"""The elimination of a tree with loops from its leaves inwards, in fronts, as a FrontPlan tells.

With articulated inertias I^A, couplings of links and loops' rows as one symmetric matrix F of a
front, f = F y + g for its links' accelerations and its loops' multipliers y, eliminating a freedom
of link i is U = F S, F - U U' / (S' U); then the rows of i move to its parent's origin. A loop's
rows are eliminated likewise, by pivots that are negative: [H K'; K -mu] is quasi-definite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.dynamics.tree.front_blocks import (
    KERNEL,
    add_inertia,
    add_rows,
    clear,
    fill_product,
    join,
    merge,
    shift,
    without,
)
from sparsebody.dynamics.tree.front_tables import (
    BASE,
    FACTOR,
    FIRST_ENTRY,
    FIRST_PIVOT,
    IS_NEW,
    KIND,
    LINK,
    NODE,
    OWNER,
    PARENT_SLOT,
    SLOT,
    STRIDE,
    WIDTH,
    WORLD,
    FrontPlan,
)
from sparsebody.dynamics.tree.links import FIRST_VELOCITY, Links
from sparsebody.dynamics.tree.motion import OFFSET, TreeMotion
from sparsebody.dynamics.tree.registers import load3


class Fronts(NamedTuple):
    """Room for the fronts, and the factors that their elimination leaves."""

    front: FloatArray  # all fronts, row by row
    side: FloatArray  # their right-hand sides g, or their solutions y
    U: FloatArray  # rows of the factor, as wide as their fronts
    inverse: FloatArray  # (n_pivots,) of the pivots
    rest: FloatArray  # (n_pivots,) right-hand sides


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


@njit(**KERNEL)
def factorize_fronts(
    links: Links,
    plan: FrontPlan,
    motion: TreeMotion,
    wrench: FloatArray,
    softness: FloatArray,
    first_row: IntArray,
    is_driven: BoolArray,
    fronts: Fronts,
) -> None:
    """Fill the factors of [H K'; K -diag(softness)].

    `wrench` (m, 2, 6) holds the loops' rows on their links, `softness` (m,) the mu of each.
    """
    steps, table, S = plan.steps, links.integers, motion.subspace
    F, factor = fronts.front, fronts.U
    has_drives = is_driven.shape[0] > 0
    for step in range(steps.shape[0] - 1):
        at, stride = np.uintp(steps[step, BASE]), np.uintp(steps[step, STRIDE])
        width, slot = np.uintp(steps[step, WIDTH]), np.uintp(steps[step, SLOT])
        node, pivot = steps[step, NODE], steps[step, FIRST_PIVOT]
        U = np.uintp(steps[step, FACTOR])
        if steps[step, IS_NEW]:
            for e in range(stride * stride):
                F[at + e] = 0.0
        join(plan, step, F)
        if steps[step, KIND] == LINK:
            add_inertia(links, motion, node, F, at + slot * stride + slot, stride)
            for entry in range(steps[step, FIRST_ENTRY], steps[step + 1, FIRST_ENTRY]):
                add_rows(plan.entries, entry, wrench, softness, F, at, stride, slot)
            for k in range(table[node, FIRST_VELOCITY], table[node + 1, FIRST_VELOCITY]):
                if has_drives and is_driven[k]:
                    for c in range(width):
                        factor[U + c] = 0.0
                    fronts.inverse[pivot] = 0.0
                else:
                    s = S[k]
                    fill_product(F, at + slot * stride, stride, width, s, factor, U)
                    d = 0.0
                    for e in range(6):
                        d += s[e] * factor[U + slot + np.uintp(e)]
                    fronts.inverse[pivot] = 1.0 / d
                    without(F, at, stride, width, factor, U, 1.0 / d)
                pivot += 1
                U += width
            parent = steps[step, PARENT_SLOT]
            if parent != WORLD:
                shift(F, at, stride, width, slot, load3(motion.place, node, OFFSET))
            if parent >= 0:
                merge(F, at, stride, width, slot, np.uintp(parent))
            if parent != OWNER:
                clear(F, at, stride, width, slot, np.uintp(6))
        else:
            n_rows = np.uintp(first_row[node + 1] - first_row[node])
            for r in range(n_rows):
                own = at + (slot + r) * stride
                d = F[own + slot + r]
                for c in range(width):
                    factor[U + c] = F[own + c]
                fronts.inverse[pivot] = 1.0 / d
                without(F, at, stride, width, factor, U, 1.0 / d)
                factor[U + slot + r] = 0.0
                clear(F, at, stride, width, slot + r, np.uintp(1))
                pivot += 1
                U += width


@njit(**KERNEL)
def weakest_pivot(
    plan: FrontPlan, first_row: IntArray, compliance: FloatArray, fronts: Fronts
) -> float:
    """Return the least pivot of a loop's row over its own compliance (m,)."""
    weakest = np.inf
    for step in range(plan.steps.shape[0] - 1):
        if plan.steps[step, KIND] != LINK:
            loop, pivot = plan.steps[step, NODE], plan.steps[step, FIRST_PIVOT]
            for row in range(first_row[loop], first_row[loop + 1]):
                weakest = min(weakest, -1.0 / (fronts.inverse[pivot] * compliance[row]))
                pivot += 1
    return weakest
