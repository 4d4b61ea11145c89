"""Norms of matrices that are known by their products with vectors only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from sparsebody.arrays import FloatArray

Product = Callable[[FloatArray], FloatArray]
STEPS = 40  # of Lanczos at most
GROWTH_TOLERANCE = 1e-2  # relative growth of an eigenvalue in one step that ends the iteration
LEAST_STEPS = 4
ROUNDS = 5  # of Hager's method at most; two are usual


def largest_eigenvalue(product: Product, n: int) -> float:
    """Estimate the largest eigenvalue of a symmetric positive matrix (n, n), from below.

    Lanczos' method from a random vector; a few per cent are missing where eigenvalues crowd.

    References
    ----------
    Golub and Van Loan (2013), sec. 10.1; Kuczynski and Wozniakowski (1992), SIMAX 13:1094.
    """
    if n == 0:
        return 0.0
    q = np.random.default_rng(0).normal(size=n)
    q /= np.linalg.norm(q)
    last, beta, eigenvalue = np.zeros(n), 0.0, 0.0
    diagonal: list[float] = []
    beside: list[float] = []
    for step in range(min(STEPS, n)):
        z = product(q) - beta * last
        diagonal.append(float(z @ q))
        z -= diagonal[-1] * q
        before, eigenvalue = eigenvalue, float(eigvalsh_tridiagonal(diagonal, beside)[-1])
        beta = float(np.linalg.norm(z))
        has_settled = step >= LEAST_STEPS and eigenvalue <= (1.0 + GROWTH_TOLERANCE) * before
        if has_settled or not beta > 1e-12 * eigenvalue:
            break
        beside.append(beta)
        last, q = q, z / beta
    return eigenvalue


def largest_row_sum(product: Product, transposed: Product, n_rows: int) -> float:
    """Estimate the largest sum of absolute values in a row of a matrix with n_rows, from below.

    References
    ----------
    Hager (1984), SIAM J. Sci. Stat. Comput. 5:311; Higham (2002), sec. 15.3.
    """
    v = np.full(n_rows, 1.0 / n_rows)
    largest_sum = 0.0
    for _ in range(ROUNDS):
        row = transposed(v)
        total = float(np.abs(row).sum())
        if not total > largest_sum:
            break
        largest_sum = total
        sums = np.abs(product(np.where(row < 0.0, -1.0, 1.0)))
        largest = int(np.argmax(sums))
        v = np.zeros(n_rows)
        v[largest] = 1.0
    return largest_sum
