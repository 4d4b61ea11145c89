"""The graph of the dual blocks: two are joined where they share a primal block.

It is the pattern of the Schur complement A D^-1 A'. Where every dual block waits for its primal
ones, the fronts of the dual blocks are those of this graph, and those of the primal ones do not
depend on the order: ordering the whole is ordering this graph.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import IntArray
from sparsebody.sparse.pattern import BlockPattern


def dual_graph(pattern: BlockPattern) -> tuple[IntArray, IntArray]:
    """Return the neighbours of every dual block, (indptr, indices), numbered from zero, sorted.

    A primal block with d dual ones joins d (d - 1) / 2 pairs of them.
    """
    indptr, indices = pattern.adjacency
    new_indptr = np.zeros(pattern.n_dual + 1, dtype=np.intp)
    nothing = np.empty(0, dtype=np.intp)
    _dual_graph(indptr, indices, pattern.n_primal, new_indptr, nothing)
    new_indices = np.empty(new_indptr[-1], dtype=np.intp)
    _dual_graph(indptr, indices, pattern.n_primal, new_indptr, new_indices)
    return new_indptr, new_indices


@njit(cache=True)
def _dual_graph(
    indptr: IntArray, indices: IntArray, n_primal: int, new_indptr: IntArray, new_indices: IntArray
) -> None:
    """Fill `new_indptr`, and `new_indices` unless it is empty."""
    n_dual = len(new_indptr) - 1
    seen_by = np.full(n_dual, -1, dtype=np.intp)
    to = 0
    for j in range(n_dual):
        first = to
        seen_by[j] = j
        for side in range(indptr[n_primal + j], indptr[n_primal + j + 1]):
            primal = indices[side]
            for entry in range(indptr[primal], indptr[primal + 1]):
                other = indices[entry] - n_primal
                if seen_by[other] != j:
                    seen_by[other] = j
                    if len(new_indices) > 0:
                        new_indices[to] = other
                    to += 1
        if len(new_indices) > 0:
            new_indices[first:to].sort()
        new_indptr[j + 1] = to


def with_primal_blocks(pattern: BlockPattern, duals: IntArray) -> IntArray:
    """Return the order (n_blocks,) with every primal block right before its first dual one.

    Parameters
    ----------
    pattern : BlockPattern
        What is to be eliminated.
    duals : (n_dual,) int array
        The dual blocks in the order wanted, numbered from zero.

    Returns
    -------
    (n_blocks,) int array
        All blocks; primal ones without dual ones come first.
    """
    place = np.empty(pattern.n_dual, dtype=np.intp)
    place[duals] = np.arange(pattern.n_dual)
    first_dual = np.full(pattern.n_primal, -1, dtype=np.intp)
    indptr, indices = pattern.adjacency
    coupled = np.flatnonzero(np.diff(indptr[: pattern.n_primal + 1]))
    its_duals = indices[: indptr[pattern.n_primal]] - pattern.n_primal
    if len(coupled):
        first_dual[coupled] = np.minimum.reduceat(place[its_duals], indptr[coupled])
    is_dual = np.arange(pattern.n_blocks) >= pattern.n_primal
    return np.lexsort((is_dual, np.concatenate([first_dual, place]))).astype(np.intp)
