"""Which stages of compiled steps stay open."""

import numpy as np

import sparsebody as sb
from sparsebody.simulation import explicit_steps

FOUR_BARS = sb.build("n-four-bar", loops=5).compile()
OPTIONS = {"duration": 0.9, "step": 0.002, "method": "rk4"}


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
