"""The elimination of a tree with loops from its leaves inwards, in fronts, as a FrontPlan tells.

With articulated inertias I^A, couplings of links and loops' rows as one symmetric matrix F of a
front, f = F y + g for its links' accelerations and its loops' multipliers y, eliminating a freedom
of link i is U = F S, F - U U' / (S' U); then the rows of i move to its parent's origin. A loop's
rows are eliminated likewise, by pivots that are negative: [H K'; K -mu] is quasi-definite.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.dynamics.tree.articulated_body import about_origin, first_moment
from sparsebody.dynamics.tree.front_plan import (
    BASE,
    FACTOR,
    FIRST_ENTRY,
    FIRST_JOIN,
    FIRST_PIVOT,
    IS_NEW,
    KIND,
    LINK,
    NODE,
    OWNER,
    PARENT_SLOT,
    SIDE,
    SLOT,
    STRIDE,
    WIDTH,
    WORLD,
    FrontPlan,
)
from sparsebody.dynamics.tree.links import FIRST_VELOCITY, MASS, Links
from sparsebody.dynamics.tree.motion import CENTER, OFFSET, TENSOR, TreeMotion
from sparsebody.dynamics.tree.registers import load3
from sparsebody.spatial.tuples import INLINE, Vector, load_triangle

KERNEL: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc"},
}


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

    `wrench` (m, 2, 6) holds the loops' rows on their links, `softness` (m,) the proximal mu of each.
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
        _join(plan, step, F)
        if steps[step, KIND] == LINK:
            _add_inertia(links, motion, node, F, at + slot * stride + slot, stride)
            for entry in range(steps[step, FIRST_ENTRY], steps[step + 1, FIRST_ENTRY]):
                _add_rows(plan.entries, entry, wrench, softness, F, at, stride, slot)
            for k in range(table[node, FIRST_VELOCITY], table[node + 1, FIRST_VELOCITY]):
                if has_drives and is_driven[k]:
                    for c in range(width):
                        factor[U + c] = 0.0
                    fronts.inverse[pivot] = 0.0
                else:
                    own = at + slot * stride
                    s = S[k]
                    for c in range(width):
                        factor[U + c] = (
                            s[0] * F[own + c]
                            + s[1] * F[own + stride + c]
                            + s[2] * F[own + np.uintp(2) * stride + c]
                            + s[3] * F[own + np.uintp(3) * stride + c]
                            + s[4] * F[own + np.uintp(4) * stride + c]
                            + s[5] * F[own + np.uintp(5) * stride + c]
                        )
                    d = 0.0
                    for e in range(6):
                        d += s[e] * factor[U + slot + np.uintp(e)]
                    fronts.inverse[pivot] = 1.0 / d
                    _without(F, at, stride, width, factor, U, 1.0 / d)
                pivot += 1
                U += width
            parent = steps[step, PARENT_SLOT]
            if parent != WORLD:
                _shift(F, at, stride, width, slot, load3(motion.place, node, OFFSET))
            if parent >= 0:
                _merge(F, at, stride, width, slot, np.uintp(parent))
            if parent != OWNER:
                _clear(F, at, stride, width, slot, np.uintp(6))
        else:
            n_rows = np.uintp(first_row[node + 1] - first_row[node])
            for r in range(n_rows):
                own = at + (slot + r) * stride
                d = F[own + slot + r]
                for c in range(width):
                    factor[U + c] = F[own + c]
                fronts.inverse[pivot] = 1.0 / d
                _without(F, at, stride, width, factor, U, 1.0 / d)
                factor[U + slot + r] = 0.0
                _clear(F, at, stride, width, slot + r, np.uintp(1))
                pivot += 1
                U += width


@njit(**KERNEL)
def solve_fronts(
    links: Links,
    plan: FrontPlan,
    motion: TreeMotion,
    first_row: IntArray,
    is_driven: BoolArray,
    fronts: Fronts,
    tau: FloatArray,
    b: FloatArray,
    qdd: FloatArray,
    multiplier: FloatArray,
) -> None:
    """Fill the solution of H qdd - K' multiplier = tau, K qdd + mu multiplier = b."""
    steps, table, S = plan.steps, links.integers, motion.subspace
    g, factor, rest = fronts.side, fronts.U, fronts.rest
    has_drives = is_driven.shape[0] > 0
    n_steps = steps.shape[0] - 1
    for step in range(n_steps):
        at, width = np.uintp(steps[step, SIDE]), np.uintp(steps[step, WIDTH])
        slot, node, pivot = np.uintp(steps[step, SLOT]), steps[step, NODE], steps[step, FIRST_PIVOT]
        U = np.uintp(steps[step, FACTOR])
        if steps[step, IS_NEW]:
            for e in range(steps[step, STRIDE]):
                g[at + np.uintp(e)] = 0.0
        for join in range(steps[step, FIRST_JOIN], steps[step + 1, FIRST_JOIN]):
            there = plan.joins[join, 2]
            for e in range(plan.joins[join, 3], plan.joins[join + 1, 3]):
                g[at + np.uintp(plan.rows[e, 1])] += g[there + plan.rows[e, 0]]
        own = at + slot
        if steps[step, KIND] == LINK:
            for entry in range(steps[step, FIRST_ENTRY], steps[step + 1, FIRST_ENTRY]):
                if plan.entries[entry, 4]:
                    first = plan.entries[entry, 1]
                    for r in range(first, plan.entries[entry, 2]):
                        g[at + np.uintp(plan.entries[entry, 0] + r - first)] = -b[r]
            for k in range(table[node, FIRST_VELOCITY], table[node + 1, FIRST_VELOCITY]):
                gap = 0.0
                if not (has_drives and is_driven[k]):
                    gap = tau[k]
                    for e in range(6):
                        gap -= S[k, e] * g[own + np.uintp(e)]
                    _add_scaled(g, at, gap * fronts.inverse[pivot], factor, U, width)
                rest[pivot] = gap
                pivot += 1
                U += width
            parent = steps[step, PARENT_SLOT]
            if parent != WORLD:
                x, y, z = load3(motion.place, node, OFFSET)
                f0, f1, f2 = g[own + np.uintp(3)], g[own + np.uintp(4)], g[own + np.uintp(5)]
                g[own] += y * f2 - z * f1
                g[own + np.uintp(1)] += z * f0 - x * f2
                g[own + np.uintp(2)] += x * f1 - y * f0
            if parent >= 0:
                for e in range(6):
                    g[at + np.uintp(parent + e)] += g[own + np.uintp(e)]
            if parent != OWNER:
                for e in range(6):
                    g[own + np.uintp(e)] = 0.0
        else:
            for r in range(first_row[node + 1] - first_row[node]):
                gap = -g[own + np.uintp(r)]
                _add_scaled(g, at, gap * fronts.inverse[pivot], factor, U, width)
                g[own + np.uintp(r)] = 0.0
                rest[pivot] = gap
                pivot += 1
                U += width
    y = g
    for step in range(n_steps - 1, -1, -1):
        at, width = np.uintp(steps[step, SIDE]), np.uintp(steps[step, WIDTH])
        slot, node = np.uintp(steps[step, SLOT]), steps[step, NODE]
        own, pivot = at + slot, steps[step + 1, FIRST_PIVOT] - 1
        U = np.uintp(steps[step + 1, FACTOR])
        if steps[step, KIND] == LINK:
            parent = steps[step, PARENT_SLOT]
            if parent == WORLD:
                for e in range(6):
                    y[own + np.uintp(e)] = 0.0
            else:
                if parent >= 0:
                    for e in range(6):
                        y[own + np.uintp(e)] = y[at + np.uintp(parent + e)]
                d0, d1, d2 = load3(motion.place, node, OFFSET)
                w0, w1, w2 = y[own], y[own + np.uintp(1)], y[own + np.uintp(2)]
                y[own + np.uintp(3)] += w1 * d2 - w2 * d1
                y[own + np.uintp(4)] += w2 * d0 - w0 * d2
                y[own + np.uintp(5)] += w0 * d1 - w1 * d0
            for k in range(
                table[node + 1, FIRST_VELOCITY] - 1, table[node, FIRST_VELOCITY] - 1, -1
            ):
                U -= width
                x = (rest[pivot] - _dot(factor, U, y, at, width)) * fronts.inverse[pivot]
                qdd[k] = x
                for e in range(6):
                    y[own + np.uintp(e)] += S[k, e] * x
                pivot -= 1
        else:
            first = first_row[node]
            for r in range(first_row[node + 1] - first - 1, -1, -1):
                U -= width
                x = (rest[pivot] - _dot(factor, U, y, at, width)) * fronts.inverse[pivot]
                y[own + np.uintp(r)] = x
                multiplier[first + r] = -x
                pivot -= 1
        for join in range(steps[step, FIRST_JOIN], steps[step + 1, FIRST_JOIN]):
            there = plan.joins[join, 2]
            for e in range(plan.joins[join, 3], plan.joins[join + 1, 3]):
                y[there + plan.rows[e, 0]] = y[at + np.uintp(plan.rows[e, 1])]


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


