"""A sweep through the bodies that keeps as few rows as possible in flight."""

from __future__ import annotations

from sparsebody._core import ordering as kernels
from sparsebody.arrays import IntArray
from sparsebody.ordering.sweeps import better_way
from sparsebody.sparse.metrics import ordering_metrics
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import cuthill_mckee

_STARTS = 4  # bodies to start from in each connected part


def pathwidth_sweep(pattern: BlockPattern) -> IntArray:
    """Take next the body, of those next to the ones taken, after which the fewest rows are cut.

    A front holds the joints between bodies taken and bodies not yet taken: the greatest number of
    their rows, over the sweep, is the weighted cut width, and bounds the vertex separation of
    the graph of joints (its pathwidth). Bodies that were reached first come first among equal ones.
    Several starts are tried. Each joint follows its bodies: admissible.

    References
    ----------
    Kinnersley (1992) for pathwidth as vertex separation; Diaz, Petit and Serna (2002) for surveys
    of layouts; the greedy rule is King's (1970), for rows instead of nodes.
    """
    joint_sizes, sequence = pattern.block_sizes[pattern.n_primal :], cuthill_mckee(pattern)
    orders = [
        better_way(
            pattern,
            kernels.pathwidth_sweep(pattern.ends, joint_sizes, sequence, start, _STARTS),
        )
        for start in range(_STARTS)
    ]
    return min(orders, key=lambda order: ordering_metrics(pattern, order).flops)
