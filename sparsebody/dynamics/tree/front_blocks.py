"""What is done to a front: links and loops added, freedoms eliminated, rows moved and cleared.

A front is F[at : at + stride * stride], row by row; its first `width` rows and columns are in use.
Row and column numbers are unsigned, so that nothing is checked for counting from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.tree.articulated_body import about_origin, first_moment
from sparsebody.dynamics.tree.front_tables import BASE, FIRST_JOIN, STRIDE, FrontPlan
from sparsebody.dynamics.tree.links import MASS, Links
from sparsebody.dynamics.tree.motion import CENTER, TENSOR, TreeMotion
from sparsebody.dynamics.tree.registers import load3
from sparsebody.spatial.tuples import INLINE, Vector, load_triangle

KERNEL: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc"},
}


@njit(**INLINE)
def fill_product(
    F: FloatArray, own: int, stride: int, width: int, s: FloatArray, U: FloatArray, first: int
) -> None:
    """Fill U = s' F, for the six rows of a link that begin at F[own]."""
    two, four = np.uintp(2) * stride, np.uintp(4) * stride
    s0, s1, s2, s3, s4, s5 = s[0], s[1], s[2], s[3], s[4], s[5]
    for c in range(width):
        total = s0 * F[own + c] + s1 * F[own + stride + c] + s2 * F[own + two + c]
        total += s3 * F[own + two + stride + c] + s4 * F[own + four + c]
        U[first + c] = total + s5 * F[own + four + stride + c]


@njit(**KERNEL)
def join(plan: FrontPlan, step: int, F: FloatArray) -> None:
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
def without(
    F: FloatArray, at: int, stride: int, width: int, U: FloatArray, first: int, inverse: float
) -> None:
    """Replace F by F - U U' inverse."""
    for r in range(width):
        share = -inverse * U[first + r]
        own = at + r * stride
        for c in range(width):
            F[own + c] += share * U[first + c]


@njit(**INLINE)
def shift(F: FloatArray, at: int, stride: int, width: int, slot: int, d: Vector) -> None:
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
def merge(F: FloatArray, at: int, stride: int, width: int, slot: int, parent: int) -> None:
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
def clear(F: FloatArray, at: int, stride: int, width: int, slot: int, size: int) -> None:
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
def add_inertia(
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
def add_rows(
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
