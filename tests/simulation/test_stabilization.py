"""Drift with and without stabilization, and poses where the rank changes."""

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.model.gallery.planar_linkages import n_four_bar
from sparsebody.simulation import STABILIZATIONS
from sparsebody.simulation.stabilization import (
    OpenJointError,
    constraint_errors,
    projected,
    pulled,
    scales,
)


def swinging_four_bar() -> sb.System:
    return n_four_bar(2, speed=3.0).compile()


@pytest.fixture(scope="module")
def runs():
    return {
        name: sb.simulate(
            swinging_four_bar(),
            duration=0.3,  # ends before the bars are level
            step=0.01,
            method=sb.Method("semi-implicit-euler", stabilization=name, time_constant=0.02),
        )
        for name in STABILIZATIONS
    }


def test_without_stabilization_joints_drift_apart(runs):
    assert runs["none"].position_error[-1] > 1e-3


def test_projection_closes_joints_to_rounding(runs):
    assert runs["projection"].position_error.max() < 1e-11
    assert runs["projection"].velocity_error.max() < 1e-8


def test_baumgarte_terms_hold_the_drift_down(runs):
    assert runs["baumgarte"].position_error[-1] < 0.3 * runs["none"].position_error[-1]


def test_projection_returns_an_evaluation_that_fits_the_corrected_state():
    system = swinging_four_bar()
    state = sb.consistent_state(system)
    dynamics = sb.ForwardDynamics(system, state)
    rng = np.random.default_rng(1)
    for size, closeness in ((1e-8, 1e-6), (1e-3, 1e-9)):  # factors reused, factors made again
        moved = sb.displaced(state, size * rng.normal(size=(system.n_bodies, 6)))
        moved = moved.with_(velocity=moved.velocity + size * rng.normal(size=state.velocity.shape))
        found = projected(dynamics.evaluate, moved)
        errors = constraint_errors(system, found.state)
        assert np.abs(errors[0]).max() < 1e-12
        assert np.abs(errors[1]).max() < 1e-12
        reused = found.evaluation.acceleration()
        exact = dynamics(found.state).acceleration  # factors may be overwritten in place
        velocity_part = np.abs(reused - exact).max() / np.abs(exact).max()
        assert velocity_part < (closeness if size < 1e-6 else 0.1)
        assert found.correction <= 10 * size


def test_drives_are_followed_and_time_advances_within_the_stages():
    arm = sb.Mechanism("arm")
    arm.add_body("bar", mass=2.0, inertia=[0.1, 0.1, 0.1], position=[0.5, 0, 0])
    motion = sb.Sinusoid(0.8, 3.0)
    arm.add_joint(
        "motor", sb.Revolute(), sb.WORLD, "bar", point=[0, 0, 0], axis=[0, 1, 0], prescribed=motion
    )
    system = arm.compile()
    run = sb.simulate(system, duration=1.0, step=0.02, method=sb.Method(stabilization="none"))
    given = np.array([motion(t)[0] for t in run.time])
    np.testing.assert_allclose(run.coordinate[:, 0], given, atol=2e-6)
    assert not run.conservative
    assert run.energy_error is None
    projected_run = sb.simulate(system, duration=1.0, step=0.02)
    np.testing.assert_allclose(projected_run.coordinate[:, 0], given, atol=1e-10)


