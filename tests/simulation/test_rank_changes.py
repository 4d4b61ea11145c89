"""Motions that begin at singular poses, pass them, or lose rank on the way, in closed stages."""

import contextlib
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from closed_stages import close_stages
from command_line import printed
from overconstrained import figure_8_2_a
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import sparsebody as sb
from sparsebody.errors import AccuracyWarning
from sparsebody.model.gallery import build
from sparsebody.simulation import StoppedSimulationError
from sparsebody.simulation.stepper import RowChoice

G, TENTHS = 9.81, {"record": sb.Recording(step=0.1)}

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


def swing(times, factor, angle, rate):
    """Solution (n,) of phi'' = -factor g cos(phi): without constraints, it passes flat poses on."""
    options = {"method": "DOP853", "t_eval": times, "rtol": 1e-13, "atol": 1e-13}
    return solve_ivp(
        lambda _, y: [y[1], -factor * G * np.cos(y[0])], (0.0, times[-1]), [angle, rate], **options
    ).y[0]


# ---- passing ------------------------------------------------------------------------------------


def test_the_user_is_told_when_and_where_a_singular_pose_is_passed(tmp_path):
    system, state = figure(1.0, 0.0, 1.0)
    path = tmp_path / "run.h5"
    run = simulate(system, state, duration=1.0, step=0.005, output=path)
    flat = run.time[np.abs(swing(run.time, 3.5 / 3.05, 1.0, 0.0)).argmin()]
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
    expected = swing(run.time, 3.5 / 3.05, angle, rate)
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
        expected = swing(run.time, 1.0 / 0.7, 0.0, rate)
        np.testing.assert_allclose(turned(run, f"rocker {i}"), expected, atol=1e-7)
    assert any("begins at a singular pose" in event.message for event in run.events)


def test_the_branch_from_rest_does_not_depend_on_the_step():
    """Cubes on ball joints, beginning at rest: their velocity points nowhere."""
    system = build("lattice", rows=3, columns=4).compile()
    steps = 0.01, 0.005, 0.0025
    runs = [simulate(system, duration=0.6, step=h, **TENTHS) for h in steps]
    for run in runs:
        np.testing.assert_allclose(run.position[:4], runs[0].position[:4], atol=1e-6)
        assert run.position_error.max() < 1e-11
        assert run.energy_error < 1e-5
    assert runs[1].energy_error < runs[0].energy_error / 10.0


@pytest.mark.parametrize(("rows", "is_determined"), [(4, True), (6, False)])
def test_rounding_that_decides_on_a_branch_is_told(rows, is_determined):
    """Of the way out of a flat start: of 24 bodies, it multiplies changes of 1e-15 by 1e10."""
    sheet = build("lattice", rows=rows).compile()
    doubt = pytest.warns(AccuracyWarning, match='undetermined branch at t = 0.00.*"auto" takes')
    with contextlib.nullcontext() if is_determined else doubt:
        run = simulate(sheet, duration=0.02, step=1e-3)
    assert is_determined != ("undetermined branch" in [event.kind for event in run.events])


def test_a_singular_start_is_left_alike_however_slowly():
    """A millionth of gravity, in a thousand times the time."""
    slow, fast = (
        simulate(
            build("lattice", rows=3, columns=3, gravity=(0, 0, -9.81 / time**2)).compile(),
            duration=0.02 * time,
            step=1e-3 * time,
        )
        for time in (1e3, 1.0)
    )
    assert [event.kind for event in slow.events] == [event.kind for event in fast.events]
    np.testing.assert_allclose(slow.position, fast.position, atol=1e-8)


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.filterwarnings("ignore:the motion of 'lattice' takes an undetermined")
def test_a_block_of_cubes_with_rows_that_matter_only_later_moves_on():
    """Some of its rows grow independent as the fourth power of the displacement."""
    system = build("lattice", rows=3, columns=4, layers=2).compile()
    runs = [simulate(system, duration=0.3, step=h, **TENTHS) for h in (0.02, 0.01)]
    np.testing.assert_allclose(runs[0].position, runs[1].position, atol=0.03)
    for run in runs:
        assert run.position_error.max() < 1e-6  # interpolated where a singular pose is passed
        assert run.position_error[2:].max() < 1e-12
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


