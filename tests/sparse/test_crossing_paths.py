import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patterns import graph_pattern, pattern_of, patterns, shuffled

from sparsebody.ordering import order
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import dual_graph
from sparsebody.sparse.treewidth import admissible_front_bound, crossing_bound, exact_width


@settings(max_examples=60)
@given(pattern=patterns())
def test_no_order_of_the_dual_blocks_has_fewer_rows_in_its_fronts(pattern):
    rows = pattern.block_sizes[pattern.n_primal :]
    assert crossing_bound(pattern) <= exact_width(*dual_graph(pattern), rows)[0]


@settings(max_examples=20)
@given(rows=st.lists(st.integers(1, 5), min_size=12, max_size=12))
def test_nor_on_a_lattice_with_joints_of_all_sizes(rows):
    lattice = graph_pattern(nx.grid_2d_graph(3, 3))
    sizes = np.r_[lattice.block_sizes[:9], rows].astype(np.intp)
    lattice = BlockPattern(sizes, lattice.ends)
    assert 0 < crossing_bound(lattice) <= exact_width(*dual_graph(lattice), sizes[9:])[0]


@pytest.mark.parametrize("k", [3, 8, 20])
def test_a_square_lattice_has_fronts_as_wide_as_its_side(k):
    lattice = shuffled(graph_pattern(nx.grid_2d_graph(k, k), joint_size=3), 0)
    assert crossing_bound(lattice) >= 3 * k


def test_dissection_of_a_lattice_is_within_a_factor_of_two_of_the_narrowest_fronts():
    lattice = graph_pattern(nx.grid_2d_graph(24, 24), joint_size=3)
    bound = admissible_front_bound(lattice)
    assert bound >= 72
    cost = ordering_metrics(lattice, order(lattice, "nested-dissection"))
    assert cost.largest_front <= 2 * bound


def test_trees_and_mechanisms_without_joints_give_next_to_nothing():
    assert crossing_bound(pattern_of([], 3)) == 0
    assert crossing_bound(pattern_of([(-1, 0)], 1)) == 0
    assert crossing_bound(graph_pattern(nx.random_labeled_tree(30, seed=0))) <= 5
