"""Coordinates of the primal blocks in which D is one: with D = L L', those are L' x."""

from __future__ import annotations

import numpy as np

from sparsebody._core import factorization
from sparsebody.arrays import FloatArray
from sparsebody.sparse.saddle import SaddleMatrix

SOUND = -1
to_unit, from_unit = factorization.to_unit, factorization.from_unit


def unit_rows(matrix: SaddleMatrix, rows: FloatArray) -> tuple[int, FloatArray]:
    """Fill rows (n_dual_rows, 2, width) with A L'^-1; return L^-1 (n_primal, width, width) as well.

    The first result is SOUND or the number of a block of D that is not positive definite.
    """
    inverse_root = np.zeros(matrix.diagonal.shape)
    return factorization.unit_rows(matrix.blocks, rows, inverse_root), inverse_root
