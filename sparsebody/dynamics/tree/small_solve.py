"""Least squares with the few rows of one joint."""

from __future__ import annotations

import math

from numba import njit

from sparsebody.arrays import FloatArray


@njit(cache=True)
def factor_gram(rows: FloatArray, L: FloatArray) -> None:
    """Fill the Cholesky factor, in the lower triangle of L (6, 6), of T' T; T' is rows (n, 6)."""
    for i in range(rows.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for a in range(6):
                total += rows[i, a] * rows[j, a]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(total) if i == j else total / L[j, j]


@njit(cache=True)
def cholesky_solve(L: FloatArray, n: int, x: FloatArray) -> None:
    """Replace x[:n] by (L L')^-1 x[:n]."""
    for i in range(n):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]


@njit(cache=True)
def components(
    rows: FloatArray, wrench: FloatArray, L: FloatArray, step: FloatArray, multiplier: FloatArray
) -> None:
    """Fill lambda (n,) with T lambda = wrench, in the sense of least squares, refined once.

    What is left of `wrench` (6,) stays there; L (6, 6) and step (6,) are work space.
    """
    factor_gram(rows, L)
    n = rows.shape[0]
    multiplier[:] = 0.0
    for _ in range(2):
        for i in range(n):
            step[i] = 0.0
            for a in range(6):
                step[i] += rows[i, a] * wrench[a]
        cholesky_solve(L, n, step)
        for i in range(n):
            multiplier[i] += step[i]
            for a in range(6):
                wrench[a] -= rows[i, a] * step[i]
