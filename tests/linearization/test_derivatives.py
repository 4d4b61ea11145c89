"""Derivatives of accelerations and multipliers: central differences, adjointness, Pinocchio."""

from dataclasses import replace

import numpy as np
import pytest
from random_motions import (
    changed,
    compliant_motion,
    direction_of,
    motion_of_type,
    random_motion,
    slope,
    unreduced,
)
from scipy.sparse import block_array

from sparsebody.dynamics import ForwardDynamics
from sparsebody.errors import ModelError, ShapeError, UnknownNameError
from sparsebody.kinematics.joint_motion import displaced
from sparsebody.linearization import derivatives, linearize
from sparsebody.linearization.derivatives import (
    ELASTIC_FRAME_VARIABLES,
    ELASTIC_VARIABLES,
    FRAME_VARIABLES,
    LINE_VARIABLES,
    POINT_VARIABLES,
)
from sparsebody.model.gallery import build
from sparsebody.model.joints import JOINT_TYPES

STEP = 1e-5


def differences(system, state, force, rows, name, direction):
    """Changes of accelerations and multipliers along a direction."""

    def along(step):
        case = changed(system, state, force, name, step * direction)
        dynamics = unreduced(*case[:2])
        assert np.array_equal(dynamics.redundant_rows, rows)
        result = dynamics(case[1], body_force=case[2])
        return np.concatenate([result.acceleration.ravel(), result.multiplier])

    change, n = slope(along, STEP), 6 * system.n_bodies
    return change[:n].reshape(-1, 6), change[n:]


def check(system, state, force, names, seed):
    rng = np.random.default_rng(seed)
    dynamics = unreduced(system, state)
    rows = dynamics.redundant_rows
    of = derivatives(system, state, body_force=force, dynamics=dynamics)
    for name in names:
        direction = direction_of(system, name, of.shape(name), rng)
        expected = differences(system, state, force, rows, name, direction)
        for change, by_differences in zip(of.jvp(**{name: direction}), expected, strict=True):
            size = np.abs(by_differences).max(initial=1.0)
            np.testing.assert_allclose(change, by_differences, rtol=0, atol=2e-8 * size)


MOTION = "position", "velocity", "force", "mass", "inertia", "gravity"
SPRINGS = "effort", "stiffness", "rest", "damping"


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 7, 8])  # without dependent rows
def test_changes_are_those_of_central_differences(seed):
    names = *MOTION, *SPRINGS, *LINE_VARIABLES, *POINT_VARIABLES
    check(*random_motion(seed, n_loops=seed % 3), names, seed)


@pytest.mark.parametrize("seed", range(3))
def test_elastic_elements_count_with_their_dampers_in_motion(seed):
    check(*compliant_motion(seed), MOTION, seed)


@pytest.mark.parametrize("kind", JOINT_TYPES)
def test_joint_frames_of_all_types_count_with_drives_springs_and_loops(kind):
    of_joints = (*FRAME_VARIABLES, "pitch") if kind == "helical" else FRAME_VARIABLES
    check(*motion_of_type(kind), of_joints, len(kind))


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_frames_of_loops_of_compliant_joints_and_of_elements_count(seed):
    names = *FRAME_VARIABLES, *ELASTIC_FRAME_VARIABLES
    check(*random_motion(seed, n_loops=seed % 3), names, seed)
    check(*compliant_motion(seed), names, seed)


@pytest.mark.parametrize("seed", range(3))
def test_matrices_of_elastic_elements_count_on_the_rows_that_give_way(seed):
    check(*compliant_motion(seed), ELASTIC_VARIABLES, seed)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["position", "velocity"])
def test_linearized_equations_have_the_same_derivatives(name, seed):
    """[M A'; A 0] [da; -dlambda] = -[K d; K_r d], and D for velocities."""
    system, state, force = compliant_motion(seed)
    of = linearize(system, state, body_force=force)
    rates = {"position": (of.stiffness, of.row_stiffness), "velocity": (of.damping, of.row_damping)}
    direction = np.random.default_rng(seed).normal(size=(system.n_bodies, 6))
    of_force, of_rows = (rate @ direction.ravel() for rate in rates[name])
    kept = of.independent_rows
    matrix = block_array([[of.mass, of.rows[kept].T], [of.rows[kept], None]]).toarray()
    change = np.linalg.solve(matrix, -np.concatenate([of_force, of_rows[kept]]))
    redundant = np.setdiff1d(np.arange(system.n_rows), kept)
    expected, _ = differences(system, state, force, redundant, name, direction)
    scale = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(change[: expected.size], expected.ravel(), rtol=0, atol=2e-8 * scale)


