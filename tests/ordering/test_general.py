import networkx as nx
import numpy as np
import pytest

from sparsebody.errors import MissingDependencyError, UnknownNameError
from sparsebody.ordering.cholmod_orders import (
    GENERAL_ORDERINGS,
    available_general_orderings,
    general_order,
)
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.pattern import symmetric_pattern


def grid(n, sizes=None):
    row, column = np.array(nx.convert_node_labels_to_integers(nx.grid_2d_graph(n, n)).edges).T
    if sizes is None:
        return symmetric_pattern(row, column, np.ones(n * n, dtype=np.intp))
    start = np.cumsum(sizes) - sizes
    return symmetric_pattern(start[row], start[column], sizes)


@pytest.mark.parametrize("name", available_general_orderings())
def test_every_ordering_lists_every_block_of_any_symmetric_pattern_once(name):
    for pattern in (
        grid(6),
        grid(4, np.arange(1, 17) % 5 + 1),
        symmetric_pattern(np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.ones(3, dtype=int)),
    ):
        found = general_order(pattern, name)
        np.testing.assert_array_equal(np.sort(found), np.arange(pattern.n_blocks))


def test_minimum_degree_fills_nothing_in_on_a_tree_and_beats_the_numbering_on_a_grid():
    edges = np.array(nx.random_labeled_tree(40, seed=1).edges).T
    tree = symmetric_pattern(*edges, np.ones(40, dtype=np.intp))
    assert ordering_metrics(tree, general_order(tree, "minimum-degree")).nnz_l == 40 + 39
    cost = {
        name: ordering_metrics(grid(16), general_order(grid(16), name)).flops
        for name in ("minimum-degree", "natural", "random")
    }
    assert cost["minimum-degree"] < 0.6 * cost["natural"] < cost["random"]


def test_small_bandwidth_is_that_of_reverse_cuthill_mckee():
    pattern = grid(9)
    found = ordering_metrics(pattern, general_order(pattern, "reverse-cuthill-mckee"))
    assert found.block_bandwidth == 9


def test_unknown_names_and_missing_packages_are_told(monkeypatch):
    with pytest.raises(UnknownNameError, match=r"no ordering 'level-sweep'.*minimum-degree"):
        general_order(grid(2), "level-sweep")
    monkeypatch.setattr("sparsebody.ordering.entry.find_spec", lambda package: None)
    with pytest.raises(MissingDependencyError, match="needs sksparse: pip install"):
        general_order(grid(2), "cholmod-amd")
    assert available_general_orderings() == [
        name for name, entry in GENERAL_ORDERINGS.items() if entry.needs is None
    ]
