"""Nested bisection of the primal blocks, for mechanisms that are wide in every direction."""

from __future__ import annotations

from sparsebody._core import graph as kernels
from sparsebody.arrays import IntArray
from sparsebody.sparse.levels import primal_graph
from sparsebody.sparse.pattern import BlockPattern


def bisected(pattern: BlockPattern, elsewhere: bool = False) -> IntArray:
    """Return the primal blocks in an order in which every half, quarter, ... is compact.

    A part is searched breadth first from its periphery and cut in the middle: positions [a, b)
    split into [a, m) and [m, b) with m = (a + b) // 2, down to single blocks. With `elsewhere`,
    the search starts from the block farthest from another one, so that the cuts differ.

    References
    ----------
    George (1973); George and Liu (1978), SIAM J. Numer. Anal. 15, 5 (automatic dissection).
    """
    return kernels.bisected(primal_graph(pattern), elsewhere)
