"""Coordinates of the primal blocks in which D is one: with D = L L', those are L' x."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.sparse.saddle import SaddleMatrix

SOUND = -1


def unit_rows(matrix: SaddleMatrix, rows: FloatArray) -> tuple[int, FloatArray]:
    """Fill rows (n_dual_rows, 2, width) with A L'^-1; return L^-1 (n_primal, width, width) as well.

    The first result is SOUND or the number of a block of D that is not positive definite.
    """
    pattern = matrix.pattern
    inverse_root = np.zeros(matrix.diagonal.shape)
    bad = _invert_roots(pattern.block_sizes, matrix.diagonal, inverse_root)
    _fill_rows(pattern.ends, matrix.row_block, matrix.rows, inverse_root, rows)
    return bad, inverse_root


@njit(cache=True)
def _invert_roots(sizes: IntArray, diagonal: FloatArray, inverse_root: FloatArray) -> int:
    bad = SOUND
    for i in range(len(diagonal)):
        for j in range(sizes[i]):
            row = inverse_root[i, j]  # of L first
            square = diagonal[i, j, j]
            for k in range(j):
                product = 0.0
                for a in range(k + 1):
                    product += inverse_root[i, k, a] * diagonal[i, j, a]
                row[k] = product  # L[j, k] = (L^-1 D)[k, j]
                square -= product * product
            if not 0.0 < square < np.inf:
                bad = i if bad == SOUND else bad
            pivot = np.sqrt(square)
            for k in range(j):  # row j of L^-1 = -L[j, :j] L^-1[:j] / L[j, j]
                product = 0.0
                for a in range(k, j):
                    product += row[a] * inverse_root[i, a, k]
                row[k] = -product / pivot
            row[j] = 1.0 / pivot
    return bad


@njit(cache=True)
def _fill_rows(
    ends: IntArray,
    row_block: IntArray,
    rows: FloatArray,
    inverse_root: FloatArray,
    unit: FloatArray,
) -> None:
    width = rows.shape[2]
    for r in range(len(rows)):
        for side in range(2):
            body = ends[row_block[r], side]
            for a in range(width):
                total = 0.0
                if body >= 0:
                    for b in range(a + 1):
                        total += inverse_root[body, a, b] * rows[r, side, b]
                unit[r, side, a] = total


@njit(cache=True)
def to_unit(offsets: IntArray, inverse_root: FloatArray, x: FloatArray) -> None:
    """Replace the primal part of a right-hand side (n_rows,) by L^-1 times that."""
    for i in range(len(inverse_root)):
        first, size = offsets[i], offsets[i + 1] - offsets[i]
        for a in range(size - 1, -1, -1):
            total = 0.0
            for b in range(a + 1):
                total += inverse_root[i, a, b] * x[first + b]
            x[first + a] = total


@njit(cache=True)
def from_unit(offsets: IntArray, inverse_root: FloatArray, x: FloatArray) -> None:
    """Replace the primal part of a solution (n_rows,) by L'^-1 times that."""
    for i in range(len(inverse_root)):
        first, size = offsets[i], offsets[i + 1] - offsets[i]
        for a in range(size):
            total = 0.0
            for b in range(a, size):
                total += inverse_root[i, b, a] * x[first + b]
            x[first + a] = total
