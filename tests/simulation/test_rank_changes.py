"""Motions that begin at singular poses, pass them, or lose rank on the way."""

import re
from functools import partial

import numpy as np
import pytest
from command_line import printed
from overconstrained import figure_8_2_a
from scipy.integrate import solve_ivp

import sparsebody as sb
from sparsebody.model.gallery import build

G = 9.81

simulate = partial(sb.simulate, method="rk4")


def figure(crank, rate, arms, arm_rates=None):
    """Fig. 8.2a, all bars 1 m and 1 kg, turning in the x-z plane.

    Two rhombi upon each other with the crank at an angle and a rate, or, with `arm_rates`, crank
    at rest and couplers and rockers folded together about the rockers' hinge.
    """
    tree, state = figure_8_2_a(crank, (arms, arms))
    velocity = np.zeros_like(state.velocity)
    bodies = {name: i for i, name in enumerate(tree.system.body_names)}

    def turning(angle, at):
        return at * np.array([-np.sin(angle), 0.0, np.cos(angle)])

    velocity[bodies["crank"]] = [0.0, -rate, 0.0, *turning(crank, 0.5 * rate)]
    for i in range(2):
        own = rate if arm_rates is None else arm_rates[i]
        of_coupler = 0.0 if arm_rates is None else own
        middle = rate if arm_rates is None else 0.5 * own
        velocity[bodies[f"rocker {i}"]] = [0.0, -own, 0.0, *turning(arms, 0.5 * own)]
        velocity[bodies[f"coupler {i}"]] = [0.0, -of_coupler, 0.0, *turning(crank, middle)]
    return tree.system, state.with_(velocity=velocity)


def turned(run, name):
    """Angle (n,) by which a body has turned from x to z."""
    q = run.orientation[:, run.body(name)]
    return np.unwrap(2.0 * np.arctan2(-q[:, 2], q[:, 0]), period=2.0 * np.pi)


def swing(run, factor, angle, rate):
    """Solution (n,) of phi'' = -factor g cos(phi)."""
    return solve_ivp(
        lambda _, y: [y[1], -factor * G * np.cos(y[0])],
        (0.0, run.time[-1]),
        [angle, rate],
        t_eval=run.time,
        rtol=1e-11,
        atol=1e-12,
    ).y[0]


# ---- passing ------------------------------------------------------------------------------------


def test_a_parallelogram_stays_one_through_many_flat_poses():
    """Three bars turn, two only move: 3.05 phi'' = -3.5 g cos(phi)."""
    system, state = figure(1.0, 0.0, 1.0)
    run = simulate(system, state, duration=12.0, step=0.01)
    expected = swing(run, 3.5 / 3.05, 1.0, 0.0)
    assert np.count_nonzero(np.diff(np.floor(expected / np.pi))) > 12
    np.testing.assert_allclose(1.0 + turned(run, "crank"), expected, atol=2e-5)
    for i in range(2):
        np.testing.assert_allclose(turned(run, f"coupler {i}"), 0.0, atol=1e-8)
    assert run.position_error.max() < 1e-11
    assert run.energy_error < 1e-6


def test_the_user_is_told_when_and_where_a_singular_pose_is_passed(tmp_path):
    system, state = figure(1.0, 0.0, 1.0)
    path = tmp_path / "run.h5"
    run = simulate(system, state, duration=1.0, step=0.005, output=path)
    flat = run.time[np.abs(swing(run, 3.5 / 3.05, 1.0, 0.0)).argmin()]
    passed = [event for event in run.events if event.kind in ("passed pose", "step in parts")]
    assert passed
    for event in passed:
        assert abs(event.time - flat) < 0.05
        assert re.search(r"near a singular pose at joint '.*', pivot", event.message)
    assert sb.Trajectory.load(path).events == run.events
    arguments = ["simulate", "n-four-bar", "-p", "loops=1", "--duration", "1", "--step", "0.01"]
    assert re.search(
        r"t = 0\.7.*near a singular pose at joint 'node-1-left', pivot", printed(*arguments)
    )


# ---- beginning ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [2.0, -2.0])
@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-8, -1e-6, 1e-3])
def test_a_parallelogram_that_begins_flat_moves_on_as_one(angle, rate):
    system, state = figure(angle, rate, angle)
    run = simulate(system, state, duration=1.0, step=0.004)
    expected = swing(run, 3.5 / 3.05, angle, rate)
    np.testing.assert_allclose(angle + turned(run, "crank"), expected, atol=1e-7)
    for i in range(2):
        np.testing.assert_allclose(turned(run, f"coupler {i}"), 0.0, atol=1e-8)
    assert run.energy_error < 1e-7
    is_doubtful = 0.0 < abs(angle) < 1e-7
    assert is_doubtful == any(event.kind == "rank in doubt" for event in run.events)


@pytest.mark.parametrize("rates", [(2.0, 2.0), (2.0, -1.0), (-1.5, 0.5)])
def test_the_folded_branch_is_taken_where_the_velocity_points_along_it(rates):
    """Crank at rest, two pendulums of two bars each: 0.7 phi'' = -g cos(phi)."""
    system, state = figure(0.0, 0.0, 0.0, rates)
    run = simulate(system, state, duration=1.0, step=0.004)
    np.testing.assert_allclose(turned(run, "crank"), 0.0, atol=1e-8)
    for i, rate in enumerate(rates):
        expected = swing(run, 1.0 / 0.7, 0.0, rate)
        np.testing.assert_allclose(turned(run, f"rocker {i}"), expected, atol=1e-7)
    assert any("begins at a singular pose" in event.message for event in run.events)


def test_the_branch_from_rest_does_not_depend_on_the_step():
    """Cubes on ball joints, beginning at rest: their velocity points nowhere."""
    system = build("lattice", rows=3, columns=4).compile()
    steps = 0.01, 0.005, 0.0025
    runs = [simulate(system, duration=0.6, step=h, record=sb.Recording(step=0.1)) for h in steps]
    for run in runs:
        np.testing.assert_allclose(run.position[:4], runs[0].position[:4], atol=1e-6)
        assert run.position_error.max() < 1e-11
        assert run.energy_error < 1e-5
    assert runs[1].energy_error < runs[0].energy_error / 10.0


def test_a_block_of_cubes_with_rows_that_matter_only_later_moves_on():
    """Some of its rows grow independent as the fourth power of the displacement."""
    system = build("lattice", rows=3, columns=4, layers=2).compile()
    runs = [
        simulate(system, duration=0.3, step=h, record=sb.Recording(step=0.1)) for h in (0.02, 0.01)
    ]
    np.testing.assert_allclose(runs[0].position, runs[1].position, atol=0.03)
    for run in runs:
        assert run.position_error.max() < 1e-8
        assert run.energy_error < 5e-3
        assert run.events[0].kind == "undetermined branch"
        assert "may depend on the step" in run.events[0].message


@pytest.mark.parametrize("stabilization", ["none", "baumgarte", "projection"])
def test_rows_left_out_at_the_start_are_found_where_they_matter(stabilization):
    system = build("lattice", rows=3, columns=4).compile()
    start = sb.ForwardDynamics(system)
    run = simulate(system, duration=0.5, step=0.005, method=sb.Method("rk4", stabilization))
    change = next(event for event in run.events if event.kind == "re-analysis")
    assert change.time < 0.011
    assert f"{start.rank + 2} independent constraint rows" in change.message
    assert "others at joints 'cube-" in change.message
    assert run.position_error.max() < 1e-5
    assert run.energy_error < 1e-4
