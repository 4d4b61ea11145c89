"""Sloan's sweep: a small profile, and small fronts on the way."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, IntArray
from sparsebody.ordering.sweeps import better_way
from sparsebody.sparse.levels import cuthill_mckee, primal_graph
from sparsebody.sparse.pattern import BlockPattern

_FAR, _CROWDED = 1, 2  # weights of the distance to the end and of the joints, as Sloan gives them


def sloan(pattern: BlockPattern) -> IntArray:
    """Take next, of the bodies near those taken, one that is far from the end and adds little.

    Each joint follows its bodies: admissible. Of both directions the one that predicts less work.

    References
    ----------
    Sloan (1986), Int. J. Numer. Methods Eng. 23, 2.
    """
    indptr, beyond = primal_graph(pattern)
    return better_way(pattern, _sloan(indptr, beyond, cuthill_mckee(pattern)))


@njit(cache=True)
def _sloan(indptr: IntArray, beyond: IntArray, sequence: IntArray) -> IntArray:
    """Return the bodies; in `sequence` each connected part lies in one piece, between its ends."""
    n = len(sequence)
    order, near = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    priority = np.full(n, -1, dtype=np.intp)
    state = np.zeros(
        n, dtype=np.intp
    )  # 0: far away, 1: near, 2: coupled to what is taken, 3: taken
    reached = np.zeros(n, dtype=np.bool_)
    placed = 0
    while placed < n:
        end = _distances(sequence, placed, indptr, beyond, near, reached, priority)
        for body in near[placed:end]:
            n_joints = indptr[body + 1] - indptr[body]
            priority[body] = _FAR * priority[body] - _CROWDED * (n_joints + 1)
        near[placed], n_near = sequence[placed], 1
        state[sequence[placed]] = 1
        first = placed
        while n_near > 0:
            best = 0
            for k in range(1, n_near):
                if priority[near[first + k]] > priority[near[first + best]]:
                    best = k
            body = near[first + best]
            n_near -= 1
            for k in range(best, n_near):  # those that came first stay first
                near[first + k] = near[first + k + 1]
            if state[body] == 1:
                n_near = _raise_neighbours(
                    body, first, n_near, indptr, beyond, near, priority, state
                )
            state[body] = 3
            order[placed] = body
            placed += 1
            for entry in range(indptr[body], indptr[body + 1]):
                other = beyond[entry]
                if other >= 0 and state[other] == 1:
                    state[other] = 2
                    priority[other] += _CROWDED
                    n_near = _raise_neighbours(
                        other, first, n_near, indptr, beyond, near, priority, state
                    )
    return order


@njit(cache=True)
def _raise_neighbours(
    body: int,
    first: int,
    n_near: int,
    indptr: IntArray,
    beyond: IntArray,
    near: IntArray,
    priority: IntArray,
    state: IntArray,
) -> int:
    """Raise the priority of all neighbours that are not taken; return how many bodies are near."""
    for entry in range(indptr[body], indptr[body + 1]):
        other = beyond[entry]
        if other < 0 or state[other] == 3:
            continue
        priority[other] += _CROWDED
        if state[other] == 0:
            state[other] = 1
            near[first + n_near] = other
            n_near += 1
    return n_near


@njit(cache=True)
def _distances(
    sequence: IntArray,
    first: int,
    indptr: IntArray,
    beyond: IntArray,
    queue: IntArray,
    reached: BoolArray,
    distance: IntArray,
) -> int:
    """Write the distances from the far end of the part that begins at `first`; return its end.

    Cuthill and McKee's order of the part ends with a body as far as any from its beginning.
    """
    queue[first], reached[sequence[first]] = sequence[first], True
    end = _search(first, indptr, beyond, queue, reached, distance)
    for k in range(first, end):
        reached[queue[k]] = False
    queue[first] = sequence[end - 1]
    reached[queue[first]] = True
    return _search(first, indptr, beyond, queue, reached, distance)


@njit(cache=True)
def _search(
    first: int,
    indptr: IntArray,
    beyond: IntArray,
    queue: IntArray,
    reached: BoolArray,
    distance: IntArray,
) -> int:
    """Search breadth first from queue[first]; return the end of the queue."""
    distance[queue[first]] = 0
    head, end = first, first + 1
    while head < end:
        here = queue[head]
        head += 1
        for entry in range(indptr[here], indptr[here + 1]):
            there = beyond[entry]
            if there >= 0 and not reached[there]:
                reached[there], distance[there] = True, distance[here] + 1
                queue[end] = there
                end += 1
    return end