def test_a_mechanism_that_starts_at_a_singular_pose_finds_its_full_rank():
    """All bars of a parallelogram in line: one row fewer than elsewhere."""
    mechanism = sb.Mechanism("flat", gravity=(0, 0, 0))
    for name, x, v in (("left", 0.5, 0.5), ("coupler", 1.5, 1.0), ("right", 1.5, 0.5)):
        mechanism.add_body(
            name,
            mass=1.0,
            inertia=[1e-3, 1 / 12, 1 / 12],
            position=[x, 0, 0],
            linear_velocity=[0, v, 0],
            angular_velocity=[0, 0, 0 if name == "coupler" else 1.0],
        )
    for name, a, b, x in (
        ("a", sb.WORLD, "left", 0.0),
        ("b", "left", "coupler", 1.0),
        ("c", "coupler", "right", 2.0),
        ("d", sb.WORLD, "right", 1.0),
    ):
        mechanism.add_joint(name, sb.Revolute(), a, b, point=[x, 0, 0], axis=[0, 0, 1])
    system = mechanism.compile()
    run = sb.simulate(system, duration=1.0, step=0.01, method="rk4")
    assert run.position_error.max() < 1e-6
    assert [event.kind for event in run.events].count("re-analysis") >= 1
    assert run.energy_error < 1e-3


@pytest.mark.parametrize("method", ["rk4", "auto"])
def test_a_drive_into_a_dead_end_stops_with_the_name_of_a_joint(method):
    drive = sb.Polynomial((0.0, 0.0, -2.0))  # away from the rod, which is too short to follow
    pulled = sb.Mechanism("blocked", gravity=(0, 0, 0))
    for name, x in (("first", 0.5), ("second", 1.5)):
        pulled.add_body(name, mass=1.0, inertia=[0.1] * 3, position=[x, 0, 0])
    pulled.add_joint("base", sb.Revolute(), sb.WORLD, "first", point=[0, 0, 0], prescribed=drive)
    pulled.add_joint("elbow", sb.Revolute(), "first", "second", point=[1, 0, 0])
    pulled.add_distance("rod", sb.WORLD, "second", first_point=[0, 1, 0], second_point=[0.5, 0, 0])
    with pytest.raises(sb.SparsebodyError, match=r"stopped at t = .*(joint '|dependent)"):
        sb.simulate(pulled.compile(), duration=3.0, step=0.01, method=method)


def test_baumgarte_terms_that_do_not_hold_a_joint_stop_with_its_name():
    """A joint that is wide open, and opens further."""
    system = swinging_four_bar()
    state = sb.consistent_state(system)
    away = np.zeros((system.n_bodies, 6))
    away[0, 3:] = 0.3, 0.2, 0.0
    torn = sb.displaced(state, away).with_(velocity=state.velocity + 10.0 * away)
    dynamics = sb.ForwardDynamics(system, state, baumgarte=0.02)
    with pytest.raises(OpenJointError, match=r"joint 'ground-0' .* open .*projection") as stop:
        pulled(dynamics.evaluate, torn, scales(system, torn))
    assert stop.value.opening == pytest.approx(0.3, rel=0.5)


def test_baumgarte_terms_may_close_a_joint_that_begins_wide_open():
    system = swinging_four_bar()
    state = sb.consistent_state(system)
    shift = np.zeros((system.n_bodies, 6))
    shift[0, 3:] = 0.3, 0.2, 0.0
    run = sb.simulate(
        system,
        sb.displaced(state, shift).with_(velocity=np.zeros_like(state.velocity)),
        duration=0.2,
        step=0.005,
        method=sb.Method(stabilization="baumgarte"),
        dynamics=sb.ForwardDynamics(system, state, baumgarte=0.02),
    )
    assert run.position_error[0] > 0.2
    assert run.position_error[-1] < 0.01


def test_a_driven_screw_stays_closed_between_swinging_bodies():
    mechanism = sb.Mechanism("screw", gravity=(1, 2, -9))
    for name in ("nut", "bolt"):
        mechanism.add_body(name, mass=1.0, inertia=[0.1, 0.2, 0.15], center_of_mass=[0.1, 0.3, 0.2])
    mechanism.add_joint("hook", sb.Spherical(), sb.WORLD, "nut", point=[0.3, 0, 0])
    motion = sb.Sinusoid(0.3, 2.0)
    mechanism.add_joint("thread", sb.Helical(0.1), "nut", "bolt", prescribed=motion)
    run = sb.simulate(mechanism.compile(), duration=0.2, step=0.005)
    assert run.position_error.max() < 1e-11
    assert run.events == ()
