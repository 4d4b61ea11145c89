"""Frames that some joints hand on from body to body, and the order in which they reach these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Placement:
    """Nodes of a graph in the frame of the first node of their component."""

    label: IntArray  # (n,) component, numbered from 0
    place: IntArray  # (n,) when each node was reached
    rotation: FloatArray  # (n, 3, 3) from the axes of a node to those of its component
    offset: FloatArray  # (n, 3) of the origin of a node

    @property
    def n_components(self) -> int:
        """Number of components."""
        return int(self.label.max(initial=-1)) + 1


def placement(
    n: int, ends: IntArray, rotation: FloatArray, point: FloatArray, first: int = 0
) -> Placement:
    """Return the components of a graph whose edges are joints that do not move.

    Parameters
    ----------
    n : int
        Number of nodes.
    ends : (2, m) int array
        Nodes of the edges, predecessors first.
    rotation, point : (2, m, 3, 3) and (2, m, 3) float arrays
        The joint frames at both ends, in the frames of the nodes.
    first : int
        Where to begin, breadth first.
    """
    indptr, edges = incidence(n, ends)
    label, place = np.full(n, -1, dtype=np.intp), np.zeros(n, dtype=np.intp)
    turn, offset = np.zeros((n, 3, 3)), np.zeros((n, 3))
    if n:
        _spread(indptr, edges, ends, rotation, point, first, label, place, turn, offset)
    return Placement(label, place, turn, offset)


def incidence(n: int, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Return (indptr, edges): the edges at every node of a graph, in order."""
    m = ends.shape[1]
    node = ends.ravel()
    order = np.argsort(node, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(node, minlength=n))])
    return indptr.astype(np.intp), (order % max(m, 1)).astype(np.intp)


@njit(cache=True)
def _spread(
    indptr: IntArray,
    edges: IntArray,
    ends: IntArray,
    rotation: FloatArray,
    point: FloatArray,
    first: int,
    label: IntArray,
    place: IntArray,
    turn: FloatArray,
    offset: FloatArray,
) -> None:
    n = len(label)
    queue = np.empty(n, dtype=np.intp)
    reached, component = 0, 0
    for start in range(-1, n):
        root = first if start < 0 else start
        if label[root] >= 0:
            continue
        label[root], place[root] = component, reached
        queue[reached] = root
        for a in range(3):
            turn[root, a, a] = 1.0
        head, reached = reached, reached + 1
        while head < reached:
            node = queue[head]
            head += 1
            for e in edges[indptr[node] : indptr[node + 1]]:
                side = 0 if ends[0, e] == node else 1
                other = ends[1 - side, e]
                if label[other] >= 0:
                    continue
                _hand_on(
                    rotation[side, e],
                    point[side, e],
                    rotation[1 - side, e],
                    point[1 - side, e],
                    turn[node],
                    offset[node],
                    turn[other],
                    offset[other],
                )
                label[other], place[other] = component, reached
                queue[reached] = other
                reached += 1
        component += 1


@njit(cache=True)
def _hand_on(
    near: FloatArray,
    near_point: FloatArray,
    far: FloatArray,
    far_point: FloatArray,
    turn: FloatArray,
    offset: FloatArray,
    new_turn: FloatArray,
    new_offset: FloatArray,
) -> None:
    """Fill the frame of the node at the far end of a joint whose frames coincide."""
    for a in range(3):
        for b in range(3):
            new_turn[a, b] = 0.0
            for c in range(3):
                for d in range(3):
                    new_turn[a, b] += turn[a, c] * near[c, d] * far[b, d]
    for a in range(3):
        new_offset[a] = offset[a]
        for b in range(3):
            new_offset[a] += turn[a, b] * near_point[b] - new_turn[a, b] * far_point[b]


@njit(cache=True)
def spanning_forest(n: int, first: IntArray, second: IntArray) -> tuple[IntArray, BoolArray]:
    """Join nodes edge by edge; return components (n,), and which edges close loops (m,).

    An edge closes a loop if earlier ones join its ends already.
    """
    parent: IntArray = np.arange(n)
    closes = np.zeros(len(first), dtype=np.bool_)
    for e in range(len(first)):
        a, b = first[e], second[e]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a == b:
            closes[e] = True
        else:
            parent[max(a, b)] = min(a, b)
    label = np.empty_like(parent)
    count = 0
    for i in range(n):
        if parent[i] == i:
            label[i] = count
            count += 1
        else:
            a = i
            while parent[a] != a:
                a = parent[a]
            label[i] = label[a]
    return label, closes
