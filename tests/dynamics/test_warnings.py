"""Warnings point at the user's line, whoever asked for accelerations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.dynamics.evaluators import solvers
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import AccuracyWarning, RankWarning
from sparsebody.methods import forward_dynamics
from sparsebody.model.gallery import build
from sparsebody.model.system import State, System

ASK: dict[str, Callable[[System, State], object]] = {
    "acceleration": lambda system, state: dynamics(system).acceleration(state),
    "call": lambda system, state: dynamics(system)(state),
    "evaluation": lambda system, state: dynamics(system).evaluate(state).accelerations(),
    "its acceleration": lambda system, state: dynamics(system).evaluate(state).acceleration(),
    "function": lambda system, state: forward_dynamics(system, state, reduction="none"),
    "simulate": lambda system, state: sb.simulate(
        system, state, duration=0.02, step=0.01, dynamics=dynamics(system)
    ),
}


def dynamics(system: System) -> ForwardDynamics:
    return ForwardDynamics(system, reduction="none")


@pytest.fixture
def rough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every solution for a rough one."""
    monkeypatch.setattr(solvers, "ROUGH_CORRECTION", -1.0)
    monkeypatch.setattr(solvers, "ROUGH_RESIDUAL", -1.0)


@pytest.mark.usefixtures("rough")
@pytest.mark.parametrize("name", ASK)
def test_roughness_is_told_once_with_the_condition_number_at_the_line_that_asked(name: str) -> None:
    system = build("scissor", pairs=4).compile()
    with pytest.warns(AccuracyWarning, match=r"rough \(condition number 2\.7e\+02: ") as heard:
        ASK[name](system, system.initial_state)
    assert [warning.filename for warning in heard] == [__file__]


@pytest.mark.usefixtures("rough")
def test_a_second_solution_is_not_told_of() -> None:
    system = build("scissor", pairs=4).compile()
    solver = dynamics(system)
    with pytest.warns(AccuracyWarning):
        first = solver(system.initial_state)
    second = solver(system.initial_state)
    assert second.dropped_residual == pytest.approx(first.dropped_residual, abs=1e-14)


def test_violated_rows_are_told_of_at_the_line_that_asked() -> None:
    """By a flat lattice that folds, as in test_forward."""
    system = build("lattice", rows=3, columns=3).compile()
    flat = sb.consistent_state(system)
    rng = np.random.default_rng(0)
    folded = sb.displaced(flat, 0.1 * rng.normal(size=(system.n_bodies, 6)))
    solver = ForwardDynamics(system, flat)
    with pytest.warns(RankWarning, match="are violated here") as heard:
        solver(sb.consistent_state(system, folded))
    assert [warning.filename for warning in heard] == [__file__]
