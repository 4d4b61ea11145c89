"""x = G y + g, all solutions of K x = k, by Gaussian elimination. Featherstone (2008), sec. 8.8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.errors import ModelError, ShapeError

TOLERANCE = 1e-8  # of pivots, relative to the largest entry or to sizes that are given


@dataclass(frozen=True, eq=False)
class ExplicitForm:
    """x = G y + g, where y are the entries `independent` of x; K G = 0 and K g = k."""

    G: FloatArray  # (n, n - r)
    g: FloatArray  # (n,)
    independent: IntArray  # (n - r,) ascending
    dependent: IntArray  # (r,) in the order of the pivots
    rows: IntArray  # (r,) rows of K that are independent, in the order of the pivots

    @property
    def rank(self) -> int:
        """r, the rank of K."""
        return len(self.dependent)


def explicit_form(
    K: FloatArray,
    k: FloatArray,
    *,
    independent: Sequence[int] = (),
    mask: BoolArray | None = None,
    weight: FloatArray | None = None,
    row_size: FloatArray | None = None,
    tolerance: float = TOLERANCE,
) -> ExplicitForm:
    """Return G and g of the equations K x = k. Featherstone (2008), eq. (8.51).

    Parameters
    ----------
    K : (m, n) float array
        Any matrix; its rows may be dependent.
    k : (m,) float array
        In the range of K.
    independent : sequence of int
        Entries of x that must be among y; complete pivoting chooses the others.
    mask : (n,) bool array, optional
        Columns that are not zero; the others are not looked at, and belong to y.
    weight : (n,) float array, optional
        Natural sizes of the entries of x, which take units out of the choice of pivots.
    row_size : (m,) float array, optional
        Natural sizes of the rows of K times `weight`; default: the largest entry of all.
    tolerance : float
        A pivot below this is zero, relative to the size of its row.

    Raises
    ------
    ModelError
        If the entries given cannot be chosen independently.
    """
    K = np.asarray(K, dtype=float)
    m, n = K.shape
    if np.shape(k) != (m,):
        raise ShapeError(f"K is {K.shape} and k is {np.shape(k)}; k must be ({m},)")
    column = np.arange(n) if mask is None else np.flatnonzero(mask)
    size = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
    is_given = np.zeros(n, dtype=bool)
    is_given[list(independent)] = True
    work = K[:, column] * size[column]
    largest = np.full(m, np.abs(work).max(initial=0.0) or 1.0) if row_size is None else row_size
    work, right = work / largest[:, None], k / largest
    row_order, order = np.arange(m), np.arange(len(column))
    r = eliminate(work, right, is_given[column], tolerance, row_order, order)
    if r < 0:
        raise ModelError(
            f"the entries {list(independent)} of x are not independent: K x = k joins them"
        )
    dependent = column[order[:r]]
    is_free = np.ones(n, dtype=bool)
    is_free[dependent] = False
    free = np.flatnonzero(is_free)
    G, g = np.zeros((n, len(free))), np.zeros(n)
    G[free, np.arange(len(free))] = 1.0
    others = column[order[r:]]
    entries = -size[dependent, None] * work[:r, r:] / size[others]
    G[dependent[:, None], np.searchsorted(free, others)] = entries
    g[dependent] = size[dependent] * right[:r]
    return ExplicitForm(G, g, free, dependent, row_order[:r])


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def eliminate(
    K: FloatArray,
    k: FloatArray,
    is_given: BoolArray,
    tolerance: float,
    row_order: IntArray,
    column_order: IntArray,
) -> int:
    """Eliminate with complete pivoting; return the rank r, or -1 if given columns depend.

    Leaves L and U of K_11 in K[:r, :r], K_11^-1 K_12 in K[:r, r:] and K_11^-1 k_1 in k[:r]. The
    orders, which start as 0, 1, ..., follow the exchanges; given columns are no pivots.
    """
    m, n = K.shape
    rank, n_usable = 0, n
    for j in range(n - 1, -1, -1):  # given columns go to the end
        if is_given[column_order[j]]:
            n_usable -= 1
            if m:
                _exchange(K, k, row_order, column_order, 0, 0, j, n_usable)
    for s in range(min(m, n_usable)):
        pivot, row = tolerance, -1
        for i in range(s, m):
            largest = _largest(K[i, s:n_usable])
            if largest > pivot:
                pivot, row = largest, i
        if row < 0:
            break
        column = s
        while abs(K[row, column]) < pivot:
            column += 1
        _exchange(K, k, row_order, column_order, s, row, s, column)
        for i in range(s + 1, m):
            factor = K[i, s] / K[s, s]
            if factor != 0.0:
                K[i, s] = factor
                k[i] -= factor * k[s]
                target, source = K[i, s + 1 :], K[s, s + 1 :]
                for j in range(source.size):
                    target[j] -= factor * source[j]
        rank += 1
    for i in range(rank, m):
        for j in range(rank, n):
            if abs(K[i, j]) > tolerance:
                return -1
    for s in range(rank - 1, -1, -1):
        for t in range(s + 1, rank):
            factor, target, source = K[s, t], K[s, rank:], K[t, rank:]
            k[s] -= factor * k[t]
            for j in range(source.size):
                target[j] -= factor * source[j]
        k[s] /= K[s, s]
        for j in range(rank, n):
            K[s, j] /= K[s, s]
    return rank


@njit(cache=True)
def _exchange(
    K: FloatArray,
    k: FloatArray,
    row_order: IntArray,
    column_order: IntArray,
    row: int,
    other_row: int,
    column: int,
    other_column: int,
) -> None:
    """Exchange two rows, and two columns."""
    m, n = K.shape
    p, q, s, t = row, other_row, column, other_column
    k[p], k[q] = k[q], k[p]
    row_order[p], row_order[q] = row_order[q], row_order[p]
    column_order[s], column_order[t] = column_order[t], column_order[s]
    for j in range(n):
        K[p, j], K[q, j] = K[q, j], K[p, j]
    for i in range(m):
        K[i, s], K[i, t] = K[i, t], K[i, s]


@njit(cache=True, error_model="numpy", fastmath=True)
def _largest(row: FloatArray) -> float:
    """Return the largest absolute value."""
    largest = 0.0
    for j in range(row.size):
        largest = max(largest, abs(row[j]))
    return largest


@njit(cache=True)
def transposed_solve(LU: FloatArray, rank: int, x: FloatArray) -> None:
    """Replace x[:rank] by K_11'^-1 x[:rank]."""
    for s in range(rank):
        for t in range(s):
            x[s] -= LU[t, s] * x[t]
        x[s] /= LU[s, s]
    for s in range(rank - 1, -1, -1):
        for t in range(s + 1, rank):
            x[s] -= LU[t, s] * x[t]
