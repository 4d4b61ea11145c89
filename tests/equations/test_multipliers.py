"""Constraint wrenches of joints, and the smallest multipliers of dependent rows."""

import numpy as np
import pytest
from scipy.sparse import diags_array, vstack

import sparsebody as sb
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.equations.accelerations import layout_of_all_rows, minimum_norm
from sparsebody.errors import MemoryLimitError
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix


def on_bodies(A):
    """Rows that touch no more than two neighbouring bodies of six freedoms."""
    A = np.pad(A, ((0, 0), (0, -A.shape[1] % 6))).reshape(len(A), -1, 6)
    first = np.minimum((A != 0.0).any(axis=2).argmax(axis=1), A.shape[1] - 2)
    ends = np.stack([first, first + 1], axis=1)
    rows = np.take_along_axis(A, ends[:, :, None], axis=1)
    assert np.abs(rows).sum() == np.abs(A).sum()
    sizes = np.append(np.full(A.shape[1], 6), np.ones(len(A), dtype=int))
    return SaddleMatrix.of_rows(BlockPattern(sizes, ends), rows)


def test_the_wrench_is_t_times_the_multipliers_of_the_joint():
    system = sb.build("stewart", drive=True).compile()
    state = sb.consistent_state(system)
    dynamics = sb.ForwardDynamics(system, state)
    result = dynamics(state)
    subspace = dynamics.evaluate(state).constraint.subspace
    for j in range(system.n_joints):
        rows = system.rows(j)
        expected = subspace[rows].T @ result.multiplier[rows]
        np.testing.assert_allclose(result.joint_wrench[j], expected, atol=1e-10)


def test_reactions_whose_factors_lack_memory_are_refused_with_a_remedy(monkeypatch):
    monkeypatch.setattr("sparsebody.factorization.LARGE_FACTORS", 0.0)
    monkeypatch.setattr("sparsebody.factorization.mumps.available_megabytes", lambda: 0.01)
    pattern = kkt_structure(sb.build("lattice", rows=8, columns=8).compile()).pattern
    with pytest.raises(MemoryLimitError, match="reactions='basic'"):
        layout_of_all_rows(pattern)


def test_small_bodies_beside_large_ones_get_their_reactions():
    """Moments per angle of a body grow with its size: here from millimetres to 100 m."""
    rng = np.random.default_rng(3)
    size = np.repeat([1e-3, 1.0, 100.0], 4)
    A = rng.normal(size=(11, 12))
    A = np.vstack([A, A[:3] + A[3:6]]) * size
    multiplier = rng.normal(size=14)
    result = minimum_norm(on_bodies(A), multiplier)
    np.testing.assert_allclose((A / size).T @ result, (A / size).T @ multiplier, atol=1e-11)
    null = np.linalg.svd((A / size).T)[2][11:]
    np.testing.assert_allclose(result, multiplier - null.T @ (null @ multiplier), atol=1e-11)


@pytest.mark.parametrize("n", [100, 1000])
def test_forces_that_rows_nearly_cancel_get_their_smallest_multipliers(n):
    """Long lifts have such rows: fourth differences, of kappa up to 2e11, some of them twice."""
    second = diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n))
    A = vstack([second @ second, (second @ second).tocsr()[::7]], format="csc")
    twice = np.arange(0, n, 7)
    null = np.zeros((n + len(twice), len(twice)))
    null[twice, range(len(twice))], null[n:] = 1.0, -np.eye(len(twice))
    given = np.random.default_rng(n).normal(size=A.shape[0])
    result = minimum_norm(on_bodies(A.toarray()), given)
    expected = given - null @ (null.T @ given) / 2.0
    np.testing.assert_allclose(A.T @ result, A.T @ given, atol=1e-9)
    np.testing.assert_allclose(result, expected, atol=1e-14 * 0.03 * n**4)


def test_smallest_multipliers_of_long_lifts_carry_the_load():
    """Where a normal matrix has no digits left.

    Rounding of A moves the smallest solution by at most about eps kappa of its size.
    """
    system = sb.build("scissor", pairs=700).compile()
    state = system.initial_state
    dynamics = sb.ForwardDynamics(system, state)
    basic = sb.ForwardDynamics(system, state, reactions="basic")(state).multiplier
    smallest = dynamics(state).multiplier
    matrix = kkt_structure(system).matrix(dynamics.evaluate(state).constraint)
    A = constraint_matrix(matrix)
    np.testing.assert_allclose(A.T @ smallest, A.T @ basic, atol=1e-14 * np.abs(basic).max())
    rounding = np.finfo(float).eps * dynamics.condition(state).kappa
    assert np.linalg.norm(smallest) <= (1.0 + rounding) * np.linalg.norm(basic)
