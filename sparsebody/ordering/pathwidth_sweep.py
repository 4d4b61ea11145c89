"""A sweep through the bodies that keeps as few rows as possible in flight."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import IntArray
from sparsebody.ordering.sweeps import better_way
from sparsebody.sparse.levels import cuthill_mckee, primal_graph
from sparsebody.sparse.metrics import ordering_metrics
from sparsebody.sparse.pattern import BlockPattern

_STARTS = 4  # bodies to start from in each connected part


def pathwidth_sweep(pattern: BlockPattern) -> IntArray:
    """Take next the body, of those next to the ones taken, after which the fewest rows are cut.

    Joints between bodies taken and bodies not yet taken are what a front holds: the greatest number
    of their rows, over the sweep, is the weighted cut width, and bounds the vertex separation of
    the graph of joints (its pathwidth). Bodies that were reached first come first among equal ones.
    Several starts are tried. Each joint follows its bodies: admissible.

    References
    ----------
    Kinnersley (1992) for pathwidth as vertex separation; Diaz, Petit and Serna (2002) for surveys
    of layouts; the greedy rule is King's (1970), for rows instead of nodes.
    """
    indptr, beyond = primal_graph(pattern)
    joint = pattern.adjacency[1][: indptr[-1]]
    rows = pattern.block_sizes[joint].astype(np.intp)
    sequence = cuthill_mckee(pattern)
    orders = [
        better_way(pattern, _sweep(indptr, beyond, rows, sequence, k)) for k in range(_STARTS)
    ]
    return min(orders, key=lambda order: ordering_metrics(pattern, order).flops)


@njit(cache=True)
def _sweep(
    indptr: IntArray, beyond: IntArray, rows: IntArray, sequence: IntArray, start: int
) -> IntArray:
    """Return the bodies; start in each part from its beginning, its end, or in between."""
    n = len(sequence)
    order, near = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    place = np.empty(n, dtype=np.intp)
    place[sequence] = np.arange(n)
    is_taken, is_near = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    growth = np.zeros(n, dtype=np.intp)  # of the rows in flight, when a body is taken
    for body in range(n):
        for entry in range(indptr[body], indptr[body + 1]):
            if beyond[entry] >= 0:
                growth[body] += rows[entry]
    placed = 0
    while placed < n:
        end = _part_end(placed, sequence, place, indptr, beyond)
        near[0] = sequence[placed + (end - placed - 1) * start // (_STARTS - 1)]
        n_near, is_near[near[0]] = 1, True
        while n_near > 0:
            best = 0
            for k in range(1, n_near):
                if growth[near[k]] < growth[near[best]]:
                    best = k
            body = near[best]
            n_near -= 1
            for k in range(best, n_near):
                near[k] = near[k + 1]
            is_taken[body], order[placed] = True, body
            placed += 1
            for entry in range(indptr[body], indptr[body + 1]):
                other = beyond[entry]
                if other < 0 or is_taken[other]:
                    continue
                growth[other] -= 2 * rows[entry]
                if not is_near[other]:
                    is_near[other], near[n_near] = True, other
                    n_near += 1
    return order


@njit(cache=True)
def _part_end(
    first: int, sequence: IntArray, place: IntArray, indptr: IntArray, beyond: IntArray
) -> int:
    """Return where the connected part ends that begins at `first` and lies in one piece."""
    for end in range(first + 1, len(sequence)):
        body, has_earlier = sequence[end], False
        for entry in range(indptr[body], indptr[body + 1]):
            other = beyond[entry]
            if other >= 0 and other != body and place[other] < end:
                has_earlier = True
        if not has_earlier:
            return end
    return len(sequence)
