import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from patterns import graph_pattern, ladder, patterns, shuffled

from sparsebody.errors import OrderingError
from sparsebody.ordering import ORDERINGS, order
from sparsebody.ordering.references import least_bandwidth, narrowest_fronts
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.treewidth import exact_width


def bandwidth(pattern):
    return ordering_metrics(pattern, least_bandwidth(pattern)).block_bandwidth


@settings(max_examples=40)
@given(pattern=patterns(max_bodies=3, max_joints=4))
def test_no_order_has_a_smaller_bandwidth(pattern):
    orders = itertools.permutations(range(pattern.n_blocks))
    least = min(ordering_metrics(pattern, np.array(o, dtype=int)).block_bandwidth for o in orders)
    assert bandwidth(pattern) == least


@pytest.mark.parametrize("n_rungs", [3, 6, 11])
def test_no_order_of_the_ladder_is_narrower_than_figure_8_4(n_rungs):
    assert bandwidth(shuffled(ladder(n_rungs), 0)) == 3
    level_sweep = order(ladder(n_rungs), "level-sweep")
    assert ordering_metrics(ladder(n_rungs), level_sweep).block_bandwidth == 3


@pytest.mark.parametrize(
    ("graph", "width"),
    [
        (nx.path_graph(20), 1),
        (nx.cycle_graph(20), 2),
        (nx.grid_2d_graph(2, 2), 2),
        (nx.grid_2d_graph(3, 3), 4),
    ],
)
def test_the_least_bandwidth_of_known_graphs(graph, width):
    assert bandwidth(graph_pattern(graph)) == width


@pytest.mark.parametrize(
    ("graph", "width"),
    [
        (nx.random_labeled_tree(30, seed=0), 1),
        (nx.cycle_graph(20), 2),
        (nx.ladder_graph(10), 2),
        (nx.complete_graph(6), 5),
        *((nx.grid_2d_graph(k, k), k) for k in range(2, 6)),
    ],
)
def test_the_treewidth_of_known_graphs(graph, width):
    pattern = graph_pattern(graph)
    width_and_pivot, _ = exact_width(*pattern.adjacency, np.ones(pattern.n_blocks, dtype=np.intp))
    assert width_and_pivot == width + 1


@pytest.mark.parametrize("graph", [nx.grid_2d_graph(3, 4), nx.complete_graph(5), nx.cycle_graph(9)])
def test_no_admissible_ordering_has_a_narrower_front(graph):
    pattern = graph_pattern(graph, joint_size=3)
    least = ordering_metrics(pattern, narrowest_fronts(pattern)).largest_front
    for name in ("minimum-fill", "minimum-degree", "nested-dissection", "sloan", "pathwidth-sweep"):
        assert ordering_metrics(pattern, order(pattern, name)).largest_front >= least


@pytest.mark.parametrize("search", [least_bandwidth, narrowest_fronts])
def test_large_mechanisms_are_refused(search):
    with pytest.raises(OrderingError, match=r"of 98 blocks.*60 blocks at most"):
        search(ladder(20))


def test_the_table_knows_how_large_is_too_large():
    with pytest.raises(OrderingError, match=r"exact-bandwidth takes 60 bodies and joints at most"):
        order(ladder(20), "exact-bandwidth")
    assert ORDERINGS["exact-treewidth"].largest == 60
