"""Pivots of the Schur complement A A' + delta, body by body.

A dependent row has a pivot of about delta, an independent one does not. Nothing is pivoted for
size and nothing is decided on the way, so this is a second opinion beside the frontal QR: scissors,
sheets, lattices and rows of four-bars of any length have a gap of 1e6 and more in these pivots,
which grows as 1 / delta down to 1e-13. The direction matters: a long scissor is decided clearly
from the ground to the free end, and not at all the other way, where errors grow with the leverage.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.sparse.fronts import Fronts

DELTA = 1e-12


def schur_pivots(fronts: Fronts, rows: FloatArray, delta: float = DELTA) -> FloatArray:
    """Return the pivots (n_rows,) of LDL' of A A' + delta; arguments as in `frontal_pivots`.

    A row is eliminated when the last of its bodies has been met.
    """
    front = np.zeros((fronts.width, fronts.width))
    pivots = np.zeros(len(rows))
    _sweep(fronts, np.ascontiguousarray(rows), delta, front, pivots)
    return pivots


@njit(cache=True)
def _sweep(
    fronts: Fronts, rows: FloatArray, delta: float, front: FloatArray, pivots: FloatArray
) -> None:
    """Meet one body after the other; `front` (most rows of A, the same) is a lower triangle."""
    row = np.empty(len(front), dtype=np.intp)  # the row of A in each column, and its joint
    joint = np.empty(len(front), dtype=np.intp)
    parts = np.zeros((6 * ((rows.shape[2] + 5) // 6), len(front)))
    touching, w = np.empty(len(front), dtype=np.intp), np.empty(len(front))
    n = int(np.intp(0))
    for step in range(len(fronts.order)):
        body = fronts.order[step]
        for k in range(fronts.start[step], fronts.start[step + 1]):
            j = fronts.entering[k]
            for r in range(fronts.first_row[j], fronts.first_row[j + 1]):
                row[n], joint[n] = r, j
                front[n, : n + 1] = 0.0
                front[n, n] = delta
                n += 1
        _add_body(fronts, rows, body, row[:n], joint[:n], parts, touching, front)
        column = int(np.intp(0))
        while column < n:
            if fronts.last[joint[column]] != step:
                column += 1
                continue
            pivots[row[column]] = max(front[column, column], 1e-300)
            _eliminate(front, column, n, w)
            n -= 1
            row[column], joint[column] = row[n], joint[n]


@njit(cache=True, fastmath={"contract"})
def _add_body(
    fronts: Fronts,
    rows: FloatArray,
    body: int,
    row: IntArray,
    joint: IntArray,
    parts: FloatArray,
    touching: IntArray,
    front: FloatArray,
) -> None:
    """Add the products of the rows' parts on `body`; `parts` (6 k, rows) has one in a column."""
    n, n_touching = len(row), 0
    for a in range(len(parts)):
        for column in range(n):
            parts[a, column] = 0.0
    for column in range(n):
        for side in range(2):
            if fronts.ends[joint[column], side] == body:
                for a in range(fronts.sizes[body]):
                    parts[a, column] += rows[row[column], side, a]
                if n_touching == 0 or touching[n_touching - 1] != column:
                    touching[n_touching] = column
                    n_touching += 1
    for r in touching[:n_touching]:
        for a in range(0, fronts.sizes[body], 6):
            p0, p1, p2, p3, p4, p5 = (
                parts[a],
                parts[a + 1],
                parts[a + 2],
                parts[a + 3],
                parts[a + 4],
                parts[a + 5],
            )
            r0, r1, r2, r3, r4, r5 = p0[r], p1[r], p2[r], p3[r], p4[r], p5[r]
            for c in range(r + 1):
                first = r0 * p0[c] + r1 * p1[c] + r2 * p2[c]
                front[r, c] += first + r3 * p3[c] + r4 * p4[c] + r5 * p5[c]


@njit(cache=True, fastmath={"contract"})
def _eliminate(front: FloatArray, pivot: int, n: int, w: FloatArray) -> None:
    """Eliminate one column of front[:n, :n] and put the last one in its place."""
    for c in range(pivot + 1):
        w[c] = front[pivot, c]
    for r in range(pivot + 1, n):
        w[r] = front[r, pivot]
    scale = 1.0 / max(w[pivot], 1e-300)
    for r in range(n):
        factor = scale * w[r]
        if factor != 0.0:
            for c in range(r + 1):
                front[r, c] -= factor * w[c]
    last = n - 1
    for c in range(pivot):
        front[pivot, c] = front[last, c]
    for r in range(pivot + 1, last):
        front[r, pivot] = front[last, r]
    front[pivot, pivot] = front[last, last]


def largest_gap(pivots: FloatArray, delta: float = DELTA) -> tuple[float, float]:
    """Return a threshold and the ratio of the pivots on its two sides.

    Where all pivots are far above delta, none is dropped and the ratio is that to delta.
    """
    return _largest_gap(pivots, delta)


@njit(cache=True)
def _largest_gap(pivots: FloatArray, delta: float) -> tuple[float, float]:
    """Keep the least and the largest pivot of each octave above delta: gaps lie between octaves."""
    least, largest = np.full(1100, np.inf), np.zeros(1100)
    least[0] = largest[0] = delta
    for pivot in pivots:
        ratio = max(pivot / delta, 1.0)
        k = int(np.log2(ratio))
        least[k] = min(least[k], ratio * delta)
        largest[k] = max(largest[k], ratio * delta)
    threshold, widest, below = delta, 1.0, delta
    for k in range(len(least)):
        if largest[k] > 0.0:
            if least[k] > widest * below:
                threshold, widest = np.sqrt(least[k] * below), least[k] / below
            below = largest[k]
    return threshold, widest
