"""Which stages of compiled steps stay open, and steps that are taken at once."""

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.errors import SparsebodyError
from sparsebody.simulation import explicit_steps
from sparsebody.simulation.trajectory import CHANNELS, StoppedSimulationError

FOUR_BARS = sb.build("n-four-bar", loops=5).compile()
OPTIONS = {"duration": 0.9, "step": 0.002, "method": "rk4"}


@pytest.mark.usefixtures("step_by_step")
def test_open_stages_are_not_tried_where_they_would_be_in_vain(monkeypatch):
    """Pivots of parallelograms pass zero: for a third of the motion they change too fast."""
    tried = []

    def recorded(tableau, closes_stages, is_adaptive):
        nodes, attempt = original(tableau, closes_stages, is_adaptive)

        def step(native, start, h):
            reached = attempt(native, start, h)
            tried.append((closes_stages, reached[0] == native.OPEN))
            return reached

        return nodes, step

    original = explicit_steps._attempt
    monkeypatch.setattr(explicit_steps, "_attempt", recorded)
    run = sb.simulate(FOUR_BARS, **OPTIONS)
    closed = sum(closes for closes, _ in tried)
    in_vain = sum(failed and not closes for closes, failed in tried)
    assert closed > 100
    assert in_vain < 0.2 * closed
    precise = sb.simulate(FOUR_BARS, **OPTIONS | {"method": "radau-iia"})
    assert np.abs(run.position[-1] - precise.position[-1]).max() < 1e-8


@pytest.mark.filterwarnings("ignore:errors of the steps of")
@pytest.mark.parametrize("every", [1, 3, 10])
@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(("ladder", "rk4"), ("n-four-bar", "rk4"), ("slider-crank", "rk4")),
        *(("slider-crank", "generalized-alpha"), ("four-bar", "generalized-alpha-2")),
        ("lattice", "auto"),
    ],
)
def test_steps_taken_at_once_are_those_taken_one_by_one(name, method, every, request):
    """Bit for bit, with a control, and with events that are noted, or change the motion."""
    mechanism = sb.build(name)
    bodies = mechanism.compile().body_names
    mechanism.add_point_force("spring", bodies[0], bodies[-1], stiffness=3.0, rest_length=0.1)
    system, starts = mechanism.compile(), []

    def control(time, state):
        return np.sin(time) - 0.1 * state.velocity

    def every_twentieth(time, state):
        return np.sin(20.0 * np.pi * time + 0.1)

    def kick(time, state):
        return time - 0.2137

    kick.change = lambda time, state: state.with_(velocity=0.5 * state.velocity)
    for options in ({}, {"control": control}, {"events": [every_twentieth, kick]}):
        record = sb.Recording(step=0.01 * every, reactions="control" not in options)
        options |= {"duration": 0.3, "step": 0.01, "method": method, "record": record}
        starts.append((options, sb.simulate(system, **options)))
    request.getfixturevalue("step_by_step")
    for options, at_once in starts:
        one_by_one = sb.simulate(system, **options)
        assert len(at_once) == 30 // every + 1
        assert at_once.events == one_by_one.events
        for channel in CHANNELS:
            if getattr(at_once, channel) is not None:
                equal = getattr(at_once, channel), getattr(one_by_one, channel)
                np.testing.assert_array_equal(*equal, err_msg=channel)
    assert len(starts[-1][1].events) >= 6


def driven_four_bars(function):
    """Parallelograms that pass singular poses, driven at a hinge by a function of time."""
    mechanism = sb.build("n-four-bar", loops=5)
    mechanism.add_joint_force("motor", next(iter(mechanism.joints)), effort=function)
    return mechanism.compile()


def test_functions_of_time_are_those_of_steps_taken_one_by_one(request):
    """At the times of their stages, open or closed, bit for bit."""

    def run():
        times = set()

        def effort(time):
            times.add(time)
            return 30.0 * np.cos(7.0 * time), 0.0, 0.0

        return sb.simulate(driven_four_bars(effort), **OPTIONS), times

    at_once, tabulated = run()
    request.getfixturevalue("step_by_step")
    one_by_one, times = run()
    np.testing.assert_array_equal(at_once.velocity, one_by_one.velocity)
    assert at_once.events == one_by_one.events
    assert times <= tabulated


