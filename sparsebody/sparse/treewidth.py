"""Lower bounds of the largest front, and the exact treewidth of small graphs.

The treewidth is the minimum, over all elimination orders, of the largest degree of a pivot when it
is eliminated. With nodes weighted by their scalar rows, and the pivot's own rows counted, it is the
size of the largest front.
"""

from itertools import combinations, count

import numpy as np
from scipy.sparse import coo_array, csgraph, csr_array

from sparsebody._core import graph as kernels
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.errors import OrderingError
from sparsebody.sparse import pattern as graphs
from sparsebody.sparse.elimination_tree import core_joints
from sparsebody.sparse.pattern import BlockPattern

_LARGEST = 1_000  # primal blocks of a pattern that is bounded as a whole
_LARGEST_CROSSED = 5_000  # primal blocks among which crossing paths are looked for
_MOST_SETS = 20_000  # of eliminated nodes that the search for the exact width looks at


def crossing_bound(pattern: BlockPattern) -> int:
    """Return a lower bound of the largest front of the dual graph, in rows, by crossing paths.

    Two families of disjoint paths, every path of one touching every path of the other, are a
    bramble of the order of the smaller. Paths join extremes of differences of distances from four
    corners. Seymour and Thomas (1993), J. Comb. Theory B 58:22; Bodlaender, Grigoriev and Koster
    (2008), Algorithmica 51:81.
    """
    inner = np.flatnonzero(np.all(pattern.ends >= 0, axis=1) & (np.ptp(pattern.ends, axis=1) > 0))
    if len(inner) == 0:
        return 0
    distance = _corner_distances(pattern)
    first, second = np.triu_indices(len(distance), 1)
    touched = []  # by the paths of each family: (n_paths, n_primal)
    for key in distance[first] - distance[second]:
        paths = _disjoint_paths(pattern, inner, key)
        touched.append(np.zeros((len(paths), pattern.n_primal), dtype=np.int32))
        for touches, path in zip(touched[-1], paths, strict=True):
            touches[pattern.ends[path].ravel()] = 1
    bound = 0
    for one, other in combinations(touched, 2):
        if min(len(one), len(other)) > bound:
            bound = max(bound, _crossing_order(other @ one.T > 0))
    return bound


def _corner_distances(pattern: BlockPattern) -> FloatArray:
    """Return distances (4, n_primal) from two blocks far apart and two between, or zeros."""
    graph, n_duals = graphs.primal_graph(pattern), np.diff(pattern.adjacency[0])[: pattern.n_primal]
    distance = graphs.landmark_distances(pattern, 2).T
    between = distance.min(axis=0)
    for _ in range(2):
        corner = np.lexsort((n_duals, -between))[0]
        from_corner = kernels.distances(graph, corner).clip(min=0).astype(float)
        between = between + from_corner
        distance = np.vstack([distance, from_corner])
    return distance


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
    flow = coo_array(csgraph.maximum_flow(network, n, n + 1).flow)
    following: dict[int, list[int]] = {}
    for node, successor, amount in np.stack([flow.row, flow.col, flow.data], axis=1).tolist():
        if amount > 0:
            following.setdefault(node, []).extend([successor] * amount)
    paths = []
    for node in reversed(following.get(n, [])):
        path = []
        while (successor := following[node].pop()) != n + 1:  # the sink
            path.append(free[min(node, successor), max(node, successor)].pop())
            node = successor
        paths.append(path)
    return [path for path in paths if path]


def _crossing_order(crosses: BoolArray) -> int:
    """Drop paths until every two of different families cross; return the smaller family's size."""
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


def front_bound(pattern: BlockPattern) -> int:
    """Return a lower bound of the rows of the largest front, whatever the order."""
    part = _part(pattern)
    return kernels.minor_min_width(part.adjacency, part.block_sizes)


def admissible_front_bound(pattern: BlockPattern) -> int:
    """Return scalar rows that the largest front has at least in every admissible order.

    Joints outside tree parts come after both their bodies, so the fronts of bodies are known, and
    those of joints are no smaller than in the graph of these joints alone.
    """
    crossing = crossing_bound(_core(pattern)) if pattern.n_primal <= _LARGEST_CROSSED else 0
    pattern = _part(pattern)
    core = _core(pattern)
    size, n = core.block_sizes, core.n_primal
    joints = kernels.minor_min_width(graphs.dual_graph(core), size[n:])
    indptr, indices = core.adjacency
    first = np.repeat(np.arange(n), np.diff(indptr[: n + 1]))
    around = np.bincount(first, size[indices[: len(first)]], minlength=n)
    bodies = int((size[:n] + around).max(initial=0))
    return max(joints, bodies, crossing, front_bound(pattern))


