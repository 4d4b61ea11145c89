"""How a solution keeps the rows that were left out."""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled.assembly import KERNEL, PHASE
from sparsebody.dynamics.compiled.residual import relative
from sparsebody.dynamics.compiled.workspace import RowTable, Workspace


@njit(**KERNEL)
def largest_gap(predecessor, successor, first_row, rows, n, x, asked):
    """Return the largest difference between rows times x and what they ask for; n is the world."""
    found = 0.0
    for j in range(np.uintp(predecessor.size)):
        for k in range(np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])):
            gap = asked[k]
            for side in range(np.uintp(2)):
                body = np.uintp(predecessor[j]) if side == 0 else np.uintp(successor[j])
                if body != n:
                    for a in range(6):
                        gap -= rows[k, side, a] * x[np.uintp(6) * body + a]
            found = max(found, abs(gap))
    return found


@njit(**PHASE)
def violation(w: Workspace, left_out: RowTable, asked: FloatArray) -> float:
    """Return how far the solution violates the rows left out, which ask for `asked`.

    Relative to the largest acceleration that a row could feel, with the solution or with the bodies
    free; rows across all accelerations of a stretched linkage feel nothing but rounding.
    """
    n = w.body.size
    rows = left_out.predecessor, left_out.successor, left_out.first_row, left_out.rows, n
    scale = max(largest_of(w.right, 6 * n, w.right.size), largest_of(asked, 0, asked.size))
    entry = max(largest_entry(w.kept.rows), largest_entry(left_out.rows))
    for x in (w.x, w.right):
        scale = max(scale, entry * largest_of(x, 0, 6 * n))
    return relative(largest_gap(*rows, w.x, asked), scale)


@njit(**KERNEL)
def largest_of(x, begin, end):
    """Return the largest magnitude of the entries from `begin` to `end`."""
    found = 0.0
    for k in range(np.uintp(begin), np.uintp(end)):
        found = max(found, abs(x[k]))
    return found


@njit(**KERNEL)
def largest_entry(rows):
    """Return the largest magnitude of an entry of rows (k, 2, 6)."""
    found = 0.0
    for k in range(rows.shape[0]):
        for side in range(2):
            for a in range(6):
                found = max(found, abs(rows[k, side, a]))
    return found
