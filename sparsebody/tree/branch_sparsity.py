"""Branch-induced sparsity: H, and its factors, as rows that hold nothing but their support.

Row k of the lower triangle has an entry for every velocity coordinate between the world and k, k
itself being the last: the supports of two coordinates on one branch begin alike, so that rows are
combined as they lie in memory. Featherstone (2008), secs. 6.4 and 6.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray, IntArray

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
    depth = native.branch_depths(parent)
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
