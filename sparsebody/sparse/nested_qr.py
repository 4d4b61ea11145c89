"""QR factorization of A' over nested halves of the bodies: the frontal one on a tree.

The front of a part of the mechanism holds what is known of the rows that lead out of it. Where two
parts meet, the rows between them are decided. Fronts are as wide as the parts' boundaries, so
lattices cost n^1.5 instead of n^2, and a decision depends on log n earlier ones, not on n.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.sparse.front_qr import decide_front
from sparsebody.sparse.frontal_qr import _next_row, _reduced, _reflect
from sparsebody.sparse.pattern import BlockPattern

LARGE = 16384  # entries of a front that is worth the panels


def nested_pivots(
    pattern: BlockPattern, rows: FloatArray, order: IntArray, tolerance: float
) -> FloatArray:
    """Return |R_jj| of every row of A, as `frontal_pivots` does, by nested halves of `order`.

    Parameters
    ----------
    pattern : BlockPattern
        Every dual block touches a primal one.
    rows : (n_rows, 2, width) float array
        Rows of A on both ends, of unit norm.
    order : (n_primal,) int array
        As `bisected` returns it.
    tolerance : float
        Below it a remainder counts as zero.
    """
    n = pattern.n_primal
    place = np.empty(n + 1, dtype=np.intp)
    place[order] = np.arange(n)
    place[n] = -1  # answers for -1
    places = place[pattern.ends]
    first_row = pattern.offsets[n:] - pattern.n_primal_rows
    sizes = np.ascontiguousarray(pattern.block_sizes[order], dtype=np.intp)
    incident = _incident(places, n)
    pivots = np.zeros(len(rows))
    _merge_all(*incident, places, first_row, sizes, rows, tolerance, pivots)
    return pivots


def nested_flops(pattern: BlockPattern, order: IntArray) -> float:
    """Return about how many operations `nested_pivots` takes, from the rows between the parts."""
    n = pattern.n_primal
    place = np.empty(n + 1, dtype=np.intp)
    place[order] = np.arange(n)
    place[n] = -1
    widths = np.zeros(max(2 * n - 1, 1))
    _widths(place[pattern.ends], pattern.block_sizes[n:].astype(np.intp), n, widths)
    return float(_triangularized(widths, n))


@njit(cache=True)
def _incident(places: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return (indptr, joints) by place."""
    indptr = np.zeros(n + 1, dtype=np.intp)
    for j in range(len(places)):
        for side in range(2):
            if places[j, side] >= 0 and (side == 0 or places[j, 0] != places[j, 1]):
                indptr[places[j, side] + 1] += 1
    for k in range(n):
        indptr[k + 1] += indptr[k]
    following, joints = indptr[:n].copy(), np.empty(indptr[n], dtype=np.intp)
    for j in range(len(places)):
        for side in range(2):
            if places[j, side] >= 0 and (side == 0 or places[j, 0] != places[j, 1]):
                joints[following[places[j, side]]] = j
                following[places[j, side]] += 1
    return indptr, joints


@njit(cache=True)
def _widths(places: IntArray, size: IntArray, n: int, widths: FloatArray) -> None:
    """Add the rows that lead out of each part, the parts numbered in preorder."""
    for j in range(len(places)):
        for side in range(2):
            here, there = places[j, side], places[j, 1 - side]
            if here < 0 or there < 0 or here == there:
                continue
            first, end, node = 0, n, 0
            while end - first > 1:
                middle = (first + end) // 2
                if here < middle:
                    node, end = node + 1, middle
                else:
                    node, first = node + 2 * (middle - first), middle
                if there < first or there >= end:
                    widths[node] += size[j]


@njit(cache=True)
def _triangularized(widths: FloatArray, n: int) -> float:
    """Return the operations of a QR of every front, which two halves with their rows make up."""
    flops = 0.0
    parts, depth = np.zeros((130, 3), dtype=np.intp), 1  # first place, end, number in preorder
    parts[0, 1] = n
    while depth > 0:
        depth -= 1
        first, end, node = parts[depth]
        if end - first < 2:
            continue
        middle = (first + end) // 2
        halves = node + 1, node + 2 * (middle - first)
        equations = widths[halves[0]] + widths[halves[1]]
        columns = (equations + widths[node]) / 2
        flops += 2.0 * columns**2 * (equations - columns / 3)
        parts[depth, 0], parts[depth, 1], parts[depth, 2] = first, middle, halves[0]
        parts[depth + 1, 0], parts[depth + 1, 1], parts[depth + 1, 2] = middle, end, halves[1]
        depth += 2
    return flops


