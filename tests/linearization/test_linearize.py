"""Linearized equations and their minimal form, by differences and by closed forms."""

import numpy as np
import pytest
from random_mechanisms import random_loops
from scipy.signal import lsim

import sparsebody as sb
from sparsebody.errors import ModelError
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.linearization import Linearization
from sparsebody.spatial import motion_cross, rotation_logarithm

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
    result = sb.linearize(double_pendulum()).state_space(inputs, outputs)
    M = MASS * LENGTH**2 * np.array([[5.0, 2.0], [2.0, 1.0]])
    K = MASS * GRAVITY * LENGTH * np.array([[3.0, 1.0], [1.0, 1.0]])
    for s in (0.0, 1.0 + 2.0j, 20.0j):
        transfer = result.C @ np.linalg.solve(s * np.eye(4) - result.A, result.B.astype(complex))
        np.testing.assert_allclose(transfer, np.linalg.inv(M * s**2 + K), rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_equations_hold_along_any_motion(seed):
    """Forces balance and rows keep their accelerations at the motion itself."""
    system = random_loops(np.random.default_rng(seed), 7, seed % 3, moving=True).compile()
    result = sb.linearize(system, sb.consistent_state(system))
    size = np.abs(result.mass @ result.acceleration.ravel()).max()
    np.testing.assert_allclose(result.force_residual, 0.0, atol=1e-11 * size)
    rate = 1.0 + np.abs(result.acceleration).max()
    np.testing.assert_allclose(result.row_residual, 0.0, atol=1e-10 * rate)


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


def test_a_small_step_of_an_input_moves_the_outputs_as_lsim_says():
    """At an equilibrium, to the square of the step."""
    names, size = ["crank-pivot", "rocker-pivot"], 1e-3

    def loaded(effort):
        mechanism = sb.build("four-bar")
        numbers = {"stiffness": 30.0, "damping": 0.4, "effort": effort}
        mechanism.add_joint_force("spring", names[0], **numbers)
        return mechanism.compile()

    def outputs(effort):
        system = loaded(effort)
        motion = sb.simulate(system, state, duration=1.0, step=1e-2, method="rk4")
        points = [sb.joint_positions(system, motion.state(k)) for k in range(len(motion))]
        return motion.time, np.array([[points[name][0] for name in names] for points in points])

    state = sb.equilibrium(loaded(0.0)).state
    of = sb.linearize(loaded(0.0), state).state_space(names[:1], names)
    (time, above), (_, below) = outputs(size), outputs(-size)
    _, expected, _ = lsim(of, np.ones(len(time)), time)
    np.testing.assert_allclose((above - below) / (2 * size), expected, atol=1e-5)
    assert np.abs(expected).max() > 1e-2


def conical(rate, length=0.5):
    """A point mass on a rod in a turning vertical hoop, at its relative equilibrium."""
    angle = np.arccos(GRAVITY / rate**2 / length)
    hoop = sb.Mechanism("hoop", gravity=(0, 0, -GRAVITY))
    hoop.add_body("hoop", mass=1.0, inertia=[1, 1, 1], angular_velocity=(0, 0, rate))
    turned = sb.Polynomial((0.0, rate))
    hoop.add_joint("drive", sb.Revolute(), "world", "hoop", axis=(0, 0, 1), prescribed=turned)
    points = length * np.array([np.sin(angle), 0, -np.cos(angle)])
    moving = {"linear_velocity": np.cross([0, 0, rate], points), "angular_velocity": (0, 0, rate)}
    hoop.add_body("bob", mass=1.0, inertia=[1e-12] * 3, position=points, **moving)
    hoop.add_joint("pivot", sb.Revolute(), "hoop", "bob", point=(0, 0, 0), axis=(0, 1, 0))
    return hoop.compile(), angle


def test_a_bob_in_a_turning_hoop_swings_about_its_relative_equilibrium():
    """omega sin(theta), cos(theta) = g / l omega^2."""
    system, angle = conical(7.0)
    of = sb.linearize(system, system.initial_state).state_space(["pivot"], ["pivot"])
    np.testing.assert_allclose(
        np.linalg.eigvals(of.A).imag, [7 * np.sin(angle), -7 * np.sin(angle)]
    )
    gain = -(of.C @ np.linalg.solve(of.A, of.B))[0, 0]
    assert gain == pytest.approx(1 / (0.5**2 * (7 * np.sin(angle)) ** 2), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_deviations_from_a_motion_are_those_of_other_motions(seed):
    rng = np.random.default_rng(seed)
    system = random_loops(rng, 7, seed % 3, moving=True).compile()
    state, size = sb.consistent_state(system), 1e-4
    motion = sb.linearize(system, state)
    N = motion.allowed_motions()
    P = np.linalg.solve(N.T @ (motion.mass @ N), (motion.mass @ N).T)
    crossed, a = motion_cross(state.velocity), motion.acceleration
    z, rate = rng.normal(size=(2, N.shape[1]))

    def deviation(h):
        """x and dx/dt of the consistent state near one that deviates by h."""
        near = sb.displaced(state, (h * (N @ z)).reshape(-1, 6))
        near = near.with_(velocity=state.velocity + (h * (N @ rate)).reshape(-1, 6))
        other = sb.consistent_state(system, near)
        R, R_other = body_rotations(state), body_rotations(other)
        turn = rotation_logarithm(np.einsum("nji,njk->nik", R, R_other))
        q = np.hstack([turn, np.einsum("nji,nj->ni", R, other.position - state.position)])
        turned = np.einsum("nij,nj->ni", crossed, q)
        q_rate = other.velocity - state.velocity - turned
        change = sb.forward_dynamics(system, other).acceleration - a
        change -= np.einsum("nij,nj->ni", motion_cross(a), q)
        change -= np.einsum("nij,nj->ni", crossed, q_rate)
        x, second = np.concatenate([P @ q.ravel(), P @ q_rate.ravel()]), P @ change.ravel()
        return x, second

    (x, second), (other_x, other_second) = deviation(size), deviation(-size)
    A = motion.state_space([], []).A
    result, expected = (second - other_second) / (2 * size), A @ (x - other_x) / (2 * size)
    np.testing.assert_allclose(result, expected[len(z) :], atol=1e-5 * np.abs(result).max())


def test_what_has_no_minimal_form_is_refused():
    at_rest = sb.linearize(double_pendulum())
    with pytest.raises(ModelError, match="joint 'j0' has 1 coordinates, none of index 1"):
        at_rest.state_space([sb.JointCoordinate("j0", 1)], ["j0"])
    with pytest.raises(ModelError, match="elbow"):
        at_rest.state_space(["elbow"], ["j0"])
    with pytest.raises(ModelError, match=r"ports are JointCoordinate.*give a list of them"):
        at_rest.state_space(sb.JointCoordinate("j0"), ["j0"])
    with pytest.raises(ModelError, match=r"has 1 coordinates, none of index 0\.5"):
        at_rest.state_space([sb.JointCoordinate("j0", 0.5)], ["j0"])
    body = at_rest.system.body_names[0]
    with pytest.raises(ModelError, match=f"direction of a port on body {body!r} is zero"):
        at_rest.state_space([sb.BodyPoint(body, (0, 0, 0))], ["j0"])