# ---- closed stages: nothing depends on which body of a joint is its predecessor; open ones: errors


def orientations(system, seed=0):
    """Return the system with joints as they are, and with ends of all or some exchanged."""
    n, rng = system.n_joints, np.random.default_rng(seed)
    pairs = [(f"predecessor{part}", f"successor{part}") for part in ("", "_point", "_rotation")]
    systems = []
    for mask in (np.zeros(n, bool), np.ones(n, bool), rng.random(n) < 0.5, rng.random(n) < 0.5):
        changed = {}
        for first, second in pairs:
            a, b = getattr(system, first), getattr(system, second)
            on = mask.reshape(-1, *[1] * (a.ndim - 1))
            changed[first], changed[second] = np.where(on, b, a), np.where(on, a, b)
        systems.append(replace(system, **changed))
    return systems


def crank_angle(loops, times):
    """Angle (n,) of the cranks of an N-four-bar: sum of m l^2 phi'' = -sum of gravity's moments."""
    factor = ((loops + 1) / 2 + loops) / ((loops + 1) / 3 + loops)
    return swing(times, factor, np.pi / 2, -1.0)


def error_of_n_four_bar(run, loops):
    """Return the largest distance of a body from where it should be, at all times."""
    phi, error = crank_angle(loops, run.time), 0.0
    tip = np.column_stack([np.cos(phi), np.sin(phi)])
    for i, name in enumerate(run.body_names):
        kind, number = name.split("-")
        middle = 0.5 * tip if kind == "vertical" else tip - (0.5, 0.0)
        position = run.position[:, i, :2] - (float(number), 0.0)
        error = max(error, np.abs(position - middle).max())
    return error


@pytest.mark.parametrize("stages", ["closed", "open"])
def test_an_n_four_bar_passes_flat_poses_with_order_4_whichever_way_its_joints_point(
    monkeypatch, stages
):
    if stages == "closed":
        close_stages(monkeypatch)
    systems = orientations(build("n-four-bar", loops=3).compile())
    errors = [
        [error_of_n_four_bar(simulate(one, duration=3.0, step=step), 3) for one in systems]
        for step in (0.012, 0.006)
    ]
    for same_step in errors:
        assert max(same_step) < (1.01 if stages == "closed" else 2.0) * min(same_step)
    assert max(errors[0]) < 1e-5
    assert max(errors[1]) < max(errors[0]) / 14.0


@pytest.mark.parametrize("seed", range(6))
def test_an_n_four_bar_with_steps_of_any_length_ends_where_it_should(seed):
    rng = np.random.default_rng(seed)
    loops, step = int(rng.integers(1, 12)), float(np.exp(rng.uniform(*np.log([3e-3, 1e-2]))))
    system = orientations(build("n-four-bar", loops=loops).compile(), seed)[2]
    assert error_of_n_four_bar(simulate(system, duration=5.0, step=step), loops) < 1e-5


def test_a_long_n_four_bar_is_closed_in_its_stages_to_rounding():
    """Stages closed to 1e-10 of its size, and accelerations to 1e-9, end 3.5e-4 m off."""
    system = orientations(build("n-four-bar", loops=35).compile())[2]
    assert (
        error_of_n_four_bar(simulate(system, duration=10.0, step=0.005344294990581677), 35) < 1e-5
    )


