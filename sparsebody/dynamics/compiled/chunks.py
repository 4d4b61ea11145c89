"""Chunks of an elimination: what follows on each other while it is still in the caches.

A chunk is a run of pivots. Before it is eliminated come the bodies and joints that its panels are
made of, unless earlier chunks needed them; after it is substituted backwards come the residuals of
those joints and bodies all of whose unknowns are known by then.
"""

# mypy: disable-error-code="assignment"

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.dynamics.compiled.workspace import Index
from sparsebody.factorization.block_ldl.kernels import Tables
from sparsebody.factorization.block_ldl.layout import (
    A_ROW,
    FIRST_FILL,
    FIRST_OPENED,
    NATURAL,
    SIZE,
)

LENGTH = 512  # pivots

# Columns: from where on a chunk eliminates pivots; fills bodies and joints; and going backwards,
# measures the residuals of joints and bodies. The next line says up to where.
PIVOT, BODY, JOINT, LEFT_JOINT, LEFT_BODY = 0, 1, 2, 3, 4


def chunk_table(
    tables: Tables, predecessor: Index, successor: Index, first_row: Index, n: int
) -> Index:
    """Return (n_chunks + 1, 5) the chunks for n bodies and the joints of a RowTable."""
    n_pivots = len(tables.pivots) - 1
    chunks = np.zeros((max(1, -(-n_pivots // LENGTH)) + 1, 5), dtype=np.uint32)
    chunks[:-1, PIVOT] = LENGTH * np.arange(len(chunks) - 1)
    chunks[-1] = n_pivots, n, len(predecessor), len(predecessor), n
    _fill_forward(tables, predecessor, successor, first_row, n, chunks)
    _fill_backward(tables.pivots, predecessor, successor, first_row, n, chunks)
    return chunks


@njit(cache=True)
def _fill_forward(
    tables: Tables, predecessor: Index, successor: Index, first_row: Index, n: int, chunks: Index
) -> None:
    """Fill BODY and JOINT: up to which ones the panels that a chunk opens need them."""
    pivots = tables.pivots
    body, joint = 0, 0
    for c in range(len(chunks) - 2):
        for i in range(
            pivots[chunks[c, PIVOT], FIRST_OPENED], pivots[chunks[c + 1, PIVOT], FIRST_OPENED]
        ):
            p = tables.opened[i]
            end = np.intp(pivots[p, NATURAL]) + np.intp(pivots[p, SIZE])
            last = end - 6 * n  # of the rows of A, up to which joints are needed
            if last <= 0:
                body = max(body, end // 6)
            for f in range(pivots[p, FIRST_FILL], pivots[p + 1, FIRST_FILL]):
                last = max(last, np.intp(tables.fills[f, A_ROW]) + 1)
            while joint < len(predecessor) and np.intp(first_row[joint]) < last:
                body = max(body, _last_body(predecessor, successor, joint, n) + 1)
                joint += 1
        chunks[c + 1, BODY], chunks[c + 1, JOINT] = body, joint


@njit(cache=True)
def _fill_backward(
    pivots: Index, predecessor: Index, successor: Index, first_row: Index, n: int, chunks: Index
) -> None:
    """Fill LEFT_JOINT and LEFT_BODY: what is before them waits for earlier pivots."""
    after = np.zeros(n, dtype=np.intp)  # up to the last joint of each body, and of those before
    for joint in range(len(predecessor)):
        for body in (predecessor[joint], successor[joint]):
            if body < n:
                after[body] = joint + 1
    known, joint, body = 0, 0, 0
    for c in range(len(chunks) - 2):
        for j in range(chunks[c, PIVOT], chunks[c + 1, PIVOT]):
            end = np.intp(pivots[j, NATURAL]) + np.intp(pivots[j, SIZE])
            waiting = 0
            while end <= 6 * n and known < end // 6:
                waiting = max(waiting, after[known])
                known += 1
            body = max(body, known)
            while joint < waiting or 6 * n + np.intp(first_row[joint]) < end:
                body = max(body, _last_body(predecessor, successor, joint, n) + 1)
                joint += 1
        chunks[c + 1, LEFT_JOINT], chunks[c + 1, LEFT_BODY] = joint, body


@njit(cache=True)
def _last_body(predecessor: Index, successor: Index, joint: int, n: int) -> int:
    """Return the body of a joint that comes last; n is the world, and -1 none but the world."""
    last = -1
    for body in (np.intp(predecessor[joint]), np.intp(successor[joint])):
        if body < n:
            last = max(last, body)
    return last
