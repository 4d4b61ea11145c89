"""Pieces of a large pattern, small enough to try on them what is best for the whole."""

from __future__ import annotations

import numpy as np

from sparsebody._core import graph as kernels
from sparsebody.sparse.levels import primal_graph
from sparsebody.sparse.pattern import BlockPattern

_PIECES = 4
_BLOCKS = 250  # primal blocks in each


def sampled(
    pattern: BlockPattern, n_pieces: int = _PIECES, n_blocks: int = _BLOCKS
) -> BlockPattern:
    """Return the pattern of primal blocks around a few random ones, with the joints among them.

    Joints that lead out of a piece are left out, so that trees stay trees; dual blocks without a
    second end are kept.
    """
    seeds = np.random.default_rng(0).integers(0, pattern.n_primal, n_pieces)
    label = np.full(pattern.n_primal, -1, dtype=np.intp)
    primal = kernels.nodes_around(primal_graph(pattern), seeds, n_blocks, label)
    indptr, indices = pattern.adjacency
    new = np.append(label, -1)  # the last one answers for -1
    near = np.unique(np.concatenate([indices[indptr[i] : indptr[i + 1]] for i in primal]))
    near = near.astype(np.intp) - pattern.n_primal
    ends = new[pattern.ends[near]]
    inside = ((ends >= 0) == (pattern.ends[near] >= 0)).all(axis=1)
    sizes = pattern.block_sizes[np.concatenate([primal, pattern.n_primal + near[inside]])]
    return BlockPattern(sizes, ends[inside])
