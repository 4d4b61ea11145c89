import networkx as nx
import numpy as np
import pytest
from patterns import graph_pattern, ladder, networkx_graph, pattern_of

from sparsebody.sparse.searches import sampled


@pytest.mark.parametrize("pattern", [ladder(400), graph_pattern(nx.grid_2d_graph(30, 30))])
def test_pieces_are_connected_and_as_large_as_asked_for(pattern) -> None:
    sample = sampled(pattern, n_pieces=3, n_blocks=50)
    assert sample.n_primal == 150
    parts = sorted(map(len, nx.connected_components(networkx_graph(sample))))
    assert parts == [50, 50, 50] or len(parts) < 3  # pieces may touch


def test_a_sample_of_a_tree_has_no_loop() -> None:
    tree = graph_pattern(nx.random_labeled_tree(2000, seed=1))
    assert nx.is_forest(networkx_graph(sampled(tree)))


def test_joints_to_the_world_are_kept_and_those_that_lead_out_are_not() -> None:
    ends = [(k, k + 1) for k in range(99)] + [(-1, k) for k in range(100)]
    sample = sampled(pattern_of(ends, 100), n_pieces=1, n_blocks=10)
    assert np.count_nonzero((sample.ends < 0).any(axis=1)) == 10
    assert sample.n_dual == 19


def test_a_small_mechanism_is_its_own_sample() -> None:
    pattern = ladder(5)
    sample = sampled(pattern)
    assert (sample.n_primal, sample.n_dual) == (pattern.n_primal, pattern.n_dual)
