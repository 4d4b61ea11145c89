"""Biconnected components of the graph of primal and dual blocks: bridges and loops."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import IntArray
from sparsebody.sparse.pattern import BlockPattern


def biconnected_components(pattern: BlockPattern) -> IntArray:
    """Return the component (n_dual,) of each dual block, numbered from 0.

    Primal blocks are nodes and dual blocks edges; "no primal block" (the world) is one more node.
    Two edges are in one component if a simple cycle passes through both; a bridge, and an edge
    with both ends on one node, is a component by itself.

    References
    ----------
    Hopcroft and Tarjan (1973), Algorithm 447.
    """
    indptr, indices = pattern.adjacency
    ends = np.ascontiguousarray(pattern.ends, dtype=np.intp)
    to_world = np.flatnonzero((ends < 0).any(axis=1)).astype(np.intp)
    return _components(pattern.n_primal, indptr, indices, ends, to_world)


@njit(cache=True)
def _components(
    world: int, indptr: IntArray, indices: IntArray, ends: IntArray, to_world: IntArray
) -> IntArray:
    """Depth-first search without recursion; `low` is the earliest node that a subtree reaches.

    Blocks are numbered as in the adjacency (indptr, indices); the world is node n_primal.
    """
    n_nodes, n_edges = world + 1, len(ends)
    component = np.full(n_edges, -1, dtype=np.intp)
    used = np.zeros(n_edges, dtype=np.bool_)
    found = np.full(n_nodes, -1, dtype=np.intp)  # when a node was found
    low = np.empty(n_nodes, dtype=np.intp)
    came_by = np.full(n_nodes, -1, dtype=np.intp)  # the tree edge to a node
    following = indptr[:n_nodes].copy()  # the next incidence to look at
    following[world] = 0
    path = np.empty(n_nodes, dtype=np.intp)  # nodes from the root to the present one
    open_edges = np.empty(n_edges, dtype=np.intp)  # stack of edges without a component
    n_open, time, count = 0, 0, 0
    for root in range(n_nodes):
        if found[root] >= 0:
            continue
        path[0], depth = root, 1
        found[root] = low[root] = time
        time += 1
        while depth > 0:
            node = path[depth - 1]
            last = len(to_world) if node == world else indptr[node + 1]
            if following[node] < last:
                entry = following[node]
                edge = to_world[entry] if node == world else indices[entry] - world
                following[node] += 1
                if used[edge]:
                    continue
                used[edge] = True
                first, second = ends[edge, 0], ends[edge, 1]
                other = second if first == (node if node < world else -1) else first
                other = world if other < 0 else other
                if other == node:
                    component[edge] = count
                    count += 1
                    continue
                open_edges[n_open] = edge
                n_open += 1
                if found[other] >= 0:
                    low[node] = min(low[node], found[other])
                    continue
                found[other] = low[other] = time
                time += 1
                came_by[other] = edge
                path[depth] = other
                depth += 1
                continue
            depth -= 1
            if depth == 0:
                continue
            parent, edge = path[depth - 1], came_by[node]
            low[parent] = min(low[parent], low[node])
            if low[node] >= found[parent]:  # nothing below reaches past the parent
                while True:
                    n_open -= 1
                    component[open_edges[n_open]] = count
                    if open_edges[n_open] == edge:
                        break
                count += 1
    return component