@njit(**KERNEL)
def _join(plan: FrontPlan, step: int, F: FloatArray) -> None:
    """Add up fronts that meet."""
    rows = plan.rows
    at, stride = plan.steps[step, BASE], plan.steps[step, STRIDE]
    for join in range(plan.steps[step, FIRST_JOIN], plan.steps[step + 1, FIRST_JOIN]):
        there, step_there = plan.joins[join, 0], plan.joins[join, 1]
        first, last = plan.joins[join, 3], plan.joins[join + 1, 3]
        for e in range(first, last):
            to, of = at + rows[e, 1] * stride, there + rows[e, 0] * step_there
            for c in range(first, last):
                F[np.uintp(to + rows[c, 1])] += F[np.uintp(of + rows[c, 0])]


@njit(**INLINE)
def _without(
    F: FloatArray, at: int, stride: int, width: int, U: FloatArray, first: int, inverse: float
) -> None:
    """Replace F by F - U U' inverse."""
    for r in range(width):
        share = -inverse * U[first + r]
        own = at + r * stride
        for c in range(width):
            F[own + c] += share * U[first + c]


@njit(**INLINE)
def _add_scaled(
    g: FloatArray, at: int, factor: float, U: FloatArray, first: int, width: int
) -> None:
    for c in range(width):
        g[at + c] += factor * U[first + c]


