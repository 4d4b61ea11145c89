"""Residuals of 31 digits: accelerations to the last digit, whatever the condition number."""

from __future__ import annotations

import numpy as np
import pytest
from ill_conditioned import TILTED, moving, sheet, turned
from random_planar import random_planar

from benchmarks import oracle
from benchmarks.cases import Problem, problem
from benchmarks.oracle import extended_reference
from sparsebody.dynamics.conditioning import ROUNDING
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.preparation import EXTENDED, Formulation
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import UnknownNameError
from sparsebody.methods import forward_dynamics
from sparsebody.model.gallery import build


def difference(found: np.ndarray, exact: np.ndarray) -> float:
    return float(np.abs(found - exact).max() / np.abs(exact).max())


CASES = {
    "scissor 10": lambda: problem("scissor", 20),
    "scissor 100": lambda: problem("scissor", 200),
    "scissor 1000": lambda: problem("scissor", 2000),
    "turned scissor": lambda: turned(problem("scissor", 100)),
    "four-bars": lambda: moving(build("n-four-bar", loops=10, gravity=TILTED).compile()),
}


@pytest.mark.parametrize("name", CASES)
def test_accelerations_at_a_state_are_exact_to_the_last_digits(name: str) -> None:
    given = CASES[name]()
    dynamics = ForwardDynamics(given.system, given.state, formulation=EXTENDED)
    keep = dynamics.rank_decision.keep
    exact = extended_reference(given.system, given.state, keep, close=False)
    assert difference(dynamics.acceleration(given.state), exact.acceleration) < 10 * ROUNDING
    assert dynamics.condition(given.state).forward_error < 5 * ROUNDING


def test_a_lift_of_20000_bars_is_good_to_12_digits_instead_of_8() -> None:
    given = problem("scissor", 20000)
    exact = oracle.scissor_reference(given)
    roughly, well = (
        difference(
            ForwardDynamics(given.system, given.state, formulation=Formulation(residuals=residuals))
            .evaluate(given.state)
            .acceleration(),
            exact,
        )
        for residuals in ("double", "extended")
    )
    assert roughly > 1e-9
    assert well < 1e-12


@pytest.mark.parametrize("seed", range(14))
def test_other_joints_in_a_plane_give_what_double_residuals_give(seed: int) -> None:
    system = random_planar(seed).compile()
    state = consistent_state(system)
    rng = np.random.default_rng(seed)
    force = rng.normal(size=(system.n_bodies, 6))
    options = {"reactions": "basic", "baumgarte": 0.3 if seed % 2 else None}
    double, extended = (
        ForwardDynamics(system, state, formulation=Formulation(residuals=residuals), **options)(
            state, body_force=force
        )
        for residuals in ("double", "extended")
    )
    condition = ForwardDynamics(system, state).condition(state)
    size = max(1.0, np.abs(double.acceleration).max())
    limit = max(1e-11, 10.0 * condition.forward_error)
    assert np.abs(double.acceleration - extended.acceleration).max() < limit * size
    largest = max(1.0, np.abs(double.multiplier).max())
    assert np.abs(double.multiplier - extended.multiplier).max() < 1e-7 * largest


def test_in_space_residuals_are_double_and_said_to_be() -> None:
    system = build("bricard").compile()
    dynamics = ForwardDynamics(system, formulation=EXTENDED)
    assert dynamics.explain()["residuals"] == "double"
    state = consistent_state(system)
    assert dynamics.acceleration(state).shape == (system.n_bodies, 6)


def test_a_sheet_is_said_to_have_extended_residuals() -> None:
    given = sheet(3)
    dynamics = ForwardDynamics(given.system, given.state, formulation=EXTENDED)
    assert dynamics.explain()["residuals"] == "extended"
    found = dynamics(given.state)
    exact = extended_reference(given.system, given.state)
    at_rounded = ForwardDynamics(given.system, exact.state, formulation=EXTENDED)(exact.state)
    assert difference(at_rounded.acceleration, exact.acceleration) < 1e-13
    np.testing.assert_allclose(found.acceleration, at_rounded.acceleration, atol=1e-11)


def test_an_unknown_kind_of_residuals_is_refused() -> None:
    system = build("four-bar").compile()
    with pytest.raises(UnknownNameError, match="residuals is 'quad'; give one of double, extended"):
        forward_dynamics(system, formulation=Formulation(residuals="quad"))


def test_one_call_does_the_same() -> None:
    given: Problem = problem("scissor", 20)
    dynamics = ForwardDynamics(given.system, given.state, formulation=EXTENDED)
    found = forward_dynamics(given.system, given.state, formulation=EXTENDED)
    np.testing.assert_array_equal(found.acceleration, dynamics.acceleration(given.state))
