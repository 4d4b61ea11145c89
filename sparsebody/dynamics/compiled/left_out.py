"""How a solution keeps the rows that were left out."""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled.assembly import KERNEL, PHASE
from sparsebody.dynamics.compiled.residual import largest_term, relative
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

    Relative to the largest term of any row, with the solution or with the bodies free.
    """
    n, kept = w.body.size, w.kept
    kept_rows = kept.predecessor, kept.successor, kept.first_row, kept.rows, n
    rows = left_out.predecessor, left_out.successor, left_out.first_row, left_out.rows, n
    scale = 0.0
    for k in range(6 * n, w.right.size):
        scale = max(scale, abs(w.right[k]))
    for k in range(asked.size):
        scale = max(scale, abs(asked[k]))
    for x in (w.x, w.right):
        for table in (kept_rows, rows):
            scale = max(scale, largest_term(*table, x, w.sizes))
    return relative(largest_gap(*rows, w.x, asked), scale)
