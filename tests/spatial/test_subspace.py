import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sparsebody.errors import ShapeError
from sparsebody.spatial import (
    apparent_inverse_inertia,
    box_inertia,
    decompose,
    is_direct_sum,
    orthogonal_complement,
    rotation_exponential,
    spatial_inertia,
    split_force,
)

six_vectors = arrays(float, 6, elements=st.floats(-5, 5))
seeds = st.integers(0, 2**32 - 1)  # of dense random matrices, which hypothesis draws slowly
dimensions = st.integers(0, 6)
UNIT = np.eye(6)


def close(found, expected, atol=1e-9):
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


@st.composite
def bases(draw, dimension=dimensions):
    """A well-conditioned basis (6, n) of a random subspace."""
    n = draw(dimension)
    basis = np.random.default_rng(draw(seeds)).normal(size=(6, n))
    assume(n == 0 or np.linalg.cond(basis) < 1e3)
    return basis


@st.composite
def inertias(draw):
    generator = np.random.default_rng(draw(seeds))
    R = rotation_exponential(generator.normal(size=3))
    box = box_inertia(2.0, generator.uniform(0.5, 2.0, size=3))
    return spatial_inertia(2.0, generator.normal(size=3), R @ box @ R.T)


def another_basis(S, seed):
    """Return S A with an invertible A."""
    n = S.shape[1]
    return S @ (
        np.random.default_rng(seed).uniform(-0.1, 0.1, size=(n, n)) + np.diag(range(1, n + 1))
    )


# --- complements ---


@given(bases())
def test_complement_is_orthonormal_annihilates_the_subspace_and_has_the_other_dimension(S):
    T = orthogonal_complement(S)
    assert T.shape == (6, 6 - S.shape[1])
    close(T.T @ S, 0.0, atol=1e-12)
    close(T.T @ T, np.eye(T.shape[1]), atol=1e-13)


@given(bases(), seeds)
def test_complement_does_not_depend_on_the_basis(S, seed):
    close(orthogonal_complement(another_basis(S, seed)), orthogonal_complement(S))


@given(st.sets(st.integers(0, 5)), st.randoms())
def test_complement_of_unit_vectors_is_the_other_unit_vectors_in_order(axes, random):
    shuffled = sorted(axes)
    random.shuffle(shuffled)
    others = [axis for axis in range(6) if axis not in axes]
    np.testing.assert_array_equal(orthogonal_complement(-3.0 * UNIT[:, shuffled]), UNIT[:, others])


def test_complement_of_a_screw_couples_force_and_moment_by_the_pitch():
    h = 0.3
    T = orthogonal_complement([[0], [0], [1], [0], [0], [h]])
    np.testing.assert_array_equal(T[:, :4], UNIT[:, [0, 1, 3, 4]])
    close(T[:, 4], np.array([0, 0, -h, 0, 0, 1]) / np.hypot(1, h), atol=1e-15)


# --- direct sums ---


@given(bases(), bases())
def test_direct_sum_is_that_of_the_complements(S1, S2):
    assume(
        np.linalg.matrix_rank(np.hstack([S1, S2]), tol=1e-3) == min(6, S1.shape[1] + S2.shape[1])
    )
    T1, T2 = orthogonal_complement(S1), orthogonal_complement(S2)
    assert is_direct_sum(S1, S2) == (S1.shape[1] + S2.shape[1] == 6)
    assert is_direct_sum(T1, T2) == is_direct_sum(S1, S2)


def test_subspaces_that_meet_or_leave_a_gap_have_no_direct_sum():
    assert is_direct_sum(UNIT[:, :2], UNIT[:, 2:])
    assert not is_direct_sum(UNIT[:, :2], UNIT[:, 1:5])
    assert not is_direct_sum(UNIT[:, :2], UNIT[:, 3:])
    assert not is_direct_sum(UNIT[:, :3], UNIT[:, 2:])


@given(bases(st.just(2)), bases(st.just(4)), six_vectors)
def test_decomposition_gives_back_the_coordinates(S1, S2, alpha):
    assume(np.linalg.cond(np.hstack([S1, S2])) < 1e3)
    alpha1, alpha2 = decompose(S1, S2, S1 @ alpha[:2] + S2 @ alpha[2:])
    close(np.concatenate([alpha1, alpha2]), alpha)


# --- the split of a force, example 3.1 ---


@given(inertias(), bases(), six_vectors)
def test_split_forces_add_up_and_lie_in_their_subspaces(inertia, S, force):
    active, constraint = split_force(inertia, S, force)
    close(active + constraint, force, atol=1e-14)
    close(S.T @ constraint, 0.0)
    close(orthogonal_complement(S).T @ np.linalg.solve(inertia, active), 0.0)


