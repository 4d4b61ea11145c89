"""From a sequence of the bodies to an order of all blocks."""

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.sparse.admissibility import repair
from sparsebody.sparse.metrics import ordering_metrics
from sparsebody.sparse.pattern import BlockPattern


def with_joints(pattern: BlockPattern, bodies: IntArray) -> IntArray:
    """Return the order with every joint right after the later of its bodies. Admissible."""
    joints = np.arange(pattern.n_primal, pattern.n_blocks, dtype=np.intp)
    return repair(pattern, np.concatenate([bodies, joints]))


def better_way(pattern: BlockPattern, bodies: IntArray) -> IntArray:
    """Return the order along `bodies` or along their reverse, whichever predicts less work."""
    ways = [with_joints(pattern, way) for way in (bodies, bodies[::-1])]
    return min(ways, key=lambda order: ordering_metrics(pattern, order).flops)
