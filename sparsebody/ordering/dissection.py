"""Nested dissection with separators made of joints, cut along coordinates of the bodies."""

from __future__ import annotations

import numpy as np

from sparsebody._core import ordering as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.ordering.minimum_degree import in_phases
from sparsebody.sparse.pattern import BlockPattern


def dissected(pattern: BlockPattern, coordinates: FloatArray) -> IntArray:
    """Cut the bodies in two, again and again; eliminate the joints of a cut after both sides.

    Every part is cut across the coordinate along which the fewest rows of joints are cut, counted
    against the size of the halves; then bodies at the cut change sides where that cuts fewer.
    Within a part, and within a cut, minimum degree decides. Admissible.

    Parameters
    ----------
    pattern : BlockPattern
        The pattern to be eliminated.
    coordinates : (n_primal, k) float array
        Anything that neighbours differ little in: positions, distances in the graph, eigenvectors.

    References
    ----------
    George (1973); Heath and Raghavan (1995), SIAM J. Matrix Anal. 16, 1, for cuts by coordinates;
    Fiduccia and Mattheyses (1982) for the moves.
    """
    joint_sizes = pattern.block_sizes[pattern.n_primal :]
    cut_depth = kernels.dissection(pattern.ends, joint_sizes, coordinates)
    phase = np.zeros(pattern.n_blocks, dtype=np.intp)
    deepest = cut_depth.max(initial=0)
    phase[pattern.n_primal :] = np.where(cut_depth > 0, deepest + 1 - cut_depth, 0)
    return in_phases(pattern, phase)
