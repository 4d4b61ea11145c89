"""Crossing paths: a lower bound of the width of fronts of a lattice.

Take paths of dual blocks from left to right, no more through a block than it has rows, and such
paths from top to bottom. If each of the first touches each of the others, a set of dual blocks that
meets every pair, made of a path of each kind, contains one of every path of the first kind or one
of every path of the second: as many rows as there are paths. These pairs are a bramble, and some
front holds such a set, whatever the order.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_flow

from sparsebody._core import graph as kernels
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import landmark_distances, primal_graph


def crossing_bound(pattern: BlockPattern) -> int:
    """Return rows of dual blocks that some front of their graph has, by paths that cross.

    Directions are differences of distances from four corners. Good for square lattices; next to
    nothing for trees, and for lattices in space, where paths pass each other.

    References
    ----------
    Seymour and Thomas (1993), J. Comb. Theory B 58, 1 (brambles); Bodlaender, Grigoriev and Koster
    (2008), Algorithmica 51, 1, for lower bounds by them.
    """
    inner = np.flatnonzero(np.all(pattern.ends >= 0, axis=1) & (np.ptp(pattern.ends, axis=1) > 0))
    if len(inner) == 0:
        return 0
    distance = _corner_distances(pattern)
    first, second = np.triu_indices(len(distance), 1)
    families = [_disjoint_paths(pattern, inner, key) for key in distance[first] - distance[second]]
    touched = [_touched(pattern, paths) for paths in families]
    bound = 0
    for a in range(len(families)):
        for b in range(a):
            if min(len(touched[a]), len(touched[b])) > bound:
                crosses = touched[a].astype(np.int32) @ touched[b].T.astype(np.int32) > 0
                bound = max(bound, _fewest_of_a_kind(crosses))
    return bound


def _corner_distances(pattern: BlockPattern) -> FloatArray:
    """Return the distances (4, n_primal) from two blocks far apart and two more between them."""
    distance = landmark_distances(pattern, 2).T
    between = distance.min(axis=0)
    n_duals = np.diff(pattern.adjacency[0])[: pattern.n_primal]
    third = np.lexsort((n_duals, -between))[0]
    from_third = _distances(pattern, third)
    fourth = np.lexsort((n_duals, -(between + from_third)))[0]
    return np.array([*distance, from_third, _distances(pattern, fourth)])


def _distances(pattern: BlockPattern, source: int) -> FloatArray:
    """Return the distances (n_primal,) from one block; parts that it is not in are at zero."""
    return kernels.distances(primal_graph(pattern), source).clip(min=0).astype(float)


def _disjoint_paths(pattern: BlockPattern, inner: IntArray, key: FloatArray) -> list[list[int]]:
    """Return paths, lists of dual blocks, from the least to the greatest of `key`.

    No more of them pass through a dual block than it has rows.
    """
    n = pattern.n_primal
    share = min(round(np.sqrt(n)), n // 2)
    ordered = np.sort(key)
    if share == 0 or ordered[share - 1] >= ordered[-share]:
        return []
    left, right = np.flatnonzero(key <= ordered[share - 1]), np.flatnonzero(key >= ordered[-share])
    rows = pattern.block_sizes[pattern.n_primal :].tolist()
    free: dict[tuple[int, int], list[int]] = {}
    for dual in inner.tolist():
        low, high = sorted(pattern.ends[dual].tolist())
        free.setdefault((low, high), []).extend([dual] * rows[dual])
    a, b = np.array(list(free), dtype=np.intp).T
    capacity = np.array([len(duals) for duals in free.values()])
    many = np.full(len(left) + len(right), capacity.sum())
    start = np.concatenate([a, b, np.full(len(left), n), right])
    end = np.concatenate([b, a, left, np.full(len(right), n + 1)])
    values = np.concatenate([capacity, capacity, many]).astype(np.int32)
    network = csr_array(coo_array((values, (start, end)), shape=(n + 2, n + 2)))
    flow = coo_array(maximum_flow(network, n, n + 1).flow)
    following: dict[int, list[int]] = {}
    for node, successor, amount in zip(
        flow.row.tolist(), flow.col.tolist(), flow.data.tolist(), strict=True
    ):
        if amount > 0:
            following.setdefault(node, []).extend([successor] * amount)
    n_paths = len(following.get(n, []))
    return [path for path in (_path(following, free, n) for _ in range(n_paths)) if path]


def _path(
    following: dict[int, list[int]], free: dict[tuple[int, int], list[int]], source: int
) -> list[int]:
    """Follow the flow from the source to the sink, and use up the dual blocks on the way."""
    path, node = [], following[source].pop()
    while node != source + 1:
        successor = following[node].pop()
        if successor != source + 1:
            path.append(free[min(node, successor), max(node, successor)].pop())
        node = successor
    return path


def _touched(pattern: BlockPattern, paths: list[list[int]]) -> BoolArray:
    """Return which primal blocks (n_paths, n_primal) each path touches."""
    touched = np.zeros((len(paths), pattern.n_primal), dtype=bool)
    for k, path in enumerate(paths):
        touched[k, pattern.ends[path].ravel()] = True
    return touched


def _fewest_of_a_kind(crosses: BoolArray) -> int:
    """Drop paths until all remaining ones cross; return the lesser number of the two kinds."""
    rows, columns = (np.ones(n, dtype=bool) for n in crosses.shape)
    while True:
        missing = ~crosses & rows[:, None] & columns[None, :]
        if not missing.any():
            return int(min(rows.sum(), columns.sum()))
        by_row, by_column = missing.sum(axis=1), missing.sum(axis=0)
        if by_row.max() >= by_column.max():
            rows[by_row.argmax()] = False
        else:
            columns[by_column.argmax()] = False
