import numpy as np
import pytest

from sparsebody.classical.operators import (
    STORAGES,
    _shifts,
    assembled,
    body_masses,
    cross_matrix,
    identity,
    series_times,
    summed_series,
)
from sparsebody.spatial import (
    force_transform,
    plucker_transform,
    rotation_about,
    skew,
    spatial_inertia,
)

RNG = np.random.default_rng(0)


def test_blocks_are_those_of_spatial_vector_algebra():
    l, R = RNG.normal(size=(4, 3)), rotation_about([0, 0.6, 0.8], RNG.normal(size=4))
    np.testing.assert_array_equal(cross_matrix(l), skew(l))
    shift = _shifts(l, R)
    X = plucker_transform(R.swapaxes(1, 2), l)  # motions, to axes turned by R at l
    np.testing.assert_allclose(shift.swapaxes(1, 2), X, atol=1e-15)
    np.testing.assert_allclose(shift @ force_transform(X), [np.eye(6)] * 4, atol=1e-14)


def test_masses_of_bodies_are_spatial_inertias():
    mass, com = RNG.uniform(1, 2, size=4), RNG.normal(size=(4, 3))
    inertia = np.eye(3) * RNG.uniform(1, 2, size=(4, 1, 1))
    expected = spatial_inertia(mass, com, inertia)
    np.testing.assert_allclose(body_masses(mass, com, inertia), expected, atol=1e-14)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9])
def test_the_series_of_a_nilpotent_operator_is_an_inverse(storage, n):
    below = np.arange(n - 1)
    blocks = RNG.normal(size=(n - 1, 2, 2))
    eps = assembled(storage, below + 1, below, blocks, (n, n))
    one = identity(storage, 2 * n, float)
    series, x = summed_series(eps, one, n), RNG.normal(size=2 * n)
    assert abs((one - eps) @ series - one).max() < 1e-12
    np.testing.assert_allclose(series_times(eps, x, n), series @ x, atol=1e-12)
    back = series_times(eps, x, n, transposed=True)
    np.testing.assert_allclose(back, series.T @ x, atol=1e-12)


def test_blocks_are_put_where_they_belong_in_both_storages():
    rows, columns, blocks = np.array([2, 0]), np.array([0, 1]), RNG.normal(size=(2, 3, 2))
    dense, sparse = (assembled(s, rows, columns, blocks, (3, 2)) for s in STORAGES)
    np.testing.assert_array_equal(dense[6:, :2], blocks[0])
    np.testing.assert_array_equal(dense[:3, 2:], blocks[1])
    np.testing.assert_array_equal(sparse.toarray(), dense)
