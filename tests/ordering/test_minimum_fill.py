import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patterns import graph_pattern, ladder, metrics, patterns, shuffled
from scipy.sparse import csr_array

from sparsebody._core import ordering as kernels
from sparsebody.ordering import order
from sparsebody.ordering.heuristics import (
    elimination_of,
    leaves_first,
    minimum_degree,
    minimum_fill,
)
from sparsebody.sparse.pattern import dual_graph


def fills(pattern, joints):
    """Return, for each step, the fill of the joint taken and the least fill of any: brute force."""
    indptr, indices = dual_graph(pattern)
    ones = np.ones(len(indices))
    graph = nx.from_scipy_sparse_array(csr_array((ones, indices, indptr), (pattern.n_dual,) * 2))
    rows = pattern.block_sizes[pattern.n_primal :]

    def fill(j):
        near = list(graph.neighbors(j))
        pairs = ((a, b) for k, a in enumerate(near) for b in near[:k])
        return sum(rows[a] * rows[b] for a, b in pairs if not graph.has_edge(a, b))

    for joint in joints.tolist():
        yield fill(joint), min(map(fill, graph))
        near = list(graph.neighbors(joint))
        graph.remove_node(joint)
        graph.add_edges_from((a, b) for k, a in enumerate(near) for b in near[:k])


@given(pattern=patterns())
def test_every_joint_is_one_that_fills_in_least(pattern):
    rows = np.ascontiguousarray(pattern.block_sizes[pattern.n_primal :])
    joints = kernels.minimum_fill(dual_graph(pattern), rows)
    assert all(taken == least for taken, least in fills(pattern, joints))


def flops(pattern, ordering=minimum_fill):
    return metrics(pattern, ordering).flops


def test_trees_cost_what_leaves_first_costs_and_ladders_in_proportion():
    tree = shuffled(graph_pattern(nx.random_labeled_tree(200, seed=1)), 0)
    assert flops(tree) == flops(tree, leaves_first)
    assert flops(ladder(200)) < 10.5 * flops(ladder(20))


@pytest.mark.parametrize("graph", [nx.grid_2d_graph(16, 16), nx.grid_graph((5, 5, 5))])
def test_a_lattice_costs_less_than_by_minimum_degree(graph):
    lattice = graph_pattern(graph, joint_size=3)
    assert flops(lattice) < 0.95 * flops(lattice, minimum_degree)


@given(n=st.integers(1, 14), p=st.floats(0.05, 0.9), seed=st.integers(0, 50))
def test_the_order_has_the_width_of_the_decomposition(n, p, seed):
    graph = nx.gnp_random_graph(n, p, seed=seed)
    width, decomposition = nx.approximation.treewidth_min_fill_in(graph)
    sequence, widest = elimination_of(decomposition), 0
    assert sorted(sequence) == list(range(n))
    for node in sequence:
        near = list(graph.neighbors(node))
        widest = max(widest, len(near))
        graph.remove_node(node)
        graph.add_edges_from((a, b) for k, a in enumerate(near) for b in near[:k])
    assert widest <= width


@pytest.mark.parametrize("name", ["treewidth-degree", "treewidth-fill"])
def test_ladders_and_trees_have_narrow_fronts(name):
    assert metrics(ladder(20), order, name).largest_front <= 18
    tree = graph_pattern(nx.random_labeled_tree(50, seed=0))
    assert metrics(tree, order, name).largest_front == 11
