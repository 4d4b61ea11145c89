import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sparsebody.errors import ShapeError
from sparsebody.spatial import orthogonal_complement

seeds = st.integers(0, 2**32 - 1)  # of dense random matrices, which hypothesis draws slowly
UNIT = np.eye(6)


@given(st.integers(0, 6), seeds)
def test_complement_depends_on_the_subspace_alone_and_is_orthonormal(n, seed):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(6, n))
    assume(n == 0 or np.linalg.cond(S) < 1e3)
    T = orthogonal_complement(S)
    assert T.shape == (6, 6 - n)
    np.testing.assert_allclose(T.T @ S, 0.0, atol=1e-12)
    np.testing.assert_allclose(T.T @ T, np.eye(6 - n), atol=1e-13)
    other = S @ (rng.uniform(-0.1, 0.1, (n, n)) + np.diag(range(1, n + 1)))
    np.testing.assert_allclose(orthogonal_complement(other), T, atol=1e-9)


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
    np.testing.assert_allclose(T[:, 4], np.array([0, 0, -h, 0, 0, 1]) / np.hypot(1, h), atol=1e-15)


def test_units_do_not_make_columns_dependent():
    S = np.array([[0, 0, 1e-9, 0, 0, 0], [0, 0, 0, 0, 0, 1e9]]).T
    np.testing.assert_array_equal(orthogonal_complement(S), UNIT[:, [0, 1, 3, 4]])


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
