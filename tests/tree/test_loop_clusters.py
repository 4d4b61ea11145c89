import itertools

import networkx as nx
import numpy as np
import pytest
from overconstrained import random_mechanism
from random_mechanisms import random_loops

import sparsebody as sb
from examples.ex07_loop_clusters import figure_8_1
from sparsebody.tree import TREE_CHOICES, spanning_tree
from sparsebody.tree.crba import free_equations
from sparsebody.tree.loops.loop_clusters import loop_clusters
from sparsebody.tree.loops.loop_equations import loop_equations
from sparsebody.tree.loops.loops_projection import LoopsProjection
from sparsebody.tree.method import TreeProblem


def paths(tree):
    """The tree joints of every loop whose joint has a row."""
    found = {}
    for loop, (p, s) in enumerate(tree.loop_ends):
        if len(range(*tree.system.rows(int(tree.loop_joint[loop])).indices(10**6))):
            found[loop] = set(tree.support(int(p))) ^ set(tree.support(int(s)))
    return found


@pytest.mark.parametrize("choice", TREE_CHOICES)
def test_clusters_are_what_common_joints_connect(choice):
    for seed in range(40):
        mechanism = random_loops(np.random.default_rng(seed), 14, 5)
        tree = spanning_tree(mechanism.compile(), choice)
        graph, path = nx.Graph(), paths(tree)
        graph.add_nodes_from(path)
        graph.add_edges_from(
            (a, b) for a, b in itertools.combinations(path, 2) if path[a] & path[b]
        )
        clusters = loop_clusters(tree)
        found = {frozenset(clusters.loops(c).tolist()) for c in range(clusters.n_clusters)}
        assert found == {frozenset(part) for part in nx.connected_components(graph)}
        for c in range(clusters.n_clusters):
            joints = set().union(*(path[loop] for loop in clusters.loops(c)))
            assert set(clusters.joints(c)) == joints


@pytest.mark.parametrize("choice", TREE_CHOICES)
def test_the_cluster_numbering_is_regular_and_clusters_are_consecutive_in_it(choice):
    for seed in range(20):
        tree = spanning_tree(random_mechanism(5 * seed + 2).compile(), choice)
        clusters = loop_clusters(tree)
        place = np.argsort(clusters.joint_order)
        inner = tree.parent >= 0
        assert np.all(place[tree.parent[inner]] < place[inner])
        for c in range(clusters.n_clusters):
            own = np.sort(place[clusters.joints(c)])
            assert np.array_equal(own, np.arange(own[0], own[-1] + 1))
        assert sorted(clusters.velocity_order) == list(range(tree.n_velocities))


def test_figure_8_1_has_three_clusters_and_the_block_pattern_of_the_book():
    system = figure_8_1().compile()
    tree = spanning_tree(system, "depth-first", joints=[f"joint {i}" for i in range(1, 21)])
    clusters = loop_clusters(tree)
    number = {j: int(name.split()[1]) for j, name in enumerate(system.joint_names)}
    assert [number[j] for j in tree.joint[clusters.joint_order]] == list(range(1, 21))
    found = [sorted(number[j] for j in tree.joint[clusters.joints(c)]) for c in range(3)]
    assert found == [[3, 4, 5, 6, 7], [10, 11, 12], [19, 20]]
    loops = [sorted(number[j] for j in tree.loop_joint[clusters.loops(c)]) for c in range(3)]
    assert loops == [[21, 22], [23], [24]]
    problem = TreeProblem(tree, sb.consistent_state(system))
    equations = loop_equations(problem)
    K = equations.matrix[:, clusters.velocity_order]
    stretches = [(2, 7), (9, 12), (18, 20)]  # b, d and f, all joints having one freedom
    for c, (first, last) in enumerate(stretches):
        block = K[clusters.rows(c)]
        assert np.all(block[:, :first] == 0.0)
        assert np.all(block[:, last:] == 0.0)
    projection = LoopsProjection(system, tree)
    G = projection.explicit(equations, free_equations(problem)[0]).G[clusters.velocity_order]
    sizes, row, column = [2, 5, 2, 3, 6, 2], 0, 0  # the groups a to f
    for size, rank in zip(sizes, [0, 4, 0, 2, 0, 1], strict=True):
        own = np.zeros(G.shape, dtype=bool)
        own[row : row + size, column : column + size - rank] = True
        np.testing.assert_array_equal(G[row : row + size][~own[row : row + size]], 0.0)
        if rank == 0:
            np.testing.assert_array_equal(G[own].reshape(size, size), np.eye(size))
        row, column = row + size, column + size - rank
    assert (row, column) == G.shape
