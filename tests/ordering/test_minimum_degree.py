import networkx as nx
import pytest
from patterns import graph_pattern, ladder, pattern_of, shuffled

from sparsebody.ordering.minimum_degree import leaves_first, minimum_degree
from sparsebody.ordering.references import natural
from sparsebody.sparse.elimination_tree import ordering_metrics


def flops(pattern, ordering=minimum_degree):
    return ordering_metrics(pattern, ordering(pattern)).flops


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_costs_as_much_as_the_articulated_body_algorithm(seed):
    tree = shuffled(graph_pattern(nx.random_labeled_tree(300, seed=seed)), seed)
    assert flops(tree) == pytest.approx(flops(tree, leaves_first), rel=0.01)


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (ladder(200), ladder(2_000)),
        (graph_pattern(nx.cycle_graph(300)), graph_pattern(nx.cycle_graph(3_000))),
        (graph_pattern(nx.grid_2d_graph(3, 100)), graph_pattern(nx.grid_2d_graph(3, 1_000))),
    ],
)
def test_cost_grows_in_proportion_where_the_width_is_bounded(small, large):
    assert flops(shuffled(large, 0)) < 12 * flops(shuffled(small, 1))


def test_a_lattice_costs_far_less_than_in_natural_order():
    lattice = graph_pattern(nx.grid_2d_graph(32, 32))
    assert flops(lattice) < 0.35 * flops(lattice, natural)


def test_numbering_changes_the_cost_of_a_lattice_by_less_than_a_third():
    lattice = graph_pattern(nx.grid_2d_graph(32, 32))
    costs = [flops(shuffled(lattice, seed)) for seed in range(6)]
    assert max(costs) < 1.33 * min(costs)


def test_thin_joints_are_eliminated_so_that_wide_fronts_come_late():
    wheel = pattern_of([(0, k) for k in range(1, 9)] + [(k, k % 8 + 1) for k in range(1, 9)], 9)
    assert ordering_metrics(wheel, minimum_degree(wheel)).largest_front <= 50
