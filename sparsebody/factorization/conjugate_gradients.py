"""Conjugate gradients on the dual unknowns, with factors that rounding has made rough.

In long mechanisms the softest motions of A D^-1 A' drown in the rounding of its elimination: the
factors are right but in a few directions, and each of these costs an iteration.
"""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.factorization.base import Numeric
from sparsebody.sparse.saddle import SaddleMatrix, saddle_product

MOST_ITERATIONS = 100
REDUCTION = 1e-12  # of the error in the energy norm


def conjugate_gradient_solve(
    numeric: Numeric, matrix: SaddleMatrix, rhs: FloatArray, most: int = MOST_ITERATIONS
) -> FloatArray:
    """Return x with [D A'; A 0] x nearly rhs (n_rows,), exact in its primal rows but for rounding.

    Parameters
    ----------
    numeric : Numeric
        Rough factors of `matrix`.
    matrix : SaddleMatrix
        The true matrix.
    rhs : (n_rows,) float array
        A right-hand side, best a residual: this is a correction, not a solution to all digits.
    most : int
        The greatest number of iterations.

    References
    ----------
    Gould, Hribar and Nocedal (2001), SIAM J. Sci. Comput. 23:1376, with constraint preconditioner.
    """
    n = matrix.pattern.n_primal_rows
    force, gap = rhs[:n], rhs[n:]
    y = np.zeros(len(gap))
    rest = _constraint(matrix, _compliance(matrix, force)) - gap
    step = _precondition(numeric, rest, n)
    direction = step
    power = first = float(rest @ step)
    for _ in range(most):
        product = _constraint(matrix, _compliance(matrix, _wrench(matrix, direction)))
        curvature = float(direction @ product)
        if not curvature > 0.0:
            break
        y = y + power / curvature * direction
        rest = rest - power / curvature * product
        step = _precondition(numeric, rest, n)
        before, power = power, float(rest @ step)
        if not power > REDUCTION**2 * first:
            break
        direction = step + power / before * direction
    return np.concatenate([_compliance(matrix, force - _wrench(matrix, y)), y])


def _precondition(numeric: Numeric, rest: FloatArray, n_primal_rows: int) -> FloatArray:
    """Return (A D^-1 A')^-1 rest, roughly."""
    right = np.concatenate([np.zeros(n_primal_rows), -rest])
    return numeric.solve(right)[n_primal_rows:]


def _compliance(matrix: SaddleMatrix, force: FloatArray) -> FloatArray:
    """Return D^-1 force."""
    pattern = matrix.pattern
    n, width = matrix.inverse.shape[:2]
    used = np.arange(width) < pattern.block_sizes[:n, None]
    full = np.zeros((n, width))
    full[used] = force
    product = np.matmul(matrix.inverse, full[:, :, None])[:, :, 0]
    return np.asarray(product[used])


def _wrench(matrix: SaddleMatrix, y: FloatArray) -> FloatArray:
    """Return A' y."""
    n = matrix.pattern.n_primal_rows
    return saddle_product(matrix, np.concatenate([np.zeros(n), y]))[:n]


def _constraint(matrix: SaddleMatrix, a: FloatArray) -> FloatArray:
    """Return A a."""
    n = matrix.pattern.n_primal_rows
    n_dual = matrix.pattern.n_rows - n
    return saddle_product(matrix, np.concatenate([a, np.zeros(n_dual)]))[n:]
