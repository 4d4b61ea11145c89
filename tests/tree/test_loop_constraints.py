import numpy as np
import pytest
from random_mechanisms import random_loops

import sparsebody as sb
from sparsebody.model.gallery import build
from sparsebody.tree import TREE_CHOICES, TREE_METHODS, spanning_tree
from sparsebody.tree.crba import free_equations
from sparsebody.tree.loops.loop_equations import (
    loop_matrix,
    loop_right_hand_side,
    loop_rows,
)
from sparsebody.tree.ltl import symmetric
from sparsebody.tree.method import TreeProblem, TreeSolution, accelerations_of
from sparsebody.tree.tree_motion import body_jacobian


def solved(problem):
    """Method 1 in its plainest form: (8.36) with all rows, by least squares."""
    H, right = free_equations(problem)
    H = symmetric(problem.tree.pattern, H)
    rows = loop_rows(problem)
    K, k = loop_matrix(problem, rows), loop_right_hand_side(problem, rows)
    n, m = K.shape[1], K.shape[0]
    matrix = np.block([[H, K.T], [K, np.zeros((m, m))]])
    x = np.linalg.lstsq(matrix, np.concatenate([right, k]), rcond=1e-11)[0]
    multiplier = np.zeros(problem.system.n_rows)
    multiplier[rows.row] = -x[n:]
    return TreeSolution(problem.prescribed_qdd + x[:n], multiplier, is_unique=False)


def solvers():
    """The plain form, and the methods that take loops."""
    yield solved
    for method in TREE_METHODS.values():
        if method.takes_loops:
            yield lambda problem, method=method: method(
                problem.system, problem.tree, baumgarte=problem.baumgarte
            ).solve(problem)


def assert_same(found, expected, tolerance):
    for field in ("acceleration", "multiplier", "joint_wrench"):
        right = getattr(expected, field)
        np.testing.assert_allclose(
            getattr(found, field),
            right,
            atol=tolerance * np.abs(right).max(initial=1.0),
            err_msg=field,
        )


@pytest.mark.parametrize("choice", TREE_CHOICES)
def test_the_loop_matrix_is_that_of_the_rows_on_the_bodies(choice):
    for seed in range(6):
        system = random_loops(np.random.default_rng(seed), 8, 4, moving=True).compile()
        tree = spanning_tree(system, choice)
        problem = TreeProblem(tree, system.initial_state)
        J = np.array([body_jacobian(tree, problem.motion, i) for i in range(system.n_bodies)])
        J = np.concatenate([J, np.zeros((1, 6, tree.n_velocities))])  # the world
        rows = loop_rows(problem)
        joint = system.row_joint[rows.row]
        A = problem.constraint.rows[rows.row]
        ends = np.stack([system.predecessor[joint], system.successor[joint]], axis=1)
        expected = np.einsum("mea,meak->mk", A, J[ends])
        K = loop_matrix(problem, rows)
        np.testing.assert_allclose(K, expected, atol=1e-11 * np.abs(expected).max())
        on_a_loop = np.abs(expected) > 1e-9
        assert not np.any(on_a_loop & (K == 0.0))


@pytest.mark.parametrize("choice", TREE_CHOICES)
@pytest.mark.parametrize("baumgarte", [None, 0.1])
def test_mechanisms_with_loops_move_as_the_sparse_system_says(choice, baumgarte):
    for seed in range(6):
        mechanism = random_loops(np.random.default_rng(seed), 8, 2, moving=True)
        for name, joint in mechanism.joints.items():
            if joint.type.scalar_positions:
                k = joint.type.scalar_positions[0]
                mechanism.add_joint_force(name, name, coordinate=k, damping=0.2, effort=1.0)
        system = mechanism.compile()
        state = sb.consistent_state(system)
        problem = TreeProblem(spanning_tree(system, choice), state, baumgarte=baumgarte)
        expected = sb.forward_dynamics(system, state, baumgarte=baumgarte)
        for solve in solvers():
            found = accelerations_of(problem, solve(problem))
            assert_same(found, expected, 1e-8)
            assert found.residual < 1e-9


@pytest.mark.parametrize("name", ["four-bar", "scissor", "slider-crank", "andrews", "stewart"])
def test_machines_of_the_gallery_move_as_the_sparse_system_says(name):
    system = build(name, **({"pairs": 3} if name == "scissor" else {})).compile()
    state = sb.consistent_state(system)
    for choice in TREE_CHOICES:
        problem = TreeProblem(spanning_tree(system, choice), state)
        found = accelerations_of(problem, solved(problem))
        expected = sb.forward_dynamics(system, state)
        size = np.abs(expected.acceleration).max()
        np.testing.assert_allclose(
            found.acceleration, expected.acceleration, atol=1e-9 * size, err_msg=choice
        )
        np.testing.assert_allclose(
            found.multiplier, expected.multiplier, atol=1e-7 * np.abs(expected.multiplier).max()
        )


def test_drives_of_tree_and_of_loop_joints_are_obeyed():
    for joint in ("tree", "loop"):
        system = driven(joint)
        state = sb.consistent_state(system)
        problem = TreeProblem(spanning_tree(system, "breadth-first"), state)
        assert len(problem.tree.prescribed.velocity) == (1 if joint == "tree" else 0)
        assert len(system.coordinates.prescribed) == 1
        expected = sb.forward_dynamics(system, state)
        for solve in solvers():
            assert_same(accelerations_of(problem, solve(problem)), expected, 1e-9)


def driven(where):
    """A lift or a four-bar with a driven joint, in the tree or, by efforts on others, in a loop."""
    rng = np.random.default_rng(3)
    if where == "tree":
        return build("scissor", pairs=2, drive=True).compile()
    mechanism = sb.Mechanism("square")
    corners = np.array([[0.0, 0, 0], [0, 0, 1.0], [1.2, 0, 1.1], [1.5, 0, 0]])
    for i in range(3):
        middle = (corners[i] + corners[i + 1]) / 2
        mechanism.add_body(f"bar{i}", mass=1.0 + rng.random(), inertia=np.eye(3), position=middle)
    names = ["world", "bar0", "bar1", "bar2", "world"]
    for i in range(4):
        drive = {0: lambda t: (0.0, 0.0, 1.5)} if i == 3 else None
        mechanism.add_joint(
            f"hinge{i}",
            sb.Revolute() if i < 2 else sb.Spherical() if i == 2 else sb.Revolute(),
            names[i],
            names[i + 1],
            point=corners[i],
            axis=[0, 1.0, 0],
            prescribed=drive,
        )
    for i in range(3):  # efforts put these into the tree, so that the driven one closes the loop
        mechanism.add_joint_force(f"effort{i}", f"hinge{i}", effort=0.1)
    return mechanism.compile()
