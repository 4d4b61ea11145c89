"""Least multipliers of redundant rows, by solutions with the independent ones alone.

Rows that are left out are combinations of the kept ones, A_d = C A_k. So multipliers y_k can be
traded for others, y_k - C' t and t, and the least of them solve (I + C C') t = C y_k. That is well
conditioned where the kept rows are, and C is known by its products: C' t are the multipliers of the
forces A_d' t, and C v what the rows left out do in a motion with A_k x = v.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.corpus.reference_solution import residual, scaled_solver
from sparsebody.sparse.saddle import Product

STEPS = 1000  # of conjugate gradients at most
RESIDUAL_TOLERANCE = 1e-15  # relative residual


def least_multipliers(
    K: csr_array, A: csr_array, keep: BoolArray, multiplier: FloatArray
) -> FloatArray:
    """Return the least y (n_rows,) with A' y = A[keep]' multiplier.

    Parameters
    ----------
    K : (n + rank, n + rank) sparse array
        [M A_k'; A_k 0] of the kept rows.
    A : (n_rows, n) sparse array
        All rows.
    keep : (n_rows,) bool array
        The independent ones.
    multiplier : (rank,) float array
        Of these.
    """
    n, rough, left = A.shape[1], scaled_solver(K), A[~keep]

    def solve(right: FloatArray) -> FloatArray:
        x = rough(right)
        return x + rough(residual(K, right, x, np.zeros(len(x))))

    def forced(t: FloatArray) -> FloatArray:
        """Return C' t."""
        return np.asarray(solve(np.concatenate([left.T @ t, np.zeros(len(multiplier))]))[n:])

    def moved(v: FloatArray) -> FloatArray:
        """Return C v."""
        return np.asarray(left @ solve(np.concatenate([np.zeros(n), v]))[:n])

    t = _conjugate_gradients(lambda s: s + moved(forced(s)), moved(multiplier))
    y = np.empty(len(keep))
    y[keep], y[~keep] = multiplier - forced(t), t
    return y


def _conjugate_gradients(product: Product, right: FloatArray) -> FloatArray:
    """Return the solution of a positive definite system. Hestenes and Stiefel (1952)."""
    x, r = np.zeros(len(right)), right.copy()
    direction, square = r.copy(), float(r @ r)
    goal = RESIDUAL_TOLERANCE**2 * square
    for _ in range(STEPS):
        if square <= goal:
            break
        image = product(direction)
        step = square / float(direction @ image)
        x, r = x + step * direction, r - step * image
        before, square = square, float(r @ r)
        direction = r + square / before * direction
    return x
