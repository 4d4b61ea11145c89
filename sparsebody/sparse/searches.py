"""Searches of the graph of primal blocks: components, levels, distances, halves, pieces."""

from __future__ import annotations

import numpy as np

from sparsebody._core import graph as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.sparse.pattern import BlockPattern


def biconnected_components(pattern: BlockPattern) -> IntArray:
    """Return the component (n_dual,) of each dual block, numbered from 0.

    Primal blocks are nodes and dual blocks edges; "no primal block" (the world) is one more node.
    Two edges are in one component if a simple cycle passes through both; a bridge, and an edge
    with both ends on one node, is a component by itself. Hopcroft and Tarjan (1973), Algorithm 447.
    """
    return kernels.biconnected_components(pattern.n_primal, pattern.ends)


def primal_graph(pattern: BlockPattern) -> tuple[IntArray, IntArray]:
    """Return (indptr, indices): the block at the other end of each dual block of a primal one.

    -1 if there is none. Parallel dual blocks repeat a neighbour.
    """
    indptr, _, opposite = kernels.incidence(pattern.n_primal, pattern.ends)
    return indptr, opposite


def cuthill_mckee(pattern: BlockPattern, towards_world: bool = False) -> IntArray:
    """Return the primal blocks (n_primal,) breadth first, one connected part after the other.

    Each part starts from a block at its periphery, with `towards_world` at the end that is farther
    from the dual blocks without a second one; neighbours with few joints come first. Cuthill and
    McKee (1969); George and Liu (1979) for the search for a block at the periphery.
    """
    return kernels.cuthill_mckee(primal_graph(pattern), towards_world)


def landmark_distances(pattern: BlockPattern, n_landmarks: int = 8) -> FloatArray:
    """Return the distances (n_primal, n_landmarks) in joints from the landmarks of each part.

    The first landmark of a connected part lies at its periphery, each next one as far as possible
    from those before. Parts are set apart from each other by an offset.
    """
    return kernels.landmark_distances(primal_graph(pattern), cuthill_mckee(pattern), n_landmarks)


def bisected(pattern: BlockPattern, elsewhere: bool = False) -> IntArray:
    """Return the primal blocks in an order in which every half, quarter, ... is compact.

    A part is searched breadth first from its periphery and cut in the middle: positions [a, b)
    split into [a, m) and [m, b) with m = (a + b) // 2, down to single blocks. With `elsewhere`,
    the search starts from the block farthest from another one, so that the cuts differ. George
    (1973); George and Liu (1978), SIAM J. Numer. Anal. 15, 5 (automatic dissection).
    """
    return kernels.bisected(primal_graph(pattern), elsewhere)


def sampled(pattern: BlockPattern, n_pieces: int = 4, n_blocks: int = 250) -> BlockPattern:
    """Return the pattern of `n_blocks` primal blocks around each of a few random ones.

    With the joints among them. Joints that lead out of a piece are left out, so that trees stay
    trees; dual blocks without a second end are kept.
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
    """Return the neighbours of every dual block, (indptr, indices), numbered from zero, sorted.

    A primal block with d dual ones joins d (d - 1) / 2 pairs of them.
    """
    return kernels.dual_graph(pattern.adjacency, pattern.n_primal)


def with_primal_blocks(pattern: BlockPattern, duals: IntArray) -> IntArray:
    """Return the order (n_blocks,) with every primal block right before its first dual one.

    `duals` (n_dual,) are in the order of elimination, numbered from zero. Primal blocks without
    dual ones come first.
    """
    return kernels.with_primal_blocks(pattern.adjacency, duals)
