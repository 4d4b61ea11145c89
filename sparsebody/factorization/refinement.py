"""Iterative refinement of a solution with the true matrix, by conjugate gradients where rough.

In long mechanisms the softest motions of A D^-1 A' drown in the rounding of its elimination: the
factors are right but in a few directions, and each of these costs an iteration.
"""

from __future__ import annotations

import numpy as np

from sparsebody import tolerances
from sparsebody._core import factorization as native
from sparsebody.arrays import FloatArray
from sparsebody.factorization.backend import Numeric
from sparsebody.sparse import saddle

MOST_ITERATIONS = 100
GRADIENT_REDUCTION = 1e-12  # of the error in the energy norm


def refined_solve(
    numeric: Numeric, matrix: saddle.SaddleMatrix, rhs: FloatArray, steps: int = 4
) -> tuple[FloatArray, float]:
    """Solve, then add corrections as long as the error needs it and they or the residual shrink.

    The first correction, relative to the solution, is about the error of the factors, of `matrix`
    or one close to it; each one multiplies the error by it. Where it is large, conjugate gradients
    make the corrections, at most `steps`; most right-hand sides (n_rows,) or (n_rows, k) need one.

    Returns x shaped like rhs, and the size of b - K x in the worst column, against
    `residual_scales`. Higham (2002), Accuracy and Stability of Numerical Algorithms, ch. 12.
    """
    n = matrix.pattern.n_primal_rows
    x = numeric.solve(rhs)
    rest = saddle.saddle_residual(matrix, x, rhs)
    scales = saddle.residual_scales(matrix, x, rhs)
    best = saddle.residual_size(matrix, rest, scales)
    roughness, latest = 0.0, np.inf
    for step in range(steps if best > tolerances.REFINED_RESIDUAL else 0):
        is_rough = roughness > tolerances.ROUGH_FACTORS
        correction = _corrections(numeric, matrix, rest) if is_rough else numeric.solve(rest)
        trial = x + correction
        rest = saddle.saddle_residual(matrix, trial, rhs)
        size = saddle.residual_size(matrix, rest, scales)
        relative = _relative_size(correction[:n], trial[:n])
        if not (size < best or relative < latest / 2):
            break
        x, best = trial, size
        if step == 0:
            roughness = relative
        latest = np.inf if step == 0 and roughness > tolerances.ROUGH_FACTORS else relative
        is_corrected = is_rough and relative < tolerances.GRADIENT_CORRECTION
        if is_corrected or relative * roughness < tolerances.REFINED_ERROR:
            break
    return x, best


def _corrections(numeric: Numeric, matrix: saddle.SaddleMatrix, rest: FloatArray) -> FloatArray:
    """Return what conjugate gradients make of every column of a residual."""
    columns = rest.reshape(len(rest), -1).T
    solutions = [conjugate_gradient_solve(numeric, matrix, column) for column in columns]
    return np.column_stack(solutions).reshape(rest.shape)


def _relative_size(correction: FloatArray, x: FloatArray) -> float:
    """Return the largest entry of a correction relative to that of the solution, worst column."""
    largest = np.abs(x).max(axis=0, initial=0.0)
    change = np.abs(correction).max(axis=0, initial=0.0)
    return float(np.max(change / np.where(largest > 0.0, largest, 1.0), initial=0.0))


def conjugate_gradient_solve(
    numeric: Numeric, matrix: saddle.SaddleMatrix, rhs: FloatArray, most: int = MOST_ITERATIONS
) -> FloatArray:
    """Return x with [D A'; A 0] x nearly rhs (n_rows,), exact in its primal rows but for rounding.

    By rough factors, a correction in at most `most` iterations, not a solution to all digits.
    Gould, Hribar and Nocedal (2001), SIAM J. Sci. Comput. 23:1376, with constraint preconditioner.
    """
    n, of_matrix = matrix.pattern.n_primal_rows, (matrix.blocks, matrix.inverse)

    def preconditioned(gap: FloatArray) -> FloatArray:
        """Return (A D^-1 A')^-1 gap, roughly."""
        return numeric.solve(np.concatenate([np.zeros(n), -gap]))[n:]

    def schur_product(y: FloatArray) -> FloatArray:
        """Return A D^-1 A' y."""
        wrench = saddle.saddle_product(matrix, np.concatenate([np.zeros(n), y]))
        return native.dual_rhs(*of_matrix, wrench[:, None])[:, 0]

    y = np.zeros(len(rhs) - n)
    rest = native.dual_rhs(*of_matrix, rhs[:, None])[:, 0]  # A D^-1 f - g
    step = preconditioned(rest)
    direction = step
    power = first = float(rest @ step)
    for _ in range(most):
        product = schur_product(direction)
        curvature = float(direction @ product)
        if not curvature > 0.0:
            break
        y = y + power / curvature * direction
        rest = rest - power / curvature * product
        step = preconditioned(rest)
        before, power = power, float(rest @ step)
        if not power > GRADIENT_REDUCTION**2 * first:
            break
        direction = step + power / before * direction
    return native.primal_solution(*of_matrix, rhs[:, None], y[:, None])[:, 0]
