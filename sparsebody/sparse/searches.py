"""Searches of the graph of primal blocks: components, levels, distances, halves, pieces."""

from __future__ import annotations

import numpy as np

from sparsebody._core import graph as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.sparse.pattern import BlockPattern


def biconnected_components(pattern: BlockPattern) -> IntArray:
    """Return the component (n_dual,) of each dual block, numbered from 0, the world being a node.

    Two edges are in one if a simple cycle passes through both. Hopcroft and Tarjan (1973).
    """
    return kernels.biconnected_components(pattern.n_primal, pattern.ends)


def primal_graph(pattern: BlockPattern) -> tuple[IntArray, IntArray]:
    """Return (indptr, indices): the block, or -1, at the other end of each dual block."""
    indptr, _, opposite = kernels.incidence(pattern.n_primal, pattern.ends)
    return indptr, opposite


def cuthill_mckee(pattern: BlockPattern) -> IntArray:
    """Return the primal blocks (n_primal,) breadth first, each part from a block at its periphery.

    Cuthill and McKee (1969); George and Liu (1979) for the search for a block at the periphery.
    """
    return kernels.cuthill_mckee(primal_graph(pattern))


def landmark_distances(pattern: BlockPattern, n_landmarks: int = 8) -> FloatArray:
    """Return the distances (n_primal, n_landmarks) in joints from the landmarks of each part.

    The first lies at its periphery, each next one as far as possible from those before.
    """
    return kernels.landmark_distances(primal_graph(pattern), cuthill_mckee(pattern), n_landmarks)


def bisected(pattern: BlockPattern, elsewhere: bool = False) -> IntArray:
    """Return the primal blocks in an order in which every half, quarter, ... is compact.

    A part is searched breadth first and cut in the middle, [a, b) at (a + b) // 2, down to single
    blocks. With `elsewhere` the search starts from another end. George (1973); George and Liu
    (1978).
    """
    return kernels.bisected(primal_graph(pattern), elsewhere)


def sampled(pattern: BlockPattern, n_pieces: int = 4, n_blocks: int = 250) -> BlockPattern:
    """Return the pattern of `n_blocks` primal blocks around each of a few random ones.

    With the joints among them: not those that lead out of a piece, so that trees stay trees.
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


def dual_graph(pattern: BlockPattern) -> tuple[IntArray, IntArray]:
    """Return the sorted neighbours of every dual block, (indptr, indices), numbered from zero."""
    return kernels.dual_graph(pattern.adjacency, pattern.n_primal)


def with_primal_blocks(pattern: BlockPattern, duals: IntArray) -> IntArray:
    """Return the order (n_blocks,) of `duals` (n_dual,), primal blocks before their first one."""
    return kernels.with_primal_blocks(pattern.adjacency, duals)
