"""Condition numbers against singular values, and the errors they predict against true ones."""

from __future__ import annotations

import numpy as np
import pytest
from ill_conditioned import TILTED, floating_ladder, moving, sheet, turned

from benchmarks.cases import problem
from benchmarks.oracle import Extended, extended_reference, scissor_reference
from sparsebody.dynamics.conditioning import ROUNDING
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.preparation import SPATIAL, Formulation
from sparsebody.equations.initial_state import consistent_state
from sparsebody.factorization import available_factorizations
from sparsebody.model.gallery import build
from sparsebody.model.joints import Revolute
from sparsebody.model.mechanism import Mechanism
from sparsebody.sparse.saddle import constraint_matrix

CASES = {
    "scissor 10": lambda: problem("scissor", 20),
    "scissor 100": lambda: problem("scissor", 200),
    "scissor 1000": lambda: problem("scissor", 2000),
    "turned scissor 30": lambda: turned(problem("scissor", 60)),
    "turned ladder 10": lambda: turned(problem("ladder", 20)),
    "turned ladder 300": lambda: turned(problem("ladder", 600)),
    "turned lattice": lambda: turned(problem("lattice", 100)),
    "sheet 3": lambda: sheet(3),
    "sheet 8": lambda: sheet(8),
    "sheet 12": lambda: sheet(12),
    "ladder 20": lambda: floating_ladder(20, 0.15),
    "ladder 80": lambda: floating_ladder(80, 0.15),
    "ladder 200": lambda: floating_ladder(200, 0.15),
    "four-bars": lambda: moving(build("n-four-bar", loops=30, gravity=TILTED).compile()),
    "bricard": lambda: moving(build("bricard", gravity=TILTED).compile()),
}


def relative_error(found: np.ndarray, exact: Extended) -> float:
    return float(np.abs(found - exact.acceleration).max() / np.abs(exact.acceleration).max())


@pytest.mark.parametrize("name", CASES)
def test_errors_are_about_as_large_as_estimated(name: str) -> None:
    """With 10 kappa eps as a bound where places have no more digits than distances need."""
    given = CASES[name]()
    exact = extended_reference(given.system, given.state)
    for reduction in ("auto", "none"):
        dynamics = ForwardDynamics(
            given.system, exact.state, formulation=Formulation(reduction=reduction)
        )
        found = dynamics.condition(exact.state)
        error = relative_error(dynamics(exact.state).acceleration, exact)
        assert error <= 10.0 * found.forward_error
        assert found.forward_error <= 1e4 * max(error, ROUNDING)
        if not name.startswith("turned ladder"):
            assert error <= max(1e-10, 10.0 * found.kappa * ROUNDING)


@pytest.mark.parametrize("factorization", available_factorizations())
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("scissor", {"pairs": 8}), ("ladder", {"rungs": 6}), ("bricard", {}), ("chain", {})],
)
def test_condition_numbers_are_those_of_the_singular_values(
    factorization: str, name: str, parameters: dict[str, int]
) -> None:
    system = build(name, **parameters).compile()
    dynamics = ForwardDynamics(system, factorization=factorization)
    state = consistent_state(system)
    found = dynamics.condition(state)
    A = constraint_matrix(dynamics.evaluator.assembler.matrix).toarray()
    size = np.linalg.svd(A / np.linalg.norm(A, axis=1)[:, None], compute_uv=False)
    assert found.sigma_max == pytest.approx(size[0], rel=0.03)
    assert found.sigma_min == pytest.approx(size[-1], rel=0.05)
    assert found.kappa == pytest.approx(found.sigma_max / found.sigma_min)


@pytest.mark.parametrize("factorization", sorted(set(available_factorizations()) - {"dense"}))
def test_every_factorization_is_good_enough_for_a_lift_of_1000_pairs(factorization: str) -> None:
    """LDL' and Cholesky factors are rough by then, and need several corrections."""
    given = problem("scissor", 2000)
    dynamics = ForwardDynamics(
        given.system, given.state, factorization=factorization, formulation=SPATIAL
    )
    exact = scissor_reference(given)
    found = dynamics.acceleration(given.state)
    kappa = 1.8e7
    assert np.abs(found - exact).max() <= 10.0 * kappa * ROUNDING * np.abs(exact).max()


def test_the_condition_of_a_scissor_grows_with_the_square_of_its_length() -> None:
    kappa = []
    for n in (200, 2000):
        given = problem("scissor", n)
        kappa.append(ForwardDynamics(given.system, given.state).condition(given.state).kappa)
    assert kappa[1] / kappa[0] == pytest.approx(100.0, rel=0.05)


def test_bodies_without_joints_are_well_conditioned() -> None:
    mechanism = Mechanism(gravity=[0, 0, -9.81])
    mechanism.add_body("stone", mass=2.0, inertia=[1, 2, 3])
    system = mechanism.compile()
    found = ForwardDynamics(system).condition(system.initial_state)
    assert found.kappa == 1.0
    assert found.forward_error < 1e-14
    assert str(found) == f"condition number 1.0e+00: {found.forward_error:.0e} of the " + (
        "accelerations uncertain"
    )


def test_estimates_do_not_disturb_the_solution() -> None:
    given = problem("scissor", 40)
    dynamics = ForwardDynamics(given.system, given.state)
    evaluation = dynamics.evaluate(given.state)
    evaluation.accelerations()
    before = evaluation.accelerations()  # with the factors that are there
    assert evaluation.condition() == evaluation.condition()
    after = evaluation.accelerations()  # by another substitution with the same factors
    np.testing.assert_allclose(after.acceleration, before.acceleration, atol=1e-12)
    assert after.dropped_residual == pytest.approx(before.dropped_residual, abs=1e-14)


@pytest.mark.parametrize("reduction", ["auto", "none"])
@pytest.mark.parametrize("factorization", ["block-qr", "auto"])
def test_neither_masses_nor_which_end_is_the_world_change_pivots_and_condition(
    reduction: str, factorization: str
) -> None:
    """All masses alike times a factor change no row of unit norm, nor does a joint's direction."""
    found = []
    for mass in (1e-6, 1.0, 1e9):
        for ends in (1, -1):
            bars = Mechanism("four-bar", gravity=[0, -9.81, 0])
            for bar, place in (("a", [0.3, 0.4, 0]), ("b", [1.1, 0.8, 0]), ("c", [1.3, 0.4, 0])):
                bars.add_body(bar, mass=mass, inertia=0.08 * mass * np.eye(3), position=place)
            for i, (pair, point) in enumerate(
                (
                    (("world", "a"), [0, 0, 0]),
                    (("a", "b"), [0.6, 0.8, 0]),
                    (("b", "c"), [1.6, 0.8, 0]),
                    (("c", "world"), [1, 0, 0]),
                )
            ):
                bars.add_joint(f"hinge {i}", Revolute(), *pair[::ends], point=point, axis=[0, 0, 1])
            system = bars.compile()
            dynamics = ForwardDynamics(
                system, formulation=Formulation(reduction=reduction), factorization=factorization
            )
            dynamics.acceleration(system.initial_state)
            condition = dynamics.condition(system.initial_state)
            found.append([dynamics.evaluator.smallest_pivot()[0], condition.kappa])
    np.testing.assert_allclose(found, np.broadcast_to(found[2], np.shape(found)), rtol=1e-2)