def test_joint_frames_turned_about_their_axes_or_far_away_change_nothing():
    """Motions in a plane are projected by errors along axes of the plane, from a body on."""
    system = build("n-four-bar", loops=3).compile()
    shift, n = np.array([300.0, -200.0, 100.0]), system.n_joints
    turn, far = np.random.default_rng(3).uniform(-np.pi, np.pi, n), system.predecessor < 0
    about = Rotation.from_euler("z", turn[:, None]).as_matrix() * [
        1.0,
        -1.0,
        -1.0,
    ]  # and upside down
    start = sb.consistent_state(system)
    other = replace(
        system,
        predecessor_rotation=system.predecessor_rotation @ about,
        successor_rotation=system.successor_rotation @ about,
        predecessor_point=system.predecessor_point + shift * far[:, None],
        initial_state=replace(start, position=start.position + shift),
    )
    runs = [simulate(one, duration=3.0, step=2e-3) for one in (system, other)]
    np.testing.assert_allclose(runs[1].position - shift, runs[0].position, atol=1e-8)
    assert runs[1].position_error.max() < 2e-12  # [m], of positions with a rounding of 6e-14
    assert runs[1].velocity_error.max() < 1e-10


@pytest.mark.parametrize("late", [0.0, 1e-7, -1e-6, 1e-5])
@pytest.mark.parametrize("method", ["rk4", "variational-4"])
def test_a_step_that_ends_at_a_flat_pose_is_as_good_as_others(method, late):
    """Projections there would multiply rounding by up to 1e20."""
    flat, n_steps = brentq(lambda t: crank_angle(4, [t])[-1], 0.5, 0.9, xtol=1e-14), 400
    step = (flat + late) / n_steps  # [s]
    system, duration = build("n-four-bar", loops=4).compile(), (n_steps + 4) * step
    run = sb.simulate(system, duration=duration, step=step, method=method)
    assert any(abs(event.time - flat) < 2.0 * step for event in run.events)
    assert error_of_n_four_bar(run, 4) < 1e-9
    assert np.abs(run.energy - run.energy[0]).max() < 3e-8  # [J], of 67
    assert run.position_error.max() < 1e-12
    assert run.velocity_error.max() < 1e-9


def test_a_pose_that_is_passed_is_not_interpolated_from_the_flat_one():
    """The steps are such that one ends just after the flat pose, which is 0.618 of it."""
    flat, n_steps = brentq(lambda t: crank_angle(4, [t])[-1], 0.5, 0.9, xtol=1e-14), 8000
    step = flat / (n_steps - 0.382)  # [s]
    system = build("n-four-bar", loops=4).compile()
    run = simulate(system, duration=(n_steps + 4) * step, step=step)
    assert any(abs(event.time - flat) < 2.0 * step for event in run.events)
    assert error_of_n_four_bar(run, 4) < 1e-9
    assert np.abs(run.energy - run.energy[0]).max() < 3e-8  # [J], of 67


@pytest.mark.parametrize("ends", ["with an error", "with NaN"])
def test_a_control_that_ends_at_a_flat_pose_is_not_needed_after_it(ends):
    """Steps as above, but the run ends there, and the control with it."""
    flat, n_steps = brentq(lambda t: crank_angle(4, [t])[-1], 0.5, 0.9, xtol=1e-14), 8000
    duration = flat * n_steps / (n_steps - 0.382)

    def control(time, state):
        if time > duration * (1.0 + 1e-12):
            if ends == "with an error":
                raise ValueError(time)
            return np.full((system.n_bodies, 6), np.nan)
        return np.zeros((system.n_bodies, 6))

    system = build("n-four-bar", loops=4).compile()
    run = simulate(system, duration=duration, step=duration / n_steps, control=control)
    assert error_of_n_four_bar(run, 4) < 1e-8


