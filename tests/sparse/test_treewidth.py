import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from patterns import eliminated, graph_pattern, ladder, patterns

from sparsebody.errors import OrderingError
from sparsebody.sparse import treewidth
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.treewidth import (
    admissible_front_bound,
    exact_width,
    front_bound,
)


def treewidth_bound(pattern):
    """The bound of fronts with one row a block, less the pivot's."""
    return front_bound(BlockPattern(np.ones_like(pattern.block_sizes), pattern.ends)) - 1


@settings(max_examples=40)
@given(pattern=patterns(max_bodies=3, max_joints=3))
def test_the_exact_width_is_the_least_over_all_orders(pattern):
    n, size = pattern.n_blocks, pattern.block_sizes
    ones = np.ones(n, dtype=np.intp)
    best = best_rows = 10**9 if n else 0
    for order in map(np.array, itertools.permutations(range(n))):
        columns = eliminated(pattern, order)
        fronts = [[i, *columns[i]] for i in range(n)]
        best = min(best, max(map(len, fronts), default=0))
        best_rows = min(best_rows, max((size[order[f]].sum() for f in fronts), default=0))
    assert exact_width(*pattern.adjacency, ones)[0] == best
    width, order = exact_width(*pattern.adjacency, size)
    assert width == best_rows
    assert front_bound(pattern) <= width
    columns = eliminated(pattern, order)
    assert width == max((size[order[[i, *columns[i]]]].sum() for i in range(n)), default=0)


@pytest.mark.parametrize(
    ("graph", "width"),
    [
        (nx.random_labeled_tree(40, seed=3), 1),
        (nx.cycle_graph(30), 2),
        (nx.complete_graph(6), 5),
        (nx.grid_2d_graph(3, 12), 3),
    ],
)
def test_the_bound_is_the_treewidth_where_that_is_known(graph, width):
    assert treewidth_bound(graph_pattern(graph)) == width


def test_ladders_have_treewidth_two_at_any_length():
    assert {treewidth_bound(ladder(n)) for n in (2, 5, 50)} == {2}


def test_a_large_mechanism_is_bounded_by_a_part_of_it():
    lattice = graph_pattern(nx.grid_2d_graph(60, 60))
    assert treewidth_bound(lattice) >= 4  # a planar graph, and its minors: 5 at most
    assert admissible_front_bound(lattice) >= 26  # a body and its four joints


def test_a_search_that_would_not_end_is_given_up(monkeypatch):
    monkeypatch.setattr(treewidth, "_MOST_SETS", 3)
    pattern = graph_pattern(nx.random_regular_graph(5, 12, seed=0))
    with pytest.raises(OrderingError, match=r"graph of 42 nodes takes more than 3 sets.*smaller"):
        exact_width(*pattern.adjacency, np.ones(pattern.n_blocks, dtype=np.intp))