def _core(pattern: BlockPattern) -> BlockPattern:
    """Return the pattern without the joints of tree parts."""
    return pattern.part(np.arange(pattern.n_primal), np.flatnonzero(core_joints(pattern)))


def _part(pattern: BlockPattern) -> BlockPattern:
    """Return the pattern, or a part of a large one: a bound of a subgraph holds for the whole."""
    if pattern.n_primal <= _LARGEST:
        return pattern
    return pattern.part(graphs.cuthill_mckee(pattern)[:_LARGEST])


def exact_width(indptr: IntArray, indices: IntArray, weight: IntArray) -> tuple[int, IntArray]:
    """Return the least possible weight of the heaviest front, and an order (n,) that has it.

    With all weights one it is the treewidth plus one; time grows exponentially. Raises
    OrderingError beyond 20,000 sets of eliminated nodes. Gogate and Dechter (2004), for the search
    and its reductions; Bodlaender, Fomin, Koster, Kratsch and Thilikos (2006) for remembering sets.
    """
    n = len(weight)
    neighbours = [
        sum(1 << j for j in indices[indptr[i] : indptr[i + 1]].tolist() if j != i) for i in range(n)
    ]
    for width in count(kernels.minor_min_width((indptr, indices), weight) if n else 0):
        order = _eliminated(neighbours, weight.tolist(), width, (1 << n) - 1, set())
        if order is not None:
            break
    return width, np.array(order, dtype=np.intp)


def _eliminated(
    neighbours: list[int], weights: list[int], width: int, remaining: int, failed: set[int]
) -> list[int] | None:
    """Return an order of the `remaining` nodes with no front over `width`, or None."""
    neighbours, order = neighbours.copy(), []
    while (node := _reducible(neighbours, weights, width, remaining)) is not None:
        remaining = _eliminate(node, neighbours, remaining)
        order.append(node)
    if remaining == 0:
        return order
    if remaining in failed:
        return None
    candidates = sorted((_front(node, neighbours, weights), node) for node in _bits(remaining))
    for front, node in candidates:
        if front > width:
            break
        changed = neighbours.copy()
        later = _eliminated(changed, weights, width, _eliminate(node, changed, remaining), failed)
        if later is not None:
            return [*order, node, *later]
    failed.add(remaining)
    if len(failed) > _MOST_SETS:
        raise OrderingError(
            f"the exact width of a graph of {len(weights)} nodes takes more than {_MOST_SETS} "
            "sets to find; try a smaller mechanism"
        )
    return None


def _reducible(neighbours: list[int], weights: list[int], width: int, remaining: int) -> int | None:
    """Return a node that some best order eliminates next, or None.

    Its front is no wider than `width`, and it is simplicial, or almost simplicial with a special
    neighbour that is no heavier.
    """

    def apart(nodes: int) -> list[int]:
        """Return the nodes that do not couple to all others."""
        return [m for m in _bits(nodes) if nodes & ~neighbours[m] & ~(1 << m)]

    for node in _bits(remaining):
        if _front(node, neighbours, weights) > width:
            continue
        near = neighbours[node]
        missing = apart(near)
        light = (m for m in missing if weights[m] <= weights[node])
        if not missing or any(not apart(near & ~(1 << special)) for special in light):
            return node
    return None


def _eliminate(node: int, neighbours: list[int], remaining: int) -> int:
    """Join the neighbours of `node` with each other; return the nodes that are left."""
    near = neighbours[node]
    for other in _bits(near):
        neighbours[other] = (neighbours[other] | near) & ~(1 << other) & ~(1 << node)
    return remaining & ~(1 << node)


def _front(node: int, neighbours: list[int], weights: list[int]) -> int:
    """Return the weight of `node` and all that it couples to."""
    return weights[node] + sum(weights[other] for other in _bits(neighbours[node]))


def _bits(mask: int) -> list[int]:
    """Return the numbers of the bits that are set."""
    return [k for k in range(mask.bit_length()) if mask >> k & 1]
