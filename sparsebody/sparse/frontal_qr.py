"""QR factorization of A' body by body, to see which rows of A depend on earlier ones.

A front holds what is known of the rows that touch both a body already met and one still to come:
orthogonal transformations reduce it to as many equations as it has such rows. On a mechanism of
bounded width the work is linear in the number of bodies, and errors grow with the condition number
of A, not with its square as they do in A A'.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.sparse.fronts import Fronts


def frontal_pivots(fronts: Fronts, rows: FloatArray, tolerance: float) -> FloatArray:
    """Return |R_jj| of every row of A: what is left of it beside the rows decided before.

    A row is decided when the last of its bodies has been met; of several, joint by joint, the last
    one listed first, and the largest remainder of a joint first. So all rows that a loop makes
    dependent are found at one joint, and what is kept stays independent when the mechanism moves;
    if joints are listed as they enter, that one reaches farthest, and leaves the front narrow.
    Remainders below `tolerance` count as zero: the row is dependent, and is not used.

    Parameters
    ----------
    fronts : Fronts
        The bodies in the order in which they are met.
    rows : (n_rows, 2, width) float array
        Rows of A on both ends, of unit norm.
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
    front = np.zeros((fronts.width + int(fronts.sizes.max(initial=0)), fronts.width))
    pivots = np.zeros(len(rows))
    _sweep(fronts, np.ascontiguousarray(rows), tolerance, front, pivots)
    return pivots


@njit(cache=True)
def _sweep(
    fronts: Fronts, rows: FloatArray, tolerance: float, front: FloatArray, pivots: FloatArray
) -> None:
    """Meet one body after the other; `front` is (most equations, most rows of A), all zero."""
    row = np.empty(front.shape[1], dtype=np.intp)  # the row of A in each column, and its joint
    joint = np.empty(front.shape[1], dtype=np.intp)
    ready = np.empty(front.shape[1], dtype=np.bool_)
    w = np.empty(front.shape[1])
    zero = int(np.intp(0))  # numba would compile what takes a literal 0 a second time
    m, n = zero, zero  # equations and columns in the front
    for step in range(len(fronts.order)):
        body = fronts.order[step]
        for k in range(fronts.start[step], fronts.start[step + 1]):
            j = fronts.entering[k]
            for r in range(fronts.first_row[j], fronts.first_row[j + 1]):
                row[n], joint[n] = r, j
                front[:m, n] = 0.0
                n += 1
        for column in range(n):
            ready[column] = fronts.last[joint[column]] == step
        _append_body(fronts, rows, body, row[:n], joint[:n], front[m:])
        m += fronts.sizes[body]
        while True:
            best, largest = _next_row(joint[:n], ready[:n], front, m)
            if best < 0:
                break
            remainder = np.sqrt(largest)
            pivots[row[best]] = remainder
            if remainder > tolerance:
                _reflect(front, best, m, n, w)
                m -= 1  # equation 0 holds the pivot and is done
                for column in range(n):
                    front[0, column] = front[m, column]
            n -= 1
            row[best], joint[best], ready[best] = row[n], joint[n], ready[n]
            for i in range(m):
                front[i, best] = front[i, n]
        m = _reduced(front, m, n, w)


@njit(cache=True)
def _append_body(
    fronts: Fronts,
    rows: FloatArray,
    body: int,
    row: IntArray,
    joint: IntArray,
    equations: FloatArray,
) -> None:
    """Fill the first equations with what the rows in the front have on `body`."""
    for column in range(len(row)):
        for a in range(fronts.sizes[body]):
            equations[a, column] = 0.0
        for side in range(2):
            if fronts.ends[joint[column], side] == body:
                for a in range(fronts.sizes[body]):
                    equations[a, column] += rows[row[column], side, a]


@njit(cache=True)
def _next_row(joint: IntArray, ready: BoolArray, front: FloatArray, m: int) -> tuple[int, float]:
    """Return the column to decide next and its square, or -1 if no more is ready."""
    best, largest, now = -1, -1.0, -1
    for column in range(len(joint)):
        if ready[column] and joint[column] >= now:
            if joint[column] > now:
                best, largest, now = -1, -1.0, joint[column]
            size = 0.0
            for i in range(m):
                size += front[i, column] ** 2
            if size > largest:
                best, largest = column, size
    return best, largest


@njit(cache=True)
def _reflect(front: FloatArray, column: int, m: int, n: int, w: FloatArray) -> None:
    """Householder: make all but the first equation zero in `column`, in front[:m, :n]."""
    size = 0.0
    for i in range(m):
        size += front[i, column] ** 2
    size = np.sqrt(size)
    if size == 0.0:
        return
    alpha = -size if front[0, column] > 0.0 else size
    head = front[0, column] - alpha  # v = (head, x_below); beta = 2 / v'v = -1 / (alpha head)
    beta = -1.0 / (alpha * head)
    for k in range(n):
        w[k] = head * front[0, k]
    for i in range(1, m):
        v = front[i, column]
        if v != 0.0:
            for k in range(n):
                w[k] += v * front[i, k]
    for k in range(n):
        w[k] *= beta
    for i in range(1, m):
        v = front[i, column]
        if v != 0.0:
            for k in range(n):
                front[i, k] -= v * w[k]
            front[i, column] = 0.0
    for k in range(n):
        front[0, k] -= head * w[k]
    front[0, column] = alpha


@njit(cache=True)
def _reduced(front: FloatArray, m: int, n: int, w: FloatArray) -> int:
    """Triangularize front[:m, :n]; return how many equations are left, at most n."""
    if m <= n:
        return m
    for k in range(n):
        _reflect(front[k:], k, m - k, n, w)  # columns before k are zero there already
    return n
