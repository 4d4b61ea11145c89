"""Nested dissection with separators made of joints: by positions, or by distances in the graph."""

from __future__ import annotations

import numpy as np

from sparsebody._core import ordering as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.ordering.minimum_degree import in_phases, leaves_then
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import landmark_distances


def dissected(pattern: BlockPattern, coordinates: FloatArray) -> IntArray:
    """Cut the bodies in two, again and again; eliminate the joints of a cut after both sides.

    Every part is cut across the coordinate along which the fewest rows of joints are cut, counted
    against the size of the halves; then bodies at the cut change sides where that cuts fewer.
    Within a part, and within a cut, minimum degree decides. Admissible. `coordinates` (n_primal,
    k): anything that neighbours differ little in: positions, distances in the graph, eigenvectors.
    George (1973); Heath and Raghavan (1995), SIAM J. Matrix Anal. 16, 1, for cuts by coordinates;
    Fiduccia and Mattheyses (1982) for the moves.
    """
    joint_sizes = pattern.block_sizes[pattern.n_primal :]
    cut_depth = kernels.dissection(pattern.ends, joint_sizes, coordinates)
    phase = np.zeros(pattern.n_blocks, dtype=np.intp)
    deepest = cut_depth.max(initial=0)
    phase[pattern.n_primal :] = np.where(cut_depth > 0, deepest + 1 - cut_depth, 0)
    return in_phases(pattern, phase)


def nested_dissection(pattern: BlockPattern) -> IntArray:
    """Cut the core by distances from bodies far apart, tree parts leaves first. Admissible.

    A body's coordinates are its distances in the graph from eight bodies, and their differences: on
    a lattice, with landmarks in its corners, these run along rows, columns and diagonals. George
    (1973); George and Liu (1978), SIAM J. Numer. Anal. 15, 5 (without positions).
    """

    def order_core(core: BlockPattern, _: IntArray) -> IntArray:
        distance = landmark_distances(core)
        first, second = np.triu_indices(distance.shape[1], 1)
        differences = distance[:, first] - distance[:, second]
        return dissected(core, np.column_stack([differences, distance]))

    return leaves_then(pattern, order_core)


def geometric_dissection(pattern: BlockPattern, positions: FloatArray | None = None) -> IntArray:
    """Cut the core across x, y or z, tree parts leaves first. Admissible.

    `positions` (n_primal, k): of the bodies [m]. Without them this is `nested_dissection`. George
    (1973); Heath and Raghavan (1995), SIAM J. Matrix Anal. 16, 1.
    """
    if positions is None:
        return nested_dissection(pattern)

    def order_core(core: BlockPattern, blocks: IntArray) -> IntArray:
        return dissected(core, positions[blocks[: core.n_primal]])

    return leaves_then(pattern, order_core)
