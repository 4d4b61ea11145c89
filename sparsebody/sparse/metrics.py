"""What an elimination order costs, told from the pattern alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

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


def elimination_metrics(found: Elimination, size: IntArray) -> OrderingMetrics:
    """Return the predicted cost; `size` (n_blocks,) is that of each position."""
    front = weighted_counts(found, size)
    nnz_l, flops = _totals(front, size)
    block_bandwidth, scalar_bandwidth, profile = _band(found.indptr, found.indices, size)
    return OrderingMetrics(
        nnz_l=int(nnz_l),
        flops=float(flops),
        block_bandwidth=int(block_bandwidth),
        scalar_bandwidth=int(scalar_bandwidth),
        profile=int(profile),
        etree_height=int(tree_height(found.parent)),
        largest_front=int(front.max(initial=0)),
    )


@njit(cache=True)
def _totals(front: IntArray, size: IntArray) -> tuple[int, float]:
    """Return the entries of L and the operations."""
    entries, flops = 0, 0.0
    for j in range(len(front)):
        entries += size[j] * front[j] - size[j] * (size[j] - 1) // 2
        flops += pivot_flops(float(front[j])) - pivot_flops(float(front[j] - size[j]))
    return entries, flops


@njit(cache=True)
def pivot_flops(n: float) -> float:
    """Return the sum of m (m + 2) for m = 0 .. n - 1: a dense factorization of n rows."""
    return (n - 1.0) * n * (2.0 * n - 1.0) / 6.0 + n * (n - 1.0)


@njit(cache=True)
def _band(indptr: IntArray, indices: IntArray, size: IntArray) -> tuple[int, int, int]:
    """Return block bandwidth, scalar bandwidth and profile; `size` is that of each position."""
    n = len(size)
    start = np.zeros(n + 1, dtype=np.intp)  # first scalar row
    for i in range(n):
        start[i + 1] = start[i] + size[i]
    block_bandwidth, scalar_bandwidth, profile = 0, 0, 0
    for i in range(n):
        first = i
        for entry in range(indptr[i], indptr[i + 1]):
            first = min(first, indices[entry])
        block_bandwidth = max(block_bandwidth, i - first)
        scalar_bandwidth = max(scalar_bandwidth, start[i + 1] - 1 - start[first])
        profile += size[i] * (start[i] - start[first]) + size[i] * (size[i] - 1) // 2
    return block_bandwidth, scalar_bandwidth, profile
