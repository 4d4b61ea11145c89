import networkx as nx
import numpy as np
import pytest
from patterns import graph_pattern, ladder, metrics, pattern_of, shuffled

from sparsebody.ordering.reference_orders import natural
from sparsebody.ordering.sweeps import (
    _fiedler_vector,
    _weights,
    level_sweep,
    pathwidth_sweep,
    reverse_cuthill_mckee,
    sloan,
    spectral,
)
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.pattern import check_order


@pytest.mark.parametrize(
    ("pattern", "width"),
    [
        (graph_pattern(nx.path_graph(100)), 4),
        (graph_pattern(nx.cycle_graph(100)), 8),
        (ladder(100), 20),
    ],
)
def test_band_does_not_grow_with_the_length(pattern, width):
    for seed in range(3):
        result = metrics(shuffled(pattern, seed), reverse_cuthill_mckee)
        assert result.block_bandwidth <= width


@pytest.mark.parametrize("graph", [nx.path_graph(60), nx.cycle_graph(60), nx.grid_2d_graph(4, 20)])
def test_the_profile_is_nearly_that_of_cuthill_and_mckee_or_smaller(graph):
    pattern = shuffled(graph_pattern(graph), 1)
    band = metrics(pattern, reverse_cuthill_mckee)
    assert metrics(pattern, sloan).profile <= 1.1 * band.profile


def test_fronts_of_a_ladder_do_not_grow_with_its_length():
    short, long = (metrics(shuffled(ladder(n), 0), sloan) for n in (20, 200))
    assert short.largest_front == long.largest_front
    assert long.profile < 0.2 * metrics(ladder(200), natural).profile


@pytest.mark.parametrize("n_bodies", [20, 200])  # by a dense and by a sparse eigenvalue solver
def test_bodies_of_a_chain_come_one_after_the_other(n_bodies):
    pattern = shuffled(graph_pattern(nx.path_graph(n_bodies)), 3)
    assert metrics(pattern, spectral).block_bandwidth == 3  # each joint after its later body


@pytest.mark.parametrize("graph", [nx.grid_2d_graph(5, 9), nx.grid_2d_graph(10, 12)])
def test_the_mode_is_that_of_the_second_eigenvalue(graph):
    weight = _weights(graph_pattern(graph, joint_size=3))
    mode = _fiedler_vector(weight, np.arange(float(len(graph))))
    laplacian = 3.0 * nx.laplacian_matrix(graph).toarray()
    values = np.linalg.eigvalsh(laplacian)
    np.testing.assert_allclose(laplacian @ mode, values[1] * mode, atol=1e-6)


def test_of_the_modes_of_a_square_numbering_does_not_choose():
    square = graph_pattern(nx.grid_2d_graph(9, 9))
    costs = [metrics(shuffled(square, seed), spectral).flops for seed in range(4)]
    assert max(costs) < 1.05 * min(costs)


def test_parts_pairs_and_single_bodies_are_sorted_apart():
    order = spectral(pattern_of([(0, 3), (1, 4)], 6))
    assert sorted(order) == list(range(8))


@pytest.mark.parametrize(
    ("graph", "joints"),
    [(nx.path_graph(30), 2), (nx.cycle_graph(30), 3), (nx.grid_2d_graph(3, 20), 6)],
)
def test_as_many_joints_are_in_flight_as_the_mechanism_is_wide(graph, joints):
    pattern = shuffled(graph_pattern(graph), 0)
    assert metrics(pattern, pathwidth_sweep).largest_front <= 5 * joints + 6


def test_sweeps_of_wide_ladders_cost_less_than_bands_and_grow_in_proportion():
    pattern = shuffled(graph_pattern(nx.grid_2d_graph(6, 60)), 0)
    band = metrics(pattern, reverse_cuthill_mckee).flops
    assert metrics(pattern, pathwidth_sweep).flops < 0.9 * band
    short, long = (metrics(ladder(n), pathwidth_sweep).flops for n in (30, 300))
    assert long < 10.5 * short


def bandwidth(pattern):
    return metrics(pattern, level_sweep).block_bandwidth


@pytest.mark.parametrize("n_rungs", [3, 6, 50])
@pytest.mark.parametrize("seed", [0, 1])
def test_ladder_is_ordered_as_in_figure_8_4(n_rungs, seed):
    pattern = shuffled(ladder(n_rungs), seed)
    order = level_sweep(pattern)
    assert len(order) == 5 * n_rungs - 2
    assert ordering_metrics(pattern, order).block_bandwidth == 3
    number = {}  # bodies as in the figure: 1, 2 the first rung, 3, 4 the second
    for block in order[order < pattern.n_primal]:
        number[block] = len(number) + 1
    result = []
    for block in order:
        bodies = [block] if block in number else pattern.ends[block - pattern.n_primal]
        result.append("".join(str(number[body]) for body in sorted(bodies, key=number.get)))
    assert result[:10] == ["1", "2", "12", "13", "24", "3", "4", "34", *result[8:10]]
    if n_rungs == 3:
        assert result == ["1", "2", "12", "13", "24", "3", "4", "34", "35", "46", "5", "6", "56"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("graph", "width"),
    [
        (nx.path_graph(40), 1),
        (nx.cycle_graph(40), 3),
        (nx.grid_2d_graph(3, 30), 6),
        (nx.disjoint_union(nx.path_graph(7), nx.cycle_graph(9)), 3),
    ],
)
def test_band_stays_narrow_whatever_the_numbering(graph, width, seed):
    assert bandwidth(shuffled(graph_pattern(graph), seed)) <= width


def test_joints_to_the_world_follow_their_body():
    order = level_sweep(pattern_of([(-1, 0), (0, 1), (1, 2), (2, -1)], 3)).tolist()
    assert order.index(3) == order.index(0) + 1
    assert order.index(6) == order.index(2) + 1


def test_parallel_joints_and_isolated_bodies_are_placed():
    pattern = pattern_of([(0, 1), (1, 0), (0, 1)], 4)
    check_order(pattern, level_sweep(pattern))
    assert bandwidth(pattern) == 3


def test_hubs_long_ladders_and_many_parts_keep_their_band():
    star = graph_pattern(nx.star_graph(3_000))  # of whose bodies some are tried only
    check_order(star, level_sweep(star))
    assert bandwidth(ladder(100_000)) == 3
    pairs = np.arange(20_000).reshape(-1, 2)
    assert bandwidth(pattern_of(pairs, 20_000)) == 1
