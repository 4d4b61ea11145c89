"""Condition numbers against singular values, and the errors they predict against true ones."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from linkages import at_start, in_motion, one_body
from oracles import relative_difference
from random_mechanisms import copied
from random_planar import random_planar

import sparsebody as sb
from benchmarks.cases import Problem, problem
from benchmarks.oracle import extended_reference, scissor_reference
from sparsebody.dynamics.conditioning import MACHINE_EPSILON
from sparsebody.dynamics.preparation import EXTENDED, SPATIAL
from sparsebody.errors import UnknownNameError
from sparsebody.factorization import available_factorizations
from sparsebody.sparse.saddle import constraint_matrix
from sparsebody.spatial import quaternion_product, rotation_from_quaternion

TILTED = (1.3, -2.1, -9.493155)  # gravity [m/s^2]


def moving(system):
    """A system at a consistent state with random velocities."""
    return Problem(system.name, system, in_motion(system))


def turned(case):
    """The same somewhere else and at an angle, so that no number is round."""
    system, state = case.system, case.state
    q = np.array([0.8, 0.36, -0.3, 0.37])
    q /= np.linalg.norm(q)
    R = rotation_from_quaternion(q)
    orientation = np.array([quaternion_product(q, p) for p in state.orientation])
    on_world = (system.predecessor < 0)[:, None]
    near = np.where(on_world, system.predecessor_point @ R.T, system.predecessor_point)
    frames = np.where(
        on_world[:, :, None], R @ system.predecessor_rotation, system.predecessor_rotation
    )
    return Problem(
        case.mechanism,
        replace(system, predecessor_point=near, predecessor_rotation=frames),
        state.with_(position=state.position @ R.T, orientation=orientation),
    )


def floating_ladder(rungs):
    """Revolute bars in a plane that hang on the world by one hinge: two freedoms."""
    whole = sb.build("ladder", rungs=rungs, joint="revolute", disorder=0.15, gravity=TILTED)
    return moving(copied(whole, without=["base-1"]).compile())


def sheet(k):
    return moving(sb.build("rotating-squares", rows=k, columns=k, gravity=TILTED).compile())


CASES = {
    **{f"scissor {n}": partial(problem, "scissor", 2 * n) for n in (10, 100, 1000)},
    "turned scissor 30": lambda: turned(problem("scissor", 60)),
    "turned ladder 10": lambda: turned(problem("ladder", 20)),
    "turned ladder 300": lambda: turned(problem("ladder", 600)),
    "turned lattice": lambda: turned(problem("lattice", 100)),
    **{f"sheet {k}": partial(sheet, k) for k in (3, 8, 12)},
    **{f"ladder {rungs}": partial(floating_ladder, rungs) for rungs in (20, 80, 200)},
    "four-bars": lambda: moving(sb.build("n-four-bar", loops=30, gravity=TILTED).compile()),
    "bricard": lambda: moving(sb.build("bricard", gravity=TILTED).compile()),
}


@pytest.mark.parametrize("name", CASES)
def test_errors_are_about_as_large_as_estimated(name):
    """With 10 kappa eps as a bound where places have no more digits than distances need."""
    case = CASES[name]()
    exact = extended_reference(case.system, case.state)
    for formulation in (sb.Formulation(), SPATIAL):
        dynamics = sb.ForwardDynamics(case.system, exact.state, formulation=formulation)
        result = dynamics.condition(exact.state)
        error = relative_difference(dynamics(exact.state).acceleration, exact.acceleration)
        assert error <= 10.0 * result.forward_error
        assert result.forward_error <= 1e4 * max(error, MACHINE_EPSILON)
        if not name.startswith("turned ladder"):
            assert error <= max(1e-10, 10.0 * result.kappa * MACHINE_EPSILON)


@pytest.mark.parametrize("factorization", sorted(set(available_factorizations()) - {"iterative"}))
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("scissor", {"pairs": 8}), ("ladder", {"rungs": 6}), ("bricard", {}), ("chain", {})],
)
def test_condition_numbers_are_those_of_the_singular_values(factorization, name, parameters):
    system = sb.build(name, **parameters).compile()
    dynamics = sb.ForwardDynamics(system, factorization=factorization)
    state = sb.consistent_state(system)
    result = dynamics.condition(state)
    A = constraint_matrix(dynamics.evaluator.assembler.matrix).toarray()
    size = np.linalg.svd(A / np.linalg.norm(A, axis=1)[:, None], compute_uv=False)
    assert result.sigma_max == pytest.approx(size[0], rel=0.03)
    assert result.sigma_min == pytest.approx(size[-1], rel=0.05)
    assert result.kappa == pytest.approx(result.sigma_max / result.sigma_min)


@pytest.mark.parametrize("factorization", sorted(set(available_factorizations()) - {"dense"}))
def test_every_factorization_is_good_enough_for_a_lift_of_1000_pairs(factorization):
    """LDL' and Cholesky factors are rough by then, and need several corrections."""
    case = problem("scissor", 2000)
    dynamics = sb.ForwardDynamics(
        case.system, case.state, factorization=factorization, formulation=SPATIAL
    )
    exact = scissor_reference(case)
    result = dynamics.acceleration(case.state)
    kappa = 1.8e7
    assert np.abs(result - exact).max() <= 10.0 * kappa * MACHINE_EPSILON * np.abs(exact).max()


