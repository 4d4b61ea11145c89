"""Orders that heuristics are compared with: random, annealed, and exact for small patterns."""

from itertools import count

import networkx as nx
import numpy as np

from sparsebody._core import ordering as kernels
from sparsebody.arrays import IntArray
from sparsebody.errors import OrderingError
from sparsebody.ordering import heuristics
from sparsebody.sparse import elimination_tree, treewidth
from sparsebody.sparse.pattern import BlockPattern, Blocks, Graph, dual_graph, with_primal_blocks


def random_order(pattern: BlockPattern, seed: int = 0) -> IntArray:
    """Eliminate all bodies, then all joints, each shuffled with `seed`.

    Admissible, because every joint comes after all bodies. For research only.
    """
    generator = np.random.default_rng(seed)
    bodies = generator.permutation(pattern.n_primal)
    joints = pattern.n_primal + generator.permutation(pattern.n_dual)
    return np.concatenate([bodies, joints]).astype(np.intp)


def shuffled(pattern: Blocks) -> IntArray:
    """Eliminate the blocks of any symmetric pattern in a random sequence, always the same one."""
    return np.random.default_rng(0).permutation(pattern.n_blocks).astype(np.intp)


LARGEST_ANNEALED = 8_000  # blocks; two tables of n^2 for n joints in memory
_VISITS = 100  # default number of visits to joints in all, for each pair of joints ...
_MOST_VISITS = 30_000_000  # ... and at most: about 5 s
_VISITS_AT_ONCE = 200_000  # in less than 0.1 s


@heuristics.leaves_then
def annealed(pattern: BlockPattern, seed: int = 0, visits: int | None = None) -> IntArray:
    """Simulated annealing: moves of joints, and of runs of joints. Admissible.

    Starts from the best of minimum fill, dissection and a sweep, and returns the best order met.
    The same `seed` and number of `visits` give the same order. Kirkpatrick, Gelatt and Vecchi
    (1983).
    """
    tried = heuristics.minimum_fill, heuristics.nested_dissection, heuristics.pathwidth_sweep
    start = heuristics.fewest_flops(pattern, *(ordering(pattern) for ordering in tried))
    joints = start[start >= pattern.n_primal] - pattern.n_primal
    if len(joints) < 3:
        return start
    size = pattern.block_sizes[pattern.n_primal :]
    budget = min(_VISITS * len(joints) ** 2, _MOST_VISITS) if visits is None else visits
    joints = _anneal(dual_graph(pattern), size, joints, budget, np.random.default_rng(seed))
    return elimination_tree.postordered(pattern, with_primal_blocks(pattern, joints))


def _anneal(
    graph: Graph, size: IntArray, start: IntArray, visits: int, rng: np.random.Generator
) -> IntArray:
    """Return the best order of the nodes of a graph that was met."""
    bits = rng.bit_generator.capsule
    annealing = kernels.Annealing(graph, size, start, visits, bits)
    while annealing.run(_VISITS_AT_ONCE):  # an interrupt is noticed in between
        pass
    return annealing.best()


LARGEST_EXACT = 60  # blocks
_MOST_STATES = 300_000  # partial orders that the search for the least bandwidth looks at


@heuristics.leaves_then
def narrowest_fronts(pattern: BlockPattern) -> IntArray:
    """Return an admissible order whose largest front of a joint has the fewest rows possible.

    By the exact treewidth of the graph of the core's joints, weighted by rows. OrderingError beyond
    60 blocks of the core, or if the search takes too long.
    """
    _check_size(pattern, "width of fronts")
    joints = treewidth.exact_width(*dual_graph(pattern), pattern.block_sizes[pattern.n_primal :])[1]
    return elimination_tree.postordered(pattern, with_primal_blocks(pattern, joints))


def least_bandwidth(pattern: BlockPattern) -> IntArray:
    """Return an order of all blocks in which coupled ones are as near to each other as possible.

    Not admissible: joints stand between their bodies. Orders are built from the left and abandoned
    when too many blocks are due. OrderingError beyond 60 blocks, or if the search takes too long.
    Saxe (1980), SIAM J. Algebr. Discrete Methods 1:363; Del Corso and Manzini (1999).
    """
    _check_size(pattern, "bandwidth")
    graph = nx.Graph({k: pattern.neighbours(k).tolist() for k in range(pattern.n_blocks)})
    distances: dict[int, dict[int, int]] = dict(nx.all_pairs_shortest_path_length(graph))
    order: list[int] = []
    for part in nx.connected_components(graph):
        order += _part_of_least_bandwidth(list(distances[min(part)]), distances)
    return np.array(order, dtype=np.intp)


def _check_size(pattern: BlockPattern, what: str) -> None:
    """Raise OrderingError where an exact search would hardly end."""
    if pattern.n_blocks > LARGEST_EXACT:
        raise OrderingError(
            f"the exact {what} of {pattern.n_blocks} blocks would take too long to find; "
            f"it is for {LARGEST_EXACT} blocks at most"
        )


def _part_of_least_bandwidth(part: list[int], distances: dict[int, dict[int, int]]) -> list[int]:
    """Try one bandwidth after the other for a connected part."""
    density = (  # all within a distance d of a block lie within d bandwidths of it
        -(-(sum(d <= radius for d in distances[block].values()) - 1) // (2 * radius))
        for block in part
        for radius in range(1, max(distances[block].values()) + 1)
    )
    failed: set[tuple[tuple[int, int], ...]] = set()

    def filled(order: list[int], last: dict[int, int]) -> list[int] | None:
        """Return `order` with all blocks of `last`, each at its last position or before."""
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
            if (complete := filled([*order, block], later)) is not None:
                return complete
        failed.add(state)
        if len(failed) > _MOST_STATES:
            raise OrderingError(
                f"the exact bandwidth of {len(distances)} blocks takes too long to find; "
                "try a smaller mechanism"
            )
        return None

    for bandwidth in count(max(density, default=0)):
        failed.clear()
        for first in sorted(part, key=lambda block: -max(distances[block].values())):
            last = {block: bandwidth * d for block, d in distances[first].items() if d > 0}
            if (order := filled([first], last)) is not None:
                return order
    raise AssertionError("a large enough bandwidth always does")
