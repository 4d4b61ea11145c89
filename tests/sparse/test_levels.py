"""Breadth-first orders, held against NetworkX and SciPy."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from patterns import graph_pattern, ladder, networkx_graph, patterns, shuffled
from scipy.sparse import coo_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import cuthill_mckee, primal_graph


def bandwidth(pattern: BlockPattern, order: np.ndarray) -> int:
    place = np.argsort(order)
    joined = pattern.ends[(pattern.ends >= 0).all(axis=1)]
    return int(np.abs(np.diff(place[joined], axis=1)).max(initial=0))


@given(pattern=patterns())
def test_the_other_end_of_every_joint_of_a_body_is_listed(pattern: BlockPattern) -> None:
    indptr, beyond = primal_graph(pattern)
    for body in range(pattern.n_primal):
        joints = pattern.neighbours(body) - pattern.n_primal
        expected = [next((b for b in pattern.ends[j] if b != body), -1) for j in joints]
        np.testing.assert_array_equal(beyond[indptr[body] : indptr[body + 1]], expected)


@given(pattern=patterns())
def test_every_part_is_listed_in_one_piece_and_breadth_first(pattern: BlockPattern) -> None:
    order, graph = cuthill_mckee(pattern), networkx_graph(pattern)
    assert sorted(order) == list(range(pattern.n_primal))
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
        ladder(50),
    ],
)
def test_the_band_is_as_narrow_as_that_of_scipy_however_blocks_are_numbered(
    pattern: BlockPattern,
) -> None:
    for seed in range(3):
        renumbered = shuffled(pattern, seed)
        joined = renumbered.ends[(renumbered.ends >= 0).all(axis=1)]
        both = np.concatenate([joined, joined[:, ::-1]])
        shape = (renumbered.n_primal, renumbered.n_primal)
        graph = coo_array((np.ones(len(both)), both.T), shape=shape).tocsr()
        scipy_order = reverse_cuthill_mckee(graph, symmetric_mode=True)
        found = bandwidth(renumbered, cuthill_mckee(renumbered))
        assert found <= bandwidth(renumbered, scipy_order)
