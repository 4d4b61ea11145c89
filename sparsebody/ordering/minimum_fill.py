"""Minimum fill among admissible orders, weighted by scalar entries, with a look ahead."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import IntArray
from sparsebody.ordering.tree_parts import leaves_then
from sparsebody.sparse.dual_graph import dual_graph, with_primal_blocks
from sparsebody.sparse.etree import postordered
from sparsebody.sparse.landmarks import landmark_distances
from sparsebody.sparse.pattern import BlockPattern

_LOOKED_AT = 8  # joints that fill in equally little and are compared by what comes next


def minimum_fill(pattern: BlockPattern) -> IntArray:
    """Eliminate next the joint that couples the fewest entries anew, tree parts leaves first.

    Admissible: a body comes right before its first joint. Among several that fill in equally little
    the one comes first after which a neighbour fills in least, then the one of the smallest front.
    The graph is kept as rows of bits: n^2 / 8 bytes for n joints, and time in proportion to the
    squares of the fronts.

    References
    ----------
    Tinney and Walker (1967), scheme 3; Rothberg and Eisenstat (1998), SIAM J. Matrix Anal. 19, 3.
    """
    return leaves_then(pattern, lambda core, _: _core_order(core))


def _core_order(pattern: BlockPattern) -> IntArray:
    """Return an order of the blocks of a mechanism without tree parts."""
    if pattern.n_dual == 0:
        return np.arange(pattern.n_blocks, dtype=np.intp)
    sequence = _by_place(pattern)
    size = pattern.block_sizes.copy()
    size[pattern.n_primal :] = size[pattern.n_primal :][sequence]
    renumbered = BlockPattern(size, pattern.ends[sequence])
    rows = np.ascontiguousarray(size[pattern.n_primal :], dtype=np.intp)
    joints = sequence[_minimum_fill(*dual_graph(renumbered), rows)]
    return postordered(pattern, with_primal_blocks(pattern, joints))


def _by_place(pattern: BlockPattern) -> IntArray:
    """Return the joints (n_dual,) sorted by where they are, however they are numbered.

    Their places are the distances of their bodies from landmarks.
    """
    distance = landmark_distances(pattern)
    distance = np.vstack([distance, np.zeros(distance.shape[1])])  # the last line is the world's
    ends = np.sort(distance[pattern.ends], axis=1).reshape(pattern.n_dual, -1)
    return np.lexsort(ends.T[::-1]).astype(np.intp)


@njit(cache=True)
def _minimum_fill(indptr: IntArray, indices: IntArray, size: IntArray) -> IntArray:
    """Return the nodes (n,) of a graph in the order of their elimination."""
    n = len(size)
    row = _bits(indptr, indices)
    order = np.empty(n, dtype=np.intp)
    fill = np.empty(n, dtype=np.intp)
    front = np.empty(n, dtype=np.intp)
    done = np.zeros(n, dtype=np.bool_)
    near, further = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    for i in range(n):
        fill[i], front[i] = _fill(i, row, size, near)
    tied = np.empty(_LOOKED_AT, dtype=np.intp)
    for step in range(n):
        n_tied, least = 0, np.intp(-1)
        for i in range(n):
            if done[i] or (least >= 0 and fill[i] > least):
                continue
            if least == -1 or fill[i] < least:
                n_tied, least = 0, fill[i]
            if n_tied < _LOOKED_AT:
                tied[n_tied] = i
                n_tied += 1
        pivot = tied[0]
        if n_tied > 1 and least > 0:
            pivot = _best_of(tied[:n_tied], row, size, front, near, further)
        order[step] = pivot
        done[pivot] = True
        _eliminate(pivot, row, size, fill, front, near, further)
    return order


@njit(cache=True)
def _bits(indptr: IntArray, indices: IntArray) -> np.ndarray:
    """Return the adjacency (n, words) with one bit for every pair."""
    n = len(indptr) - 1
    row = np.zeros((n, (n + 63) // 64), dtype=np.uint64)
    for i in range(n):
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            row[i, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
    return row


@njit(cache=True)
def _members(bits: np.ndarray, to: IntArray) -> int:
    """Write the numbers of the bits that are set to `to`; return how many there are."""
    count = 0
    for w in range(len(bits)):
        word = bits[w]
        while word != 0:
            lowest = word & (~word + np.uint64(1))
            to[count] = 64 * w + _log2(lowest)
            count += 1
            word ^= lowest
    return count


@njit(cache=True)
def _log2(power: np.uint64) -> int:
    """Return the exponent of a power of two."""
    exponent, half = 0, 32
    while half > 0:
        if power >> np.uint64(half) != 0:
            power >>= np.uint64(half)
            exponent += half
        half >>= 1
    return exponent


@njit(cache=True)
def _has(bits: np.ndarray, j: int) -> bool:
    """Return whether bit j is set."""
    return (bits[j >> 6] >> np.uint64(j & 63)) & np.uint64(1) != 0


@njit(cache=True)
def _fill(i: int, row: np.ndarray, size: IntArray, near: IntArray) -> tuple[int, int]:
    """Return the scalar entries that eliminating i would add, and the rows of its front."""
    n_near = _members(row[i], near)
    fill, front = 0, size[i]
    for k in range(n_near):
        a = near[k]
        front += size[a]
        for m in range(k):
            if not _has(row[a], near[m]):
                fill += size[a] * size[near[m]]
    return fill, front


@njit(cache=True)
def _best_of(
    tied: IntArray,
    row: np.ndarray,
    size: IntArray,
    front: IntArray,
    near: IntArray,
    further: IntArray,
) -> int:
    """Return the one after which a neighbour fills in least, then that of the smallest front."""
    best, best_fill = tied[0], -1
    together = np.empty(row.shape[1], dtype=np.uint64)
    for i in tied:
        n_near = _members(row[i], near)
        least = -1
        for k in range(n_near):
            a = near[k]
            for w in range(len(together)):
                together[w] = row[i, w] | row[a, w]
            n_further = _members(together, further)
            fill = 0
            for p in range(n_further):
                u = further[p]
                if u in (i, a):
                    continue
                for q in range(p):
                    v = further[q]
                    if v in (i, a) or _has(row[u], v):
                        continue
                    if not (_has(row[i], u) and _has(row[i], v)):
                        fill += size[u] * size[v]
            if least == -1 or fill < least:
                least = fill
        least = max(least, 0)
        if best_fill == -1 or (least, front[i]) < (best_fill, front[best]):
            best, best_fill = i, least
    return best


@njit(cache=True)
def _eliminate(
    pivot: int,
    row: np.ndarray,
    size: IntArray,
    fill: IntArray,
    front: IntArray,
    near: IntArray,
    further: IntArray,
) -> None:
    """Join the neighbours of `pivot` with each other, and count again what has changed."""
    n_near = _members(row[pivot], near)
    for k in range(n_near):
        row[near[k], pivot >> 6] ^= np.uint64(1) << np.uint64(pivot & 63)
    both = np.empty(row.shape[1], dtype=np.uint64)
    for k in range(n_near):
        a = near[k]
        for m in range(k):
            b = near[m]
            if _has(row[a], b):
                continue
            for w in range(len(both)):
                both[w] = row[a, w] & row[b, w]
            for c in range(_members(both, further)):
                fill[further[c]] -= size[a] * size[b]
            row[a, b >> 6] |= np.uint64(1) << np.uint64(b & 63)
            row[b, a >> 6] |= np.uint64(1) << np.uint64(a & 63)
    for k in range(n_near):
        fill[near[k]], front[near[k]] = _fill(near[k], row, size, further)
