"""Minimum fill among admissible orders, with a look ahead; and NetworkX's tree decompositions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

from sparsebody._core import ordering as kernels
from sparsebody.arrays import IntArray
from sparsebody.ordering.heuristics import leaves_then
from sparsebody.sparse.elimination_tree import postordered
from sparsebody.sparse.pattern import (
    BlockPattern,
    dual_graph,
    landmark_distances,
    with_primal_blocks,
)


def minimum_fill(pattern: BlockPattern) -> IntArray:
    """Eliminate next the joint that couples the fewest entries anew, tree parts leaves first.

    Admissible: a body comes right before its first joint. Among equals the one comes first after
    which a neighbour fills in least, then the one of the smallest front. Tinney and Walker (1967),
    scheme 3; Rothberg and Eisenstat (1998), SIAM J. Matrix Anal. 19, 3.
    """
    return leaves_then(pattern, lambda core, _: _core_order(core))


def _core_order(pattern: BlockPattern) -> IntArray:
    """Return an order of the core, joints sorted by distances of their bodies from landmarks."""
    if pattern.n_dual == 0:
        return np.arange(pattern.n_blocks, dtype=np.intp)
    distance = np.pad(landmark_distances(pattern), ((0, 1), (0, 0)))  # the last line: the world's
    ends = np.sort(distance[pattern.ends], axis=1).reshape(pattern.n_dual, -1)
    sequence = np.lexsort(ends.T[::-1]).astype(np.intp)
    size = pattern.block_sizes.copy()
    size[pattern.n_primal :] = size[pattern.n_primal :][sequence]
    graph = dual_graph(BlockPattern(size, pattern.ends[sequence]))
    joints = sequence[kernels.minimum_fill(graph, size[pattern.n_primal :])]
    return postordered(pattern, with_primal_blocks(pattern, joints))


Decompose = Callable[[Any], tuple[int, Any]]


def by_tree_decomposition(pattern: BlockPattern, decompose: Decompose) -> IntArray:
    """Eliminate the joints along a tree decomposition of their graph by NetworkX. Admissible.

    Tree parts come leaves first. Bodlaender and Koster (2010), Inf. Comput. 208, 3.
    """

    def order_core(core: BlockPattern, _: IntArray) -> IntArray:
        indptr, indices = dual_graph(core)
        first = np.repeat(np.arange(core.n_dual), np.diff(indptr))
        graph = nx.Graph()
        graph.add_nodes_from(range(core.n_dual))
        graph.add_edges_from(zip(first.tolist(), indices.tolist(), strict=True))
        joints = elimination_of(decompose(graph)[1]) if core.n_dual else []
        return postordered(core, with_primal_blocks(core, np.array(joints, dtype=np.intp)))

    return leaves_then(pattern, order_core)


def elimination_of(decomposition: Any) -> list[int]:
    """Return an order with fronts in the bags (frozensets of nodes) of a forest, leaves first."""
    tree = decomposition.copy()
    order: list[int] = []
    leaves = sorted((bag for bag in tree if tree.degree(bag) <= 1), key=sorted)
    done: set[int] = set()
    while leaves:
        bag = leaves.pop()
        if bag not in tree:
            continue
        inner = list(tree.neighbors(bag))
        next_bag = inner[0] if inner else frozenset()
        for node in sorted(bag - next_bag - done):
            order.append(node)
            done.add(node)
        tree.remove_node(bag)
        leaves.extend(other for other in inner if tree.degree(other) <= 1)
    return order
