"""Which rows of A are in the front while bodies are met one after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sparsebody.arrays import IntArray
from sparsebody.sparse.pattern import BlockPattern


class Fronts(NamedTuple):
    """A joint enters at the first of its bodies, and is decided at the last one."""

    order: IntArray  # (n_primal,) the bodies as they are met
    entering: IntArray  # (n_dual,) joints by the step in which they enter
    start: IntArray  # (n_primal + 1,) where those of each step start
    last: IntArray  # (n_dual,) the step in which a joint is decided
    first_row: IntArray  # (n_dual + 1,) rows of each joint
    ends: IntArray  # (n_dual, 2)
    sizes: IntArray  # (n_primal,) freedoms of the bodies
    width: int  # most rows in the front


def fronts(pattern: BlockPattern, order: IntArray) -> Fronts:
    """Return the fronts of a sweep through the primal blocks in `order`.

    Every dual block has to touch at least one primal block.
    """
    n = pattern.n_primal
    order = np.ascontiguousarray(order, dtype=np.intp)
    ends = np.ascontiguousarray(pattern.ends, dtype=np.intp)
    sizes = np.ascontiguousarray(pattern.block_sizes, dtype=np.intp)
    entering, start, last, width = _fronts(order, ends, sizes[n:])
    first_row = pattern.offsets[n:] - pattern.n_primal_rows
    return Fronts(order, entering, start, last, first_row, ends, sizes[:n], width)


@njit(cache=True)
def _fronts(
    order: IntArray, ends: IntArray, size: IntArray
) -> tuple[IntArray, IntArray, IntArray, int]:
    """Sort the joints by the step in which they enter, and count rows."""
    n, n_dual = len(order), len(ends)
    place = np.empty(n, dtype=np.intp)
    for k in range(n):
        place[order[k]] = k
    first, last = np.empty(n_dual, dtype=np.intp), np.empty(n_dual, dtype=np.intp)
    start = np.zeros(n + 1, dtype=np.intp)
    change = np.zeros(n + 1, dtype=np.intp)  # of the number of rows in the front
    for j in range(n_dual):
        a, b = ends[j, 0], ends[j, 1]
        one = place[a] if a >= 0 else place[b]
        other = place[b] if b >= 0 else one
        first[j], last[j] = min(one, other), max(one, other)
        start[first[j] + 1] += 1
        change[first[j]] += size[j]
        change[last[j] + 1] -= size[j]
    rows, width = 0, 0
    for k in range(n):
        start[k + 1] += start[k]
        rows += change[k]
        width = max(width, rows)
    following = start[:n].copy()
    entering = np.empty(n_dual, dtype=np.intp)
    for j in range(n_dual):
        entering[following[first[j]]] = j
        following[first[j]] += 1
    return entering, start, last, width