@njit(cache=True)
def _merge_all(
    indptr: IntArray,
    joints: IntArray,
    places: IntArray,
    first_row: IntArray,
    sizes: IntArray,
    rows: FloatArray,
    tolerance: float,
    pivots: FloatArray,
) -> None:
    """Walk through the parts from the first place to the last; fronts wait on a stack.

    Front k of the stack has equations[k] x columns[k] values from value_start[k] on, and the rows
    of A in its columns from row_start[k] on.
    """
    n = len(sizes)
    values, row = np.empty(4096), np.empty(1024, dtype=np.intp)
    value_start, row_start = np.zeros(130, dtype=np.intp), np.zeros(130, dtype=np.intp)
    equations, columns = np.zeros(130, dtype=np.intp), np.zeros(130, dtype=np.intp)
    parts = np.zeros((130, 3), dtype=np.intp)  # first place, end, how many halves are done
    joint_of = np.empty(first_row[-1], dtype=np.intp)
    for j in range(len(places)):
        joint_of[first_row[j] : first_row[j + 1]] = j
    found = np.full(first_row[-1], -1, dtype=np.intp)  # the column of a row in a merged front
    depth, top = 1, 0
    parts[0, 1] = n
    while depth > 0:
        first, end, done = parts[depth - 1]
        if end - first > 1 and done < 2:
            middle = (first + end) // 2
            parts[depth - 1, 2] += 1
            parts[depth, 0] = first if done == 0 else middle
            parts[depth, 1] = middle if done == 0 else end
            parts[depth, 2] = 0
            depth += 1
            continue
        depth -= 1
        if end - first == 1:
            front, column_row = _leaf(first, indptr, joints, places, first_row, sizes, rows)
            below = top
        else:
            below = top - 2
            front, column_row = _joined(
                below, values, row, value_start, row_start, equations, columns, found
            )
        m, k = _decide(front, column_row, joint_of, places, first, end, tolerance, pivots)
        equations[below], columns[below] = m, k
        v, r = value_start[below], row_start[below]
        value_start[below + 1], row_start[below + 1] = v + m * k, r + k
        if v + m * k > len(values):
            values = _grown(values, v, 2 * (v + m * k))
        if r + k > len(row):
            row = _grown(row, r, 2 * (r + k))
        for i in range(m):
            values[v + i * k : v + (i + 1) * k] = front[i, :k]
        row[r : r + k] = column_row[:k]
        top = below + 1


@njit(cache=True)
def _grown(array, used, length):  # type: ignore[no-untyped-def]
    """Return a longer array with the same beginning."""
    longer = np.empty(length, dtype=array.dtype)
    longer[:used] = array[:used]
    return longer


@njit(cache=True)
def _leaf(
    place: int,
    indptr: IntArray,
    joints: IntArray,
    places: IntArray,
    first_row: IntArray,
    sizes: IntArray,
    rows: FloatArray,
) -> tuple[FloatArray, IntArray]:
    """Return the front of one body, and the rows of A in its columns."""
    n = 0
    for entry in range(indptr[place], indptr[place + 1]):
        n += first_row[joints[entry] + 1] - first_row[joints[entry]]
    front, row = np.zeros((sizes[place], n)), np.empty(n, dtype=np.intp)
    n = 0
    for entry in range(indptr[place], indptr[place + 1]):
        j = joints[entry]
        for r in range(first_row[j], first_row[j + 1]):
            row[n] = r
            for side in range(2):
                if places[j, side] == place:
                    for a in range(sizes[place]):
                        front[a, n] += rows[r, side, a]
            n += 1
    return front, row


@njit(cache=True)
def _joined(
    below: int,
    values: FloatArray,
    row: IntArray,
    value_start: IntArray,
    row_start: IntArray,
    equations: IntArray,
    columns: IntArray,
    found: IntArray,
) -> tuple[FloatArray, IntArray]:
    """Return the equations of two fronts on the union of their rows; `found` is -1 throughout."""
    union = np.empty(columns[below] + columns[below + 1], dtype=np.intp)
    n = 0
    for k in range(below, below + 2):
        for c in range(columns[k]):
            r = row[row_start[k] + c]
            if found[r] < 0:
                found[r], union[n] = n, r
                n += 1
    front = np.zeros((equations[below] + equations[below + 1], n))
    top = 0
    for k in range(below, below + 2):
        for i in range(equations[k]):
            for c in range(columns[k]):
                value = values[value_start[k] + i * columns[k] + c]
                front[top + i, found[row[row_start[k] + c]]] = value
        top += equations[k]
    for r in union[:n]:
        found[r] = -1
    return front, union[:n].copy()


@njit(cache=True)
def _decide(
    front: FloatArray,
    row: IntArray,
    joint_of: IntArray,
    places: IntArray,
    first: int,
    end: int,
    tolerance: float,
    pivots: FloatArray,
) -> tuple[int, int]:
    """Decide the rows that do not lead out of the part; return equations and columns left."""
    m, n = front.shape
    joint, ready = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.bool_)
    for c in range(n):
        joint[c], ready[c] = joint_of[row[c]], True
        for side in range(2):
            place = places[joint[c], side]
            if place >= 0 and (place < first or place >= end):
                ready[c] = False
    if m * n > LARGE:
        return decide_front(front, row, joint, ready, tolerance, pivots)
    w = np.empty(n)
    while True:
        best, largest = _next_row(joint[:n], ready[:n], front, m)
        if best < 0:
            break
        remainder = np.sqrt(largest)
        pivots[row[best]] = remainder
        if remainder > tolerance:
            _reflect(front, best, m, n, w)
            m -= 1  # equation 0 holds the pivot and is done
            for c in range(n):
                front[0, c] = front[m, c]
        n -= 1
        row[best], joint[best], ready[best] = row[n], joint[n], ready[n]
        for i in range(m):
            front[i, best] = front[i, n]
    return _reduced(front, m, n, w), n
