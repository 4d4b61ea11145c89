"""A sweep through the mechanism, level by level, that keeps the band narrow."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import IntArray
from sparsebody.sparse.pattern import BlockPattern

_START_WORK = 2_000_000  # blocks that all trials of a start together may visit in one component
_FEWEST_STARTS = 4
_SEARCH_STEPS = 12  # breadth-first searches for a body at the periphery, at most


def level_sweep(pattern: BlockPattern) -> IntArray:
    """Eliminate the bodies of a level, the joints inside it, the joints to the next level; go on.

    Levels are those of a breadth-first search from one body at the periphery, or from it and one of
    its neighbours; bodies in a level follow Cuthill and McKee. A joint to the world follows its
    body. The narrowest band wins, then the smallest profile, both in blocks, then the larger start.
    In large mechanisms only some neighbours are tried.

    Not admissible: a joint comes before its body in the next level, and has a regular pivot only if
    the bodies up to its level, held at all others, have independent constraints.

    On a ladder this is Featherstone (2008), fig. 8.4: half-bandwidth 3, 5 n - 2 blocks for n rungs.

    References
    ----------
    Cuthill and McKee (1969); George and Liu (1979) for the search for a body at the periphery.
    """
    start, joint, body = _links(pattern)
    most = max(_FEWEST_STARTS, _START_WORK // max(pattern.n_blocks, 1))
    order = np.empty(pattern.n_blocks, dtype=np.intp)
    placed = _level_sweep(start, joint, body, most, order)
    loose = np.flatnonzero(np.all(pattern.ends < 0, axis=1))  # joints without any body
    order[placed:] = pattern.n_primal + loose
    return order


def _links(pattern: BlockPattern) -> tuple[IntArray, IntArray, IntArray]:
    """Return for every body (start) its joints, and the body beyond each, -1 for the world.

    Sorted by the number of joints of the body beyond, as Cuthill and McKee want it; those to the
    world come last.
    """
    n_primal = pattern.n_primal
    indptr, indices = pattern.adjacency
    start = indptr[: n_primal + 1]
    joint = indices[: start[-1]]
    body = np.repeat(np.arange(n_primal, dtype=np.intp), np.diff(start))
    beyond = pattern.ends[joint - n_primal].sum(axis=1) - body
    beyond = np.where(beyond == body, -1, beyond)
    n_joints, n_dual = np.diff(start), pattern.n_dual + 1
    sequence = np.lexsort((joint, beyond, np.where(beyond >= 0, n_joints[beyond], n_dual), body))
    return start, joint[sequence], beyond[sequence]


@njit(cache=True)
def _level_sweep(
    start: IntArray, joint: IntArray, body: IntArray, most_starts: int, order: IntArray
) -> int:
    """Fill `order`, one component after the other; return how many blocks were placed."""
    n = len(start) - 1
    swept = np.zeros(n, dtype=np.bool_)
    rank = np.full(n, -1, dtype=np.intp)  # place in the queue, -1 outside a search
    level = np.zeros(n, dtype=np.intp)
    queue = np.empty(n, dtype=np.intp)
    trial, place = np.empty_like(order), np.empty_like(order)
    placed = 0
    for seed in range(n):
        if swept[seed]:
            continue
        outermost = _peripheral_body(seed, start, body, rank, level, queue)
        best_bandwidth, best_profile, n_blocks = -1, -1, 0
        for partner in _partners(outermost, start, body, most_starts):
            n_bodies = _search(outermost, partner, start, body, rank, level, queue)
            n_blocks = _place(n_bodies, start, joint, body, rank, level, queue, trial)
            _forget(n_bodies, queue, rank)
            bandwidth, profile = _width(n_blocks, n, start, joint, trial, place)
            if (
                best_bandwidth == -1
                or bandwidth < best_bandwidth
                or (bandwidth == best_bandwidth and profile < best_profile)
            ):
                best_bandwidth, best_profile = bandwidth, profile
                order[placed : placed + n_blocks] = trial[:n_blocks]
        for k in range(n_blocks):
            if trial[k] < n:
                swept[trial[k]] = True
        placed += n_blocks
    return placed


@njit(cache=True)
def _partners(outermost: int, start: IntArray, body: IntArray, most: int) -> IntArray:
    """Return the neighbours to start from beside `outermost`, `most` of them; itself comes last."""
    partners = np.empty(start[outermost + 1] - start[outermost] + 1, dtype=np.intp)
    n_partners, previous = 0, -1
    for entry in range(start[outermost], start[outermost + 1]):
        partner = body[entry]
        if partner >= 0 and partner != previous and n_partners < most:  # equal ones follow in a row
            partners[n_partners] = previous = partner
            n_partners += 1
    partners[n_partners] = outermost
    return partners[: n_partners + 1]


@njit(cache=True)
def _search(
    first: int,
    second: int,
    start: IntArray,
    body: IntArray,
    rank: IntArray,
    level: IntArray,
    queue: IntArray,
) -> int:
    """Fill `queue` with the component breadth first; return the number of bodies in it."""
    rank[first], level[first], queue[0] = 0, 0, first
    tail = 1
    if second != first:
        rank[second], level[second], queue[1] = 1, 0, second
        tail = 2
    head = 0
    while head < tail:
        here = queue[head]
        head += 1
        for entry in range(start[here], start[here + 1]):
            there = body[entry]
            if there >= 0 and rank[there] == -1:
                rank[there], level[there], queue[tail] = tail, level[here] + 1, there
                tail += 1
    return tail


@njit(cache=True)
def _forget(n_bodies: int, queue: IntArray, rank: IntArray) -> None:
    """Make ready for another search."""
    for k in range(n_bodies):
        rank[queue[k]] = -1


@njit(cache=True)
def _peripheral_body(
    seed: int, start: IntArray, body: IntArray, rank: IntArray, level: IntArray, queue: IntArray
) -> int:
    """Return a body with nearly the greatest eccentricity, of the fewest joints where it can be."""
    outermost, eccentricity = seed, -1
    for _ in range(_SEARCH_STEPS):
        n_bodies = _search(outermost, outermost, start, body, rank, level, queue)
        _forget(n_bodies, queue, rank)
        depth = level[queue[n_bodies - 1]]
        if depth <= eccentricity:
            break
        eccentricity = depth
        farthest = queue[n_bodies - 1]
        k = n_bodies - 1
        while k >= 0 and level[queue[k]] == depth:
            if _n_joints(queue[k], start) <= _n_joints(farthest, start):
                farthest = queue[k]
            k -= 1
        outermost = farthest
    return outermost


@njit(cache=True)
def _n_joints(body: int, start: IntArray) -> int:
    """Return the number of joints of a body."""
    return start[body + 1] - start[body]


@njit(cache=True)
def _place(
    n_bodies: int,
    start: IntArray,
    joint: IntArray,
    body: IntArray,
    rank: IntArray,
    level: IntArray,
    queue: IntArray,
    trial: IntArray,
) -> int:
    """Fill `trial` with the blocks of the component, level by level; return their number."""
    begin, n_blocks = 0, 0
    while begin < n_bodies:
        end = begin
        while end < n_bodies and level[queue[end]] == level[queue[begin]]:
            here = queue[end]
            trial[n_blocks] = here
            n_blocks += 1
            for entry in range(start[here], start[here + 1]):
                if body[entry] == -1:  # a joint to the world
                    trial[n_blocks] = joint[entry]
                    n_blocks += 1
            end += 1
        for to_next_level in range(2):
            for k in range(begin, end):
                here = queue[k]
                for entry in range(start[here], start[here + 1]):
                    there = body[entry]
                    if there == -1:
                        continue
                    inside = level[there] == level[here] and rank[there] < k
                    outward = level[there] > level[here]
                    if (outward and to_next_level == 1) or (inside and to_next_level == 0):
                        trial[n_blocks] = joint[entry]
                        n_blocks += 1
        begin = end
    return n_blocks


@njit(cache=True)
def _width(
    n_blocks: int,
    n_primal: int,
    start: IntArray,
    joint: IntArray,
    trial: IntArray,
    place: IntArray,
) -> tuple[int, int]:
    """Return block half-bandwidth and profile of the first `n_blocks` of `trial`."""
    first = np.arange(n_blocks)  # the first block coupled to each
    for k in range(n_blocks):
        place[trial[k]] = k
    bandwidth = 0
    for k in range(n_blocks):
        if trial[k] >= n_primal:
            continue
        for entry in range(start[trial[k]], start[trial[k] + 1]):
            other = place[joint[entry]]
            first[k] = min(first[k], other)
            first[other] = min(first[other], k)
            bandwidth = max(bandwidth, abs(k - other))
    profile = 0
    for k in range(n_blocks):
        profile += k - first[k]
    return bandwidth, profile
