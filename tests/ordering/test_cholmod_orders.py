import sys
from functools import partial

import networkx as nx
import numpy as np
import pytest
from patterns import graph_pattern, ladder, metrics, pattern_of, shuffled

import sparsebody as sb
from sparsebody.errors import MissingDependencyError, UnknownNameError
from sparsebody.ordering.cholmod_orders import (
    GENERAL_ORDERINGS,
    available_general_orderings,
    general_order,
    joints_ordered_by,
)
from sparsebody.ordering.reference_orders import natural
from sparsebody.sparse.pattern import symmetric_pattern

cholmod_amd = partial(joints_ordered_by, method="amd")
cholmod_metis = partial(joints_ordered_by, method="metis")
both = pytest.mark.parametrize("ordering", [cholmod_amd, cholmod_metis])


@pytest.mark.cholmod
@both
def test_each_body_comes_right_before_its_first_joint(ordering):
    pattern = shuffled(ladder(10), seed=2)
    order = ordering(pattern)
    place = np.argsort(order)
    for body in range(pattern.n_primal):
        following = next(b for b in order[place[body] :] if b >= pattern.n_primal)
        assert following in pattern.neighbours(body)
        assert place[following] == place[pattern.neighbours(body)].min()


@pytest.mark.cholmod
@both
def test_joints_of_different_sizes_are_weighed(ordering):
    mixed = graph_pattern(nx.grid_2d_graph(12, 12))
    sizes = mixed.block_sizes.copy()
    sizes[mixed.n_primal :: 2] = 1
    mixed = sb.BlockPattern(sizes, mixed.ends)
    assert metrics(mixed, ordering).flops < 0.5 * metrics(mixed, natural).flops


@pytest.mark.cholmod
def test_dissection_beats_minimum_degree_on_a_large_lattice():
    lattice = shuffled(graph_pattern(nx.grid_2d_graph(48, 48)), seed=0)
    assert metrics(lattice, cholmod_metis).flops < metrics(lattice, cholmod_amd).flops


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
        result = general_order(pattern, name)
        np.testing.assert_array_equal(np.sort(result), np.arange(pattern.n_blocks))


def test_minimum_degree_fills_nothing_in_on_a_tree_and_beats_the_numbering_on_a_grid():
    edges = np.array(nx.random_labeled_tree(40, seed=1).edges).T
    tree = symmetric_pattern(*edges, np.ones(40, dtype=np.intp))
    assert metrics(tree, general_order, "minimum-degree").nnz_l == 40 + 39
    names = ("minimum-degree", "natural", "random")
    by_degree, as_numbered, shuffled_ones = (
        metrics(grid(16), general_order, name).flops for name in names
    )
    assert by_degree < 0.6 * as_numbered < shuffled_ones
    assert metrics(grid(9), general_order, "reverse-cuthill-mckee").block_bandwidth == 9


def test_unknown_names_and_missing_packages_are_told(monkeypatch):
    with pytest.raises(UnknownNameError, match=r"no ordering 'level-sweep'.*minimum-degree"):
        general_order(grid(2), "level-sweep")
    monkeypatch.setattr("sparsebody.ordering.entry.find_spec", lambda package: None)
    with pytest.raises(MissingDependencyError, match="needs sksparse: pip install"):
        general_order(grid(2), "cholmod-amd")
    assert available_general_orderings() == [
        name for name, entry in GENERAL_ORDERINGS.items() if entry.needs is None
    ]


@both
def test_without_scikit_sparse_the_error_says_how_to_install_it(ordering, monkeypatch):
    monkeypatch.setitem(sys.modules, "sksparse", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sparsebody\[cholmod\]'"):
        ordering(pattern_of([(0, 1)], 2))
