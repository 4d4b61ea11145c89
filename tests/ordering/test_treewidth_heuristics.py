import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patterns import graph_pattern, ladder

from sparsebody.ordering.minimum_fill import (
    elimination_of,
    treewidth_by_degree,
    treewidth_by_fill,
)
from sparsebody.sparse.elimination_tree import ordering_metrics


@given(n=st.integers(1, 14), p=st.floats(0.05, 0.9), seed=st.integers(0, 50))
def test_the_order_has_the_width_of_the_decomposition(n, p, seed):
    graph = nx.gnp_random_graph(n, p, seed=seed)
    width, decomposition = nx.approximation.treewidth_min_fill_in(graph)
    order, widest = elimination_of(decomposition), 0
    assert sorted(order) == list(range(n))
    for node in order:
        near = list(graph.neighbors(node))
        widest = max(widest, len(near))
        graph.remove_node(node)
        graph.add_edges_from((a, b) for k, a in enumerate(near) for b in near[:k])
    assert widest <= width


@pytest.mark.parametrize("ordering", [treewidth_by_degree, treewidth_by_fill])
def test_ladders_and_trees_have_narrow_fronts(ordering):
    assert ordering_metrics(ladder(20), ordering(ladder(20))).largest_front <= 18
    tree = graph_pattern(nx.random_labeled_tree(50, seed=0))
    assert ordering_metrics(tree, ordering(tree)).largest_front == 11
    assert np.all(np.bincount(ordering(tree)) == 1)
