"""The smallest pivot of factors at hand: how near a matrix is to losing rank, and at which row."""

# Indices are unsigned numbers of 32 and 64 bits, which numba mixes and mypy does not.
# mypy: disable-error-code="assignment, arg-type, no-untyped-call"

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.factorization.block_ldl.kernels import block_lanes
from sparsebody.factorization.block_ldl.layout import DUAL, KIND, NATURAL, OWN, SIZE, Table


@njit(cache=True)
def smallest_pivot(
    pivots: Table, values: FloatArray, rows: FloatArray, n_primal_rows: int
) -> tuple[float, int]:
    """Return the root of the smallest dual pivot, relative to the norm of its row, and that row.

    It is the sine of the angle between the row of A and those eliminated before it.

    Parameters
    ----------
    pivots : Table
        Of a Layout; `values` are those of the newest factors.
    rows : (n_dual_rows, 2, width) float array
        A, where D is one.
    n_primal_rows : int
        Number of columns of A.
    """
    least, worst = np.inf, -1
    for j in range(len(pivots) - 1):
        if pivots[j, KIND] != DUAL:
            continue
        size, own = np.intp(pivots[j, SIZE]), np.intp(pivots[j, OWN])
        lanes = np.intp(block_lanes(pivots[j, SIZE]))
        for t in range(size):
            k = np.intp(pivots[j, NATURAL]) - n_primal_rows + t
            square = -1.0 / (values[own + lanes * t + t] * _square(rows, k))
            if not square >= least:
                least, worst = square, k
    return np.sqrt(max(least, 0.0)), worst


@njit(cache=True)
def _square(rows: FloatArray, k: int) -> float:
    total = 0.0
    for side in range(2):
        for a in range(rows.shape[2]):
            total += rows[k, side, a] ** 2
    return total