@given(inertias(), bases(), six_vectors, seeds)
def test_split_and_apparent_inverse_inertia_do_not_depend_on_the_basis(inertia, S, force, seed):
    other = another_basis(S, seed)
    close(split_force(inertia, other, force)[0], split_force(inertia, S, force)[0])
    close(apparent_inverse_inertia(inertia, other), apparent_inverse_inertia(inertia, S))


@given(inertias(), bases(), six_vectors)
def test_constrained_body_accelerates_by_the_apparent_inverse_inertia(inertia, S, force):
    T = orthogonal_complement(S)
    n_c = T.shape[1]
    matrix = np.block([[inertia, T], [T.T, np.zeros((n_c, n_c))]])
    solution = np.linalg.solve(matrix, np.concatenate([force, np.zeros(n_c)]))
    acceleration, multipliers = solution[:6], -solution[6:]
    close(apparent_inverse_inertia(inertia, S) @ force, acceleration)
    close(split_force(inertia, S, force)[1], -T @ multipliers)  # the constraint cancels it


def test_hinged_body_turns_by_the_moment_about_the_hinge():
    m, c, I_zz = 2.0, 0.5, 0.3
    inertia = spatial_inertia(m, [c, 0, 0], np.diag([0.2, 0.25, I_zz]))
    inverse = apparent_inverse_inertia(inertia, UNIT[:, [2]])
    close(inverse, np.outer(UNIT[2], UNIT[2]) / (I_zz + m * c**2), atol=1e-15)


def test_split_is_vectorized_over_forces():
    inertia, forces = spatial_inertia(1.0, [0.1, 0, 0], np.eye(3)), np.ones((2, 3, 6))
    active, constraint = split_force(inertia, UNIT[:, :2], forces)
    close(active[1, 2], split_force(inertia, UNIT[:, :2], forces[1, 2])[0])
    assert constraint.shape == (2, 3, 6)


# --- errors ---


@pytest.mark.parametrize(
    ("subspace", "message"),
    [
        (np.zeros(6), r"subspace must have shape \(6, n\) with n <= 6, got \(6,\)"),
        (np.zeros((5, 2)), r"must have shape \(6, n\)"),
        (np.ones((6, 7)), r"with n <= 6, got \(6, 7\)"),
        (np.full((6, 1), np.nan), r"must hold finite numbers"),
        (np.zeros((6, 1)), r"the 1 columns of subspace depend on each other; leave out"),
        (UNIT[:, [0, 1, 0]], r"the 3 columns of subspace depend on each other"),
        (np.ones((6, 2)) + 1e-13 * UNIT[:, :2], r"the 2 columns of subspace depend"),
    ],
)
def test_bad_subspace_is_named(subspace, message):
    with pytest.raises(ShapeError, match=message):
        orthogonal_complement(subspace)


def test_units_do_not_make_columns_dependent():
    S = np.array([[0, 0, 1e-9, 0, 0, 0], [0, 0, 0, 0, 0, 1e9]]).T
    np.testing.assert_array_equal(orthogonal_complement(S), UNIT[:, [0, 1, 3, 4]])


def test_decomposition_without_a_direct_sum_is_refused():
    with pytest.raises(ShapeError, match="dimension 2 and 3 have no direct sum"):
        decompose(UNIT[:, :2], UNIT[:, 2:5], np.zeros(6))
    with pytest.raises(ShapeError, match=r"vector must have shape \(\.\.\., 6\)"):
        decompose(UNIT[:, :2], UNIT[:, 2:], np.zeros(5))


def test_inertia_that_is_not_positive_definite_on_the_subspace_is_refused():
    with pytest.raises(ShapeError, match="not positive definite on the motion subspace"):
        apparent_inverse_inertia(np.diag([1.0, 1, 1, 0, 0, 0]), UNIT[:, 3:])


def test_wrong_shapes_are_named():
    with pytest.raises(ShapeError, match=r"inertia must have shape \(6, 6\), got \(2, 6, 6\)"):
        apparent_inverse_inertia(np.zeros((2, 6, 6)), UNIT)
    with pytest.raises(ShapeError, match=r"force must have shape \(\.\.\., 6\), got \(3,\)"):
        split_force(UNIT, UNIT, np.zeros(3))
    with pytest.raises(ShapeError, match="columns of second depend"):
        is_direct_sum(UNIT[:, :5], np.zeros((6, 1)))
