"""Nested dissection without METIS: by positions if known, else by distances in the graph."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.ordering.dissection import dissected
from sparsebody.ordering.tree_parts import leaves_then
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import landmark_distances


def nested_dissection(pattern: BlockPattern) -> IntArray:
    """Cut the core by distances from bodies far apart, tree parts leaves first. Admissible.

    A body's coordinates are its distances in the graph from eight bodies, and their differences: on
    a lattice, with landmarks in its corners, these run along rows, columns and diagonals.

    References
    ----------
    George (1973); George and Liu (1978), SIAM J. Numer. Anal. 15, 5 (without positions).
    """

    def order_core(core: BlockPattern, _: IntArray) -> IntArray:
        distance = landmark_distances(core)
        first, second = np.triu_indices(distance.shape[1], 1)
        differences = distance[:, first] - distance[:, second]
        return dissected(core, np.column_stack([differences, distance]))

    return leaves_then(pattern, order_core)


def geometric_dissection(pattern: BlockPattern, positions: FloatArray | None = None) -> IntArray:
    """Cut the core across x, y or z, tree parts leaves first. Admissible.

    Parameters
    ----------
    pattern : BlockPattern
        The pattern to be eliminated.
    positions : (n_primal, k) float array, optional
        Of the bodies [m]. Without them this is `nested_dissection`.

    References
    ----------
    George (1973); Heath and Raghavan (1995), SIAM J. Matrix Anal. 16, 1.
    """
    if positions is None:
        return nested_dissection(pattern)

    def order_core(core: BlockPattern, blocks: IntArray) -> IntArray:
        return dissected(core, positions[blocks[: core.n_primal]])

    return leaves_then(pattern, order_core)
