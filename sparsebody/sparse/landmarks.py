"""Distances of primal blocks from a few that lie far apart: coordinates made of the graph alone."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.sparse.levels import cuthill_mckee, primal_graph
from sparsebody.sparse.pattern import BlockPattern


def landmark_distances(pattern: BlockPattern, n_landmarks: int = 8) -> FloatArray:
    """Return the distances (n_primal, n_landmarks) in joints from the landmarks of each part.

    The first landmark of a connected part lies at its periphery, each next one as far as possible
    from those before. Parts are set apart from each other by an offset.
    """
    indptr, beyond = primal_graph(pattern)
    distance = np.zeros((n_landmarks, pattern.n_primal), dtype=np.intp)
    _distances(indptr, beyond, cuthill_mckee(pattern), distance)
    return distance.T.astype(float)


@njit(cache=True)
def _distances(indptr: IntArray, beyond: IntArray, sequence: IntArray, distance: IntArray) -> None:
    """Fill `distance`; in `sequence` each part stands in one piece, from its periphery on."""
    n = len(sequence)
    queue = np.empty(n, dtype=np.intp)
    nearest = np.empty(n, dtype=np.intp)
    begin, offset = 0, 0
    seen = np.full(n, -1, dtype=np.intp)
    while begin < n:
        source, end, farthest = sequence[begin], begin, 0
        for k in range(len(distance)):
            end = begin + _search(source, k, indptr, beyond, queue, seen, distance[k])
            for place in range(begin, end):
                body = sequence[place]
                d = distance[k, body]
                nearest[body] = d if k == 0 else min(nearest[body], d)
            source = sequence[begin]
            for place in range(begin, end):
                if nearest[sequence[place]] > nearest[source]:
                    source = sequence[place]
            farthest = max(farthest, distance[k, queue[end - begin - 1]])
        for k in range(len(distance)):
            for place in range(begin, end):
                distance[k, sequence[place]] += offset
        begin, offset = end, offset + farthest + 1


@njit(cache=True)
def _search(
    source: int,
    label: int,
    indptr: IntArray,
    beyond: IntArray,
    queue: IntArray,
    seen: IntArray,
    distance: IntArray,
) -> int:
    """Search breadth first from `source`; return the number of blocks found."""
    queue[0], distance[source], seen[source] = source, 0, label
    head, end = 0, 1
    while head < end:
        here = queue[head]
        head += 1
        for entry in range(indptr[here], indptr[here + 1]):
            there = beyond[entry]
            if there >= 0 and seen[there] != label:
                seen[there], distance[there] = label, distance[here] + 1
                queue[end] = there
                end += 1
    return end
