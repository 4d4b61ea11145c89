"""Radau IIA: its coefficients, orders, singular poses, dependent rows, stiff elements, the loop."""

import numpy as np
import pytest
from compliant_mechanisms import spatial_chain
from random_mechanisms import random_loops

import sparsebody as sb
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.simulation.implicit.collocation import CollocationState, CollocationSteps
from sparsebody.simulation.implicit.newton import StageMatrix
from sparsebody.simulation.integrators import RADAU_IIA
from sparsebody.simulation.options import simulation_options
from sparsebody.simulation.stepping import Problem

RADAU = {"method": "radau-iia"}
# Test Set for IVP Solvers, Andrews: beta, Theta, gamma, Phi, delta, Omega, epsilon at 0.03 s.
ANDREWS = (
    *(15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948),
    *(0.5244099658805303, 0.5347301163226948, 1.048080741042263),
)


def soft_chain():
    mechanism = spatial_chain()
    mechanism.add_body("c", mass=1.0, inertia=[0.1, 0.2, 0.15], position=[1.5, 1.0, 0.2])
    options = {"point": [1.2, 0.9, 0], "compliance": 1e-2, "damping": 0.5}
    mechanism.add_joint("C", sb.Revolute(), "b", "c", **options)
    return mechanism


MECHANISMS = {
    "spatial chain": (spatial_chain, 0.4, 10),
    "bricard": (lambda: sb.build("bricard"), 0.8, 16),
    "n-four-bar": (lambda: sb.build("n-four-bar", loops=3), 0.3, 6),
    "soft chain": (soft_chain, 0.2, 12),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_poses_and_velocities_are_of_order_five_and_joints_stay_closed(name):
    make, duration, n = MECHANISMS[name]
    system = make().compile()
    ends = []
    options = {"duration": duration, "record": sb.Recording(step=duration)} | RADAU
    for steps in (n, 2 * n, 4 * n, 16 * n):
        run = sb.simulate(system, step=duration / steps, **options)
        assert run.position_error.max() < 1e-13
        assert run.velocity_error.max() < 1e-11
        ends.append(run.state(-1))
    exact = ends.pop()
    for what in ("position", "velocity"):
        errors = [np.abs(getattr(end, what) - getattr(exact, what)).max() for end in ends]
        order = np.log2(np.divide(errors[:-1], errors[1:]))
        assert order.mean() == pytest.approx(5.0, abs=0.6), (what, errors)


def test_tolerances_are_kept_and_records_lie_on_the_motion():
    options = {"duration": 1.0, "record": sb.Recording(step=0.05)} | RADAU
    system, errors, steps = spatial_chain().compile(), [], []
    exact = sb.simulate(system, step=0.0025, **options)
    for tolerance in (1e-5, 1e-7, 1e-9):
        run = sb.simulate(system, step="auto", rtol=tolerance, atol=tolerance, **options)
        errors.append(np.abs(run.position - exact.position).max() / tolerance)
        steps.append(int(run.events[-1].message.split()[0]))
        assert run.position_error.max() < 10 * tolerance
    assert max(errors) < 20.0
    assert steps[2] < 4.2 * steps[1] < 20 * steps[0]  # h^4: 3.2 times for a hundredth


def test_prescribed_motions_are_followed_between_steps():
    """Local errors do not tell of them: nothing is free. The legs alone say where bodies are."""
    system = sb.build("stewart", drive=True).compile()
    options = {"duration": 1.0, "record": sb.Recording(step=0.05)}
    exact = sb.simulate(system, step=0.05, method="rk4", **options)
    for tolerance in (1e-4, 1e-6, 1e-8):
        run = sb.simulate(system, step="auto", rtol=tolerance, atol=tolerance, **RADAU, **options)
        np.testing.assert_allclose(run.position, exact.position, atol=10.0 * tolerance)
        np.testing.assert_allclose(run.velocity, exact.velocity, atol=300.0 * tolerance)


def test_squeezer_agrees_with_the_ivp_test_set_to_seven_digits():
    """Positions, velocities and multipliers' wrenches follow; published to 1.5e-9."""
    options = {"step": "auto", "rtol": 1e-10, "atol": 1e-10, "record": sb.Recording(step=0.03)}
    run = sb.simulate(sb.build("andrews").compile(), duration=0.03, **options, **RADAU)
    rates = (
        *(1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385),
        *(0.5735699284790808, -19.29337464421385, 0.3231791658026955),
    )
    angles, turning = (
        (beta, beta + theta, gamma, phi + delta, delta, omega + epsilon, epsilon)
        for beta, theta, gamma, phi, delta, omega, epsilon in (ANDREWS, rates)
    )
    R = body_rotations(run.state(-1))[:, :2, 0]
    np.testing.assert_allclose(R, np.column_stack([np.cos(angles), np.sin(angles)]), atol=1e-7)
    assert run.coordinate[-1, 0] == pytest.approx(ANDREWS[0], rel=1e-8)  # whole turns counted
    np.testing.assert_allclose(run.velocity[-1, :, 2], turning, rtol=1e-7, atol=1e-4)


def test_motion_and_reactions_are_those_of_runge_kutta_steps():
    system = spatial_chain().compile()
    options = {"duration": 0.4, "record": sb.Recording(step=0.1, reactions=True)}
    run = sb.simulate(system, step=0.01, **RADAU, **options)
    exact = sb.simulate(system, step=2.5e-4, method="rk4", **options)
    for name in ("position", "velocity", "joint_wrench"):
        np.testing.assert_allclose(getattr(run, name), getattr(exact, name), atol=2e-8)


def test_four_bars_pass_their_flat_poses_whatever_the_steps():
    system, options = sb.build("n-four-bar", loops=4).compile(), {"duration": 1.5} | RADAU
    fixed = sb.simulate(system, step=0.01, **options)
    chosen = sb.simulate(system, step="auto", rtol=1e-8, record=sb.Recording(step=0.003), **options)
    # records within steps obey the energy as their ends do: interpolated by order 6, not by stages
    assert np.abs(np.diff(chosen.energy)).max() < 2e-9 * chosen.energy[0]
    for run in (fixed, chosen):
        assert run.energy_error < 1e-7
        assert run.position_error.max() < 1e-7
    np.testing.assert_allclose(chosen.position[-1], fixed.position[-1], atol=1e-5)


def radau_steps(system, state):
    options = simulation_options(1e-3, (0.0, 0.0), "radau-iia", sb.Solver(), sb.Recording())
    matrix = StageMatrix(system, state, RADAU_IIA, "auto", "auto")
    return CollocationSteps(Problem(system, state, options, None, print), RADAU_IIA, matrix)


def test_multipliers_of_dependent_rows_do_not_grow():
    """A row too many, all along: nothing but their smallness determines some multipliers."""
    system = sb.build("bricard").compile()
    state = sb.consistent_state(system)
    method = radau_steps(system, state)
    now = CollocationState(state, *method.accelerations(state), None)
    least = [np.linalg.norm(now.multiplier)]
    for k in range(1, 60):
        now = method.step(now, 0.01 + 0.015 * (k % 3), 0.0, (1e-9, 1e-9))
        least.append(np.linalg.norm(method.accelerations(now.state)[1]))
        assert np.linalg.norm(now.multiplier) < 1.5 * max(least)


@pytest.mark.filterwarnings("ignore:errors of the steps of")
def test_stiff_elements_are_damped_where_steps_do_not_resolve_them():
    system = sb.build("compliant-lattice").compile()
    run = sb.simulate(system, duration=0.3, step=0.01, **RADAU)
    exact = sb.simulate(system, duration=0.3, step=2e-3, method="generalized-alpha")
    moved = np.abs(exact.position[-1] - exact.position[0]).max()
    np.testing.assert_allclose(run.position[-1], exact.position[-1], atol=0.02 * moved)


@pytest.mark.parametrize("is_whole", [False, True])
def test_newtons_method_converges_fast_by_either_matrix(is_whole):
    rng = np.random.default_rng(2)
    system = random_loops(rng, 5, 3, ("revolute", "spherical", "universal")).compile()
    state = sb.consistent_state(system)
    steps = radau_steps(system, state)
    steps.is_whole = is_whole
    now = CollocationState(state, *steps.accelerations(state), None)
    for k in range(4):
        now = steps.step(now, 1e-3, (k + 1) * 1e-3, (1e-10, np.inf))
    assert steps.is_whole is is_whole
    assert steps.n_iterations <= 12


def test_a_flat_lattice_at_rest_is_left_to_other_methods():
    system = sb.build("lattice", rows=3, columns=3).compile()
    with pytest.raises(sb.SparsebodyError, match=r'method="auto": rows depend on each other'):
        sb.simulate(system, duration=0.1, step=0.02, **RADAU)
