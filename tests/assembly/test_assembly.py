"""Constraint rows and both forms of (8.64), on random mechanisms of every joint type."""

import numpy as np
import pytest
from random_mechanisms import TREE_TYPES, random_tree
from textbook import assemble

import sparsebody as sb
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.sparse.saddle import constraint_matrix, saddle_csc


def rows_and_errors(system, state):
    moving = SystemMotion(system, state)
    return moving.constraint, moving.position_error


def random_system(name, seed):
    rng = np.random.default_rng(seed)
    return random_tree(rng, 6, TREE_TYPES if name == "mixed" else (name,)).compile()


every_type = pytest.mark.parametrize("name", [*TREE_TYPES, "mixed"])
some_seeds = pytest.mark.parametrize("seed", range(3))


@every_type
@some_seeds
def test_a_consistent_velocity_has_no_part_along_the_rows(name, seed):
    system = random_system(name, seed)
    constraint, error = rows_and_errors(system, system.initial_state)
    np.testing.assert_allclose(error, 0.0, atol=1e-13)
    np.testing.assert_allclose(constraint.velocity, 0.0, atol=1e-12)


@every_type
@some_seeds
def test_rows_are_the_gradient_of_the_position_errors(name, seed):
    system = random_system(name, seed)
    state, h = system.initial_state, 1e-5
    A = constraint_matrix(kkt_structure(system).matrix(rows_and_errors(system, state)[0]))
    twist = np.random.default_rng(seed).normal(size=(system.n_bodies, 6))
    ahead = rows_and_errors(system, sb.displaced(state, h * twist))[1]
    behind = rows_and_errors(system, sb.displaced(state, -h * twist))[1]
    np.testing.assert_allclose((ahead - behind) / (2 * h), A @ twist.ravel(), atol=1e-7)


@every_type
@some_seeds
def test_asked_acceleration_is_what_keeps_the_velocity_consistent(name, seed):
    """d(A v)/dt = 0 = A a + (dA/dt) v, so the right-hand side is -(dA/dt) v."""
    system = random_system(name, seed)
    state, h = system.initial_state, 1e-5
    gamma = rows_and_errors(system, state)[0].acceleration
    ahead = rows_and_errors(system, sb.displaced(state, h * state.velocity))[0].velocity
    behind = rows_and_errors(system, sb.displaced(state, -h * state.velocity))[0].velocity
    np.testing.assert_allclose(-(ahead - behind) / (2 * h), gamma, atol=2e-7)


@every_type
def test_fast_and_textbook_form_have_the_same_solution(name):
    system = random_system(name, seed=7)
    state = system.initial_state
    moving, structure = SystemMotion(system, state), kkt_structure(system)
    constraint, force = moving.constraint, moving.applied - moving.bias
    x = np.linalg.solve(
        saddle_csc(structure.matrix(constraint)).toarray(),
        structure.right_hand_side(force, constraint.acceleration),
    )
    book = assemble(system, state)
    y = np.linalg.solve(book.matrix.toarray(), book.right_hand_side)
    n = 6 * system.n_bodies
    a = np.einsum("nij,nj->ni", book.world_to_body, y[:n].reshape(-1, 6)).ravel()
    np.testing.assert_allclose(x[:n], a, atol=1e-11 * (1.0 + np.abs(x).max()))
    np.testing.assert_allclose(x[n:], y[n:], atol=1e-11 * np.abs(x).max())


def test_point_springs_pull_along_their_line():
    mechanism = sb.Mechanism(gravity=[0, 0, 0])
    place = {"position": [[1, 0, 0], [1, 3, 0]], "linear_velocity": [[0, 0, 0], [0, 1, 0]]}
    center = [0.25, 0, 0]
    mechanism.add_bodies(["a", "b"], mass=1.0, inertia=[1, 1, 1], center_of_mass=center, **place)
    points = {"first_point": [0.75, 0, 0], "second_point": [0.75, 0, 0]}
    spring = {"stiffness": 10.0, "rest_length": 2.0, "damping": 4.0, "effort": 3.0}
    mechanism.add_point_force("spring", "a", "b", **points, **spring)
    mechanism.add_point_force("tie", sb.WORLD, "a", stiffness=1.0, rest_length=0.25)
    system = mechanism.compile()
    force = SystemMotion(system, system.initial_state).applied
    pull = 10.0 * (3.0 - 2.0) + 4.0 * 1.0 - 3.0
    np.testing.assert_allclose(force[0], [0, 0, 0.5 * pull, -0.75, pull, 0], atol=1e-14)
    np.testing.assert_allclose(force[1], [0, 0, -0.5 * pull, 0, -pull, 0], atol=1e-14)


def test_external_forces_act_at_their_point_in_their_axes():
    mechanism = sb.Mechanism(gravity=[0, 0, 0])
    pose = {"center_of_mass": [1, 0, 0], "orientation": np.array([1, 0, 0, 1]) / np.sqrt(2)}
    mechanism.add_body("a", mass=1.0, inertia=[1, 1, 1], **pose)
    mechanism.add_external_force("world", "a", force=[0, 2, 0], point=[1, 1, 0])  # 2 along body x
    mechanism.add_external_force("body", "a", force=[0, 0, 5], moment=[1, 0, 0], axes="body")
    system = mechanism.compile()
    force = SystemMotion(system, system.initial_state).applied
    np.testing.assert_allclose(force[0], [1, 0, -2, 2, 0, 5], atol=1e-14)


def test_rows_of_drives_follow_the_given_motion():
    mechanism = random_tree(np.random.default_rng(0), 1, ("fixed",))
    body = mechanism.body("b0")
    mechanism.add_body("c", mass=1, inertia=[1, 1, 1], position=body.position)
    drive = sb.Sinusoid(0.5, 2.0, 0.3)
    mechanism.add_joint("cross", sb.Universal(), "b0", "c", prescribed={1: drive})
    system = mechanism.compile()
    assert system.n_rows == 6 + 4 + 1
    state = system.initial_state.with_(time=0.7)
    constraint, error = rows_and_errors(system, state)
    value, _, acceleration = drive(0.7)
    assert error[10] == pytest.approx(-value)
    assert constraint.acceleration[10] == pytest.approx(acceleration)
    np.testing.assert_allclose(constraint.rows[10, 1], [0, 1, 0, 0, 0, 0], atol=1e-15)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_joints_have_as_many_rows_as_are_kept_and_vanish_without_any(share):
    system = sb.build("scissor", pairs=6).compile()
    keep = np.random.default_rng(0).random(system.n_rows) < share
    structure = kkt_structure(system, keep)
    joints, sizes = np.unique(system.row_joint[keep], return_counts=True)
    pattern = structure.pattern
    np.testing.assert_array_equal(structure.joints, joints)
    np.testing.assert_array_equal(pattern.block_sizes[pattern.n_primal :], sizes)
    np.testing.assert_array_equal(pattern.ends[:, 0], system.predecessor[joints])
    np.testing.assert_array_equal(pattern.ends[:, 1], system.successor[joints])
    np.testing.assert_array_equal(structure.rows, np.flatnonzero(keep))
