"""Breadth-first orders of the primal blocks: levels, and the narrow band of Cuthill and McKee."""

from __future__ import annotations

from sparsebody._core import graph as kernels
from sparsebody.arrays import IntArray
from sparsebody.sparse.pattern import BlockPattern


def primal_graph(pattern: BlockPattern) -> tuple[IntArray, IntArray]:
    """Return (indptr, indices): the block at the other end of each dual block of a primal one.

    -1 if there is none. Parallel dual blocks repeat a neighbour.
    """
    indptr, _, opposite = kernels.incidence(pattern.n_primal, pattern.ends)
    return indptr, opposite


def cuthill_mckee(pattern: BlockPattern) -> IntArray:
    """Return the primal blocks (n_primal,) breadth first, one connected part after the other.

    Each part starts from a block at its periphery; neighbours with few joints come first.

    References
    ----------
    Cuthill and McKee (1969); George and Liu (1979) for the search for a block at the periphery.
    """
    return kernels.cuthill_mckee(primal_graph(pattern))