def test_bodies_without_joints_are_well_conditioned():
    system = one_body(mass=2.0, inertia=[1, 2, 3]).compile()
    result = sb.ForwardDynamics(system).condition(system.initial_state)
    assert result.kappa == 1.0
    assert result.forward_error < 1e-14
    error = f"{result.forward_error:.0e} of the accelerations uncertain"
    assert str(result) == f"condition number 1.0e+00: {error}"


def test_estimates_do_not_disturb_the_solution():
    case = problem("scissor", 40)
    dynamics = sb.ForwardDynamics(case.system, case.state)
    evaluation = dynamics.evaluate(case.state)
    evaluation.accelerations()
    before = evaluation.accelerations()  # with the factors that are there
    assert evaluation.condition() == evaluation.condition()
    after = evaluation.accelerations()  # by another substitution with the same factors
    np.testing.assert_allclose(after.acceleration, before.acceleration, atol=1e-12)
    assert after.dropped_residual == pytest.approx(before.dropped_residual, abs=1e-14)


@pytest.mark.parametrize("reduction", ["auto", "none"])
@pytest.mark.parametrize("factorization", ["block-qr", "auto"])
def test_neither_masses_nor_which_end_is_the_world_change_pivots_and_condition(
    reduction, factorization
):
    """All masses alike times a factor change no row of unit norm, nor does a joint's direction."""
    options = {"formulation": sb.Formulation(reduction), "factorization": factorization}
    mechanism, result = sb.build("n-four-bar", loops=1), []
    for mass in (1e-6, 1.0, 1e9):
        for reversed_joints in (False, True):
            system = copied(mechanism, masses=mass, reversed_joints=reversed_joints).compile()
            dynamics = sb.ForwardDynamics(system, **options)
            dynamics.acceleration(system.initial_state)
            condition = dynamics.condition(system.initial_state)
            result.append([dynamics.evaluator.smallest_pivot()[0], condition.kappa])
    np.testing.assert_allclose(result, np.broadcast_to(result[2], np.shape(result)), rtol=1e-2)


# ---- residuals of 31 digits -------------------------------------------------------------------

EXTENDED_CASES = ("scissor 10", "scissor 100", "scissor 1000", "turned scissor 30", "four-bars")


@pytest.mark.parametrize("name", EXTENDED_CASES)
def test_accelerations_at_a_state_are_exact_to_the_last_digits(name):
    case = CASES[name]()
    dynamics = sb.ForwardDynamics(case.system, case.state, formulation=EXTENDED)
    keep = dynamics.rank_decision.keep
    exact = extended_reference(case.system, case.state, keep, close=False)
    error = relative_difference(dynamics.acceleration(case.state), exact.acceleration)
    assert error < 10 * MACHINE_EPSILON
    assert dynamics.condition(case.state).forward_error < 5 * MACHINE_EPSILON


def test_a_lift_of_20000_bars_is_good_to_12_digits_instead_of_8():
    case = problem("scissor", 20000)
    exact = scissor_reference(case)
    errors = []
    for formulation in (sb.Formulation(), EXTENDED):
        dynamics = sb.ForwardDynamics(case.system, case.state, formulation=formulation)
        errors.append(relative_difference(dynamics.evaluate(case.state).acceleration(), exact))
    assert errors[1] < 1e-12 < 1e-9 < errors[0]


@pytest.mark.parametrize("seed", range(14))
def test_other_joints_in_a_plane_give_what_double_residuals_give(seed):
    system, state = at_start(random_planar(seed))
    rng = np.random.default_rng(seed)
    force = rng.normal(size=(system.n_bodies, 6))
    options = {"reactions": "basic", "baumgarte": 0.3 if seed % 2 else None}
    double, extended = (
        sb.ForwardDynamics(system, state, formulation=formulation, **options)
        for formulation in (sb.Formulation(), EXTENDED)
    )
    result, expected = (dynamics(state, body_force=force) for dynamics in (extended, double))
    limit = max(1e-11, 10.0 * sb.ForwardDynamics(system, state).condition(state).forward_error)
    assert relative_difference(result.acceleration, expected.acceleration, 1.0) < limit
    assert relative_difference(result.multiplier, expected.multiplier, 1.0) < 1e-7


def test_an_unknown_kind_of_residuals_is_refused():
    with pytest.raises(UnknownNameError, match="residuals is 'quad'; give one of double, extended"):
        sb.Formulation(residuals="quad")


@pytest.mark.parametrize(("name", "residuals"), [("bricard", "double"), ("four-bar", "extended")])
def test_residuals_are_extended_in_a_plane_only_and_said_to_be(name, residuals):
    system = sb.build(name).compile()
    dynamics = sb.ForwardDynamics(system, formulation=EXTENDED)
    assert dynamics.explain()["residuals"] == residuals
    assert dynamics.acceleration(sb.consistent_state(system)).shape == (system.n_bodies, 6)
