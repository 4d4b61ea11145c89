"""Short independent cycles of the graph of primal and dual blocks: its loops, one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Cycles:
    """A cycle basis; edges are dual blocks, nodes primal ones and the world."""

    start: IntArray  # (n_cycles + 1,)
    edge: IntArray  # edges of cycle c at start[c] .. start[c+1]-1, one after the other around it
    sign: IntArray  # +1 where an edge is passed from its first end to its second

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, c: int) -> IntArray:
        if not 0 <= c < len(self):
            raise IndexError(c)
        return self.edge[self.start[c] : self.start[c + 1]]

    @property
    def cycle(self) -> IntArray:
        """The cycle of each entry of `edge`."""
        return np.repeat(np.arange(len(self), dtype=np.intp), np.diff(self.start))


def short_cycles(n_nodes: int, ends: IntArray) -> Cycles:
    """Return a basis of short cycles, in linear time where shortest cycles are short.

    A breadth-first tree from the world comes first. Every other edge, the nearest first, closes the
    shortest cycle with edges that came before it, so that no cycle depends on others. Each cycle
    starts with an edge that is in no earlier one.

    Parameters
    ----------
    n_nodes : int
        Number of nodes without the world.
    ends : (n_edges, 2) int array
        The nodes of each edge; -1 is the world.

    References
    ----------
    Pohl (1971), Bi-directional search, Machine Intelligence 6:127.
    """
    at, first, incident = _incidence(n_nodes, ends)
    depth, is_tree = _spread(n_nodes, first, incident, at)
    chords = np.flatnonzero(~is_tree)
    chords = chords[np.argsort(depth[at[chords]].max(axis=1), kind="stable")]
    start = np.zeros(len(chords) + 1, dtype=np.intp)
    edge, sign = _close(first, incident, at, is_tree, chords.astype(np.intp), start, True)
    return Cycles(start, edge, sign)


def fundamental_cycles(n_nodes: int, ends: IntArray, is_tree: BoolArray) -> Cycles:
    """Return the cycle that every edge outside of a spanning forest closes with it.

    Each cycle starts with its edge outside of the forest, passed from its first end to its second.

    Parameters
    ----------
    n_nodes, ends
        As of `short_cycles`.
    is_tree : (n_edges,) bool array
        Which edges are in the forest; it must span every connected part.
    """
    at, first, incident = _incidence(n_nodes, ends)
    chords = np.flatnonzero(~is_tree).astype(np.intp)
    start = np.zeros(len(chords) + 1, dtype=np.intp)
    edge, sign = _close(first, incident, at, is_tree.copy(), chords, start, False)
    return Cycles(start, edge, sign)


def _incidence(n_nodes: int, ends: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return ends with the world as the last node, and the edges of each node, (first, edge)."""
    at = np.where(ends < 0, n_nodes, ends).astype(np.intp)
    incident = np.argsort(at.ravel(), kind="stable").astype(np.intp) // 2
    degree = np.bincount(at.ravel(), minlength=n_nodes + 1)
    return at, np.concatenate([[0], np.cumsum(degree)]).astype(np.intp), incident


@njit(cache=True)
def _spread(
    world: int, first: IntArray, incident: IntArray, at: IntArray
) -> tuple[IntArray, np.ndarray]:
    """Return the depth of every node in a breadth-first forest, and which edges are in it."""
    n = world + 1
    depth = np.full(n, -1, dtype=np.intp)
    is_tree = np.zeros(len(at), dtype=np.bool_)
    queue = np.empty(n, dtype=np.intp)
    for k in range(n):
        root = (world + k) % n
        if depth[root] >= 0:
            continue
        depth[root], queue[0], head, tail = 0, root, 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            for entry in range(first[node], first[node + 1]):
                e = incident[entry]
                other = at[e, 0] + at[e, 1] - node
                if depth[other] < 0:
                    depth[other], is_tree[e] = depth[node] + 1, True
                    queue[tail] = other
                    tail += 1
    return depth, is_tree


@njit(cache=True)
def _close(
    first: IntArray,
    incident: IntArray,
    at: IntArray,
    is_there: np.ndarray,
    chords: IntArray,
    start: IntArray,
    grows: bool,
) -> tuple[IntArray, IntArray]:
    """Return edges and signs of all cycles; fill `start`. `is_there` may grow by the chords."""
    n = len(first) - 1
    seen = np.full((2, n), -1, dtype=np.intp)  # the last search that has reached a node
    distance, came_by = np.empty((2, n), dtype=np.intp), np.empty((2, n), dtype=np.intp)
    queue = np.empty((2, n), dtype=np.intp)
    edge, sign = np.empty(4 * len(chords) + 16, np.intp), np.empty(4 * len(chords) + 16, np.intp)
    used = 0
    for c in range(len(chords)):
        chord = chords[c]
        meeting = _meeting(first, incident, at, is_there, chord, c, seen, distance, came_by, queue)
        length = 1 + distance[0, meeting] + distance[1, meeting]
        if used + length > len(edge):
            edge = np.concatenate((edge, np.empty(len(edge) + length, np.intp)))
            sign = np.concatenate((sign, np.empty(len(sign) + length, np.intp)))
        edge[used], sign[used] = chord, 1
        node, place = meeting, used + distance[1, meeting]
        while distance[1, node] > 0:  # back to the chord's second end
            e = came_by[1, node]
            node = at[e, 0] + at[e, 1] - node
            edge[place], sign[place] = e, 1 if at[e, 0] == node else -1
            place -= 1
        node, place = meeting, used + distance[1, meeting] + 1
        while distance[0, node] > 0:  # on to its first end
            e = came_by[0, node]
            edge[place], sign[place] = e, 1 if at[e, 0] == node else -1
            node = at[e, 0] + at[e, 1] - node
            place += 1
        used += length
        start[c + 1] = used
        is_there[chord] = grows
    return edge[:used].copy(), sign[:used].copy()


@njit(cache=True)
def _meeting(
    first: IntArray,
    incident: IntArray,
    at: IntArray,
    is_there: np.ndarray,
    chord: int,
    search: int,
    seen: IntArray,
    distance: IntArray,
    came_by: IntArray,
    queue: IntArray,
) -> int:
    """Return a node on a shortest path between the ends of a chord, searched from both."""
    head, tail, work = np.zeros(2, np.intp), np.ones(2, np.intp), np.empty(2, np.intp)
    for side in range(2):
        node = at[chord, side]
        seen[side, node], distance[side, node], queue[side, 0] = search, 0, node
        work[side] = first[node + 1] - first[node]
    best, shortest = -1, 2**62
    while best < 0:
        side = 0 if work[0] <= work[1] else 1
        if head[side] == tail[side]:
            side = 1 - side
        end_of_level, work[side] = tail[side], 0
        while head[side] < end_of_level:
            node = queue[side, head[side]]
            head[side] += 1
            for entry in range(first[node], first[node + 1]):
                e = incident[entry]
                other = at[e, 0] + at[e, 1] - node
                if not is_there[e] or seen[side, other] == search:
                    continue
                seen[side, other], came_by[side, other] = search, e
                distance[side, other] = distance[side, node] + 1
                queue[side, tail[side]] = other
                tail[side] += 1
                work[side] += first[other + 1] - first[other]
                if seen[1 - side, other] == search:
                    whole = distance[0, other] + distance[1, other]
                    if whole < shortest:
                        best, shortest = other, whole
    return best
