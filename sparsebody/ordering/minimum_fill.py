"""Minimum fill among admissible orders, with a look ahead; and NetworkX's tree decompositions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
from networkx.algorithms.approximation import treewidth_min_degree, treewidth_min_fill_in

from sparsebody._core import ordering as kernels
from sparsebody.arrays import IntArray
from sparsebody.ordering.minimum_degree import leaves_then
from sparsebody.sparse.elimination_tree import postordered
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import dual_graph, landmark_distances, with_primal_blocks


def minimum_fill(pattern: BlockPattern) -> IntArray:
    """Eliminate next the joint that couples the fewest entries anew, tree parts leaves first.

    Admissible: a body comes right before its first joint. Among several that fill in equally little
    the one comes first after which a neighbour fills in least, then the one of the smallest front.
    The graph is stored as rows of bits: n^2 / 8 bytes for n joints, and time in proportion to the
    squares of the fronts. Tinney and Walker (1967), scheme 3; Rothberg and Eisenstat (1998), SIAM
    J. Matrix Anal. 19, 3.
    """
    return leaves_then(pattern, lambda core, _: _core_order(core))


def _core_order(pattern: BlockPattern) -> IntArray:
    """Return an order of the blocks of a mechanism without tree parts.

    Its joints are sorted first by where they are, however they are numbered: by the distances of
    their bodies from landmarks.
    """
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


def treewidth_by_degree(pattern: BlockPattern) -> IntArray:
    """Eliminate the joints along a tree decomposition found by minimum degree.

    Joints count as one each, whatever their rows. Tree parts come leaves first. Admissible.
    Bodlaender and Koster (2010), Inf. Comput. 208, 3; NetworkX, treewidth_min_degree.
    """
    return _by(pattern, treewidth_min_degree)


def treewidth_by_fill(pattern: BlockPattern) -> IntArray:
    """Eliminate the joints along a tree decomposition found by minimum fill.

    Otherwise as `treewidth_by_degree`. Bodlaender and Koster (2010), Inf. Comput. 208, 3; NetworkX,
    treewidth_min_fill_in.
    """
    return _by(pattern, treewidth_min_fill_in)


def _by(pattern: BlockPattern, decompose: Callable[[Any], tuple[int, Any]]) -> IntArray:
    """Order the core by the decomposition of its graph of joints."""

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
    """Return an order whose fronts lie in the bags (frozensets of nodes) of a tree or a forest.

    Leaves go first, with the nodes in no other bag.
    """
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