@pytest.mark.parametrize("factorization", ["block-ldl", "multifrontal", "superlu"])
@pytest.mark.parametrize("seed", range(4))
def test_gradients_are_the_transposes_of_changes(seed, factorization):
    system, state, force = random_motion(seed)
    dynamics = ForwardDynamics(system, state, factorization=factorization)
    of, rng = (
        derivatives(system, state, body_force=force, dynamics=dynamics),
        np.random.default_rng(seed),
    )
    weights = rng.normal(size=(system.n_bodies, 6, 2)), rng.normal(size=(system.n_rows, 2))
    gradients = of.vjp(*weights)
    for name, gradient in gradients.items():
        direction = rng.normal(size=(*of.shape(name), 3))
        assert gradient.shape == (*of.shape(name), 2)
        change = of.jvp(**{name: direction})
        first = np.einsum("nak,nal->kl", weights[0], change.acceleration)
        first += np.einsum("rk,rl->kl", weights[1], change.multiplier)
        size = direction.size // 3
        second = gradient.reshape(size, 2).T @ direction.reshape(size, 3)
        sizes = zip(weights, change, strict=True)
        scale = 1.0 + sum(np.abs(w).max(initial=0.0) * np.abs(part).sum() for w, part in sizes)
        np.testing.assert_allclose(first, second, rtol=0, atol=5e-12 * scale)


def test_other_states_of_the_same_dynamics_do_not_change_derivatives():
    system, state, force = random_motion(2)
    dynamics = unreduced(system, state)
    of = derivatives(system, state, body_force=force, dynamics=dynamics)
    weight = np.random.default_rng(0).normal(size=(system.n_bodies, 6))
    before = of.vjp(weight)
    dynamics(state.with_(velocity=2.0 * state.velocity))
    dynamics(displaced(state, 1e-3 * weight))
    for name, gradient in of.vjp(weight).items():
        np.testing.assert_allclose(gradient, before[name], rtol=1e-10, atol=1e-10)


def test_derivatives_of_dynamics_with_fewer_freedoms_are_those_with_all():
    system = build("ladder", rungs=3, joint="revolute").compile()
    dynamics = ForwardDynamics(system)
    assert dynamics.is_planar
    of, other = derivatives(system, dynamics=dynamics), derivatives(system)
    np.testing.assert_allclose(of.matrix("force"), other.matrix("force"), atol=1e-9)


def test_matrices_have_a_column_for_each_number_of_a_variable():
    system, state, force = random_motion(3, n_bodies=3, n_loops=0)
    of = derivatives(system, state, body_force=force)
    matrix, n = of.matrix("velocity"), system.n_bodies
    assert matrix.shape == (n, 6, n, 6)
    direction = np.random.default_rng(0).normal(size=(n, 6))
    product = np.einsum("iajb,jb->ia", matrix, direction)
    np.testing.assert_allclose(product, of.jvp(velocity=direction).acceleration, atol=1e-9)
    assert derivatives(build("chain", bodies=2).compile()).matrix("effort").shape == (2, 6, 0)


def test_wrong_directions_are_told():
    system, state, _ = random_motion(0)
    of, n = derivatives(system, state), system.n_bodies
    with pytest.raises(UnknownNameError, match="variable is 'speed'"):
        of.jvp(speed=np.zeros((n, 6)))
    with pytest.raises(ShapeError, match="no direction"):
        of.jvp()
    with pytest.raises(ShapeError, match="position has shape"):
        of.jvp(position=np.zeros((n, 5)))
    with pytest.raises(ShapeError, match="as others have"):
        of.jvp(position=np.zeros((n, 6)), velocity=np.zeros((n, 6, 2)))
    with pytest.raises(ShapeError, match="multiplier has shape"):
        of.vjp(multiplier=np.zeros(3))
    with pytest.raises(ModelError, match="Krylov"):
        derivatives(system, state, dynamics=ForwardDynamics(system, state, redundancy="krylov"))


def test_numbers_that_are_none_and_dynamics_of_other_systems_are_told():
    system, state, _ = random_motion(0)
    of, n = derivatives(system, state), system.n_bodies
    wrong = np.zeros((n, 6))
    wrong[2, 1] = np.nan
    with pytest.raises(ModelError, match=r"direction of force \[2, 1\] is nan; it must be finite"):
        of.jvp(force=wrong)
    with pytest.raises(ModelError, match=r"weight of acceleration \[2, 1\] is nan"):
        of.vjp(wrong)
    heavier = replace(system, mass=2.0 * system.mass)
    with pytest.raises(ModelError, match="dynamics was prepared for another system"):
        derivatives(system, state, dynamics=unreduced(heavier, state))
