"""The graph of the dual blocks: two are joined where they share a primal block.

It is the pattern of the Schur complement A D^-1 A'. Where every dual block waits for its primal
ones, the fronts of the dual blocks are those of this graph, and those of the primal ones do not
depend on the order: ordering the whole is ordering this graph.
"""

from __future__ import annotations

from sparsebody._core import graph as kernels
from sparsebody.arrays import IntArray
from sparsebody.sparse.pattern import BlockPattern


def dual_graph(pattern: BlockPattern) -> tuple[IntArray, IntArray]:
    """Return the neighbours of every dual block, (indptr, indices), numbered from zero, sorted.

    A primal block with d dual ones joins d (d - 1) / 2 pairs of them.
    """
    return kernels.dual_graph(pattern.adjacency, pattern.n_primal)


def with_primal_blocks(pattern: BlockPattern, duals: IntArray) -> IntArray:
    """Return the order (n_blocks,) with every primal block right before its first dual one.

    Parameters
    ----------
    pattern : BlockPattern
        The pattern to be eliminated.
    duals : (n_dual,) int array
        The dual blocks in the order of their elimination, numbered from zero.

    Returns
    -------
    (n_blocks,) int array
        All blocks; primal ones without dual ones come first.
    """
    return kernels.with_primal_blocks(pattern.adjacency, duals)