@pytest.mark.parametrize("stages", ["closed", "open"])
def test_bricard_keeps_its_energy_with_order_4_whichever_way_its_joints_point(monkeypatch, stages):
    if stages == "closed":
        close_stages(monkeypatch)
    systems, errors = orientations(build("bricard").compile()), []
    for step in (0.02, 0.01, 0.005):
        runs = [simulate(one, duration=10.0, step=step, **TENTHS) for one in systems]
        atol = 1e-10 if stages == "closed" else 1e-7 * (step / 0.02) ** 4
        for run in runs:
            np.testing.assert_allclose(run.position, runs[0].position, atol=atol)
            assert {event.kind for event in run.events} <= {"re-analysis"}
        errors.append(runs[0].energy_error)
    assert errors[1] < 2e-9
    assert errors[1] < errors[0] / 14.0
    assert errors[2] < errors[1] / 14.0


def test_a_parallelogram_passes_flat_poses_beside_a_door_of_smaller_pivots():
    """Any row on a loop may tell of a singular pose, not only that of the smallest pivot."""
    mechanism, speed = sb.Mechanism("parallelogram and door"), 7.0
    thin = {"mass": 1.0, "inertia": [0.1, 0.1, 0.1]}
    for i, x in enumerate((0.0, 2.0)):
        mechanism.add_body(f"rocker {i}", position=[x, 0, -0.5], **thin)
    mechanism.add_body("coupler", position=[1, 0, -1], **thin)
    for i, x in enumerate((0.0, 2.0)):
        for end, z in ((sb.WORLD, 0), ("coupler", -1)):
            pin = {"point": [x, 0, z], "axis": [0, 1, 0]}
            mechanism.add_joint(f"pin {i} {end}", sb.Revolute(), end, f"rocker {i}", **pin)
    mechanism.add_body("door", mass=20.0, inertia=[5, 5, 2], position=[5.4, 1, 0])
    for z in (-1, 1):
        mechanism.add_joint(f"ball {z}", sb.Spherical(), sb.WORLD, "door", point=[5, 1, z])
    system = mechanism.compile()
    rates = np.zeros((4, 6))
    rates[:2], rates[2] = [0, speed, 0, -0.5 * speed, 0, 0], [0, 0, 0, -speed, 0, 0]
    rates[3] = [0, 0, 1, 0, 0.4, 0]
    start = sb.consistent_state(system)
    start = sb.consistent_state(system, start.with_(velocity=rates))
    errors = [
        simulate(system, start, duration=3.0, step=step).energy_error
        for step in (0.02, 0.01, 0.005)
    ]
    assert errors[1] < 1.5e-7  # that of closed stages
    assert errors[2] < errors[0] / 14.0**2


def test_all_rows_by_krylov_steps_move_bricard_as_independent_ones_do():
    system = build("bricard").compile()
    options = {"duration": 1.5, "step": 0.005} | TENTHS  # rows are exchanged at 1.3 s
    run = simulate(system, dynamics=sb.ForwardDynamics(system, redundancy="krylov"), **options)
    np.testing.assert_allclose(run.position, simulate(system, **options).position, atol=1e-10)


def test_rows_that_become_dependent_are_exchanged_for_others():
    """One of 30 rows is left out; which 29 are independent changes on the way."""
    run = simulate(build("bricard").compile(), duration=2.0, step=0.01)
    (event,) = run.events
    assert event.kind == "re-analysis"
    assert "29 independent constraint rows from here on, others at joints 'hinge-" in event.message
    assert "become dependent" in event.message


def pin_forces(loops, phi, rate):
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
    """They grow as the inverse of the distance; next to the pose, they are not given.

    Rounding e of joint errors turns rods by e / phi, and their accelerations by that over phi^2.
    """
    loops = 8
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
            rounding = 2e-11 / np.abs(np.sin(phi[k])) ** 3
            np.testing.assert_allclose(force, expected[i], rtol=1e-6 + rounding)


