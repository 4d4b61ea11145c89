"""Exact orders of small mechanisms, a reference for the others."""

from __future__ import annotations

from collections import deque

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.errors import OrderingError
from sparsebody.ordering.tree_parts import leaves_then
from sparsebody.sparse.etree import postordered
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import dual_graph, with_primal_blocks
from sparsebody.sparse.treewidth import exact_width

LARGEST = 60  # blocks
_MOST_STATES = 300_000  # partial orders that the search for the least bandwidth looks at


def narrowest_fronts(pattern: BlockPattern) -> IntArray:
    """Return an admissible order whose largest front of a joint has the fewest rows possible.

    Tree parts come leaves first, which leaves no choice worth having; the joints of the core by the
    exact treewidth of their graph, weighted by rows.

    Raises
    ------
    OrderingError
        If there are more than 60 blocks, or the search takes too long.
    """
    _check_size(pattern, "width of fronts")

    def order_core(core: BlockPattern, _: IntArray) -> IntArray:
        joints = exact_width(*dual_graph(core), core.block_sizes[core.n_primal :])[1]
        return postordered(core, with_primal_blocks(core, joints))

    return leaves_then(pattern, order_core)


def least_bandwidth(pattern: BlockPattern) -> IntArray:
    """Return an order of all blocks in which coupled ones are as near to each other as possible.

    Not admissible: joints stand between their bodies. Orders are built from the left; every block
    has a last position, one bandwidth after its neighbours in the partial order, which is abandoned
    when too many blocks have near last positions.

    Raises
    ------
    OrderingError
        If there are more than 60 blocks, or the search takes too long.

    References
    ----------
    Saxe (1980), SIAM J. Algebr. Discrete Methods 1, 4; Del Corso and Manzini (1999).
    """
    _check_size(pattern, "bandwidth")
    graph = [pattern.neighbours(block).tolist() for block in range(pattern.n_blocks)]
    order: list[int] = []
    for part in _parts(graph):
        order += _part_of_least_bandwidth(graph, part)
    return np.array(order, dtype=np.intp)


def _check_size(pattern: BlockPattern, what: str) -> None:
    """Raise OrderingError where an exact search would hardly end."""
    if pattern.n_blocks > LARGEST:
        raise OrderingError(
            f"the exact {what} of {pattern.n_blocks} blocks would take too long to find; "
            f"it is for {LARGEST} blocks at most"
        )


def _parts(graph: list[list[int]]) -> list[list[int]]:
    """Return the connected parts."""
    parts, seen = [], [False] * len(graph)
    for seed in range(len(graph)):
        if not seen[seed]:
            part = list(_distances(graph, seed))
            for block in part:
                seen[block] = True
            parts.append(part)
    return parts


def _distances(graph: list[list[int]], source: int) -> dict[int, int]:
    """Return the distance of all blocks that can be reached."""
    distance, queue = {source: 0}, deque([source])
    while queue:
        block = queue.popleft()
        for other in graph[block]:
            if other not in distance:
                distance[other] = distance[block] + 1
                queue.append(other)
    return distance


def _part_of_least_bandwidth(graph: list[list[int]], part: list[int]) -> list[int]:
    """Try one bandwidth after the other."""
    distances = {block: _distances(graph, block) for block in part}
    bandwidth = (
        max(  # density: all within a distance d of a block lie within d bandwidths of it
            -(-(sum(d <= radius for d in near.values()) - 1) // (2 * radius))
            for near in distances.values()
            for radius in range(1, max(near.values()) + 1)
        )
        if len(part) > 1
        else 0
    )
    while True:
        failed: set[tuple[tuple[int, int], ...]] = set()
        for first in sorted(part, key=lambda block: -max(distances[block].values())):
            last = {block: bandwidth * d for block, d in distances[first].items() if d > 0}
            filled = _filled([first], last, graph, distances, bandwidth, failed)
            if filled is not None:
                return filled
        bandwidth += 1


def _filled(
    order: list[int],
    last: dict[int, int],
    graph: list[list[int]],
    distances: dict[int, dict[int, int]],
    bandwidth: int,
    failed: set[tuple[tuple[int, int], ...]],
) -> list[int] | None:
    """Return `order` with all blocks of `last`, each at its last position or before, or None."""
    if not last:
        return order
    position = len(order)
    due = sorted(last.items(), key=lambda item: item[1])
    if any(limit < position + k for k, (_, limit) in enumerate(due)):
        return None
    state = tuple(sorted((block, limit - position) for block, limit in last.items()))
    if state in failed:
        return None
    for block, _ in due:
        reach = distances[block]
        later = {
            other: min(limit, position + bandwidth * reach[other])
            for other, limit in last.items()
            if other != block
        }
        filled = _filled([*order, block], later, graph, distances, bandwidth, failed)
        if filled is not None:
            return filled
    failed.add(state)
    if len(failed) > _MOST_STATES:
        raise OrderingError(
            f"the exact bandwidth of {len(distances)} blocks takes too long to find; "
            "try a smaller mechanism"
        )
    return None
