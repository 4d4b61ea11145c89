"""The choice between explicit and implicit steps."""

from __future__ import annotations

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.model.gallery import build
from sparsebody.simulation import auto_stepper


def kinds(run: sb.Trajectory) -> list[str]:
    return [event.kind for event in run.events]


def test_regular_mechanisms_move_as_by_explicit_steps():
    system = build("four-bar").compile()
    run = sb.simulate(system, duration=0.2, step=0.005, method="auto")
    explicit = sb.simulate(system, duration=0.2, step=0.005, method="rk4")
    np.testing.assert_array_equal(run.position, explicit.position)
    assert "implicit steps" not in kinds(run)


def test_a_sheet_in_a_plane_takes_implicit_steps_and_says_why_and_how_far_joints_opened():
    run = sb.simulate(
        build("lattice", rows=4, columns=4).compile(), duration=0.2, step=0.005, method="auto"
    )
    first, last = run.events[0], run.events[-1]
    assert first.kind == "implicit steps"
    assert "depend on others at this pose that do not in general" in first.message
    assert f"joints opened by {run.position_error.max():.1e}"[:22] in last.message
    assert run.position_error.max() < 1e-5


def test_stiff_springs_take_implicit_steps():
    mechanism = sb.Mechanism("stiff")
    mechanism.add_body("slide", mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("rail", sb.Prismatic(), sb.WORLD, "slide", axis=[0, 0, 1])
    mechanism.add_joint_force("stop", "rail", stiffness=1e8)
    run = sb.simulate(mechanism.compile(), duration=0.1, step=0.01, method="auto")
    assert "a spring or damper with a rate of 1.0e+04/s is stiff" in run.events[0].message


def test_the_rate_of_a_spring_at_the_end_of_a_slender_rod_is_that_of_its_swing():
    """k (1 / m + r^2 / I) across the rod: turning about itself moves no point of it."""
    from sparsebody.simulation.auto_stepper import fastest_spring

    mechanism = sb.Mechanism("rod")
    mechanism.add_body("rod", mass=2.0, inertia=[1e-9, 0.5, 0.5])
    ends = {"first_point": [1, 0, 0], "second_point": [1, 3, 0]}
    mechanism.add_point_force("coil", "rod", sb.WORLD, stiffness=100.0, **ends)
    system = mechanism.compile()
    rate = fastest_spring(system, system.initial_state)
    assert rate == pytest.approx(np.sqrt(100.0 * (0.5 + 2.0)))


@pytest.mark.parametrize("arm", [0.0, 2.0])
def test_the_rate_of_a_spring_between_points_counts_how_bodies_turn(arm):
    """k (1 / m + r^2 / I) of a body that is held by its side: 100 and 500 / s^2."""
    from sparsebody.simulation.auto_stepper import fastest_spring

    mechanism = sb.Mechanism("spring")
    mechanism.add_body("ball", mass=1.0, inertia=[1, 1, 1])
    mechanism.add_point_force(
        "coil", "ball", sb.WORLD, first_point=[0, arm, 0], second_point=[3, 0, 0], stiffness=100.0
    )
    system = mechanism.compile()
    expected = np.sqrt(100.0 * (1.0 + arm**2))
    assert fastest_spring(system, system.initial_state) == pytest.approx(expected)


def test_a_run_that_turned_implicit_resumes_bit_for_bit(tmp_path):
    system = build("lattice", rows=3, columns=3).compile()
    options = {"step": 0.005, "method": "auto"}
    whole = sb.simulate(system, duration=0.2, **options)
    sb.simulate(system, duration=0.1, output=tmp_path / "part", **options)
    resumed = sb.simulate(
        system, duration=0.2, output=sb.Output(tmp_path / "part", resume=True), **options
    )
    np.testing.assert_array_equal(resumed.position, whole.position)


def test_singular_poses_that_follow_on_each_other_are_passed_by_implicit_steps(monkeypatch):
    monkeypatch.setattr(auto_stepper, "_MOST_CUMBERSOME", 0.5)
    run = sb.simulate(build("four-bar-torus").compile(), duration=1.0, step=0.002)
    (turn,) = [event for event in run.events if event.kind == "implicit steps"]
    assert "singular poses follow on each other" in turn.message
    assert run.position_error.max() < 1e-5
    assert run.energy_error < 1e-3


def test_explicit_steps_are_taken_again_where_poses_are_regular_and_resume_bit_for_bit(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(auto_stepper, "_CHECKED", 16)
    monkeypatch.setattr(auto_stepper, "_MOST_CHECKS", 1)
    system = build("lattice", rows=3, columns=3).compile()
    whole = sb.simulate(system, duration=0.5, step=0.004)
    assert kinds(whole)[:3] == ["implicit steps", "compliance", "explicit steps"]
    assert whole.elastic_energy[5] > 0.0
    assert whole.energy_error < 1e-3
    assert whole.position_error[-1] < 1e-12
    for duration in (0.2, 0.4):  # implicit and explicit steps
        part = tmp_path / f"{duration}"
        sb.simulate(system, duration=duration, step=0.004, output=part)
        resumed = sb.simulate(system, duration=0.5, step=0.004, output=sb.Output(part, resume=True))
        np.testing.assert_array_equal(resumed.position, whole.position)


def test_stiff_trees_run_without_a_word_on_the_method():
    run = sb.simulate(build("governor").compile(), duration=0.5)
    assert run.time[-1] == 0.5
    assert run.events[0].kind == "implicit steps"


def test_a_drive_that_begins_at_rest_is_no_singular_pose():
    """Its first accelerations are rounding, and lead nowhere for hours."""
    lift = sb.build("scissor", pairs=10, drive=True).compile()
    run = sb.simulate(lift, duration=0.1, step=0.005)
    assert "implicit steps" not in [event.kind for event in run.events]
    assert run.position_error.max() < 1e-12