def test_a_motion_errs_alike_in_metres_and_kilometres():
    """Sizes, and the squares of times, differ by a factor; so do speeds, but not angles."""
    errors = []
    for size in (1.0, 1e3):
        lengths = {"crank": 0.4 * size, "coupler": size, "rocker": 0.8 * size, "ground": size}
        system, unit = build("four-bar", speed=6.0 / size**0.5, **lengths).compile(), size**0.5
        errors.append(simulate(system, duration=1.0 * unit, step=2e-3 * unit).energy_error)
    assert errors[1] == pytest.approx(errors[0], rel=0.05)


def test_motions_that_stay_at_singular_poses_are_left_to_compliant_joints():
    """A sheet of universal joints can bend at its flat pose alone, and there by nothing finite."""
    sheet = {"rows": 3, "columns": 3}
    with pytest.raises(StoppedSimulationError, match=r'stays at singular poses.*method="auto"'):
        simulate(build("lattice", joint="universal", **sheet).compile(), duration=0.4, step=0.005)
    run = simulate(build("lattice", **sheet).compile(), duration=0.4, step=0.005)  # of balls
    assert run.energy_error < 1e-6


@pytest.mark.filterwarnings("ignore:errors of the steps of")
def test_neither_long_steps_nor_long_lifts_are_called_singular():
    """Pivots of lifts are small everywhere, as those of everything long and slender."""
    lift = build("scissor", pairs=150, drive=True).compile()
    long_steps = simulate(build("slider-crank").compile(), duration=2.0, step=0.01)
    rise = simulate(lift, duration=0.05, step=0.005, record=sb.Recording(reactions=True))
    for run in (long_steps, rise):
        assert not any("singular" in event.message for event in run.events)
    assert np.isfinite(rise.joint_wrench).all()


def test_stiff_springs_are_named_where_steps_are_too_long_for_them():
    """The governor's spring and damper need steps of 1e-4 s; no row of it is dependent."""
    system = build("governor").compile()
    with pytest.raises(sb.SparsebodyError, match="take smaller steps") as stop:
        simulate(system, duration=1.0, step=1e-3)
    assert "dependent" not in str(stop.value)
    assert simulate(system, duration=0.1, step=1e-4).position_error.max() < 1e-12


@pytest.mark.parametrize(
    ("name", "step", "n_exchanges"), [("four-bar-torus", 2e-3, 10), ("rotating-squares", 5e-3, 1)]
)
def test_rows_are_exchanged_by_the_factors_of_steps_as_by_new_ones(
    name, step, n_exchanges, monkeypatch
):
    """The squares come near singular poses, where factors of near poses are inaccurate."""
    exchanged, use_exchanged, gains = sb.ForwardDynamics.exchanged, RowChoice.use_exchanged, []

    def noted(dynamics, exchange):
        gains.append(exchange.gain)
        return exchanged(dynamics, exchange)

    def compared(rows, dynamics, state):
        rows.dynamics.evaluator.assembler.state = None  # whose factors are not those of steps
        best = rows.dynamics.evaluate(state).best_exchange()
        assert gains[-1] == pytest.approx(best.gain, rel=1e-6)
        use_exchanged(rows, dynamics, state)

    monkeypatch.setattr(sb.ForwardDynamics, "exchanged", noted)
    monkeypatch.setattr(RowChoice, "use_exchanged", compared)
    simulate(sb.build(name).compile(), duration=1.3, step=step)
    assert len(gains) > n_exchanges
    assert min(gains) > 2.0


@pytest.mark.parametrize("name", ["rotating-squares", "four-bar-torus"])
def test_rows_are_exchanged_after_one_step_as_after_several(name, request):
    """Many exchanges in the torus are as good as others."""
    system, options = sb.build(name).compile(), {"duration": 1.5, "step": 5e-3}
    at_once = simulate(system, **options)
    assert any(event.kind == "re-analysis" for event in at_once.events)
    request.getfixturevalue("step_by_step")
    one_by_one = simulate(system, **options)
    assert at_once.events == one_by_one.events
    np.testing.assert_array_equal(at_once.velocity, one_by_one.velocity)
