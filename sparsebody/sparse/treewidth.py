"""Lower bounds of the width of fronts, and the exact width of small graphs.

The treewidth of a graph is the least, over all elimination orders, of the most blocks that a pivot
couples to. Weighted by scalar rows, the pivot's own included, it bounds the largest front.
"""

from __future__ import annotations

import numpy as np

from sparsebody._core import graph as kernels
from sparsebody.arrays import IntArray
from sparsebody.errors import OrderingError
from sparsebody.sparse.admissibility import core_joints
from sparsebody.sparse.crossing_paths import crossing_bound
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import cuthill_mckee, dual_graph

_LARGEST = 1_000  # primal blocks of a pattern that is bounded as a whole
_LARGEST_CROSSED = 5_000  # primal blocks among which crossing paths are looked for
_MOST_SETS = 20_000  # of eliminated nodes that the search for the exact width looks at


def treewidth_bound(pattern: BlockPattern) -> int:
    """Return a number of blocks that the treewidth of the graph of all blocks does not go below."""
    part = _part(pattern)
    return max(kernels.widest_core(part.adjacency, np.ones(part.n_blocks, dtype=np.intp)) - 1, 0)


def front_bound(pattern: BlockPattern) -> int:
    """Return scalar rows that the largest front has at least, whatever the order."""
    part = _part(pattern)
    return kernels.widest_core(part.adjacency, part.block_sizes)


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
    size = core.block_sizes
    joints = kernels.widest_core(dual_graph(core), size[core.n_primal :])
    indptr, indices = core.adjacency
    rows_around = size[: core.n_primal].copy()
    first = np.repeat(np.arange(core.n_primal), np.diff(indptr[: core.n_primal + 1]))
    np.add.at(rows_around, first, size[indices[: len(first)]])
    bodies = int(rows_around.max(initial=0))
    return max(joints, bodies, crossing, front_bound(pattern))


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
    width = kernels.widest_core((indptr, indices), weight) if n else 0
    failed: set[int] = set()
    while True:
        failed.clear()
        order = _eliminated(neighbours, weights, width, (1 << n) - 1, failed)
        if order is not None:
            return width, np.array(order, dtype=np.intp)
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
        later = _eliminated(changed, weights, width, _eliminate(node, changed, left), failed)
        if later is not None:
            return [*order, node, *later]
    failed.add(left)
    if len(failed) > _MOST_SETS:
        raise OrderingError(
            f"the exact width of a graph of {len(weights)} nodes takes more than {_MOST_SETS} "
            "sets to find; try a smaller mechanism"
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
    bits = []
    while mask:
        lowest = mask & -mask
        bits.append(lowest.bit_length() - 1)
        mask ^= lowest
    return bits
