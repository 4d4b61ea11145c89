import numpy as np
import pytest
from overconstrained import random_mechanism

import sparsebody as sb
from sparsebody.errors import UnknownNameError
from sparsebody.kinematics.joint_motion import coordinate_motion, joint_motion
from sparsebody.tree import (
    TREE_CHOICES,
    joint_coordinates,
    spanning_tree,
    tree_state,
)
from sparsebody.tree.crba import free_equations
from sparsebody.tree.loops.loop_equations import (
    COORDINATES,
    loop_equations,
    loop_matrix,
    loop_right_hand_side,
    loop_rows,
)
from sparsebody.tree.loops.loops_force import LoopsForce
from sparsebody.tree.method import TreeProblem
from sparsebody.tree.tree_motion import body_jacobian


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
    place = far * np.array([1.0, 0.7, -0.4])
    mechanism.add_body("hull", mass=20.0, inertia=[9.0, 8.0, 7.0], position=place)
    four_bar(mechanism, "hull", place + np.array([0.3, 0.5, -0.2]))
    system = mechanism.compile()
    state, turn = system.initial_state, np.array([0.3, -0.8, 0.5])
    velocity = np.concatenate(
        [np.tile(turn, (4, 1)), np.cross(turn, state.position - place)], axis=1
    )
    return system, state.with_(velocity=velocity)


def crane(bars, length):
    """A four-bar at the end of a chain of long bars."""
    mechanism = sb.Mechanism("crane")
    before = "world"
    for i in range(bars):
        place = np.array([(i + 0.5) * length, 0.2 * (i % 3), 0.1 * (i % 2)])
        name = f"bar {i}"
        mechanism.add_body(name, mass=1.0, inertia=np.eye(3), position=place)
        mechanism.add_joint(
            f"joint {i}", sb.Spherical(), before, name, point=place - [0.5 * length, 0.0, 0.0]
        )
        before = name
    four_bar(mechanism, before, np.array([bars * length, 0.0, 0.0]))
    return mechanism.compile()


def rounding(system, state, coordinates):
    """How far K, about one origin, is from what it is about the links' own."""
    problem = TreeProblem(spanning_tree(system, "breadth-first"), state)
    near = loop_equations(problem).matrix
    return np.abs(loop_equations(problem, coordinates=coordinates).matrix - near).max()


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_loop_equations_are_the_same_in_all_coordinates(coordinates):
    for seed in range(1, 60):
        system = random_mechanism(seed).compile()
        choice = list(TREE_CHOICES)[seed % len(TREE_CHOICES)]
        problem = TreeProblem(spanning_tree(system, choice), sb.consistent_state(system), None, 0.1)
        rows = loop_rows(problem)
        K, k = loop_matrix(problem, rows), loop_right_hand_side(problem, rows)
        found = loop_equations(problem, coordinates=coordinates)
        order = np.searchsorted(rows.row, found.clusters.row)
        np.testing.assert_allclose(found.matrix, K[order], atol=1e-12 * np.abs(K).max(initial=1.0))
        np.testing.assert_allclose(found.right, k[order], atol=1e-11 * np.abs(k).max(initial=1.0))


def test_base_coordinates_lose_digits_far_away_and_floating_base_coordinates_do_not():
    assert rounding(*craft(1.0), "base") < 1e-14
    assert rounding(*craft(1e6), "base") > 1e-11
    assert rounding(*craft(1e6), "floating-base") < 1e-14


def test_base_coordinates_lose_digits_at_the_end_of_a_long_mechanism():
    near, far = crane(20, 1.0), crane(20, 1e4)
    assert rounding(near, near.initial_state, "base") < 1e-13
    assert rounding(far, far.initial_state, "base") > 1e-12


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_accelerations_do_not_depend_on_the_coordinates(coordinates):
    system, state = craft(1.0)
    expected = sb.forward_dynamics(system, state).acceleration
    found = LoopsForce(system, coordinates=coordinates)(state)
    np.testing.assert_allclose(found.acceleration, expected, atol=1e-12)


def test_the_loop_jacobian_is_the_difference_of_those_of_its_ends():
    system, state = craft(1.0)
    problem = TreeProblem(spanning_tree(system), state)
    equations = loop_equations(problem)
    j = int(system.row_joint[equations.clusters.row[0]])
    ends = int(system.predecessor[j]), int(system.successor[j])
    J = [body_jacobian(problem.tree, problem.motion, body) for body in ends]
    A = problem.constraint.rows[equations.clusters.row]
    expected = np.einsum("ma,ak->mk", A[:, 0], J[0]) + np.einsum("ma,ak->mk", A[:, 1], J[1])
    np.testing.assert_allclose(equations.matrix, expected, atol=1e-13)


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
