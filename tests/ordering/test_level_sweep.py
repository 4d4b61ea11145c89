import networkx as nx
import numpy as np
import pytest
from patterns import graph_pattern, ladder, pattern_of, shuffled

from sparsebody.ordering.sweeps import level_sweep
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.pattern import check_order


def bandwidth(pattern):
    return ordering_metrics(pattern, level_sweep(pattern)).block_bandwidth


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
    found = []
    for block in order:
        bodies = [block] if block in number else pattern.ends[block - pattern.n_primal]
        found.append("".join(str(number[body]) for body in sorted(bodies, key=number.get)))
    assert found[:10] == ["1", "2", "12", "13", "24", "3", "4", "34", *found[8:10]]
    if n_rungs == 3:
        assert found == ["1", "2", "12", "13", "24", "3", "4", "34", "35", "46", "5", "6", "56"]


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


def test_starting_from_a_hub_tries_some_neighbours_only():
    pattern = graph_pattern(nx.star_graph(3_000))
    check_order(pattern, level_sweep(pattern))


def test_half_a_million_blocks_keep_their_band():
    assert bandwidth(ladder(100_000)) == 3


def test_many_separate_parts_are_swept_one_after_the_other():
    pairs = np.arange(20_000).reshape(-1, 2)
    assert bandwidth(pattern_of(pairs, 20_000)) == 1
