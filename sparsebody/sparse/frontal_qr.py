"""QR factorization of A' body by body, to see which rows of A depend on earlier ones.

A front holds what is known of the rows that touch both a body already met and one still to come:
orthogonal transformations reduce it to as many equations as it has such rows. On a mechanism of
bounded width the work is linear in the number of bodies, and errors grow with the condition number
of A, not with its square as they do in A A'.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray


def front_widths(ends: IntArray, sizes: IntArray, order: IntArray) -> IntArray:
    """Return (n_primal,) rows of A in the front while each body of `order` is met.

    Parameters
    ----------
    ends : (n_rows, 2) int array
        The bodies that each row of A touches, -1 for none.
    sizes : (n_primal,) int array
        Freedoms of the bodies; only used for the length of the result.
    order : (n_primal,) int array
        Order of the bodies.
    """
    place = np.empty(len(sizes), dtype=np.intp)
    place[order] = np.arange(len(order))
    first, last = _spans(ends, place)
    change = np.zeros(len(order) + 1, dtype=np.intp)
    np.add.at(change, first, 1)
    np.add.at(change, last + 1, -1)
    return np.cumsum(change)[: len(order)]


def _spans(ends: IntArray, place: IntArray) -> tuple[IntArray, IntArray]:
    """Return the first and the last place in the order of the bodies of each row."""
    both = np.where(ends >= 0, place[ends], -1)
    last = both.max(axis=1)
    return np.where(both >= 0, both, last[:, None]).min(axis=1), last


def frontal_pivots(
    rows: FloatArray,
    ends: IntArray,
    sizes: IntArray,
    order: IntArray,
    group: IntArray,
    tolerance: float,
) -> FloatArray:
    """Return |R_jj| of every row of A: what is left of it beside the rows decided before.

    A row is decided when the last of its bodies has been met; of several, group by group, and the
    largest remainder of a group first. Remainders below `tolerance` count as zero: the row is
    dependent, and is not used.

    Parameters
    ----------
    rows : (n_rows, 2, width) float array
        Rows of A on both ends, of unit norm; every row touches at least one body.
    ends, sizes, order
        As in `front_widths`.
    group : (n_rows,) int array
        The joint of each row. Joint by joint, all rows that a loop makes dependent are found at
        the joint that closes it, and what is kept stays independent when the mechanism moves.
    tolerance : float
        Below it a remainder counts as zero.

    Returns
    -------
    (n_rows,) float array
        The remainders, of independent and dependent rows.

    References
    ----------
    George and Heath (1980), Lin. Alg. Appl. 34; Davis (2011), ACM TOMS 38, 8 (rank detection).
    """
    place = np.empty(len(sizes), dtype=np.intp)
    place[order] = np.arange(len(order))
    first, last = _spans(ends, place)
    enter = np.argsort(first, kind="stable")
    enter_start = np.searchsorted(first[enter], np.arange(len(order) + 1))
    width = int(front_widths(ends, sizes, order).max(initial=0))
    front = np.zeros((width + int(sizes.max(initial=0)), width))
    pivots = np.zeros(len(rows))
    _sweep(rows, ends, sizes, order, group, last, enter, enter_start, tolerance, front, pivots)
    return pivots


_NO_GROUP = 2**62


@njit(cache=True)
def _sweep(
    rows: FloatArray,
    ends: IntArray,
    sizes: IntArray,
    order: IntArray,
    group: IntArray,
    last: IntArray,
    enter: IntArray,
    enter_start: IntArray,
    tolerance: float,
    front: FloatArray,
    pivots: FloatArray,
) -> None:
    """Meet one body after the other; `front` is (most equations, most rows of A), all zero."""
    column_row = np.empty(front.shape[1], dtype=np.intp)  # the row of A in each column
    w = np.empty(front.shape[1])
    m, n = 0, 0  # equations and columns in the front
    for step in range(order.size):
        body = order[step]
        for k in range(enter_start[step], enter_start[step + 1]):
            column_row[n] = enter[k]
            front[:m, n] = 0.0
            n += 1
        for a in range(sizes[body]):
            for column in range(n):
                row, value = column_row[column], 0.0
                for side in range(2):
                    if ends[row, side] == body:
                        value += rows[row, side, a]
                front[m + a, column] = value
        m += sizes[body]
        while True:
            best, largest, now = -1, -1.0, _NO_GROUP
            for column in range(n):
                if last[column_row[column]] == step:
                    now = min(now, group[column_row[column]])
            for column in range(n):
                row = column_row[column]
                if last[row] == step and group[row] == now:
                    size = 0.0
                    for i in range(m):
                        size += front[i, column] ** 2
                    if size > largest:
                        best, largest = column, size
            if best < 0:
                break
            remainder = np.sqrt(largest)
            pivots[column_row[best]] = remainder
            if remainder > tolerance:
                _reflect(front, 0, best, m, n, w)
                m -= 1  # equation 0 holds the pivot and is done
                for column in range(n):
                    front[0, column] = front[m, column]
            n -= 1
            column_row[best] = column_row[n]
            for i in range(m):
                front[i, best] = front[i, n]
        m = _reduced(front, m, n, w)


@njit(cache=True)
def _reflect(front: FloatArray, top: int, column: int, m: int, n: int, w: FloatArray) -> None:
    """Householder: make equations below `top` zero in `column`, in front[top:m, :n]."""
    size = 0.0
    for i in range(top, m):
        size += front[i, column] ** 2
    size = np.sqrt(size)
    if size == 0.0:
        return
    alpha = -size if front[top, column] > 0.0 else size
    head = front[top, column] - alpha  # v = (head, x_below); beta = 2 / v'v = -1 / (alpha head)
    beta = -1.0 / (alpha * head)
    for k in range(n):
        w[k] = head * front[top, k]
    for i in range(top + 1, m):
        v = front[i, column]
        if v != 0.0:
            for k in range(n):
                w[k] += v * front[i, k]
    for k in range(n):
        w[k] *= beta
    for i in range(top + 1, m):
        v = front[i, column]
        if v != 0.0:
            for k in range(n):
                front[i, k] -= v * w[k]
            front[i, column] = 0.0
    for k in range(n):
        front[top, k] -= head * w[k]
    front[top, column] = alpha


@njit(cache=True)
def _reduced(front: FloatArray, m: int, n: int, w: FloatArray) -> int:
    """Triangularize front[:m, :n]; return how many equations are left, at most n."""
    if m <= n:
        return m
    for k in range(n):
        _reflect(front, k, k, m, n, w)  # columns before k are zero there already
    return n
