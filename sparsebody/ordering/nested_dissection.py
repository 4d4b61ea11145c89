"""Nested dissection with separators made of joints: by positions, or by distances in the graph."""

from __future__ import annotations

import numpy as np

from sparsebody._core import ordering as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.ordering.heuristics import in_phases, leaves_then
from sparsebody.sparse.pattern import BlockPattern, landmark_distances


def dissected(pattern: BlockPattern, coordinates: FloatArray) -> IntArray:
    """Cut the bodies in two, again and again; eliminate the joints of a cut after both. Admissible.

    Every part is cut across the one of `coordinates` (n_primal, k) along which the fewest rows of
    joints are cut, against the size of the halves; minimum degree decides within. George (1973);
    Heath and Raghavan (1995), SIAM J. Matrix Anal. 16, 1, for cuts by coordinates; Fiduccia and
    Mattheyses (1982) for moves of bodies at the cut.
    """
    joint_sizes = pattern.block_sizes[pattern.n_primal :]
    cut_depth = kernels.dissection(pattern.ends, joint_sizes, coordinates)
    phase = np.zeros(pattern.n_blocks, dtype=np.intp)
    deepest = cut_depth.max(initial=0)
    phase[pattern.n_primal :] = np.where(cut_depth > 0, deepest + 1 - cut_depth, 0)
    return in_phases(pattern, phase)


def nested_dissection(pattern: BlockPattern) -> IntArray:
    """Cut the core by distances from bodies far apart, tree parts leaves first. Admissible.

    Coordinates are distances in the graph from eight bodies, and their differences. George (1973);
    George and Liu (1978), SIAM J. Numer. Anal. 15, 5 (without positions).
    """

    def order_core(core: BlockPattern, _: IntArray) -> IntArray:
        distance = landmark_distances(core)
        first, second = np.triu_indices(distance.shape[1], 1)
        differences = distance[:, first] - distance[:, second]
        return dissected(core, np.column_stack([differences, distance]))

    return leaves_then(pattern, order_core)


def geometric_dissection(pattern: BlockPattern, positions: FloatArray | None = None) -> IntArray:
    """Cut the core across x, y or z of the bodies' `positions` (n_primal, k) [m]. Admissible.

    Without them this is `nested_dissection`. Heath and Raghavan (1995).
    """
    if positions is None:
        return nested_dissection(pattern)

    def order_core(core: BlockPattern, blocks: IntArray) -> IntArray:
        return dissected(core, positions[blocks[: core.n_primal]])

    return leaves_then(pattern, order_core)
