import json

import numpy as np
import pytest
from networkx import Graph, SpanningTreeIterator, bfs_edges

from sparsebody.certificates.inertia_certificates import certify_inertia
from sparsebody.errors import ModelError
from sparsebody.model.gallery import build
from sparsebody.tree import spanning_tree
from sparsebody.tree.nonzero_bound import nonzero_bound
from sparsebody.tree.tree_choice import joint_freedoms


def all_trees(system, root):
    """Yield nonzeros of H on every spanning tree from the world (-1), or from a free body."""
    graph, freedoms = Graph(), joint_freedoms(system)
    for j, ends in enumerate(zip(system.predecessor, system.successor, strict=True)):
        if root == -1 or min(ends) >= 0:
            graph.add_edge(*map(int, ends), freedoms=int(freedoms[j]))
    start, own = (0, 0) if root == -1 else (6, 21)
    for tree in SpanningTreeIterator(graph):
        above, nonzeros = {root: start}, own
        for parent, body in bfs_edges(tree, root):
            f = graph[parent][body]["freedoms"]
            nonzeros += f * above[parent] + f * (f + 1) // 2
            above[body] = above[parent] + f
        yield nonzeros


@pytest.mark.parametrize("rungs", [2, 3, 4])
def test_the_bound_of_a_ladder_is_the_least_of_all_its_spanning_trees(rungs):
    system = build("ladder", rungs=rungs).compile()
    bound = nonzero_bound(system)
    assert bound.from_world == min(all_trees(system, -1))
    floating = min(min(all_trees(system, root)) for root in range(0, 2 * rungs, rungs))
    assert bound.nonzeros <= min(floating, bound.from_world)


def test_the_bound_holds_where_joints_have_different_freedoms():
    system = build("stewart").compile()
    bound = nonzero_bound(system)
    for choice in ("breadth-first", "minimum-nonzeros", "depth-first"):
        assert bound.from_world <= spanning_tree(system, choice).n_inertia_nonzeros
    for root in ("platform", *system.body_names[:3]):
        assert bound.nonzeros <= spanning_tree(system, root=root).n_inertia_nonzeros


def test_a_tree_from_the_middle_of_a_ladder_attains_the_bound():
    system = build("ladder", rungs=30).compile()
    trees = [spanning_tree(system, root=name) for name in list(system.body_names)[26:34]]
    assert min(tree.n_inertia_nonzeros for tree in trees) == nonzero_bound(system).nonzeros


def test_every_tree_of_a_ladder_has_a_quadratic_number_of_nonzeros():
    found = certify_inertia("ladder", largest=256)
    assert found.quadratic == 9 / 8
    assert found.claim == "n^2"
    for one in found.sizes:
        assert one.every_tree >= 9 / 8 * one.n_bodies**2 - 3 * one.n_bodies
        assert one.every_tree <= min(one.nonzeros.values())
    ratios = np.divide(
        *[[one.every_tree for one in found.sizes[s]] for s in (np.s_[2:], np.s_[1:-1])]
    )
    assert np.all((ratios > 3.2) & (ratios < 4.1))
    json.dumps(found.to_dict())


@pytest.mark.parametrize("family", ["n-four-bar", "tree"])
def test_mechanisms_with_wide_layers_have_no_such_bound(family):
    found = certify_inertia(family, largest=256)
    assert found.quadratic is None
    assert found.growth["every_tree"].high < 1.5
    assert "observed" in str(found)


def test_too_large_members_are_refused_at_once():
    with pytest.raises(ModelError, match=r"largest is 5000; .* give 2000 or fewer"):
        certify_inertia("ladder", largest=5000)
