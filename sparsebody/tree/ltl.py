"""H = L' L and H = L' D L with branch-induced sparsity: no fill-in. Featherstone (2008), sec. 6.5.

Values are packed as branch_sparsity says; L is lower triangular with the pattern of H.
"""

from __future__ import annotations

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.errors import SingularSystemError
from sparsebody.tree.spanning_tree import SpanningTree


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
