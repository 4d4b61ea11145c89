"""Nonzeros that H has on every spanning tree of a mechanism.

On a tree the support of a body is a path from the root, which has as many freedoms as the shortest
one of the graph at least. So each body has its least share of H by itself: with joint j to a body u
at distance D(u) at least f_j D(u) + f_j (f_j + 1) / 2, and the least of these over its joints.
A path of d joints passes d layers of bodies, equally many joints away from the root. If none has
more than b bodies, the n supports have n^2 / (2 b) joints or more in all, and nnz(H) grows as n^2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.model.system import System
from sparsebody.tree.tree_choice import joint_freedoms

MOST_BODIES = 2_000  # in a part whose distances are all looked at
_FREE = 6  # freedoms of a virtual joint
_TRACE = 2.0**-30  # what a joint is longer than its freedoms: zeros are no edges


class NonzeroBound(NamedTuple):
    """What every spanning tree of a mechanism has at least."""

    nonzeros: int  # of the lower triangle of H, its diagonal included
    from_world: int  # the same where no body hangs on a virtual joint that needs none
    widest_layer: int  # most bodies equally many joints away from the root, whatever it is


def nonzero_bound(system: System) -> NonzeroBound:
    """Return the bound over all trees, rooted in the world or in a body with a virtual free joint.

    Attained if all joints have equally many freedoms. ModelError for parts of more than 2,000
    bodies.
    """
    ends = np.stack([system.predecessor, system.successor], axis=1)
    freedoms = joint_freedoms(system)
    pairs, n = ends[(ends >= 0).all(axis=1)].T, system.n_bodies
    graph = coo_array((np.ones(pairs.shape[1]), tuple(pairs)), shape=(n, n))
    label = connected_components(graph, False)[1]
    parts = (np.flatnonzero(label == part) for part in range(label.max(initial=-1) + 1))
    bounds = [_bound_of_part(bodies, ends, freedoms, system.name) for bodies in parts]
    nonzeros, from_world, widest = zip(*bounds, strict=True)
    return NonzeroBound(sum(nonzeros), sum(from_world), sum(widest))


def _bound_of_part(
    bodies: IntArray, ends: IntArray, freedoms: IntArray, name: str
) -> tuple[int, int, int]:
    """Return the bound, that for trees rooted in the world, and the widest layer of one part."""
    n = len(bodies)
    if n > MOST_BODIES:
        raise ModelError(
            f"{name} has a part of {n} bodies; nonzeros are bounded in parts of {MOST_BODIES} at "
            "most, so look at a smaller one"
        )
    inside = np.flatnonzero(np.isin(ends, bodies).any(axis=1) & (ends[:, 0] != ends[:, 1]))
    node = np.where(ends[inside] < 0, n, np.searchsorted(bodies, ends[inside]))
    joint = freedoms[inside]
    is_world = (node == n).any(axis=1)
    within = node[~is_world]
    from_body = _distances(within, joint[~is_world], n)
    widest = _widest_layer(_distances(within, np.ones_like(joint[~is_world]), n))
    floating = min(
        int(_shares(within, joint[~is_world], _FREE + from_body[root], root).sum())
        for root in range(n)
    )
    if not is_world.any():
        return floating, floating, widest
    layers = _distances(node, np.ones_like(joint), n + 1)[n:, :n]
    distance = _distances(node, joint, n + 1)[n]
    from_world = int(_shares(node, joint, distance, n).sum())
    return min(floating, from_world), from_world, max(widest, _widest_layer(layers))


def _distances(node: IntArray, length: IntArray, n: int) -> FloatArray:
    """Return the lengths (n, n) of shortest paths."""
    first, second = node.min(axis=1), node.max(axis=1)
    sequence = np.lexsort((length, second, first))
    pairs = np.stack([first, second], axis=1)[sequence]
    keep = np.ones(len(pairs), dtype=bool)  # of parallel joints that with the fewest freedoms
    keep[1:] = (np.diff(pairs, axis=0) != 0).any(axis=1)
    a, b = pairs[keep].T
    graph = csr_array(coo_array((length[sequence][keep] + _TRACE, (a, b)), shape=(n, n)))
    return np.floor(dijkstra(graph, directed=False))


def _widest_layer(distances: FloatArray) -> int:
    """Return the most equal entries of any row of distances."""
    return max(int(np.bincount(row.astype(np.intp)).max()) for row in distances)


def _shares(node: IntArray, freedoms: IntArray, distance: FloatArray, root: int) -> FloatArray:
    """Return the least nonzeros of each node's rows; those of a virtual joint at a root body."""
    share = np.full(len(distance), np.inf)
    for here, there in ((0, 1), (1, 0)):
        rows = freedoms * distance[node[:, there]] + freedoms * (freedoms + 1) / 2
        np.minimum.at(share, node[:, here], rows)
    share[root] = distance[root] * (distance[root] + 1) / 2
    return share
