"""Events of a user: located, ending and changing a motion."""

import itertools
import sys

import numpy as np
import pytest
from linkages import one_body

import sparsebody as sb
from sparsebody.simulation.callbacks import EventFinder, user_events

G = 9.81

BALL = one_body(position=[0, 0, 1]).compile()


def height(**attributes):
    def ground(time, state):
        return float(state.position[0, 2])

    vars(ground).update(attributes)
    return ground


def times(run):
    return [event.time for event in run.events if event.kind == "event"]


@pytest.mark.parametrize("step", [0.3, 0.07, "auto"])
def test_a_terminal_event_ends_the_motion_where_it_is(step):
    run = sb.simulate(BALL, duration=2.0, step=step, events=height(terminal=True))
    assert run.time[-1] == pytest.approx(np.sqrt(2.0 / G), abs=1e-13)
    assert run.position[-1, 0, 2] == pytest.approx(0.0, abs=1e-13)
    assert [event.message for event in run.events if event.kind == "event"] == ["ground"]
    assert not run.interrupted


LIFT = {"pairs": 20, "drive": True, "angle": 0.6, "lifted": 0.05, "rise_time": 0.5}


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize("is_changing", [False, True])
@pytest.mark.parametrize(
    ("name", "parameters", "method"),
    [
        ("ladder", {"rungs": 4}, "rk4"),
        ("lattice", {"rows": 4, "columns": 4}, "auto"),
        ("lattice", {"rows": 3, "columns": 3}, "generalized-alpha-2"),
        ("scissor", LIFT, "generalized-alpha"),  # its joints become stiffer on the way
    ],
)
def test_steps_that_are_undone_for_an_event_leave_no_trace(
    monkeypatch, name, parameters, method, is_changing
):
    """The same bits as of steps that are taken one by one, after each event."""

    def wave(time, state):
        return np.sin(60.0 * time)

    if is_changing:
        wave.change = lambda time, state: state.with_(velocity=0.9 * state.velocity)
    system, options = sb.build(name, **parameters).compile(), {"duration": 0.3, "step": 0.002}
    runs = []
    for n_steps in (1, 16):
        for most in ("_STEPS_TO_EVENT", "_MOST_STEPS_TO_EVENT"):
            monkeypatch.setattr(sys.modules[sb.simulate.__module__], most, n_steps)
        runs.append(sb.simulate(system, events=wave, method=method, **options))
    assert len(times(runs[0])) == 5
    np.testing.assert_array_equal(runs[1].position, runs[0].position)
    np.testing.assert_array_equal(runs[1].velocity, runs[0].velocity)
    assert list(map(str, runs[1].events)) == list(map(str, runs[0].events))
    assert runs[1].estimated_error == runs[0].estimated_error


@pytest.mark.parametrize("method", ["auto", "generalized-alpha", "generalized-alpha-2"])
def test_functions_that_fail_after_a_terminal_event_do_not_matter(method):
    """Steps to a later time are tried with those to the event."""

    def effort(time):
        if time > 0.1:
            raise ValueError("no effort is known")
        return 0.1, 0.0, 0.0

    def end(time, state):
        return time - 0.055

    end.terminal = True
    mechanism = sb.build("four-bar")
    mechanism.add_joint_force("motor", next(iter(mechanism.joints)), effort=effort)
    run = sb.simulate(mechanism.compile(), duration=1.0, step=0.01, method=method, events=end)
    assert run.time[-1] == pytest.approx(0.055, abs=1e-12)


@pytest.mark.parametrize("step", [0.11, "auto"])
def test_a_ball_bounces_at_the_times_of_the_geometric_series(step):
    restitution = 0.8
    bounce = height(
        direction=-1,
        change=lambda time, state: state.with_(velocity=-restitution * state.velocity),
    )
    run = sb.simulate(BALL, duration=2.5, step=step, events=[bounce])
    first = np.sqrt(2.0 / G)
    flights = 2.0 * first * restitution ** np.arange(1, 4)
    np.testing.assert_allclose(times(run)[:4], first + np.cumsum([0.0, *flights]), atol=1e-11)
    assert run.position[:, 0, 2].min() > -1e-12


def test_directions_choose_among_the_zeros():
    """A pendulum passes its lowest point to and fro in turn, half a period apart."""

    def lowest(time, state):
        return float(state.position[0, 0])

    zeros = []
    for lowest.direction in (0, 1, -1):
        run = sb.simulate(sb.build("pendulum").compile(), duration=4.0, step=0.01, events=lowest)
        zeros.append(times(run))
    both, up, down = zeros
    assert sorted(up + down) == both
    assert len(both) > 2
    assert abs(len(up) - len(down)) <= 1


