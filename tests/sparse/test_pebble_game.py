"""Generic ranks, held against the exact ranks of random rows."""

import networkx as nx
import numpy as np
import pytest

from sparsebody.sparse.rank.row_choices import generic_bars


def random_graph(rng, k):
    """Ends and bars of a random multigraph, with the world in it."""
    n = int(rng.integers(1, 12))
    ends = rng.integers(-1, n, (int(rng.integers(1, 3 * n + 2)), 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    return n, ends, rng.integers(1, k + 1, len(ends))


def rank_of_random_bars(rng, ends, bars, n, k):
    """Rank of rows with random values, opposite on the two bodies."""
    rows = np.zeros((int(bars.sum()), n + 1, k))
    start = 0
    for (a, b), count in zip(ends, bars, strict=True):
        values = rng.normal(size=(count, k))
        rows[start : start + count, a] -= values
        rows[start : start + count, b] += values
        start += count
    return np.linalg.matrix_rank(rows.reshape(len(rows), -1)) if len(rows) else 0


@pytest.mark.parametrize("k", [3, 6])
def test_as_many_bars_are_accepted_as_are_independent_at_random(k):
    for seed in range(200):
        rng = np.random.default_rng((seed, k))
        n, ends, bars = random_graph(rng, k)
        accepted = generic_bars(ends, bars, n, k)
        assert np.all((accepted >= 0) & (accepted <= bars))
        assert accepted.sum() == rank_of_random_bars(rng, ends, bars, n, k)


def test_the_count_does_not_depend_on_the_order_of_joints():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        n, ends, bars = random_graph(rng, 6)
        order = rng.permutation(len(ends))
        first = generic_bars(ends, bars, n).sum()
        assert generic_bars(ends[order], bars[order], n).sum() == first


def test_a_joint_that_closes_a_rigid_ring_is_refused():
    ends = np.array([[-1, 0], [0, 1], [1, -1]])
    np.testing.assert_array_equal(generic_bars(ends, np.array([6, 6, 5]), 2), [6, 6, 0])
    np.testing.assert_array_equal(generic_bars(ends, np.array([5, 5, 5]), 2), [5, 5, 2])


def test_a_large_grid_of_hinges_is_rigid():
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(60, 60))
    ends = np.array([(-1, 0), *grid.edges])
    accepted = generic_bars(ends, np.full(len(ends), 5), 3600)
    assert accepted.sum() == 6 * 3600 - 1  # all but the hinge to the world


def test_nothing_is_nothing():
    assert len(generic_bars(np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int), 3)) == 0
