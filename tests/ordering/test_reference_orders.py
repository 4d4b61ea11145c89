import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from patterns import graph_pattern, ladder, metrics, patterns, shuffled

from sparsebody.errors import OrderingError
from sparsebody.ordering import ORDERINGS, is_admissible, order
from sparsebody.ordering.heuristics import natural
from sparsebody.ordering.reference_orders import (
    _anneal,
    annealed,
    least_bandwidth,
    narrowest_fronts,
    random_order,
)
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.pattern import dual_graph


def test_natural_is_the_order_of_the_numbers():
    np.testing.assert_array_equal(natural(ladder(3)), np.arange(13))


def test_each_seed_gives_its_own_order_with_all_bodies_first():
    pattern = ladder(10)
    first, second = random_order(pattern), random_order(pattern, seed=1)
    assert not np.array_equal(first, second)
    assert set(first[:20]) == set(second[:20]) == set(range(20))


def flops(pattern, result):
    return ordering_metrics(pattern, result).flops


@settings(max_examples=40)
@given(pattern=patterns())
def test_the_order_found_costs_no_more_than_those_it_starts_from(pattern):
    result = annealed(pattern, visits=500)
    assert is_admissible(pattern, result)
    for name in ("minimum-fill", "nested-dissection", "pathwidth-sweep"):
        assert flops(pattern, result) <= flops(pattern, order(pattern, name)) + 1e-9


def test_small_lattices_are_solved_to_the_optimum_from_the_worst_start():
    pattern = graph_pattern(nx.grid_2d_graph(3, 3), joint_size=3)
    rows = np.ascontiguousarray(pattern.block_sizes[pattern.n_primal :])
    rng = np.random.default_rng(1)
    starts = [rng.permutation(pattern.n_dual) for _ in range(3)]
    bodies = np.arange(pattern.n_primal)
    costs = set()
    for start in starts:
        joints = _anneal(dual_graph(pattern), rows, start, 300_000, rng)
        costs.add(flops(pattern, np.r_[bodies, pattern.n_primal + joints]))
    assert costs == {flops(pattern, annealed(pattern))}


def test_a_seed_and_a_budget_give_one_order():
    pattern = graph_pattern(nx.grid_2d_graph(6, 6))
    first, again, other = (annealed(pattern, seed, 50_000) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def bandwidth(pattern):
    return metrics(pattern, least_bandwidth).block_bandwidth


@settings(max_examples=40)
@given(pattern=patterns(max_bodies=3, max_joints=4))
def test_no_order_has_a_smaller_bandwidth(pattern):
    orders = itertools.permutations(range(pattern.n_blocks))
    least = min(ordering_metrics(pattern, np.array(o, dtype=int)).block_bandwidth for o in orders)
    assert bandwidth(pattern) == least


@pytest.mark.parametrize(
    ("pattern", "width"),
    [
        *((shuffled(ladder(n_rungs), 0), 3) for n_rungs in (3, 6, 11)),  # figure 8.4
        (graph_pattern(nx.path_graph(20)), 1),
        (graph_pattern(nx.cycle_graph(20)), 2),
        (graph_pattern(nx.grid_2d_graph(2, 2)), 2),
        (graph_pattern(nx.grid_2d_graph(3, 3)), 4),
    ],
)
def test_the_least_bandwidth_of_known_graphs(pattern, width):
    assert bandwidth(pattern) == width


@pytest.mark.parametrize("graph", [nx.grid_2d_graph(3, 4), nx.complete_graph(5), nx.cycle_graph(9)])
def test_no_admissible_ordering_has_a_narrower_front(graph):
    pattern = graph_pattern(graph, joint_size=3)
    least = metrics(pattern, narrowest_fronts).largest_front
    for name in ("minimum-fill", "minimum-degree", "nested-dissection", "sloan", "pathwidth-sweep"):
        assert metrics(pattern, order, name).largest_front >= least


@pytest.mark.parametrize("search", [least_bandwidth, narrowest_fronts])
def test_large_mechanisms_are_refused(search):
    with pytest.raises(OrderingError, match=r"of 98 blocks.*60 blocks at most"):
        search(ladder(20))
    with pytest.raises(OrderingError, match=r"exact-bandwidth takes 60 bodies and joints at most"):
        order(ladder(20), "exact-bandwidth")
    assert ORDERINGS["exact-treewidth"].largest == 60
