"""Pieces of a large pattern, small enough to try on them what is best for the whole."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import IntArray
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
    primal = _around(*pattern.adjacency, pattern.n_primal, seeds, n_blocks, label)
    new = np.append(label, -1)  # the last one answers for -1
    indptr, indices = pattern.adjacency
    near = np.unique(np.concatenate([indices[indptr[i] : indptr[i + 1]] for i in primal]))
    near = near.astype(np.intp) - pattern.n_primal
    ends = new[pattern.ends[near]]
    inside = ((ends >= 0) == (pattern.ends[near] >= 0)).all(axis=1)
    sizes = pattern.block_sizes[np.concatenate([primal, pattern.n_primal + near[inside]])]
    return BlockPattern(sizes, ends[inside])


@njit(cache=True)
def _around(
    indptr: IntArray,
    indices: IntArray,
    n_primal: int,
    seeds: IntArray,
    n_blocks: int,
    label: IntArray,
) -> IntArray:
    """Search breadth first from each seed; number what is found in `label`, and return it."""
    found = np.empty(len(seeds) * n_blocks, dtype=np.intp)
    n = 0
    for seed in seeds:
        if label[seed] >= 0:
            continue
        head, most = n, n + n_blocks
        label[seed], found[n] = n, seed
        n += 1
        while head < n:
            here = found[head]
            head += 1
            for entry in range(indptr[here], indptr[here + 1]):
                joint = indices[entry]
                for k in range(indptr[joint], indptr[joint + 1]):
                    there = indices[k]
                    if label[there] < 0 and n < most:
                        label[there], found[n] = n, there
                        n += 1
    return found[:n].copy()
