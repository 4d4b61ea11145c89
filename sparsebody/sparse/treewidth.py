"""How narrow fronts can be at best: lower bounds, and the exact width of small graphs.

The treewidth of a graph is the least, over all elimination orders, of the most blocks that a pivot
couples to. Weighted by scalar rows, the pivot's own included, it bounds the largest front.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import IntArray
from sparsebody.errors import OrderingError
from sparsebody.sparse.admissibility import core_joints
from sparsebody.sparse.crossing_paths import crossing_bound
from sparsebody.sparse.dual_graph import dual_graph
from sparsebody.sparse.levels import cuthill_mckee
from sparsebody.sparse.pattern import BlockPattern

_LARGEST = 1_000  # primal blocks of a pattern that is bounded as a whole
_LARGEST_CROSSED = 5_000  # primal blocks among which crossing paths are looked for
_MOST_SETS = 20_000  # of eliminated nodes that the search for the exact width looks at


def treewidth_bound(pattern: BlockPattern) -> int:
    """Return a number of blocks that the treewidth of the graph of all blocks does not go below."""
    part = _part(pattern)
    return max(_widest_core(*part.adjacency, np.ones(part.n_blocks, dtype=np.intp)) - 1, 0)


def front_bound(pattern: BlockPattern) -> int:
    """Return scalar rows that the largest front has at least, whatever the order."""
    part = _part(pattern)
    return int(_widest_core(*part.adjacency, _sizes(part)))


def admissible_front_bound(pattern: BlockPattern) -> int:
    """Return scalar rows that the largest front has at least in every admissible order.

    Joints outside tree parts come after both their bodies, so the fronts of bodies are known, and
    those of joints are no smaller than in the graph of these joints alone.
    """
    crossing = 0
    if pattern.n_primal <= _LARGEST_CROSSED:
        crossing = crossing_bound(_core(pattern))
    pattern = _part(pattern)
    core = _core(pattern)
    size = _sizes(core)
    joints = _widest_core(*dual_graph(core), size[core.n_primal :])
    indptr, indices = core.adjacency
    rows_around = size[: core.n_primal].copy()
    first = np.repeat(np.arange(core.n_primal), np.diff(indptr[: core.n_primal + 1]))
    np.add.at(rows_around, first, size[indices[: len(first)]])
    bodies = int(rows_around.max(initial=0))
    return max(int(joints), bodies, crossing, front_bound(pattern))


def _core(pattern: BlockPattern) -> BlockPattern:
    """Return the pattern without the joints of tree parts."""
    core = np.flatnonzero(core_joints(pattern))
    bodies = np.arange(pattern.n_primal)
    return BlockPattern(
        pattern.block_sizes[np.concatenate([bodies, pattern.n_primal + core])], pattern.ends[core]
    )


def _part(pattern: BlockPattern) -> BlockPattern:
    """Return the pattern, or so much of a large one that the bounds, which hold for it, are quick.

    Joints that lead out of the part are left out.
    """
    if pattern.n_primal <= _LARGEST:
        return pattern
    label = np.full(pattern.n_primal + 1, -1, dtype=np.intp)  # the last one answers for -1
    primal = cuthill_mckee(pattern)[:_LARGEST]
    label[primal] = np.arange(_LARGEST)
    ends = label[pattern.ends]
    inside = np.flatnonzero(((ends >= 0) == (pattern.ends >= 0)).all(axis=1))
    sizes = pattern.block_sizes[np.concatenate([primal, pattern.n_primal + inside])]
    return BlockPattern(sizes, ends[inside])


def _sizes(pattern: BlockPattern) -> IntArray:
    """Return the scalar rows of every block, contiguous."""
    return np.ascontiguousarray(pattern.block_sizes, dtype=np.intp)


@njit(cache=True)
def _widest_core(indptr: IntArray, indices: IntArray, weight: IntArray) -> int:
    """Return the greatest, over a sequence of minors, of the least weight around any node.

    Contract the lightest node into the neighbour with which it shares fewest (minor-min-width,
    "least-c"): Gogate and Dechter (2004); Bodlaender and Koster (2011), Inf. Comput. 209, 7. Of two
    contracted nodes the lighter weight stays, because a bag of a minor holds one of them at least.
    """
    n = len(weight)
    words = (n + 63) // 64
    row = np.zeros((n, words), dtype=np.uint64)
    for i in range(n):
        for entry in range(indptr[i], indptr[i + 1]):
            if indices[entry] != i:
                row[i, indices[entry] >> 6] |= np.uint64(1) << np.uint64(indices[entry] & 63)
    weight, gone = weight.copy(), np.zeros(n, dtype=np.bool_)
    around = np.empty(n, dtype=np.intp)
    for i in range(n):
        around[i] = _weight_around(i, row, weight)
    widest = int(np.intp(0))
    for _ in range(n):
        light = -1
        for i in range(n):
            if not gone[i] and (light == -1 or around[i] < around[light]):
                light = i
        widest = max(widest, around[light])
        partner, fewest = -1, n + 1
        for j in range(n):
            if _has(row[light], j):
                shared = _n_shared(row[light], row[j])
                if shared < fewest:
                    partner, fewest = j, shared
        gone[light] = True
        for j in range(n):
            if _has(row[light], j):
                row[j, light >> 6] ^= np.uint64(1) << np.uint64(light & 63)
                if j != partner:
                    row[j, partner >> 6] |= np.uint64(1) << np.uint64(partner & 63)
                    row[partner, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
        if partner >= 0:
            weight[partner] = min(weight[partner], weight[light])
            around[partner] = _weight_around(partner, row, weight)
            for j in range(n):
                if _has(row[light], j) or _has(row[partner], j):
                    around[j] = _weight_around(j, row, weight)
    return widest


@njit(cache=True)
def _has(bits: np.ndarray, j: int) -> bool:
    """Return whether bit j is set."""
    return (bits[j >> 6] >> np.uint64(j & 63)) & np.uint64(1) != 0


@njit(cache=True)
def _weight_around(i: int, row: np.ndarray, weight: IntArray) -> int:
    """Return the weight of node i with all its neighbours."""
    total = weight[i]
    for j in range(len(weight)):
        if _has(row[i], j):
            total += weight[j]
    return total


@njit(cache=True)
def _n_shared(first: np.ndarray, second: np.ndarray) -> int:
    """Return how many bits are set in both."""
    count = 0
    for w in range(len(first)):
        word = first[w] & second[w]
        while word != 0:
            word &= word - np.uint64(1)
            count += 1
    return count


def exact_width(indptr: IntArray, indices: IntArray, weight: IntArray) -> tuple[int, IntArray]:
    """Return the least possible weight of the heaviest front, and an order (n,) that has it.

    A front is a node with all that it couples to when it is eliminated. With all weights one, its
    size is the treewidth plus one. For small graphs: time grows exponentially.

    Raises
    ------
    OrderingError
        If the search looks at more than 20,000 sets of eliminated nodes.

    References
    ----------
    Gogate and Dechter (2004), for the search and its reductions; Bodlaender, Fomin, Koster, Kratsch
    and Thilikos (2006) for remembering sets.
    """
    n = len(weight)
    neighbours = [0] * n
    for i in range(n):
        for j in indices[indptr[i] : indptr[i + 1]].tolist():
            neighbours[i] |= (1 << j) & ~(1 << i)
    weights = [int(w) for w in weight]
    size = np.ascontiguousarray(weight, dtype=np.intp)
    width = int(_widest_core(indptr, indices, size)) if n else 0
    failed: set[int] = set()
    while True:
        failed.clear()
        found = _eliminated(neighbours, weights, width, (1 << n) - 1, failed)
        if found is not None:
            return width, np.array(found, dtype=np.intp)
        width += 1


def _eliminated(
    neighbours: list[int], weights: list[int], width: int, left: int, failed: set[int]
) -> list[int] | None:
    """Return an order of the nodes `left` with no front heavier than `width`, or None."""
    neighbours, order = neighbours.copy(), []
    node = _reducible(neighbours, weights, width, left)
    while node is not None:
        left = _eliminate(node, neighbours, left)
        order.append(node)
        node = _reducible(neighbours, weights, width, left)
    if left == 0:
        return order
    if left in failed:
        return None
    candidates = sorted((_front(node, neighbours, weights), node) for node in _bits(left))
    for front, node in candidates:
        if front > width:
            break
        changed = neighbours.copy()
        rest = _eliminated(changed, weights, width, _eliminate(node, changed, left), failed)
        if rest is not None:
            return [*order, node, *rest]
    failed.add(left)
    if len(failed) > _MOST_SETS:
        raise OrderingError(
            f"the exact width of a graph of {len(weights)} nodes takes more than {_MOST_SETS} "
            "sets to find; ask for it on a smaller mechanism"
        )
    return None


def _reducible(neighbours: list[int], weights: list[int], width: int, left: int) -> int | None:
    """Return a node that some best order eliminates next, if one is seen at once.

    All its neighbours couple already, or all but one that is no heavier than the node itself.
    """
    for node in _bits(left):
        if _front(node, neighbours, weights) > width:
            continue
        near = neighbours[node]
        missing = [m for m in _bits(near) if near & ~neighbours[m] & ~(1 << m)]
        if not missing:
            return node
        for special in missing:
            others = near & ~(1 << special)
            is_clique = all(not others & ~neighbours[m] & ~(1 << m) for m in _bits(others))
            if is_clique and weights[special] <= weights[node]:
                return node
    return None


def _eliminate(node: int, neighbours: list[int], left: int) -> int:
    """Join the neighbours of `node` with each other; return the nodes that are left."""
    near = neighbours[node]
    for other in _bits(near):
        neighbours[other] = (neighbours[other] | near) & ~(1 << other) & ~(1 << node)
    return left & ~(1 << node)


def _front(node: int, neighbours: list[int], weights: list[int]) -> int:
    """Return the weight of `node` and all that it couples to."""
    return weights[node] + sum(weights[other] for other in _bits(neighbours[node]))


def _bits(mask: int) -> list[int]:
    """Return the numbers of the bits that are set."""
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found
