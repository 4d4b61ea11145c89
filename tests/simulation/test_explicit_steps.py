"""Which stages of compiled steps stay open."""

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.simulation import explicit_steps
from sparsebody.simulation.trajectory import CHANNELS

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


def test_a_step_that_open_stages_spoil_ends_before_its_last_evaluation(monkeypatch):
    """Pivots of rotating squares change too fast for them in a quarter of a second."""
    made = []
    original = explicit_steps.ExplicitSteps._of

    def recorded(self, solver):
        made.append(original(self, solver))
        return made[-1]

    monkeypatch.setattr(explicit_steps.ExplicitSteps, "_of", recorded)
    squares = sb.build("rotating-squares", rows=8, columns=8).compile()
    sb.simulate(squares, duration=0.25, step=0.25, method="rk4")
    assert [native.n_evaluations for native in made] == [3 + 4]


@pytest.mark.parametrize("every", [1, 3, 10])
@pytest.mark.parametrize("name", ["ladder", "n-four-bar", "slider-crank"])
def test_steps_taken_at_once_are_those_taken_one_by_one(name, every, request):
    """Bit for bit, with a control, and with events that are noted, or change the motion."""
    mechanism = sb.build(name)
    bodies = mechanism.compile().body_names
    mechanism.add_point_force("spring", bodies[0], bodies[-1], stiffness=3.0, rest_length=0.1)
    system, starts = mechanism.compile(), []
    record = sb.Recording(step=0.01 * every, reactions=True)

    def control(time, state):
        return np.sin(time) - 0.1 * state.velocity

    def every_twentieth(time, state):
        return np.sin(20.0 * np.pi * time + 0.1)

    def kick(time, state):
        return time - 0.2137

    kick.change = lambda time, state: state.with_(velocity=0.5 * state.velocity)
    for options in ({}, {"control": control}, {"events": [every_twentieth, kick]}):
        options |= {"duration": 0.3, "step": 0.01, "method": "rk4", "record": record}
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
