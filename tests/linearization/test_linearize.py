"""Linearized equations and their minimal form, by differences and by closed forms."""

import numpy as np
import pytest
from random_mechanisms import random_loops

import sparsebody as sb
from sparsebody.errors import ModelError
from sparsebody.linearization import Linearization

LENGTH, MASS, GRAVITY = 0.7, 1.3, 9.81


def double_pendulum():
    """Point masses, nearly."""
    mechanism = sb.Mechanism("double pendulum", gravity=(0, 0, -GRAVITY))
    above = "world"
    for k in range(2):
        z = -LENGTH * np.array([k, k + 1])
        inertia = [1e-12] * 3
        mechanism.add_body(f"b{k}", mass=MASS, inertia=inertia, position=(0, 0, z[1]))
        at = {"point": (0, 0, z[0]), "axis": (0, -1, 0)}
        mechanism.add_joint(f"j{k}", sb.Revolute(), above, f"b{k}", **at)
        above = f"b{k}"
    return mechanism.compile()


def test_state_space_of_a_double_pendulum_is_that_of_textbooks():
    """M = m l^2 [5 2; 2 1] and K = m g l [3 1; 1 1] in relative angles."""
    inputs = outputs = ["j0", sb.JointCoordinate("j1")]
    found = sb.linearize(double_pendulum()).state_space(inputs, outputs)
    M = MASS * LENGTH**2 * np.array([[5.0, 2.0], [2.0, 1.0]])
    K = MASS * GRAVITY * LENGTH * np.array([[3.0, 1.0], [1.0, 1.0]])
    for s in (0.0, 1.0 + 2.0j, 20.0j):
        transfer = found.C @ np.linalg.solve(s * np.eye(4) - found.A, found.B.astype(complex))
        np.testing.assert_allclose(transfer, np.linalg.inv(M * s**2 + K), rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_equations_hold_along_any_motion(seed):
    """Forces balance and rows keep their accelerations at the motion itself."""
    system = random_loops(np.random.default_rng(seed), 7, seed % 3, moving=True).compile()
    found = sb.linearize(system, sb.consistent_state(system))
    size = np.abs(found.mass @ found.acceleration.ravel()).max()
    np.testing.assert_allclose(found.force_residual, 0.0, atol=1e-11 * size)
    rate = 1.0 + np.abs(found.acceleration).max()
    np.testing.assert_allclose(found.row_residual, 0.0, atol=1e-10 * rate)


def test_ports_are_rates_of_coordinates_and_of_points():
    rng = np.random.default_rng(1)
    system = random_loops(rng, 6, 0, moving=False).compile()
    state, h = system.initial_state, 1e-6
    joint = next(
        name
        for name, kind in zip(system.joint_names, system.joint_types, strict=True)
        if kind.n_velocities == kind.n_positions > 0
    )
    point, along = (0.1, -0.2, 0.3), (0.6, 0.0, 0.8)
    ports = [joint, sb.BodyPoint("b2", along, point)]
    rows = sb.linearize(system, state).port_rows(ports)
    twist = rng.normal(size=(6, 6))

    def outputs(size):
        moved = sb.displaced(state, size * twist)
        position = sb.point_position(system, moved, "b2", point)
        return np.array([sb.joint_positions(system, moved)[joint][0], position @ along])

    by_joints = (outputs(h) - outputs(-h)) / (2 * h)
    assert rows[[1]] @ twist.ravel() == pytest.approx(by_joints[1], rel=1e-8)
    basis = Linearization.at(system, state).allowed_motions()
    twist = (basis @ rng.normal(size=basis.shape[1])).reshape(6, 6)
    by_joints = (outputs(h) - outputs(-h)) / (2 * h)
    np.testing.assert_allclose(rows @ twist.ravel(), by_joints, rtol=1e-7)


def test_what_has_no_minimal_form_is_refused():
    system = double_pendulum()
    moving = system.initial_state.with_(velocity=np.full((2, 6), 0.1))
    with pytest.raises(ModelError, match="body 'b0' moves"):
        sb.linearize(system, moving).state_space(["j0"], ["j0"])
    at_rest = sb.linearize(system)
    with pytest.raises(ModelError, match="joint 'j0' has 1 coordinates, there is none 1"):
        at_rest.state_space([sb.JointCoordinate("j0", 1)], ["j0"])
    with pytest.raises(ModelError, match="elbow"):
        at_rest.state_space(["elbow"], ["j0"])
