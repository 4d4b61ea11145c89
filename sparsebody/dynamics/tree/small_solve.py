"""Least squares with the few rows of one joint."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray


@njit(cache=True)
def gram_factor(rows: FloatArray) -> FloatArray:
    """Return the Cholesky factor L (n, n) of T' T, for T' given by rows (n, 6)."""
    n = rows.shape[0]
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for a in range(6):
                total += rows[i, a] * rows[j, a]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(total) if i == j else total / L[j, j]
    return L


@njit(cache=True)
def cholesky_solve(L: FloatArray, x: FloatArray) -> None:
    """Replace x by (L L')^-1 x."""
    n = x.size
    for i in range(n):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]


@njit(cache=True)
def components(rows: FloatArray, wrench: FloatArray, multiplier: FloatArray) -> None:
    """Fill lambda (n,) with T lambda = wrench, in the sense of least squares, refined once."""
    L, n = gram_factor(rows), rows.shape[0]
    rest, step = wrench.copy(), np.empty(n)
    multiplier[:] = 0.0
    for _ in range(2):
        for i in range(n):
            step[i] = 0.0
            for a in range(6):
                step[i] += rows[i, a] * rest[a]
        cholesky_solve(L, step)
        for i in range(n):
            multiplier[i] += step[i]
            for a in range(6):
                rest[a] -= rows[i, a] * step[i]
