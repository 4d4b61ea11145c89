"""Steps that are chosen by their errors, and the choice between explicit and implicit ones."""

import numpy as np
import pytest
from linkages import one_body

import sparsebody as sb
from sparsebody.simulation import outer_steppers
from sparsebody.simulation.outer_steppers import fastest_spring


@pytest.mark.parametrize("name", ["four-bar", "bricard"])
def test_errors_fall_with_the_tolerance(name):
    system, errors = sb.build(name).compile(), []
    options = {"duration": 1.0, "record": sb.Recording(step=0.05)}
    exact = sb.simulate(system, step=5e-4, method="rk4", **options)
    for rtol in (1e-4, 1e-6, 1e-8):
        run = sb.simulate(system, step="auto", rtol=rtol, atol=1e-2 * rtol, **options)
        np.testing.assert_allclose(run.time, exact.time, atol=1e-15)
        errors.append(np.abs(run.position - exact.position).max())
        assert run.position_error.max() < 1e-12
    assert errors[0] < 1e-2
    assert errors[1] < errors[0] / 30.0
    assert errors[2] < errors[1] / 30.0


def test_records_between_steps_lie_on_the_parabola_of_a_free_fall():
    ball, record = one_body(linear_velocity=[1, 0, 2]), sb.Recording(step=0.003)
    run = sb.simulate(ball.compile(), duration=1.0, step="auto", record=record)
    t = run.time
    np.testing.assert_allclose(run.position[:, 0, 2], 2.0 * t - 4.905 * t**2, atol=1e-13)
    np.testing.assert_allclose(run.velocity[:, 0, 5], 2.0 - 9.81 * t, atol=1e-12)


def test_implicit_steps_become_as_short_as_their_errors_ask_for():
    system = sb.build("bricard").compile()
    options = {"duration": 1.0, "step": "auto", "method": "generalized-alpha"}
    errors = [sb.simulate(system, rtol=rtol, **options).energy_error for rtol in (1e-4, 1e-6)]
    assert errors[1] < errors[0] / 5.0 < 1e-3


def kinds(run):
    return [event.kind for event in run.events]


def test_regular_mechanisms_move_as_by_explicit_steps():
    system = sb.build("four-bar").compile()
    run = sb.simulate(system, duration=0.2, step=0.005, method="auto")
    explicit = sb.simulate(system, duration=0.2, step=0.005, method="rk4")
    np.testing.assert_array_equal(run.position, explicit.position)
    assert "implicit steps" not in kinds(run)


@pytest.mark.filterwarnings("ignore:errors of the steps of")
def test_a_sheet_in_a_plane_takes_implicit_steps_and_says_why_and_how_far_joints_opened():
    sheet = sb.build("lattice", rows=4, columns=4).compile()
    run = sb.simulate(sheet, duration=0.2, step=0.005, method="auto")
    first, last = run.events[0], run.events[-1]
    assert first.kind == "implicit steps"
    assert "depend on others at this pose that do not in general; where several" in first.message
    assert f"joints opened by {run.position_error.max():.1e}"[:22] in last.message
    assert run.position_error.max() < 1e-5


def test_stiff_springs_take_implicit_steps():
    mechanism = one_body(sb.Prismatic(), joint={"axis": [0, 0, 1]})
    mechanism.add_joint_force("stop", "joint", stiffness=1e8)
    run = sb.simulate(mechanism.compile(), duration=0.1, step=0.01, method="auto")
    assert "a spring or damper with a rate of 1.0e+04/s is stiff" in run.events[0].message
    run = sb.simulate(sb.build("governor").compile(), duration=0.5)
    assert run.time[-1] == 0.5
    assert run.events[0].kind == "implicit steps"


@pytest.mark.parametrize(
    ("mass", "inertia", "ends", "compliance"),
    [
        (2.0, [1e-9, 0.5, 0.5], [[1, 0, 0], [1, 3, 0]], 0.5 + 2.0),
        (1.0, [1, 1, 1], [[0, 0, 0], [3, 0, 0]], 1.0),
        (1.0, [1, 1, 1], [[0, 2, 0], [3, 0, 0]], 1.0 + 4.0),
    ],
)
def test_the_rate_of_a_spring_counts_how_its_body_turns(mass, inertia, ends, compliance):
    """k (1 / m + r^2 / I): turning of a slender rod about itself moves no point of it."""
    mechanism = one_body(mass=mass, inertia=inertia)
    points = dict(zip(("first_point", "second_point"), ends, strict=True))
    mechanism.add_point_force("coil", "body", sb.WORLD, stiffness=100.0, **points)
    system = mechanism.compile()
    rate = fastest_spring(system, system.initial_state)
    assert rate == pytest.approx(np.sqrt(100.0 * compliance))


@pytest.mark.filterwarnings("ignore:errors of the steps of")  # by 3 %
def test_singular_poses_that_follow_on_each_other_are_passed_by_implicit_steps(monkeypatch):
    monkeypatch.setattr(outer_steppers, "_MOST_SLOW_EVENTS", 0.5)
    monkeypatch.setattr(outer_steppers, "is_singular", lambda *_: False)
    sheet = sb.build("lattice", rows=3, columns=4).compile()
    run = sb.simulate(sheet, duration=0.1, step=0.005)
    (turn,) = [event for event in run.events if event.kind == "implicit steps"]
    assert "singular poses follow on each other" in turn.message
    assert run.position_error.max() < 1e-5
    assert run.energy_error < 1e-3


def test_explicit_steps_go_on_where_rows_are_exchanged():
    run = sb.simulate(sb.build("four-bar-torus").compile(), duration=1.5, step=0.002)
    assert kinds(run).count("re-analysis") > 5
    assert "implicit steps" not in kinds(run)
    assert run.position_error.max() < 1e-11
    assert run.energy_error < 1e-6


def test_explicit_steps_are_taken_again_where_poses_are_regular(monkeypatch):
    monkeypatch.setattr(outer_steppers, "_CHECK_INTERVAL", 16)
    run = sb.simulate(sb.build("lattice", rows=3, columns=3).compile(), duration=0.5, step=0.004)
    assert kinds(run)[:3] == ["implicit steps", "compliance", "explicit steps"]
    assert run.elastic_energy[5] > 0.0
    assert run.energy_error < 1e-3
    assert run.position_error[-1] < 1e-12


def test_a_drive_that_begins_at_rest_is_no_singular_pose():
    """Its first accelerations are rounding, and lead nowhere for hours."""
    lift = sb.build("scissor", pairs=10, drive=True).compile()
    run = sb.simulate(lift, duration=0.1, step=0.005)
    assert "implicit steps" not in kinds(run)
    assert run.position_error.max() < 1e-12