@njit(**KERNEL)
def _dot(U: FloatArray, first: int, y: FloatArray, at: int, width: int) -> float:
    total = 0.0
    for c in range(width):
        total += U[first + c] * y[at + c]
    return total


@njit(**INLINE)
def _shift(F: FloatArray, at: int, stride: int, width: int, slot: int, d: Vector) -> None:
    """Take the rows of a link about the origin at -d: n + d x f, on both sides."""
    x, y, z = d
    n, f = at + slot * stride, at + (slot + np.uintp(3)) * stride
    one, two = stride, np.uintp(2) * stride
    for c in range(width):
        f0, f1, f2 = F[f + c], F[f + one + c], F[f + two + c]
        F[n + c] += y * f2 - z * f1
        F[n + one + c] += z * f0 - x * f2
        F[n + two + c] += x * f1 - y * f0
    for r in range(width):
        own = at + r * stride + slot
        f0, f1, f2 = F[own + np.uintp(3)], F[own + np.uintp(4)], F[own + np.uintp(5)]
        F[own] += y * f2 - z * f1
        F[own + np.uintp(1)] += z * f0 - x * f2
        F[own + np.uintp(2)] += x * f1 - y * f0


@njit(**INLINE)
def _merge(F: FloatArray, at: int, stride: int, width: int, slot: int, parent: int) -> None:
    """Add the rows of a link to those of its parent, on both sides."""
    for e in range(np.uintp(6)):
        to, of = at + (parent + e) * stride, at + (slot + e) * stride
        for c in range(width):
            F[to + c] += F[of + c]
    for r in range(width):
        own = at + r * stride
        for e in range(np.uintp(6)):
            F[own + parent + e] += F[own + slot + e]


@njit(**INLINE)
def _clear(F: FloatArray, at: int, stride: int, width: int, slot: int, size: int) -> None:
    """Empty rows and columns."""
    for e in range(size):
        own = at + (slot + e) * stride
        for c in range(width):
            F[own + c] = 0.0
    for r in range(width):
        own = at + r * stride + slot
        for e in range(size):
            F[own + e] = 0.0


@njit(**KERNEL)
def _add_inertia(
    links: Links, motion: TreeMotion, i: int, F: FloatArray, at: int, stride: int
) -> None:
    """Add the inertia of link i, [A B; B' m 1]."""
    mass = links.constants[i, MASS]
    com, tensor = load3(motion.inertia, i, CENTER), load_triangle(motion.inertia, i, TENSOR)
    A, B = about_origin(mass, com, tensor), first_moment(mass, com)
    k = 0
    for r in range(3):
        row = at + np.uintp(r) * stride
        for c in range(r + 1):
            F[row + np.uintp(c)] += A[k]
            if c != r:
                F[at + np.uintp(c) * stride + np.uintp(r)] += A[k]
            k += 1
        for c in range(3):
            F[row + np.uintp(3 + c)] += B[3 * r + c]
            F[at + np.uintp(3 + c) * stride + np.uintp(r)] += B[3 * r + c]
        F[at + np.uintp(3 + r) * (stride + np.uintp(1))] += mass


@njit(**KERNEL)
def _add_rows(
    entries: IntArray,
    entry: int,
    wrench: FloatArray,
    softness: FloatArray,
    F: FloatArray,
    at: int,
    stride: int,
    slot: int,
) -> None:
    """Add the rows of a loop on one of its links."""
    loop, first, last = np.uintp(entries[entry, 0]), entries[entry, 1], entries[entry, 2]
    end = entries[entry, 3]
    for r in range(first, last):
        row = loop + np.uintp(r - first)
        for e in range(6):
            link = slot + np.uintp(e)
            F[at + row * stride + link] += wrench[r, end, e]
            F[at + link * stride + row] += wrench[r, end, e]
        if entries[entry, 4]:
            F[at + row * stride + row] -= softness[r]
