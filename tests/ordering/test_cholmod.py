import sys

import networkx as nx
import numpy as np
import pytest
from patterns import graph_pattern, ladder, pattern_of, shuffled

from sparsebody.errors import MissingDependencyError
from sparsebody.ordering.cholmod_orders import cholmod_amd, cholmod_metis
from sparsebody.ordering.references import natural
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.pattern import BlockPattern

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
    mixed = BlockPattern(sizes, mixed.ends)
    cost = ordering_metrics(mixed, ordering(mixed)).flops
    assert cost < 0.5 * ordering_metrics(mixed, natural(mixed)).flops


@pytest.mark.cholmod
def test_dissection_beats_minimum_degree_on_a_large_lattice():
    lattice = shuffled(graph_pattern(nx.grid_2d_graph(48, 48)), seed=0)
    cost = [ordering_metrics(lattice, f(lattice)).flops for f in (cholmod_metis, cholmod_amd)]
    assert cost[0] < cost[1]


@both
def test_without_scikit_sparse_the_error_says_how_to_install_it(ordering, monkeypatch):
    monkeypatch.setitem(sys.modules, "sksparse", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sparsebody\[cholmod\]'"):
        ordering(pattern_of([(0, 1)], 2))
