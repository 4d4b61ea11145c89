import networkx as nx
import numpy as np
import pytest
from patterns import graph_pattern, pattern_of, shuffled

from sparsebody.ordering.sweeps import _fiedler_vector, _weights, spectral
from sparsebody.sparse.elimination_tree import ordering_metrics


@pytest.mark.parametrize("n_bodies", [20, 200])  # by a dense and by a sparse eigenvalue solver
def test_bodies_of_a_chain_come_one_after_the_other(n_bodies):
    pattern = shuffled(graph_pattern(nx.path_graph(n_bodies)), 3)
    assert (
        ordering_metrics(pattern, spectral(pattern)).block_bandwidth == 3
    )  # each joint after its later body


@pytest.mark.parametrize("graph", [nx.grid_2d_graph(5, 9), nx.grid_2d_graph(10, 12)])
def test_the_mode_is_that_of_the_second_eigenvalue(graph):
    weight = _weights(graph_pattern(graph, joint_size=3))
    mode = _fiedler_vector(weight, np.arange(float(len(graph))))
    laplacian = 3.0 * nx.laplacian_matrix(graph).toarray()
    values = np.linalg.eigvalsh(laplacian)
    np.testing.assert_allclose(laplacian @ mode, values[1] * mode, atol=1e-6)


def test_of_the_modes_of_a_square_numbering_does_not_choose():
    square = graph_pattern(nx.grid_2d_graph(9, 9))
    costs = [
        ordering_metrics(p, spectral(p)).flops for p in (shuffled(square, s) for s in range(4))
    ]
    assert max(costs) < 1.05 * min(costs)


def test_parts_pairs_and_single_bodies_are_sorted_apart():
    order = spectral(pattern_of([(0, 3), (1, 4)], 6))
    assert sorted(order) == list(range(8))
