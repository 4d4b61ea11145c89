"""H = L' L and H = L' D L with branch-induced sparsity: no fill-in. Featherstone (2008), sec. 6.5.

Values are packed as branch_sparsity says; L is lower triangular with the pattern of H.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.tree.branch_sparsity import BranchPattern
from sparsebody.dynamics.tree.spanning_tree import SpanningTree
from sparsebody.errors import SingularSystemError


def ltl_factor(tree: SpanningTree, H: FloatArray) -> FloatArray:
    """Return L of H = L' L, packed as H.

    Raises
    ------
    SingularSystemError
        If H is not positive definite; the message names the coordinate.
    """
    L = H.copy()
    check_pivots(tree, factorize_ltl(tree.pattern, L))
    return L


def ltdl_factor(tree: SpanningTree, H: FloatArray) -> FloatArray:
    """Return L, with D in place of its diagonal of ones, of H = L' D L; errors as in ltl_factor."""
    LD = H.copy()
    check_pivots(tree, factorize_ltdl(tree.pattern, LD))
    return LD


def ltl_solve(tree: SpanningTree, L: FloatArray, right: FloatArray) -> FloatArray:
    """Return H^-1 right for right (n,), or (m, n) with one right-hand side a row."""
    x = np.array(right, dtype=float, order="C")
    rows = np.atleast_2d(x)
    solve_upper(tree.pattern, L, rows)
    solve_lower(tree.pattern, L, rows)
    return x


def ltdl_solve(tree: SpanningTree, LD: FloatArray, right: FloatArray) -> FloatArray:
    """Return H^-1 right from the factors of ltdl_factor; shapes as in ltl_solve."""
    x = np.array(right, dtype=float, order="C")
    substitute_ltdl(tree.pattern, LD, np.atleast_2d(x))
    return x


def check_pivots(tree: SpanningTree, k: int) -> None:
    """Raise SingularSystemError if a factorization ended at coordinate k >= 0."""
    if k >= 0:
        raise SingularSystemError(
            f"the joint-space inertia is not positive definite at {tree.velocity_name(k)}: "
            "look at the masses and inertias of the bodies that it moves, and at its joint's pose"
        )


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def factorize_ltl(pattern: BranchPattern, values: FloatArray) -> int:
    """Replace H by L; return -1, or the coordinate whose pivot is not positive. Table 6.3."""
    start, depth, parent = pattern.start, pattern.depth, pattern.parent
    for k in range(parent.size - 1, -1, -1):
        first, size = start[k], depth[k]
        if not values[first + size] > 0.0:
            return k
        pivot = math.sqrt(values[first + size])
        values[first + size] = pivot
        row = values[first : first + size]
        for e in range(size):
            row[e] /= pivot
        i = parent[k]
        while i >= 0:
            size -= 1
            factor, target = row[size], values[start[i] : start[i] + size + 1]
            for e in range(size + 1):
                target[e] -= factor * row[e]
            i = parent[i]
    return -1


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def factorize_ltdl(pattern: BranchPattern, values: FloatArray) -> int:
    """Replace H by L and D; return -1, or the coordinate whose pivot is not positive. Table 6.4."""
    start, depth, parent = pattern.start, pattern.depth, pattern.parent
    for k in range(parent.size - 1, -1, -1):
        first, size = start[k], depth[k]
        pivot = values[first + size]
        if not pivot > 0.0:
            return k
        row = values[first : first + size]
        i = parent[k]
        while i >= 0:
            size -= 1
            factor, target = row[size] / pivot, values[start[i] : start[i] + size + 1]
            for e in range(size + 1):
                target[e] -= factor * row[e]
            row[size] = factor
            i = parent[i]
    return -1


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def solve_upper(pattern: BranchPattern, L: FloatArray, rows: FloatArray) -> None:
    """Replace every row b of `rows` (m, n) by L'^-1 b.

    What is zero beyond some supports stays zero, and costs next to nothing.
    """
    start, depth, parent = pattern.start, pattern.depth, pattern.parent
    for row in range(rows.shape[0]):
        x = rows[row]
        for k in range(parent.size - 1, -1, -1):
            if x[k] == 0.0:
                continue
            first = start[k]
            value = x[k] / L[first + depth[k]]
            x[k] = value
            i, place = parent[k], first + depth[k]
            while i >= 0:
                place -= 1
                x[i] -= L[place] * value
                i = parent[i]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def solve_lower(pattern: BranchPattern, L: FloatArray, rows: FloatArray) -> None:
    """Replace every row b of `rows` (m, n) by L^-1 b."""
    start, depth, parent = pattern.start, pattern.depth, pattern.parent
    for row in range(rows.shape[0]):
        x = rows[row]
        for k in range(parent.size):
            place = start[k] + depth[k]
            total, pivot = x[k], L[place]
            i = parent[k]
            while i >= 0:
                place -= 1
                total -= L[place] * x[i]
                i = parent[i]
            x[k] = total / pivot


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def substitute_ltdl(pattern: BranchPattern, LD: FloatArray, rows: FloatArray) -> None:
    """Replace every row b of `rows` (m, n) by (L' D L)^-1 b."""
    start, depth, parent = pattern.start, pattern.depth, pattern.parent
    for row in range(rows.shape[0]):
        x = rows[row]
        for k in range(parent.size - 1, -1, -1):
            i, place = parent[k], start[k] + depth[k]
            while i >= 0:
                place -= 1
                x[i] -= LD[place] * x[k]
                i = parent[i]
        for k in range(parent.size):
            place = start[k] + depth[k]
            total = x[k] / LD[place]
            i = parent[k]
            while i >= 0:
                place -= 1
                total -= LD[place] * x[i]
                i = parent[i]
            x[k] = total
