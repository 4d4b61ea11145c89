"""H = L' L and H = L' D L with branch-induced sparsity. Featherstone (2008), tables 6.3 to 6.5.

    L' L: for k = n, ..., 1:   L_kk = sqrt(H_kk);  L_ki = H_ki / L_kk  for i on the support of k;
                               H_ij -= L_ki L_kj  for i, j on it

Row k of the lower triangle has an entry for every velocity coordinate between the world and k, k
itself being the last: the supports of two coordinates on one branch begin alike, so that rows are
combined as they lie in memory, and L has no entry that H has not. Secs. 6.4 and 6.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import SingularSystemError

if TYPE_CHECKING:
    from sparsebody.tree.spanning_tree import SpanningTree


class BranchPattern(NamedTuple):
    """Where the entries of a triangle with branch-induced sparsity are."""

    parent: IntArray  # (n,) lambda(k), the expanded parent array
    depth: IntArray  # (n,) number of coordinates before k on its support
    start: IntArray  # (n + 1,) where each row begins in the values; entry (k, j) is at
    #   start[k] + depth[j], for every j on the support of k


def branch_pattern(tree: SpanningTree) -> BranchPattern:
    """Return the pattern of H for a tree; SpanningTree.pattern keeps it."""
    parent = tree.expanded_parent
    depth = native.depths(parent, np.ones_like(parent)) - 1
    start = np.concatenate([[0], np.cumsum(depth + 1)]).astype(np.intp)
    return BranchPattern(parent, depth, start)


def lower_triangle(pattern: BranchPattern, values: FloatArray) -> FloatArray:
    """Return the dense lower triangle (n, n) of packed values."""
    return native.lower_triangle(pattern, values)


def symmetric(pattern: BranchPattern, values: FloatArray) -> FloatArray:
    """Return the dense symmetric matrix (n, n) of a packed lower triangle, such as H."""
    dense = lower_triangle(pattern, values)
    return dense + np.tril(dense, -1).T


def multiply(pattern: BranchPattern, H: FloatArray, x: FloatArray, y: FloatArray) -> None:
    """Fill y = H x for the symmetric H with this lower triangle."""
    native.multiply(pattern, H, x, y)


def ltl_factor(tree: SpanningTree, H: FloatArray) -> FloatArray:
    """Return L of H = L' L, packed as H.

    Raises
    ------
    SingularSystemError
        If H is not positive definite; the message names the coordinate.
    """
    L = H.copy()
    check_pivots(tree, native.factorize_ltl(tree.pattern, L))
    return L


def ltdl_factor(tree: SpanningTree, H: FloatArray) -> FloatArray:
    """Return L, with D in place of its diagonal of ones, of H = L' D L; errors as in ltl_factor."""
    LD = H.copy()
    check_pivots(tree, native.factorize_ltdl(tree.pattern, LD))
    return LD


def ltl_solve(tree: SpanningTree, L: FloatArray, right: FloatArray) -> FloatArray:
    """Return H^-1 right for right (n,), or (m, n) with one right-hand side a row."""
    x = np.array(right, dtype=float, order="C")
    rows = np.atleast_2d(x)
    native.solve_upper(tree.pattern, L, rows)
    native.solve_lower(tree.pattern, L, rows)
    return x


def ltdl_solve(tree: SpanningTree, LD: FloatArray, right: FloatArray) -> FloatArray:
    """Return H^-1 right from the factors of ltdl_factor; shapes as in ltl_solve."""
    x = np.array(right, dtype=float, order="C")
    native.solve_ltdl(tree.pattern, LD, np.atleast_2d(x))
    return x


def check_pivots(tree: SpanningTree, k: int) -> None:
    """Raise SingularSystemError if a factorization ended at coordinate k >= 0."""
    if k >= 0:
        raise SingularSystemError(
            f"the joint-space inertia is not positive definite at {tree.velocity_name(k)}: "
            "look at the masses and inertias of the bodies that it moves, and at its joint's pose"
        )
