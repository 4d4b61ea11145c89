"""The smallest pivot of factors at hand: how near a matrix is to losing rank, and at which row."""

# Indices are unsigned numbers of 32 and 64 bits, which numba mixes and mypy does not.
# mypy: disable-error-code="assignment, arg-type, no-untyped-call"

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.factorization.block_qr.layout import FIRST_COLUMN, SIZE, START, STRIDE, Table


@njit(cache=True)
def smallest_pivot(
    fronts: Table, columns: Table, values: FloatArray, rows: FloatArray
) -> tuple[float, int]:
    """Return the smallest |R_tt|, relative to the norm of the row of A, and that row.

    It is the sine of the angle between the row and those eliminated before it.

    Parameters
    ----------
    fronts, columns : Table
        Of a block QR; `values` are those of its newest factor R.
    rows : (n_dual_rows, 2, width) float array
        A, where D is one.
    """
    least, worst = np.inf, -1
    for j in range(len(fronts) - 1):
        start = np.intp(fronts[j, START])
        first, stride = np.intp(fronts[j, FIRST_COLUMN]), np.intp(fronts[j, STRIDE])
        for t in range(np.intp(fronts[j, SIZE])):
            k = np.intp(columns[first + t])
            sine = 1.0 / (abs(values[start + t]) * np.sqrt(_square(rows, k)))
            start += stride
            if not sine >= least:
                least, worst = sine, k
    return least, worst


@njit(cache=True)
def _square(rows: FloatArray, k: int) -> float:
    total = 0.0
    for side in range(2):
        for a in range(rows.shape[2]):
            total += rows[k, side, a] ** 2
    return total
