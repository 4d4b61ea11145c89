"""Solutions with the factors of an elimination in fronts: first inwards, then outwards."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.dynamics.tree.front_blocks import KERNEL
from sparsebody.dynamics.tree.front_elimination import Fronts
from sparsebody.dynamics.tree.front_tables import (
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
from sparsebody.dynamics.tree.links import FIRST_VELOCITY, Links
from sparsebody.dynamics.tree.motion import OFFSET, TreeMotion
from sparsebody.dynamics.tree.registers import load3
from sparsebody.spatial.tuples import INLINE


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
) -> float:
    """Fill the solution of H qdd - K' multiplier = tau, K qdd + mu multiplier = b.

    Return the largest component of the links' accelerations J qdd.
    """
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
    y, largest = g, 0.0
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
            for e in range(6):
                largest = max(largest, abs(y[own + np.uintp(e)]))
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
    return largest


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