@pytest.mark.parametrize("method", ["rk4", "radau-iia", "generalized-alpha"])
def test_adaptive_steps_find_all_events_between_two_records(method):
    """A pendulum that turns back wherever it is lowest, twice between records."""

    def lowest(time, state):
        return float(state.position[0, 0])

    lowest.change = lambda time, state: state.with_(velocity=-0.9 * state.velocity)
    system, runs = sb.build("pendulum").compile(), []
    for options in ({"step": 2e-3, "method": "rk4"}, {"step": "auto", "method": method}):
        record = sb.Recording(step=2.0)
        run = sb.simulate(system, duration=6.0, events=lowest, record=record, **options)
        runs.append((times(run), run.position[-1, 0]))
    assert len(runs[0][0]) == 5
    for exact, adaptive in zip(*runs, strict=True):
        np.testing.assert_allclose(adaptive, exact, atol=1e-3)


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize("method", ["rk4", "generalized-alpha"])
def test_closed_loops_are_closed_at_events_and_after_changes(method):
    def halfway(time, state):
        return time - 0.1234

    halfway.change = lambda time, state: state.with_(velocity=0.5 * state.velocity)
    system = sb.build("four-bar").compile()
    run = sb.simulate(system, duration=0.3, step=0.01, events=halfway, method=method)
    assert times(run) == pytest.approx([0.1234])
    assert run.position_error.max() < 1e-6
    assert run.velocity_error.max() < (1e-12 if method == "rk4" else 1e-2)
    before, after = run.kinetic_energy[12], run.kinetic_energy[13]
    assert after < 0.5 * before


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("method", ["rk4", "variational-4", "radau-iia"])
def test_events_at_a_singular_pose_keep_the_energy(method, goes_on):
    """Cranks are level where all bars are in line: projections there would multiply errors."""
    system = sb.build("n-four-bar", loops=2).compile()
    crank = system.body_names.index("vertical-0")

    def level(time, state):
        return float(state.position[crank, 1])

    level.terminal = not goes_on
    if goes_on:
        level.change = lambda time, state: state
    run = sb.simulate(system, duration=0.9, step=0.005, method=method, events=level)
    (time,) = times(run)
    assert (run.time[-1] == time) is not goes_on
    assert np.abs(run.energy - run.energy[0]).max() < 1e-6  # [J], of 38
    assert run.velocity_error.max() < 1e-8


@pytest.mark.parametrize("step", [0.00357, 0.01])
def test_compliant_joints_bear_a_change_of_the_motion_at_a_singular_pose(step):
    """Closing what compliance leaves open would move bodies far there, and change velocities."""
    system = sb.build("n-four-bar", loops=2).compile()
    crank = system.body_names.index("vertical-0")

    def level(time, state):
        return float(state.position[crank, 1])

    level.change = lambda time, state: state
    options = {"duration": 0.9, "step": step, "method": "generalized-alpha"}
    run, plain = (sb.simulate(system, **options, events=event) for event in (level, None))
    assert len(times(run)) == 1
    of_step = np.abs(plain.energy - plain.energy[0]).max()
    assert np.abs(run.energy - run.energy[0]).max() < 1.3 * of_step
    assert np.abs(run.position[-1] - plain.position[-1]).max() < 20.0 * step**2
    assert run.position_error.max() < 1e-7


@pytest.mark.parametrize("method", ["rk4", "variational-4", "radau-iia"])
def test_events_beside_a_record_at_a_singular_pose_are_located(method):
    """There accelerations are not known; those of another step tell where the event is."""
    system = sb.build("n-four-bar", loops=2).compile()
    crank = system.body_names.index("vertical-0")

    def before(time, state):
        return float(state.position[crank, 1] + 0.002)

    def after(time, state):
        return float(state.position[crank, 1] - 0.002)

    steps = 0.7143555292929972 / 150, 0.003  # the pose is passed at the end of a step, or in one
    located = [
        times(sb.simulate(system, duration=0.75, step=h, method=method, events=[before, after]))
        for h in steps
    ]
    np.testing.assert_allclose(*located, atol=1e-9)


