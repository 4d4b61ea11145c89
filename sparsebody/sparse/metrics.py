"""The predicted cost of an elimination order, from the pattern alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody._core import graph as kernels
from sparsebody.arrays import IntArray
from sparsebody.sparse.etree import Elimination, elimination, tree_height, weighted_counts
from sparsebody.sparse.pattern import Blocks


@dataclass(frozen=True)
class OrderingMetrics:
    """The predicted cost of a block LDL' factorization in one order, blocks taken as dense."""

    nnz_l: int  # scalar entries of L, the diagonal included
    flops: float  # multiplications, divisions, additions: m (m + 2) for m rows below a scalar pivot
    block_bandwidth: int  # greatest distance of two coupled blocks, in blocks
    scalar_bandwidth: int  # greatest distance of two coupled scalar rows
    profile: int  # scalar entries between the first one of a row and its diagonal, over all rows
    etree_height: int  # blocks on the longest way up the elimination tree
    largest_front: int  # most scalar rows in one block column of L, the pivot block included


def ordering_metrics(pattern: Blocks, order: IntArray) -> OrderingMetrics:
    """Return the predicted cost of factorizing in `order`.

    Eliminating one scalar pivot with m rows below it takes m divisions and m (m + 1) / 2 pairs of a
    multiplication and an addition: m (m + 2) operations. A block of s rows with d rows below it
    holds the pivots with m = d .. d + s - 1. Zeros within a block count as entries.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    return elimination_metrics(elimination(pattern, order), pattern.block_sizes[order])


def elimination_metrics(tree: Elimination, size: IntArray) -> OrderingMetrics:
    """Return the predicted cost; `size` (n_blocks,) is that of each position."""
    front = weighted_counts(tree, size)
    start, triangle = np.cumsum(size) - size, size * (size - 1) // 2
    first = kernels.first_coupled(tree.graph)
    return OrderingMetrics(
        nnz_l=int((size * front - triangle).sum()),
        flops=float(kernels.block_flops(front, size).sum()),
        block_bandwidth=int((np.arange(len(size)) - first).max(initial=0)),
        scalar_bandwidth=int((start + size - 1 - start[first]).max(initial=0)),
        profile=int((size * (start - start[first]) + triangle).sum()),
        etree_height=tree_height(tree.parent),
        largest_front=int(front.max(initial=0)),
    )


def pivot_flops(n: float) -> float:
    """Return the sum of m (m + 2) for m = 0 .. n - 1: a dense factorization of n rows."""
    return (n - 1.0) * n * (2.0 * n - 1.0) / 6.0 + n * (n - 1.0)
