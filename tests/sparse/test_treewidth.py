import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patterns import eliminated, graph_pattern, patterns

import sparsebody as sb
from sparsebody.errors import OrderingError
from sparsebody.ordering import order
from sparsebody.sparse import treewidth
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.pattern import dual_graph
from sparsebody.sparse.treewidth import admissible_front_bound, crossing_bound, exact_width


def treewidth_bound(pattern):
    """A lower bound of the treewidth: the front bound with one row per block, minus one."""
    ones = np.ones_like(pattern.block_sizes)
    return treewidth.front_bound(sb.BlockPattern(ones, pattern.ends)) - 1


@settings(max_examples=40)
@given(pattern=patterns(max_bodies=3, max_joints=3))
def test_the_exact_width_is_the_least_over_all_orders(pattern):
    n, size = pattern.n_blocks, pattern.block_sizes
    ones = np.ones(n, dtype=np.intp)
    best = best_rows = 10**9 if n else 0
    for sequence in map(np.array, itertools.permutations(range(n))):
        columns = eliminated(pattern, sequence)
        fronts = [[i, *columns[i]] for i in range(n)]
        best = min(best, max(map(len, fronts), default=0))
        best_rows = min(best_rows, max((size[sequence[f]].sum() for f in fronts), default=0))
    assert exact_width(*pattern.adjacency, ones)[0] == best
    width, order = exact_width(*pattern.adjacency, size)
    assert width == best_rows
    assert treewidth.front_bound(pattern) <= width
    columns = eliminated(pattern, order)
    assert width == max((size[order[[i, *columns[i]]]].sum() for i in range(n)), default=0)


@pytest.mark.parametrize(
    ("graph", "width"),
    [
        (nx.random_labeled_tree(40, seed=3), 1),
        (nx.cycle_graph(30), 2),
        (nx.complete_graph(6), 5),
        (nx.grid_2d_graph(3, 12), 3),
        (nx.ladder_graph(2), 2),
        (nx.ladder_graph(50), 2),
    ],
)
def test_the_bound_is_the_treewidth_where_that_is_known(graph, width):
    assert treewidth_bound(graph_pattern(graph)) == width


def test_a_large_mechanism_is_bounded_by_a_part_of_it_and_by_crossing_paths():
    lattice = graph_pattern(nx.grid_2d_graph(60, 60))
    # the least degree of a minor: at most 5 in planar graphs, although the treewidth is 60
    assert treewidth_bound(lattice) >= 4
    assert admissible_front_bound(lattice) >= 300  # 60 crossing paths of 5 rows


def test_a_search_that_would_not_end_is_given_up(monkeypatch):
    monkeypatch.setattr(treewidth, "_MOST_SETS", 3)
    pattern = graph_pattern(nx.random_regular_graph(5, 12, seed=0))
    with pytest.raises(OrderingError, match=r"graph of 42 nodes takes more than 3 sets.*smaller"):
        exact_width(*pattern.adjacency, np.ones(pattern.n_blocks, dtype=np.intp))


@settings(max_examples=60)
@given(pattern=patterns())
def test_the_crossing_bound_holds_for_the_best_order_of_the_dual_blocks(pattern):
    rows = pattern.block_sizes[pattern.n_primal :]
    assert crossing_bound(pattern) <= exact_width(*dual_graph(pattern), rows)[0]


@settings(max_examples=20)
@given(rows=st.lists(st.integers(1, 5), min_size=12, max_size=12))
def test_the_crossing_bound_holds_on_a_lattice_with_joints_of_all_sizes(rows):
    ends = graph_pattern(nx.grid_2d_graph(3, 3)).ends
    lattice = sb.BlockPattern(np.r_[np.full(9, 6), rows].astype(np.intp), ends)
    width = exact_width(*dual_graph(lattice), lattice.block_sizes[9:])[0]
    assert 0 < crossing_bound(lattice) <= width


def test_dissection_of_a_lattice_is_within_a_factor_of_two_of_the_narrowest_fronts():
    lattice = graph_pattern(nx.grid_2d_graph(24, 24), joint_size=3)
    bound = admissible_front_bound(lattice)
    assert bound >= 72
    cost = ordering_metrics(lattice, order(lattice, "nested-dissection"))
    assert cost.largest_front <= 2 * bound