@pytest.mark.filterwarnings("ignore:errors of the steps of")
def test_a_change_that_makes_motions_faster_makes_joints_stiffer():
    """Of a lattice, dependent at the start, ten times as fast as the loads at rest let it be."""
    system = sb.build("lattice", rows=3, columns=3).compile()

    def kick(time, state):
        return time - 0.15

    kick.change = lambda time, state: state.with_(velocity=30.0 * state.velocity)
    run = sb.simulate(system, duration=0.3, step=0.005, events=kick)
    extent = system.typical_length + np.linalg.norm(np.ptp(run.position[0], axis=0))
    assert run.position_error.max() < 1e-6 * extent


@pytest.mark.parametrize("method", ["generalized-alpha", "generalized-alpha-2", "rk4"])
@pytest.mark.parametrize("rest", [0.0, 1e-15, 1e-9, 1e-5, 1e-4, 2e-3])
def test_what_remains_of_a_step_after_a_change_may_be_as_short_as_it_likes(rest, method):
    """Position errors over a short step would be velocities, and energy."""

    def kick(time, state):
        return time - (0.15 - rest)

    kick.change = lambda time, state: state.with_(velocity=2.0 * state.velocity)
    system = sb.build("n-four-bar", loops=2).compile()
    run = sb.simulate(system, duration=0.2, step=0.005, events=kick, method=method)
    after = run.energy[30:]
    assert after[0] - run.energy[29] == pytest.approx(3.0 * run.kinetic_energy[29], rel=0.2)
    assert np.abs(after - after[0]).max() < 2e-4  # [J], of 41


def test_a_body_that_is_stopped_stops_others_as_an_impact_does():
    """Momenta along the motions that are left are kept, by whichever method."""
    system = sb.build("four-bar").compile()

    def stop(time, state):
        return time - 0.1234

    def stopped(time, state):
        velocity = state.velocity.copy()
        velocity[-1] = 0.0
        return state.with_(velocity=velocity)

    stop.change = stopped
    kept = []
    for method in ("rk4", "generalized-alpha", "generalized-alpha-2", "radau-iia"):
        run = sb.simulate(system, duration=0.15, step=0.002, events=stop, method=method)
        before, after = run.kinetic_energy[61], run.kinetic_energy[62]
        assert after < 0.9 * before
        kept.append(run.energy[-1])
    np.testing.assert_allclose(kept, kept[0], atol=1e-4)


@pytest.mark.parametrize("method", ["generalized-alpha", "rk4"])
def test_a_run_that_ends_just_after_a_change_goes_on_with_the_same_bits(method, tmp_path):
    """What remains of that step is too short for one, and is left to the next."""

    def kick(time, state):
        return time - 0.149999

    kick.change = lambda time, state: state.with_(velocity=2.0 * state.velocity)
    system, path = sb.build("n-four-bar", loops=2).compile(), tmp_path / "run.h5"
    options = {"step": 0.005, "method": method, "events": kick}
    whole = sb.simulate(system, duration=0.3, **options)
    sb.simulate(system, duration=0.15, output=path, **options)
    resumed = sb.simulate(system, duration=0.3, output=sb.Output(path, resume=True), **options)
    np.testing.assert_array_equal(resumed.position, whole.position)
    np.testing.assert_array_equal(resumed.velocity, whole.velocity)


def test_a_function_that_is_zero_at_the_end_of_a_step_has_its_zero_there():
    """Interpolation at the end differs from the state there by rounding, maybe in sign."""
    rng = np.random.default_rng(0)
    run = sb.simulate(sb.build("pendulum").compile(), duration=0.2, step=0.01)
    states = [run.state(k) for k in range(len(run.time))]
    for before, after in itertools.pairwise(states):
        normal = rng.normal(size=3)

        def passed(time, state, normal=normal, after=after):
            return float((state.position[0] - after.position[0]) @ normal)

        finder = EventFinder(user_events(passed))
        finder.begin(before)
        [(_, zero)] = finder.find(Steps(), before, after)
        assert zero.time == pytest.approx(after.time, abs=1e-12)


class Steps:
    """A motion whose accelerations are of no account."""

    def acceleration_at(self, state):
        return np.ones((1, 6))

    def closed(self, state):
        return state


def test_steps_that_are_undone_for_an_event_report_nothing_twice():
    """A torus of four-bars exchanges rows time and again, and passes a pose now and then."""
    system = sb.build("four-bar-torus", rows=3, columns=3).compile()
    often = {"events": lambda time, state: np.sin(40.0 * time)}
    reports = []
    for events in ({}, often):
        run = sb.simulate(system, duration=2.0, step=0.002, **events)
        reports.append([event for event in run.events if event.kind != "event"])
    assert reports[0] == reports[1]
    assert len(reports[0]) > 5
