"""Nested halves of the primal blocks, for mechanisms that are wide in every direction."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, IntArray
from sparsebody.sparse.levels import primal_graph
from sparsebody.sparse.pattern import BlockPattern

_SEARCHES = 3  # for a block at the periphery of a part


def bisected(pattern: BlockPattern, elsewhere: bool = False) -> IntArray:
    """Return the primal blocks in an order in which every half, quarter, ... is compact.

    A part is searched breadth first from its periphery and cut in the middle: the places
    [a, b) split into [a, m) and [m, b) with m = (a + b) // 2, down to single blocks. With
    `elsewhere`, the search starts from what is farthest from another block, so that cuts differ.

    References
    ----------
    George (1973); George and Liu (1978), SIAM J. Numer. Anal. 15, 5 (automatic dissection).
    """
    indptr, beyond = primal_graph(pattern)
    order = np.arange(pattern.n_primal, dtype=np.intp)
    _bisect(indptr, beyond, elsewhere, order)
    return order


@njit(cache=True)
def _bisect(indptr: IntArray, beyond: IntArray, elsewhere: bool, order: IntArray) -> None:
    """Reorder every part of `order`, the whole first."""
    n = len(order)
    part_of = np.full(n, n, dtype=np.intp)  # the end of the part that holds a block
    seen = np.zeros(n, dtype=np.bool_)
    queue = np.empty(n, dtype=np.intp)
    stack = np.zeros((128, 2), dtype=np.intp)
    stack[0, 1] = n
    depth = 1
    while depth > 0:
        depth -= 1
        first, end = stack[depth, 0], stack[depth, 1]
        if end - first < 3:
            continue
        _reorder(order[first:end], end, elsewhere, indptr, beyond, part_of, seen, queue)
        middle = (first + end) // 2
        for block in order[first:middle]:
            part_of[block] = middle
        stack[depth, 0], stack[depth, 1] = first, middle
        stack[depth + 1, 0], stack[depth + 1, 1] = middle, end
        depth += 2


@njit(cache=True)
def _reorder(
    part: IntArray,
    label: int,
    elsewhere: bool,
    indptr: IntArray,
    beyond: IntArray,
    part_of: IntArray,
    seen: BoolArray,
    queue: IntArray,
) -> None:
    """Put the blocks of one part in breadth-first order."""
    placed = int(np.intp(0))
    n = len(part)
    for k in range(n):
        seed = part[(k + n // 3) % n if elsewhere else k]
        if seen[seed]:
            continue
        start = seed
        for _ in range(1 if elsewhere else _SEARCHES):
            end = _search(start, label, indptr, beyond, part_of, seen, queue, placed)
            start = queue[end - 1]
            for k in range(placed, end):
                seen[queue[k]] = False
        placed = _search(start, label, indptr, beyond, part_of, seen, queue, placed)
    for k in range(placed):
        part[k] = queue[k]
        seen[queue[k]] = False


@njit(cache=True)
def _search(
    start: int,
    label: int,
    indptr: IntArray,
    beyond: IntArray,
    part_of: IntArray,
    seen: BoolArray,
    queue: IntArray,
    begin: int,
) -> int:
    """Append what can be reached from `start` within the part; return the end of the queue."""
    queue[begin], seen[start] = start, True
    head, end = begin, begin + 1
    while head < end:
        here = queue[head]
        head += 1
        for entry in range(indptr[here], indptr[here + 1]):
            there = beyond[entry]
            if there >= 0 and not seen[there] and part_of[there] == label:
                queue[end], seen[there] = there, True
                end += 1
    return end
