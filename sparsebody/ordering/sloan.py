"""Sloan's sweep: a small profile, and small fronts on the way."""

from __future__ import annotations

from sparsebody._core import ordering as kernels
from sparsebody.arrays import IntArray
from sparsebody.ordering.sweeps import better_way
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import cuthill_mckee, primal_graph


def sloan(pattern: BlockPattern) -> IntArray:
    """Take next, of the bodies near those taken, one that is far from the end and adds little.

    Each joint follows its bodies: admissible. Of both directions the one that predicts less work.

    References
    ----------
    Sloan (1986), Int. J. Numer. Methods Eng. 23, 2.
    """
    sequence = kernels.sloan(primal_graph(pattern), cuthill_mckee(pattern))
    return better_way(pattern, sequence)
