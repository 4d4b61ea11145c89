"""Iterative refinement of a solution with the true matrix."""

from __future__ import annotations

from sparsebody.arrays import FloatArray
from sparsebody.factorization.base import Numeric
from sparsebody.sparse.saddle import (
    SaddleMatrix,
    residual_scales,
    residual_size,
    saddle_residual,
)

_ROUNDING = 1e-15  # a residual that no correction makes smaller


def refined_solve(
    numeric: Numeric, matrix: SaddleMatrix, rhs: FloatArray, steps: int = 1
) -> tuple[FloatArray, float]:
    """Solve, then add `steps` corrections, as long as the residual is not rounding and shrinks.

    Parameters
    ----------
    numeric : Numeric
        Factors of `matrix`, or of one that is close to it.
    matrix : SaddleMatrix
        The true matrix.
    rhs : (n_rows,) or (n_rows, k) float array
        Right-hand sides in natural order.
    steps : int
        The greatest number of corrections.

    Returns
    -------
    x : float array shaped like rhs
        The best solution found.
    residual : float
        Size of b - K x in the worst column, against `residual_scales`.

    References
    ----------
    Higham (2002), Accuracy and Stability of Numerical Algorithms, ch. 12.
    """
    x = numeric.solve(rhs)
    rest = saddle_residual(matrix, x, rhs)
    scales = residual_scales(matrix, x, rhs)
    best = residual_size(matrix, rest, scales)
    for _ in range(steps if best > _ROUNDING else 0):
        trial = x + numeric.solve(rest)
        rest = saddle_residual(matrix, trial, rhs)
        size = residual_size(matrix, rest, scales)
        if not size < best:
            break
        x, best = trial, size
    return x, best
