"""Breadth-first orders of the primal blocks: levels, and the narrow band of Cuthill and McKee."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, IntArray
from sparsebody.sparse.pattern import BlockPattern

_SEARCHES = 8  # for a block at the periphery, at most


def primal_graph(pattern: BlockPattern) -> tuple[IntArray, IntArray]:
    """Return (indptr, indices): the block at the other end of each dual block of a primal one.

    -1 where there is none. Parallel dual blocks repeat a neighbour.
    """
    indptr, indices = pattern.adjacency
    beyond = np.empty(indptr[pattern.n_primal], dtype=np.intp)
    _other_ends(indptr, indices, pattern.n_primal, beyond)
    return indptr[: pattern.n_primal + 1], beyond


@njit(cache=True)
def _other_ends(indptr: IntArray, indices: IntArray, n_primal: int, beyond: IntArray) -> None:
    """Fill `beyond`, by the neighbours of the dual blocks: one or two primal ones."""
    for i in range(n_primal):
        for entry in range(indptr[i], indptr[i + 1]):
            joint = indices[entry]
            beyond[entry] = -1
            for k in range(indptr[joint], indptr[joint + 1]):
                if indices[k] != i:
                    beyond[entry] = indices[k]


def cuthill_mckee(pattern: BlockPattern) -> IntArray:
    """Return the primal blocks (n_primal,) breadth first, one connected part after the other.

    Each part starts from a block at its periphery; neighbours with few joints come first.

    References
    ----------
    Cuthill and McKee (1969); George and Liu (1979) for the search for a block at the periphery.
    """
    return _cuthill_mckee(*primal_graph(pattern))


@njit(cache=True)
def _cuthill_mckee(indptr: IntArray, indices: IntArray) -> IntArray:
    """Search every part a few times to find its end, and once more to order it."""
    n = len(indptr) - 1
    order = np.empty(n, dtype=np.intp)
    seen = np.zeros(n, dtype=np.bool_)
    placed = int(np.intp(0))
    for seed in range(n):
        if seen[seed]:
            continue
        start, depth = seed, -1
        for _ in range(_SEARCHES):
            end, deepest, last = _search(start, indptr, indices, seen, order, placed)
            for k in range(placed, end):
                seen[order[k]] = False
            if deepest <= depth:
                break
            depth, start = deepest, _fewest_joints(order[last:end], indptr)
        placed = _search(start, indptr, indices, seen, order, placed)[0]
    return order


@njit(cache=True)
def _search(
    start: int, indptr: IntArray, indices: IntArray, seen: BoolArray, order: IntArray, begin: int
) -> tuple[int, int, int]:
    """Append the part of `start` to `order` from `begin`: its end, depth, start of the last level.

    New neighbours of a block come by the number of their joints, then as they are listed.
    """
    order[begin] = start
    seen[start] = True
    head, end, depth = begin, begin + 1, 0
    level, level_end = begin, end
    while head < end:
        if head == level_end:
            level, level_end, depth = head, end, depth + 1
        node = order[head]
        head += 1
        first = end
        for entry in range(indptr[node], indptr[node + 1]):
            other = indices[entry]
            if other < 0 or seen[other]:
                continue
            seen[other] = True
            n_joints, k = indptr[other + 1] - indptr[other], end
            while k > first and indptr[order[k - 1] + 1] - indptr[order[k - 1]] > n_joints:
                order[k] = order[k - 1]
                k -= 1
            order[k] = other
            end += 1
    return end, depth, level


@njit(cache=True)
def _fewest_joints(blocks: IntArray, indptr: IntArray) -> int:
    """Return the block with the fewest joints, the first one of several."""
    best = blocks[0]
    for block in blocks:
        if indptr[block + 1] - indptr[block] < indptr[best + 1] - indptr[best]:
            best = block
    return best
