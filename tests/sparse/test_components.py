"""Biconnected components, held against NetworkX."""

import networkx as nx
import numpy as np
import pytest

from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import biconnected_components


def pattern_of(n_primal, ends):
    ends = np.asarray(ends, dtype=np.intp).reshape(-1, 2)
    return BlockPattern(np.ones(n_primal + len(ends), dtype=np.intp), ends)


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
    assert partition(biconnected_components(pattern_of(n, swapped))) == expected


def test_parallel_edges_are_one_component_and_loops_on_one_node_are_alone():
    ends = [(-1, 0), (0, 1), (1, 0), (1, 1), (-1, -1)]
    component = biconnected_components(pattern_of(2, ends))
    assert partition(component) == {frozenset(s) for s in ({0}, {1, 2}, {3}, {4})}


def test_a_deep_tree_needs_no_recursion():
    n = 100_000
    ends = np.column_stack([np.arange(-1, n - 1), np.arange(n)])
    assert len(np.unique(biconnected_components(pattern_of(n, ends)))) == n


def test_nothing_has_no_components():
    assert len(biconnected_components(pattern_of(3, np.empty((0, 2))))) == 0
