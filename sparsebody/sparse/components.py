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
    n_nodes = pattern.n_primal + 1
    ends = np.where(pattern.ends < 0, pattern.n_primal, pattern.ends)
    by_node = np.argsort(ends.ravel(), kind="stable")
    indptr = np.searchsorted(ends.ravel()[by_node], np.arange(n_nodes + 1)).astype(np.intp)
    return _components(np.ascontiguousarray(ends), indptr, (by_node // 2).astype(np.intp))


@njit(cache=True)
def _components(ends: IntArray, indptr: IntArray, incident: IntArray) -> IntArray:
    """Depth-first search without recursion; `low` is the earliest node that a subtree reaches."""
    n_nodes, n_edges = len(indptr) - 1, len(ends)
    component = np.full(n_edges, -1, dtype=np.intp)
    used = np.zeros(n_edges, dtype=np.bool_)
    found = np.full(n_nodes, -1, dtype=np.intp)  # when a node was found
    low = np.empty(n_nodes, dtype=np.intp)
    came_by = np.full(n_nodes, -1, dtype=np.intp)  # the tree edge to a node
    following = indptr[:-1].copy()  # the next incidence to look at
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
            if following[node] < indptr[node + 1]:
                edge = incident[following[node]]
                following[node] += 1
                if used[edge]:
                    continue
                used[edge] = True
                other = ends[edge, 0] + ends[edge, 1] - node
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
