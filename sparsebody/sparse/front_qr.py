"""QR factorization of one large front, a panel of columns at a time.

Reflections of a panel are gathered to I - V T V', so that the columns after it are changed by
products of matrices.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray

PANEL = 32  # columns; a joint is not split


@njit(cache=True)
def decide_front(
    front: FloatArray,
    row: IntArray,
    joint: IntArray,
    ready: BoolArray,
    tolerance: float,
    pivots: FloatArray,
) -> tuple[int, int]:
    """Decide the rows of A in ready columns and triangularize; return equations and columns left.

    Joint by joint, the last one first, and the largest remainder of a joint first.

    Parameters
    ----------
    front : (m, n) float array
        Overwritten by the equations that are left.
    row, joint, ready : (n,) arrays
        The row of A in each column, its joint, whether it is to be decided; `row` is overwritten.
    tolerance : float
        Below it a remainder counts as zero.
    pivots : (n_rows,) float array
        Receives the remainders.

    References
    ----------
    Schreiber and Van Loan (1989), SIAM J. Sci. Stat. Comput. 10, 1 (the compact WY form).
    """
    m, n = front.shape
    last_first = np.argsort(-np.where(ready, joint, -1), kind="mergesort")
    row[:], joint[:] = row[last_first], joint[last_first]
    columns = np.empty((n, m))
    for c in range(n):
        columns[c] = front[:, last_first[c]]
    end, n_ready = 0, np.count_nonzero(ready)
    while end < n_ready:
        first = end
        end = _panel_end(joint[:n_ready], first)
        size = end - first
        remainder = np.empty(size)
        v, t = _decide_panel(columns[:size].copy(), joint[first:end], tolerance, remainder)
        for k in range(size):
            pivots[row[first + k]] = remainder[k]
        columns = _reflected(columns[size:], v, t)[:, len(v) :].copy()
    row[: n - n_ready] = row[n_ready:].copy()
    if columns.shape[1] > columns.shape[0]:
        columns = _triangular(columns)
    n, m = columns.shape
    front[:m, :n] = columns.T
    return m, n


@njit(cache=True)
def _panel_end(joint: IntArray, first: int) -> int:
    """Return where the last joint of a panel ends."""
    end = min(first + PANEL, len(joint))
    while end < len(joint) and joint[end] == joint[end - 1]:
        end += 1
    return end


@njit(cache=True)
def _decide_panel(
    panel: FloatArray, joint: IntArray, tolerance: float, remainder: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Fill in the remainders of the columns; return V' and T of the independent ones."""
    k, m = panel.shape
    is_left = np.ones(k, dtype=np.bool_)
    v, t = np.zeros((k, m)), np.zeros((k, k))
    count = 0
    for first in range(k):
        while is_left[first]:
            best, largest = first, -1.0
            for c in range(first, k):
                if is_left[c] and joint[c] == joint[first]:
                    size = _square(panel[c, count:])
                    if size > largest:
                        best, largest = c, size
            is_left[best], remainder[best] = False, np.sqrt(largest)
            if remainder[best] > tolerance:
                _add_reflection(panel[best], v, t, count)
                for c in range(first, k):
                    if is_left[c]:
                        _reflect(panel[c, count:], v[count, count:], t[count, count])
                count += 1
    return v[:count].copy(), t[:count, :count].copy()


@njit(cache=True)
def _triangular(columns: FloatArray) -> FloatArray:
    """Return the square triangular factor of (n, m) columns, m > n, by columns as well."""
    n = len(columns)
    factor = np.zeros((n, n))
    for first in range(0, n, PANEL):
        k = min(PANEL, n - first)
        panel = columns[:k].copy()
        v, t = np.zeros(panel.shape), np.zeros((k, k))
        for j in range(k):
            _add_reflection(panel[j], v, t, j)
            for c in range(j, k):
                _reflect(panel[c, j:], v[j, j:], t[j, j])
            factor[first + j, first : first + j + 1] = panel[j, : j + 1]
        rest = _reflected(columns[k:], v, t)
        factor[first + k :, first : first + k] = rest[:, :k]
        columns = rest[:, k:].copy()
    return factor


@njit(cache=True)
def _add_reflection(x: FloatArray, v: FloatArray, t: FloatArray, k: int) -> None:
    """Append to V' and T the reflection that makes all of x but x[:k + 1] zero; none for zero."""
    size = np.sqrt(_square(x[k:]))
    if size == 0.0:
        return
    alpha = -size if x[k] > 0.0 else size
    v[k, k:] = x[k:]
    v[k, k] -= alpha
    beta = -1.0 / (alpha * v[k, k])
    t[k, k] = beta
    for i in range(k):
        product = _dot(v[i, k:], v[k, k:])
        for j in range(i + 1):
            t[j, k] -= beta * t[j, i] * product


@njit(cache=True)
def _reflected(columns: FloatArray, v: FloatArray, t: FloatArray) -> FloatArray:
    """Return the columns after the reflections I - V T V', first one first."""
    if len(columns) == 0 or len(v) == 0:
        return columns.copy()
    return columns - np.dot(np.dot(np.dot(columns, v.T), t), v)


@njit(cache=True, fastmath={"contract", "reassoc"})
def _square(x: FloatArray) -> float:
    total = 0.0
    for value in x:
        total += value * value
    return total


@njit(cache=True, fastmath={"contract", "reassoc"})
def _dot(x: FloatArray, y: FloatArray) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@njit(cache=True, fastmath={"contract", "reassoc"})
def _reflect(x: FloatArray, v: FloatArray, beta: float) -> None:
    """Apply I - beta v v'."""
    factor = beta * _dot(x, v)
    for i in range(len(x)):
        x[i] -= factor * v[i]