@pytest.mark.parametrize("kind", ["effort", "prescribed"])
@pytest.mark.parametrize("failure", [RuntimeError, float("nan")])
def test_a_function_of_time_fails_in_the_step_that_reaches_the_time(failure, kind, request):
    def function(time):
        if time > 0.125 and failure is RuntimeError:
            raise failure
        return failure if time > 0.125 else 0.1 * time**2, 0.2 * time, 0.2

    mechanism = sb.Mechanism("crank")
    mechanism.add_body("crank", mass=1.0, inertia=[1.0, 1.0, 1.0])
    joint = {"prescribed": function} if kind == "prescribed" else {}
    mechanism.add_joint("axle", sb.Revolute(), sb.WORLD, "crank", **joint)
    if kind == "effort":
        mechanism.add_joint_force("motor", "axle", effort=function)
    system, errors = mechanism.compile(), []
    for _ in range(2):
        with pytest.raises((RuntimeError, SparsebodyError)) as error:
            sb.simulate(system, **SHORT)
        errors.append((error.type, str(error.value)))
        run = sb.simulate(system, **SHORT, events=at_time(0.115, terminal=True))
        assert run.time[-1] == pytest.approx(0.115)
        request.getfixturevalue("step_by_step")
    assert errors[0] == errors[1]
    if failure is not RuntimeError:
        assert "stopped at t = 0.12 s" in errors[0][1]


@pytest.mark.parametrize("looks_back", ["events", "record"])
def test_a_control_with_a_memory_sees_no_step_again(looks_back):
    """Its times never go back by more than a step, whatever is looked up after it."""
    times = []

    def control(time, state):
        times.append(time)
        return np.zeros(state.velocity.shape)

    def zero(time, state):
        return time - 0.2137

    options = (
        {"events": zero} if looks_back == "events" else {"record": sb.Recording(reactions=True)}
    )
    sb.simulate(FOUR_BARS, duration=0.4, step=0.01, method="rk4", control=control, **options)
    assert np.min(np.array(times) - np.maximum.accumulate(times)) > -0.0101


LADDER = sb.build("ladder").compile()
SHORT = {"duration": 0.3, "step": 0.01, "method": "rk4"}


def at_time(t, **attributes):
    """Return an event at a time [s]."""

    def event(time, state):
        return time - t

    vars(event).update(attributes)
    return event


def halved(time, state):
    return state.with_(velocity=0.5 * state.velocity)


@pytest.mark.parametrize("error", [ValueError, SparsebodyError, KeyboardInterrupt])
def test_a_control_does_not_fail_beyond_the_event_that_ends_the_motion(error):
    def control(time, state):
        if time > 0.06:
            raise error
        return np.zeros((LADDER.n_bodies, 6))

    run = sb.simulate(LADDER, **SHORT, control=control, events=at_time(0.055, terminal=True))
    assert not run.interrupted
    assert run.time[-1] == pytest.approx(0.055, abs=1e-15)


def test_a_control_with_memory_is_not_called_ahead_of_events(request):
    """One that is sampled would hold what it computed from a future that events change."""

    class Sampled:
        def __init__(self):
            self.next, self.force = 0.0, None

        def __call__(self, time, state):
            if time >= self.next:
                self.force, self.next = -state.velocity, time + 0.025
            return self.force

    def end():
        events = [at_time(0.055), at_time(0.1553, change=halved)]
        return sb.simulate(LADDER, **SHORT, control=Sampled(), events=events).position[-1]

    at_once = end()
    request.getfixturevalue("step_by_step")
    np.testing.assert_array_equal(at_once, end())


def test_steps_before_an_error_of_an_event_are_kept():
    """Also those that were taken together with the one after which the function fails."""

    def event(time, state):
        if time > 0.125:
            raise SparsebodyError("no value")
        return 1.0

    with pytest.raises(StoppedSimulationError, match=r"t = 0.12 s: no value") as stopped:
        sb.simulate(LADDER, **SHORT, events=event)
    np.testing.assert_allclose(stopped.value.trajectory.time, 0.01 * np.arange(13), atol=1e-15)


@pytest.mark.filterwarnings("ignore:interrupted by SIGINT")
def test_an_interruption_in_an_event_undoes_steps_that_are_not_recorded(tmp_path):
    """After any number of calls: the run that is resumed is an undisturbed one bit for bit."""
    system, n_calls = sb.build("slider-crank").compile(), 0
    kick = at_time(0.0537, change=halved)

    def event(time, state):
        nonlocal n_calls
        n_calls -= 1
        if n_calls == 0:
            raise KeyboardInterrupt
        return np.sin(20.0 * np.pi * time + 0.1)

    options = SHORT | {"duration": 0.2, "events": [event, kick]}
    undisturbed = sb.simulate(system, **options)
    for k in range(2, 60, 5):
        n_calls, path = k, tmp_path / f"{k}.h5"
        assert sb.simulate(system, output=path, **options).interrupted
        run = sb.simulate(system, output=sb.Output(path, resume=True), **options)
        np.testing.assert_array_equal(run.time, undisturbed.time)
        np.testing.assert_array_equal(run.velocity, undisturbed.velocity)
        assert run.events == undisturbed.events
