"""Drift with and without stabilization, and poses where the rank changes."""

import numpy as np
import pytest
from linkages import one_body

import sparsebody as sb
from sparsebody.simulation import STABILIZATIONS
from sparsebody.simulation.stabilization import OpenJointError, pulled, scales

FOUR_BARS = sb.build("n-four-bar", loops=2, speed=3.0).compile()
AWAY = np.zeros((FOUR_BARS.n_bodies, 6))
AWAY[0, 3:] = 0.3, 0.2, 0.0  # [m], of one body


@pytest.mark.filterwarnings("ignore:errors of the steps of")
def test_projection_closes_joints_to_rounding_and_baumgarte_terms_hold_the_drift_down():
    runs = {}
    for name in STABILIZATIONS:
        method = sb.Method("semi-implicit-euler", stabilization=name, time_constant=0.02)
        runs[name] = sb.simulate(FOUR_BARS, duration=0.3, step=0.01, method=method)
    assert runs["none"].position_error[-1] > 1e-3
    assert runs["projection"].position_error.max() < 1e-11
    assert runs["projection"].velocity_error.max() < 1e-8
    assert runs["baumgarte"].position_error[-1] < 0.3 * runs["none"].position_error[-1]


def test_drives_are_followed_and_time_advances_within_the_stages():
    motion = sb.Sinusoid(0.8, 3.0)
    motor = {"point": [0, 0, 0], "axis": [0, 1, 0], "prescribed": motion}
    bar = {"mass": 2.0, "inertia": [0.1, 0.1, 0.1], "position": [0.5, 0, 0]}
    system = one_body(sb.Revolute(), joint=motor, **bar).compile()
    run = sb.simulate(system, duration=1.0, step=0.02, method=sb.Method(stabilization="none"))
    given = np.array([motion(t)[0] for t in run.time])
    np.testing.assert_allclose(run.coordinate[:, 0], given, atol=2e-6)
    assert not run.conservative
    assert run.energy_error is None
    projected_run = sb.simulate(system, duration=1.0, step=0.02)
    np.testing.assert_allclose(projected_run.coordinate[:, 0], given, atol=1e-10)


@pytest.mark.parametrize("method", ["rk4", "auto"])
def test_a_drive_into_a_dead_end_stops_with_the_name_of_a_joint(method):
    drive = sb.Polynomial((0.0, 0.0, -2.0))  # away from the rod, which is too short to follow
    arm, hinge = sb.Mechanism("blocked", gravity=(0, 0, 0)), sb.Revolute()
    position = [[0.5, 0, 0], [1.5, 0, 0]]
    arm.add_bodies(["first", "second"], mass=1.0, inertia=[0.1] * 3, position=position)
    arm.add_joint("base", hinge, sb.WORLD, "first", point=[0, 0, 0], prescribed=drive)
    arm.add_joint("elbow", hinge, "first", "second", point=[1, 0, 0])
    arm.add_distance("rod", sb.WORLD, "second", first_point=[0, 1, 0], second_point=[0.5, 0, 0])
    with pytest.raises(sb.SparsebodyError, match=r"stopped at t = .*(joint '|dependent)"):
        sb.simulate(arm.compile(), duration=3.0, step=0.01, method=method)


def test_baumgarte_terms_that_do_not_hold_a_joint_stop_with_its_name():
    """A joint that is wide open, and opens further."""
    state = sb.consistent_state(FOUR_BARS)
    torn = sb.displaced(state, AWAY).with_(velocity=state.velocity + 10.0 * AWAY)
    dynamics = sb.ForwardDynamics(FOUR_BARS, state, baumgarte=0.02)
    with pytest.raises(OpenJointError, match=r"joint 'ground-0' .* open .*projection") as stop:
        pulled(dynamics.evaluate, torn, scales(FOUR_BARS, torn))
    assert stop.value.position_error == pytest.approx(0.3, rel=0.5)


def test_baumgarte_terms_may_close_a_joint_that_begins_wide_open():
    state = sb.consistent_state(FOUR_BARS)
    start = sb.displaced(state, AWAY).with_(velocity=np.zeros_like(state.velocity))
    dynamics = sb.ForwardDynamics(FOUR_BARS, state, baumgarte=0.02)
    options = {"step": 0.005, "method": sb.Method(stabilization="baumgarte")}
    run = sb.simulate(FOUR_BARS, start, duration=0.2, dynamics=dynamics, **options)
    assert run.position_error[0] > 0.2
    assert run.position_error[-1] < 0.01
