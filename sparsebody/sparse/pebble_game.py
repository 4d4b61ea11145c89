"""The rank that a graph of bodies and bars has in general position, by counting alone.

Bars are independent if and only if every set of n bodies holds at most k (n - 1) of them (k = 6 in
space, 3 in a plane): Tay (1984), J. Comb. Theory B 36:95. The pebble game keeps the count: a body
has k pebbles, an accepted bar takes one from an end, and one more is accepted as long as k + 1
pebbles can be brought to its ends. Lee and Streinu (2008), Discrete Math. 308:1425.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import IntArray


def generic_bars(ends: IntArray, bars: IntArray, n_bodies: int, k: int = 6) -> IntArray:
    """Return how many of the bars of each joint are independent in general position.

    Joints are played in turn. Where one is refused, all bodies that its search reached are rigid
    together, and are one body from then on; so ladders take linear time, the worst graphs n^2.

    Parameters
    ----------
    ends : (n_joints, 2) int array
        The two bodies of each joint; -1 is the world.
    bars : (n_joints,) int array
        Rows of each joint.
    n_bodies : int
        The world not counted.
    k : int
        Freedoms of a body.

    Returns
    -------
    (n_joints,) int array
    """
    nodes = np.where(ends < 0, n_bodies, ends).astype(np.intp)
    accepted = np.zeros(len(nodes), dtype=np.intp)
    _play(nodes, np.minimum(bars, k).astype(np.intp), n_bodies + 1, k, accepted)
    return accepted


@njit(cache=True)
def _play(nodes: IntArray, bars: IntArray, n: int, k: int, accepted: IntArray) -> None:
    """Play joint after joint; out[v, :used[v]] is where the bars lead that hold pebbles of v."""
    whole = np.arange(n)  # towards the node that stands for a rigid body
    out, used = np.empty((n, k), dtype=np.intp), np.zeros(n, dtype=np.intp)
    came_by = np.full((n, 2), -1, dtype=np.intp)  # node and bar; (-1, -1) where not reached
    queue = np.empty(n, dtype=np.intp)
    for j in range(len(nodes)):
        u, v = _root(whole, nodes[j, 0]), _root(whole, nodes[j, 1])
        if u == v:
            continue
        reached = 0
        while reached == 0 and k - used[u] - used[v] < bars[j]:
            reached = _bring_pebble(u, v, k, whole, out, used, came_by, queue)
        accepted[j] = min(bars[j], k - used[u] - used[v])
        for _ in range(accepted[j]):
            owner, other = (u, v) if used[u] < k else (v, u)
            out[owner, used[owner]] = other
            used[owner] += 1
        for member in queue[:reached]:  # no bar of theirs leads out: they are rigid
            whole[member] = u
            used[member] = 0


@njit(cache=True)
def _bring_pebble(
    u: int,
    v: int,
    k: int,
    whole: IntArray,
    out: IntArray,
    used: IntArray,
    came_by: IntArray,
    queue: IntArray,
) -> int:
    """Bring one more pebble to u or v; return 0, or how many nodes were searched in vain."""
    queue[0], queue[1] = u, v
    came_by[u], came_by[v] = u, v
    head, end, found = 0, 2, -1
    while head < end and found < 0:
        node = queue[head]
        head += 1
        for bar in range(used[node]):
            other = _root(whole, out[node, bar])
            if came_by[other, 0] >= 0:
                continue
            came_by[other, 0], came_by[other, 1] = node, bar
            queue[end] = other
            end += 1
            if used[other] < k:
                found = other
                break
    if found >= 0:
        _turn_path(found, u, v, out, used, came_by)
    for node in queue[:end]:
        came_by[node] = -1
    return 0 if found >= 0 else end


@njit(cache=True)
def _turn_path(node: int, u: int, v: int, out: IntArray, used: IntArray, came_by: IntArray) -> None:
    """Let the bars from u or v to `node` be held from the other side; that frees one of u or v."""
    before, bar = came_by[node]
    out[node, used[node]] = before
    used[node] += 1
    while True:
        node = before
        if node in (u, v):
            used[node] -= 1
            out[node, bar] = out[node, used[node]]
            return
        here = bar
        before, bar = came_by[node]
        out[node, here] = before


@njit(cache=True)
def _root(whole: IntArray, node: int) -> int:
    while whole[node] != node:
        whole[node] = whole[whole[node]]
        node = whole[node]
    return node
