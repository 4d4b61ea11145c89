"""Steps whose stages are closed: nothing depends on which body of a joint is its predecessor."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sparsebody as sb
from sparsebody.model.gallery import build

G = 9.81

simulate = partial(sb.simulate, method="rk4")


def flipped(system: sb.System, mask: np.ndarray) -> sb.System:
    """Return the system with predecessors and successors of some joints exchanged."""
    names = ("predecessor", "successor"), ("predecessor_point", "successor_point")
    changed = {}
    for first, second in (*names, ("predecessor_rotation", "successor_rotation")):
        a, b = getattr(system, first), getattr(system, second)
        on = mask.reshape(-1, *[1] * (a.ndim - 1))
        changed[first], changed[second] = np.where(on, b, a), np.where(on, a, b)
    return replace(system, **changed)


def orientations(system: sb.System, seed: int = 0) -> list[sb.System]:
    """Return the system with joints as they are, all exchanged, and some."""
    n, rng = system.n_joints, np.random.default_rng(seed)
    masks = np.zeros(n, bool), np.ones(n, bool), rng.random(n) < 0.5, rng.random(n) < 0.5
    return [flipped(system, mask) for mask in masks]


def crank_angle(loops: int, times: np.ndarray) -> np.ndarray:
    """Angle (n,) of the cranks of an N-four-bar: sum of m l^2 phi'' = -sum of moments of gravity.

    An equation without constraints, which passes the flat pose straight on.
    """
    factor = G * ((loops + 1) / 2 + loops) / ((loops + 1) / 3 + loops)
    return np.asarray(
        solve_ivp(
            lambda _, y: [y[1], -factor * np.cos(y[0])],
            (0.0, times[-1]),
            [np.pi / 2, -1.0],
            method="DOP853",
            t_eval=times,
            rtol=1e-13,
            atol=1e-13,
        ).y[0]
    )


def error_of_n_four_bar(run: sb.Trajectory, loops: int) -> float:
    """Return the largest distance of a body from where it should be, at all times."""
    phi, error = crank_angle(loops, run.time), 0.0
    tip = np.column_stack([np.cos(phi), np.sin(phi)])
    for i, name in enumerate(run.body_names):
        kind, number = name.split("-")
        middle = 0.5 * tip if kind == "vertical" else tip - (0.5, 0.0)
        position = run.position[:, i, :2] - (float(number), 0.0)
        error = max(error, np.abs(position - middle).max())
    return error


def test_an_n_four_bar_passes_flat_poses_with_order_4_whichever_way_its_joints_point():
    system = build("n-four-bar", loops=3).compile()
    errors = [
        [
            error_of_n_four_bar(simulate(other, duration=3.0, step=step), 3)
            for other in orientations(system)
        ]
        for step in (0.012, 0.006)
    ]
    for same_step in errors:
        assert max(same_step) < 1.01 * min(same_step)
    assert max(errors[0]) < 1e-5
    assert max(errors[1]) < max(errors[0]) / 14.0


@pytest.mark.parametrize("seed", range(6))
def test_an_n_four_bar_with_steps_of_any_length_ends_where_it_should(seed):
    rng = np.random.default_rng(seed)
    loops, step = int(rng.integers(1, 12)), float(np.exp(rng.uniform(*np.log([3e-3, 1e-2]))))
    system = orientations(build("n-four-bar", loops=loops).compile(), seed)[2]
    run = simulate(system, duration=5.0, step=step)
    assert error_of_n_four_bar(run, loops) < 1e-5


def test_the_step_that_lies_worst_at_a_flat_pose_is_as_good_as_others():
    run = simulate(build("n-four-bar", loops=1).compile(), duration=5.0, step=0.0017198449290942)
    assert error_of_n_four_bar(run, 1) < 1e-8


def test_long_rows_of_four_bars_are_as_accurate_as_short_ones():
    errors = [
        simulate(build("n-four-bar", loops=loops).compile(), duration=0.6, step=0.01).energy_error
        for loops in (10, 300)
    ]
    assert errors[1] < 3.0 * errors[0] < 1e-6


def test_bricard_keeps_its_energy_with_order_4_whichever_way_its_joints_point():
    system = build("bricard").compile()
    errors = []
    for step in (0.02, 0.01):
        runs = [
            simulate(other, duration=10.0, step=step, record=sb.Recording(step=0.1))
            for other in orientations(system)
        ]
        for run in runs:
            np.testing.assert_allclose(run.position, runs[0].position, atol=1e-10)
            assert {event.kind for event in run.events} <= {"re-analysis"}
        errors.append(runs[0].energy_error)
    assert errors[1] < 2e-9
    assert errors[1] < errors[0] / 14.0


def test_all_rows_by_krylov_steps_move_bricard_as_independent_ones_do():
    system = build("bricard").compile()
    dynamics = sb.ForwardDynamics(system, redundancy="krylov")
    runs = [
        simulate(system, duration=2.0, step=0.0025, record=sb.Recording(step=0.1), dynamics=given)
        for given in (None, dynamics)
    ]
    np.testing.assert_allclose(runs[1].position, runs[0].position, atol=1e-10)


def test_rows_that_become_dependent_are_exchanged_for_others():
    """One of 30 rows is left out; which 29 are independent changes on the way."""
    run = simulate(build("bricard").compile(), duration=2.0, step=0.01)
    (event,) = run.events
    assert event.kind == "re-analysis"
    assert "29 independent constraint rows from here on, others at joints 'hinge-" in event.message
    assert "become dependent" in event.message


def pin_forces(loops: int, phi: float, rate: float) -> np.ndarray:
    """Return (loops, 2) largest forces on both ends of the horizontal rods, by moments about pins.

    Vertical rods are turned by their tips: sin(phi) F_x = cos(phi) (F_y - g / 2) - phi'' / 3.
    """
    turning = -G * np.cos(phi) * ((loops + 1) / 2 + loops) / ((loops + 1) / 3 + loops)
    a_x = -turning * np.sin(phi) - rate**2 * np.cos(phi)
    a_y = turning * np.cos(phi) - rate**2 * np.sin(phi)
    on_end = 0.5 * (a_y + G)  # vertical force on either end of a horizontal rod
    forces, right = np.zeros((loops, 2)), 0.0
    for i in range(loops):
        on_tip_y = -on_end if i == 0 else -2.0 * on_end
        on_tip_x = (np.cos(phi) * (on_tip_y - G / 2) - turning / 3) / np.sin(phi)
        left = -on_tip_x - right  # the tip bears the rod on its left as well
        right = a_x - left
        forces[i] = np.hypot([left, right], on_end)
    return forces


def test_reactions_near_a_flat_pose_are_those_of_the_equilibrium_of_each_rod():
    """They grow as the inverse of the distance; next to the pose, they are not given."""
    loops = 20
    system = build("n-four-bar", loops=loops).compile()
    run = simulate(system, duration=1.25, step=1e-3, record=sb.Recording(reactions=True))
    assert run.joint_wrench is not None
    phi = crank_angle(loops, run.time)
    near = np.flatnonzero(np.abs(np.sin(phi)) < 0.02)
    assert np.abs(np.sin(phi[near])).min() < 1e-3
    crank = run.body("vertical-0")
    known = near[~np.isnan(run.joint_wrench[near]).any(axis=(1, 2))]
    assert len(known) > len(near) - 3
    for k in known:
        q = run.orientation[k, crank]
        angle = 2.0 * np.arctan2(q[3], q[0])
        expected = pin_forces(loops, angle, run.velocity[k, crank, 2])
        for i in range(loops):
            names = f"node-{i}-right", f"node-{i + 1}-left"
            force = [np.linalg.norm(run.joint_wrench[k, run.joint(name), 3:5]) for name in names]
            np.testing.assert_allclose(force, expected[i], rtol=1e-3)


def test_joints_of_a_mechanism_of_millimetres_close_to_its_rounding():
    size = 1e-3
    lengths = {"crank": 0.4 * size, "coupler": size, "rocker": 0.8 * size, "ground": size}
    run = simulate(build("four-bar", speed=30.0, **lengths).compile(), duration=0.05, step=1e-4)
    assert run.position_error.max() < 1e-13  # angles; positions are 1e-3 of that
    assert run.events == ()
    assert run.energy_error < 1e-8


def test_long_steps_are_not_called_singular_poses():
    run = simulate(build("slider-crank").compile(), duration=2.0, step=0.01)
    assert not any("singular" in event.message for event in run.events)


def test_stiff_springs_are_named_where_steps_are_too_long_for_them():
    """The governor's spring and damper need steps of 1e-4 s; no row of it is dependent."""
    system = build("governor").compile()
    with pytest.raises(sb.SparsebodyError, match="take smaller steps") as stop:
        simulate(system, duration=1.0, step=1e-3)
    assert "dependent" not in str(stop.value)
    assert simulate(system, duration=0.1, step=1e-4).position_error.max() < 1e-12


def test_long_lifts_are_not_singular():
    """Their pivots are small everywhere, as those of everything long and slender."""
    system = build("scissor", pairs=150, drive=True).compile()
    run = simulate(system, duration=0.05, step=0.005, record=sb.Recording(reactions=True))
    assert not [event for event in run.events if "singular" in event.message]
    assert np.isfinite(run.joint_wrench).all()
