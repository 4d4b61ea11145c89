import itertools
from functools import cache

import networkx as nx
import numpy as np
import pytest
from oracles import loop_system
from overconstrained import random_system
from random_mechanisms import random_loops

import sparsebody as sb
from examples.ex07_loop_clusters import figure_8_1
from sparsebody.errors import UnknownNameError
from sparsebody.kinematics.joint_motion import coordinate_motion, joint_motion
from sparsebody.tree import TREE_CHOICES, joint_coordinates, spanning_tree, tree_state
from sparsebody.tree.loop_constraints import COORDINATES, loop_clusters, loop_equations
from sparsebody.tree.loop_methods import LoopsForce
from sparsebody.tree.loops_projection import LoopsProjection
from sparsebody.tree.method import TreeProblem, free_equations
from sparsebody.tree.recursions import body_jacobian


def four_bar(mechanism, base, at):
    """A square of three bars and a body, hinged about axes that are not parallel to anything."""
    axis = np.array([0.1, 1.0, 0.2]) / np.linalg.norm([0.1, 1.0, 0.2])
    right = np.cross(axis, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, axis)
    corners = at + np.array([0 * up, up, 1.2 * right + 1.1 * up, 1.5 * right])
    names = [base, "left", "top", "right", base]
    for i in range(3):
        middle = (corners[i] + corners[i + 1]) / 2
        mechanism.add_body(names[i + 1], mass=1.0, inertia=0.1 * np.eye(3), position=middle)
    for i in range(4):
        mechanism.add_joint(
            f"hinge {i}", sb.Revolute(), *names[i : i + 2], point=corners[i], axis=axis
        )


def craft(far):
    """A four-bar on a body that flies far from the world's origin, spinning."""
    mechanism = sb.Mechanism("craft", gravity=[0, 0, 0])
    position = far * np.array([1.0, 0.7, -0.4])
    mechanism.add_body("hull", mass=20.0, inertia=[9.0, 8.0, 7.0], position=position)
    four_bar(mechanism, "hull", position + np.array([0.3, 0.5, -0.2]))
    system = mechanism.compile()
    state, turn = system.initial_state, np.array([0.3, -0.8, 0.5])
    velocity = np.concatenate(
        [np.tile(turn, (4, 1)), np.cross(turn, state.position - position)], axis=1
    )
    return system, state.with_(velocity=velocity)


def rounding(system, state, coordinates):
    """How far K, about one origin, is from what it is about the links' own."""
    problem = TreeProblem(spanning_tree(system, "breadth-first"), state)
    near = loop_equations(problem).matrix
    return np.abs(loop_equations(problem, coordinates=coordinates).matrix - near).max()


@cache
def loop_problem(seed):
    """A random mechanism with a spanning tree, and rows, K and k of its loop joints."""
    system, choice = random_system(seed), list(TREE_CHOICES)[seed % len(TREE_CHOICES)]
    problem = TreeProblem(spanning_tree(system, choice), sb.consistent_state(system), None, 0.1)
    return problem, *loop_system(problem)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_loop_equations_are_the_same_in_all_coordinates(coordinates):
    for seed in range(1, 60):
        problem, rows, K, k = loop_problem(seed)
        result = loop_equations(problem, coordinates=coordinates)
        order = np.searchsorted(rows.row, result.clusters.row)
        np.testing.assert_allclose(result.matrix, K[order], atol=1e-12 * np.abs(K).max(initial=1.0))
        np.testing.assert_allclose(result.right, k[order], atol=1e-11 * np.abs(k).max(initial=1.0))


def test_base_coordinates_lose_digits_far_away_and_floating_base_coordinates_do_not():
    assert rounding(*craft(1.0), "base") < 1e-14
    assert rounding(*craft(1e6), "base") > 1e-11
    assert rounding(*craft(1e6), "floating-base") < 1e-14


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_accelerations_do_not_depend_on_the_coordinates(coordinates):
    system, state = craft(1.0)
    expected = sb.forward_dynamics(system, state).acceleration
    result = LoopsForce(system, coordinates=coordinates)(state)
    np.testing.assert_allclose(result.acceleration, expected, atol=1e-12)


def test_coordinates_that_are_not_known_are_refused():
    system, state = craft(0.0)
    with pytest.raises(UnknownNameError, match="link, base, floating-base"):
        loop_equations(TreeProblem(spanning_tree(system), state), coordinates="moon")
    with pytest.raises(UnknownNameError, match="link, base, floating-base"):
        LoopsForce(system, coordinates="moon")


