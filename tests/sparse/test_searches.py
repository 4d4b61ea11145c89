"""Searches of the graph of bodies, compared with NetworkX and SciPy."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patterns import eliminated, graph_pattern, networkx_graph, pattern_of, patterns, shuffled
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sparsebody.sparse import pattern as searches


def test_halves_of_a_path_are_paths():
    labels = np.random.default_rng(0).permutation(64)
    ends = np.stack([labels[:-1], labels[1:]], axis=1)
    position = np.argsort(labels)[searches.bisected(pattern_of(ends, 64))]
    for parts in (2, 4, 8, 16):
        for part in np.split(position, parts):
            assert np.ptp(part) == len(part) - 1


def test_the_halves_of_a_long_grid_share_a_short_side():
    pattern = graph_pattern(nx.grid_2d_graph(6, 50))
    half = np.zeros(300, dtype=bool)
    half[searches.bisected(pattern)[:150]] = True
    assert np.count_nonzero(half[pattern.ends[:, 0]] != half[pattern.ends[:, 1]]) <= 12


def partition(component):
    return {frozenset(np.flatnonzero(component == c).tolist()) for c in set(component.tolist())}


@pytest.mark.parametrize("seed", range(30))
def test_components_of_random_graphs_are_those_of_networkx(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 15))
    pairs = {
        tuple(sorted(rng.integers(-1, n, 2).tolist())) for _ in range(int(rng.integers(1, 25)))
    }
    ends = np.array([pair for pair in sorted(pairs) if pair[0] != pair[1]])
    edge_of = {tuple(pair): e for e, pair in enumerate(ends.tolist())}
    expected = {
        frozenset(edge_of[tuple(sorted(edge))] for edge in edges)
        for edges in nx.biconnected_component_edges(nx.Graph(list(edge_of)))
    }
    swapped = np.where(rng.random((len(ends), 1)) < 0.5, ends, ends[:, ::-1])
    assert partition(searches.biconnected_components(pattern_of(swapped, n))) == expected


def test_parallel_edges_are_one_component_and_loops_on_one_node_are_alone():
    ends = [(-1, 0), (0, 1), (1, 0), (1, 1), (-1, -1)]
    component = searches.biconnected_components(pattern_of(ends, 2))
    assert partition(component) == {frozenset(s) for s in ({0}, {1, 2}, {3}, {4})}


def test_a_deep_tree_needs_no_recursion():
    n = 100_000
    ends = np.column_stack([np.arange(-1, n - 1), np.arange(n)])
    assert len(np.unique(searches.biconnected_components(pattern_of(ends, n)))) == n


@given(pattern=patterns())
def test_each_column_holds_the_distances_from_one_block_of_each_part(pattern):
    graph, distance = networkx_graph(pattern), searches.landmark_distances(pattern, 3)
    for part in map(sorted, nx.connected_components(graph)):
        offset = distance[part].min()
        for column in (distance[part] - offset).T.astype(int):
            columns = [[nx.shortest_path_length(graph, a, b) for b in part] for a in part]
            assert column.tolist() in columns


def test_the_first_landmarks_of_a_lattice_are_opposite_corners():
    lattice = graph_pattern(nx.grid_2d_graph(5, 5))
    first, second = searches.landmark_distances(lattice, 2).argmin(axis=0)
    assert {first, second} in ({0, 24}, {4, 20})


def bandwidth(pattern, order):
    position, joined = np.argsort(order), pattern.ends[(pattern.ends >= 0).all(axis=1)]
    return int(np.abs(np.diff(position[joined], axis=1)).max(initial=0))


@given(pattern=patterns())
def test_the_other_end_of_every_joint_of_a_body_is_listed(pattern):
    indptr, beyond = searches.primal_graph(pattern)
    for body in range(pattern.n_primal):
        joints = pattern.neighbours(body) - pattern.n_primal
        expected = [next((b for b in pattern.ends[j] if b != body), -1) for j in joints]
        np.testing.assert_array_equal(beyond[indptr[body] : indptr[body + 1]], expected)


@given(pattern=patterns())
def test_every_part_is_listed_in_one_piece_and_breadth_first(pattern):
    order, graph = searches.cuthill_mckee(pattern), networkx_graph(pattern)
    assert sorted(order) == sorted(searches.bisected(pattern)) == list(range(pattern.n_primal))
    begin = 0
    while begin < len(order):
        distance = nx.single_source_shortest_path_length(graph, int(order[begin]))
        part = order[begin : begin + len(distance)].tolist()
        assert set(part) == set(distance)
        assert [distance[b] for b in part] == sorted(distance.values())
        begin += len(distance)


@pytest.mark.parametrize(
    "pattern",
    [
        graph_pattern(nx.path_graph(60)),
        graph_pattern(nx.cycle_graph(60)),
        graph_pattern(nx.grid_2d_graph(6, 20)),
        graph_pattern(nx.ladder_graph(50)),
    ],
)
def test_the_band_is_as_narrow_as_that_of_scipy_however_blocks_are_numbered(pattern):
    for seed in range(3):
        renumbered = shuffled(pattern, seed)
        nodes = range(renumbered.n_primal)
        graph = nx.to_scipy_sparse_array(networkx_graph(renumbered), nodes, format="csr")
        scipy_order = reverse_cuthill_mckee(graph, symmetric_mode=True)
        result = bandwidth(renumbered, searches.cuthill_mckee(renumbered))
        assert result <= bandwidth(renumbered, scipy_order)


@pytest.mark.parametrize("graph", [nx.grid_2d_graph(30, 30), nx.ladder_graph(400)])
def test_pieces_are_connected_and_as_large_as_asked_for(graph):
    sample = searches.sampled(graph_pattern(graph), n_pieces=3, n_blocks=50)
    assert sample.n_primal == 150
    parts = sorted(map(len, nx.connected_components(networkx_graph(sample))))
    assert parts == [50, 50, 50] or len(parts) < 3  # pieces may touch


def test_samples_keep_trees_joints_to_the_world_and_small_mechanisms():
    tree = graph_pattern(nx.random_labeled_tree(2000, seed=1))
    assert nx.is_forest(networkx_graph(searches.sampled(tree)))
    ends = [(k, k + 1) for k in range(99)] + [(-1, k) for k in range(100)]
    sample = searches.sampled(pattern_of(ends, 100), n_pieces=1, n_blocks=10)
    assert np.count_nonzero((sample.ends < 0).any(axis=1)) == 10
    assert sample.n_dual == 19  # those that lead out are left out
    sample = searches.sampled(graph_pattern(nx.ladder_graph(5)))
    assert (sample.n_primal, sample.n_dual) == (10, 13)


@given(pattern=patterns())
def test_dual_blocks_are_joined_where_the_schur_complement_is_not_zero(pattern):
    touches = np.zeros((pattern.n_dual, pattern.n_primal + 1))
    for side in range(2):
        touches[np.arange(pattern.n_dual), pattern.ends[:, side]] = 1.0
    schur = touches[:, :-1] @ touches[:, :-1].T
    np.fill_diagonal(schur, 0.0)
    indptr, indices = searches.dual_graph(pattern)
    for j in range(pattern.n_dual):
        np.testing.assert_array_equal(indices[indptr[j] : indptr[j + 1]], np.flatnonzero(schur[j]))


@given(pattern=patterns(), data=st.data())
def test_fronts_of_dual_blocks_are_those_of_their_graph_and_primal_ones_come_right_before(
    pattern, data
):
    n = pattern.n_primal
    duals = np.array(data.draw(st.permutations(range(pattern.n_dual))), dtype=np.intp)
    order = searches.with_primal_blocks(pattern, duals)
    columns = dict(zip(order.tolist(), eliminated(pattern, order), strict=True))
    indptr, indices = searches.dual_graph(pattern)
    graph = [set(indices[indptr[j] : indptr[j + 1]].tolist()) for j in range(pattern.n_dual)]
    for dual in duals.tolist():
        assert {int(order[k]) - n for k in columns[n + dual]} == graph[dual]
        for other in graph[dual]:
            graph[other] = (graph[other] | graph[dual]) - {other, dual}
    sequence = order.tolist()
    assert sorted(sequence) == list(range(pattern.n_blocks))
    for primal in range(n):
        following = [b for b in sequence[sequence.index(primal) :] if b >= n]
        its = pattern.neighbours(primal)
        assert len(its) == 0 or (following[0] in its and set(its) <= set(following))
