"""Whether a doubtful pivot means that a row depends on others, or only that rounding hides it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.sparse.saddle import SaddleMatrix, saddle_residual

DEPENDENT = 1e-14  # |A' y| over |A|' |y|: nothing is left of this combination of rows but rounding
MOST_ITERATIONS = 4


def is_dependent(matrix: SaddleMatrix, solve: Callable[[FloatArray], FloatArray], row: int) -> bool:
    """Return whether rows of A cancel in a combination y that holds dual row `row`.

    Inverse iteration with the shifted factors turns y towards the smallest singular value of A'. A
    value that is small, as in long mechanisms, is not zero: A' y can be told from rounding although
    y' A D^-1 A' y, which the pivots see, cannot.

    Parameters
    ----------
    matrix : SaddleMatrix
        The true matrix.
    solve : function of (n_rows,) float array
        With factors of the matrix whose vanishing pivots were shifted away from zero.
    row : int
        Counted from the first dual one.
    """
    n = matrix.pattern.n_primal_rows
    absolute = SaddleMatrix(matrix.pattern, matrix.diagonal, matrix.inverse, np.abs(matrix.rows))
    y = np.zeros(matrix.pattern.n_rows)
    y[n + row] = 1.0
    zero = np.zeros_like(y)
    for _ in range(MOST_ITERATIONS):
        y = solve(y)
        y[:n] = 0.0
        size = np.abs(y).max()
        if not (0.0 < size < np.inf):
            return True
        y /= size
        left = np.abs(saddle_residual(matrix, y, zero)[:n])
        terms = np.abs(saddle_residual(absolute, np.abs(y), zero)[:n])
        if left.max() <= DEPENDENT * terms.max():
            return True
    return False