def test_active_loop_joints_act_on_the_tree_with_the_power_of_their_efforts():
    """C - tau_a of table 8.3: tau_a' qd is effort times rate, whatever the rates of the tree."""
    forces = []
    for effort in (0.0, 2.5):
        mechanism = sb.Mechanism("square")
        four_bar(mechanism, "world", np.zeros(3))
        mechanism.add_joint_force("motor", "hinge 3", effort=effort)
        system = mechanism.compile()
        tree = spanning_tree(system, joints=["hinge 0", "hinge 1", "hinge 2"])
        assert tree.n_loops == 1
        q, _ = joint_coordinates(tree, system.initial_state)
        forces.append(free_equations(TreeProblem(tree, tree_state(tree, q, np.zeros(3))))[1])
    tau_a, rng = forces[1] - forces[0], np.random.default_rng(0)
    for _ in range(5):
        qd = rng.normal(size=3)
        state = tree_state(tree, q, qd)
        rate = coordinate_motion(system, state, joint_motion(system, state)).rate
        assert tau_a @ qd == pytest.approx(2.5 * rate[0], abs=1e-12)


@pytest.mark.parametrize("choice", TREE_CHOICES)
def test_the_loop_matrix_is_that_of_the_rows_on_the_bodies(choice):
    for seed in range(6):
        system = random_loops(np.random.default_rng(seed), 8, 4, moving=True).compile()
        tree = spanning_tree(system, choice)
        problem = TreeProblem(tree, system.initial_state)
        J = np.array([body_jacobian(tree, problem.motion, i) for i in range(system.n_bodies)])
        J = np.concatenate([J, np.zeros((1, 6, tree.n_velocities))])  # the world
        rows, K, _ = loop_system(problem)
        joint = system.row_joint[rows.row]
        A = problem.constraint.rows[rows.row]
        ends = np.stack([system.predecessor[joint], system.successor[joint]], axis=1)
        expected = np.einsum("mea,meak->mk", A, J[ends])
        np.testing.assert_allclose(K, expected, atol=1e-11 * np.abs(expected).max())
        on_a_loop = np.abs(expected) > 1e-9
        assert not np.any(on_a_loop & (K == 0.0))


def paths(tree):
    """The tree joints of every loop whose joint has a row."""
    result = {}
    for loop, (p, s) in enumerate(tree.loop_ends):
        if len(range(*tree.system.rows(int(tree.loop_joint[loop])).indices(10**6))):
            result[loop] = set(tree.support(int(p))) ^ set(tree.support(int(s)))
    return result


@cache
def system_of_loops(seed):
    return random_loops(np.random.default_rng(seed), 14, 5).compile()


@pytest.mark.parametrize("choice", TREE_CHOICES)
def test_clusters_are_what_common_joints_connect(choice):
    for seed in range(20):
        tree = spanning_tree(system_of_loops(seed), choice)
        graph, path = nx.Graph(), paths(tree)
        graph.add_nodes_from(path)
        graph.add_edges_from(
            (a, b) for a, b in itertools.combinations(path, 2) if path[a] & path[b]
        )
        clusters = loop_clusters(tree)
        result = {frozenset(clusters.loops(c).tolist()) for c in range(clusters.n_clusters)}
        assert result == {frozenset(part) for part in nx.connected_components(graph)}
        for c in range(clusters.n_clusters):
            joints = set().union(*(path[loop] for loop in clusters.loops(c)))
            assert set(clusters.joints(c)) == joints


@pytest.mark.parametrize("choice", TREE_CHOICES)
def test_the_cluster_numbering_is_regular_and_clusters_are_consecutive_in_it(choice):
    for seed in range(20):
        tree = spanning_tree(random_system(5 * seed + 2), choice)
        clusters = loop_clusters(tree)
        position = np.argsort(clusters.joint_order)
        inner = tree.parent >= 0
        assert np.all(position[tree.parent[inner]] < position[inner])
        for c in range(clusters.n_clusters):
            own = np.sort(position[clusters.joints(c)])
            assert np.array_equal(own, np.arange(own[0], own[-1] + 1))
        assert sorted(clusters.velocity_order) == list(range(tree.n_velocities))


def test_figure_8_1_has_three_clusters_and_the_block_pattern_of_the_book():
    system = figure_8_1().compile()
    tree = spanning_tree(system, "depth-first", joints=[f"joint {i}" for i in range(1, 21)])
    clusters = loop_clusters(tree)
    number = {j: int(name.split()[1]) for j, name in enumerate(system.joint_names)}
    assert [number[j] for j in tree.joint[clusters.joint_order]] == list(range(1, 21))
    result = [sorted(number[j] for j in tree.joint[clusters.joints(c)]) for c in range(3)]
    assert result == [[3, 4, 5, 6, 7], [10, 11, 12], [19, 20]]
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
