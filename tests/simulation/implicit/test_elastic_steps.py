"""Motions of compliant joints, bushings and beams, by closed forms and by explicit steps."""

import numpy as np
import pytest
from compliant_mechanisms import deformed
from linkages import one_body

import sparsebody as sb
from sparsebody.simulation.outer_steppers import fastest_spring


def oscillator(**row):
    weld, body = {"point": (0, 0, 0)} | row, {"mass": 2.0, "linear_velocity": (0, 0, 1.0)}
    return one_body(sb.Fixed(), (0, 0, 0), weld, **body).compile()


@pytest.mark.parametrize("damping", [0.0, 1.0])
def test_a_compliant_weld_swings_as_a_spring(damping):
    """x'' + d / m x' + x / (m c) = 0."""
    c, m = 0.01, 2.0
    system = oscillator(compliance=c, damping=damping)
    run = sb.simulate(
        system, duration=1.0, step=5e-4, method=sb.Method("generalized-alpha", spectral_radius=0.9)
    )
    decay = damping / (2 * m)
    rate = np.sqrt(1 / (m * c) - decay**2)
    expected = np.exp(-decay * run.time) * np.sin(rate * run.time) / rate
    np.testing.assert_allclose(run.position[:, 0, 2], expected, atol=2e-5)


def test_steps_converge_to_those_of_explicit_methods_at_order_two():
    system = deformed(6, ["revolute", "universal"], damping=True).compile()
    exact = sb.simulate(system, duration=0.2, step=1e-3, method="rk4").state(-1)
    errors = []
    for step in (4e-3, 2e-3):
        end = sb.simulate(system, duration=0.2, step=step, method="generalized-alpha").state(-1)
        errors.append(np.abs(end.position - exact.position).max())
    assert errors[1] < 1e-4
    assert 3.5 < errors[0] / errors[1] < 4.5


@pytest.mark.filterwarnings("ignore:errors of the steps of")
def test_a_vanishing_compliance_is_a_rigid_joint():
    """Deflections are proportional to C, at steps that do not resolve the oscillations of any."""
    options = {"step": 5e-3, "method": sb.Method("generalized-alpha", spectral_radius=0.5)}
    ends = []
    for compliance in (1e-6, 1e-9, 1e-14, 0.0):
        ladder = sb.build("ladder", rungs=3, gravity=(3.0, 1.0, -9.81), compliance=compliance)
        ends.append(sb.simulate(ladder.compile(), duration=0.1, **options).position[-1])
    errors = [np.abs(end - ends[-1]).max() for end in ends[:3]]
    np.testing.assert_array_less(errors, [1e-3, 1e-5, 1e-7])


@pytest.mark.parametrize("number", [0, 1, 4])
def test_a_beam_swings_at_the_frequencies_of_euler_and_bernoulli(number):
    """After a period of the closed form a mode is back, its velocity included."""
    height = 0.002
    system = sb.build("beam", elements=100, height=height, gravity=(0, 0, 0)).compile()
    beta = (1.87510407, 4.69409113, 7.85475744, 10.99554073, 14.13716839)[number]
    period = 2 * np.pi / (beta**2 * np.sqrt(2.1e11 * height**2 / 12 / 7800.0))
    vibrations = sb.modes(system, n=12)
    upwards = np.flatnonzero(np.abs(vibrations.shape[:, :, 5]).max(axis=1) > 0.1)
    mode = 1e-4 * vibrations.shape[upwards[number]]
    state = system.initial_state.with_(velocity=mode)
    method = sb.Method("generalized-alpha", spectral_radius=1.0)
    run = sb.simulate(system, state, duration=period, step=period / 300, method=method)
    moved = run.position[-1, :, 2] - system.initial_state.position[:, 2]
    amplitude = np.abs(run.position[:, :, 2]).max()
    assert np.abs(moved).max() < 2 * np.pi * 1e-3 * amplitude
    alike = np.sum(run.velocity[-1, :, 5] * mode[:, 5]) / np.sum(mode[:, 5] ** 2)
    assert alike == pytest.approx(1.0, abs=1e-3)


def test_the_rate_of_an_elastic_element_is_that_of_its_stiffest_row():
    system = oscillator(compliance=[1.0, 1.0, 1.0, 0.01, 0.02, 0.04])
    rate = fastest_spring(system, system.initial_state)
    assert rate == pytest.approx(np.sqrt(1 / (2.0 * 0.01)))
    damped = oscillator(compliance=1.0, damping=[0, 0, 0, 0, 0, 30.0])
    assert fastest_spring(damped, damped.initial_state) == pytest.approx(30.0 / 2.0)
