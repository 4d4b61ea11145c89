import networkx as nx
import pytest
from patterns import graph_pattern, ladder, shuffled

from sparsebody.ordering.sweeps import pathwidth_sweep, reverse_cuthill_mckee
from sparsebody.sparse.elimination_tree import ordering_metrics


@pytest.mark.parametrize(
    ("graph", "joints"),
    [(nx.path_graph(30), 2), (nx.cycle_graph(30), 3), (nx.grid_2d_graph(3, 20), 6)],
)
def test_as_many_joints_are_in_flight_as_the_mechanism_is_wide(graph, joints):
    pattern = shuffled(graph_pattern(graph), 0)
    front = ordering_metrics(pattern, pathwidth_sweep(pattern)).largest_front
    assert front <= 5 * joints + 6


def test_wide_ladders_cost_less_than_by_cuthill_and_mckee():
    pattern = shuffled(graph_pattern(nx.grid_2d_graph(6, 60)), 0)
    sweep, band = (
        ordering_metrics(pattern, f(pattern)).flops
        for f in (pathwidth_sweep, reverse_cuthill_mckee)
    )
    assert sweep < 0.9 * band


def test_cost_grows_in_proportion_to_a_ladder():
    costs = [ordering_metrics(p, pathwidth_sweep(p)).flops for p in (ladder(30), ladder(300))]
    assert costs[1] < 10.5 * costs[0]
