"""Minimum fill among admissible orders, weighted by scalar entries, with a look ahead."""

from __future__ import annotations

import numpy as np

from sparsebody._core import ordering as kernels
from sparsebody.arrays import IntArray
from sparsebody.ordering.tree_parts import leaves_then
from sparsebody.sparse.etree import postordered
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import dual_graph, landmark_distances, with_primal_blocks


def minimum_fill(pattern: BlockPattern) -> IntArray:
    """Eliminate next the joint that couples the fewest entries anew, tree parts leaves first.

    Admissible: a body comes right before its first joint. Among several that fill in equally little
    the one comes first after which a neighbour fills in least, then the one of the smallest front.
    The graph is stored as rows of bits: n^2 / 8 bytes for n joints, and time in proportion to the
    squares of the fronts.

    References
    ----------
    Tinney and Walker (1967), scheme 3; Rothberg and Eisenstat (1998), SIAM J. Matrix Anal. 19, 3.
    """
    return leaves_then(pattern, lambda core, _: _core_order(core))


def _core_order(pattern: BlockPattern) -> IntArray:
    """Return an order of the blocks of a mechanism without tree parts."""
    if pattern.n_dual == 0:
        return np.arange(pattern.n_blocks, dtype=np.intp)
    sequence = _by_place(pattern)
    size = pattern.block_sizes.copy()
    size[pattern.n_primal :] = size[pattern.n_primal :][sequence]
    renumbered = BlockPattern(size, pattern.ends[sequence])
    rows = size[pattern.n_primal :]
    joints = sequence[kernels.minimum_fill(dual_graph(renumbered), rows)]
    return postordered(pattern, with_primal_blocks(pattern, joints))


def _by_place(pattern: BlockPattern) -> IntArray:
    """Return the joints (n_dual,) sorted by where they are, however they are numbered.

    Their coordinates are the distances of their bodies from landmarks.
    """
    distance = landmark_distances(pattern)
    distance = np.vstack([distance, np.zeros(distance.shape[1])])  # the last line is the world's
    ends = np.sort(distance[pattern.ends], axis=1).reshape(pattern.n_dual, -1)
    return np.lexsort(ends.T[::-1]).astype(np.intp)
