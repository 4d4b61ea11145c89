"""Biconnected components of the graph of primal and dual blocks: bridges and loops."""

from __future__ import annotations

from sparsebody._core import graph as kernels
from sparsebody.arrays import IntArray
from sparsebody.sparse.pattern import BlockPattern


def biconnected_components(pattern: BlockPattern) -> IntArray:
    """Return the component (n_dual,) of each dual block, numbered from 0.

    Primal blocks are nodes and dual blocks edges; "no primal block" (the world) is one more node.
    Two edges are in one component if a simple cycle passes through both; a bridge, and an edge
    with both ends on one node, is a component by itself.

    References
    ----------
    Hopcroft and Tarjan (1973), Algorithm 447.
    """
    return kernels.biconnected_components(pattern.n_primal, pattern.ends)
