"""Remainders of the rows, in sweeps and on nested halves, against dense QR and SVD."""

import numpy as np
import pytest
from front_rows import dense, random_rows, unit_rows

from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank.row_fronts import halves, path, remainder_flops, row_remainders
from sparsebody.sparse.searches import bisected


@pytest.mark.parametrize("seed", range(8))
def test_the_rows_kept_in_a_sweep_are_a_basis_of_all_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern, rows = random_rows(rng, n_bodies=int(rng.integers(2, 9)), n_repeated=2)
    order = rng.permutation(pattern.n_primal)
    keep = row_remainders(pattern, rows, path(order), 1e-9) > 1e-9
    A = dense(pattern, rows)
    assert np.count_nonzero(keep) == np.linalg.matrix_rank(A) == np.linalg.matrix_rank(A[keep])


def test_remainders_are_those_of_gram_schmidt_in_the_same_order() -> None:
    """On a chain with one row a joint, rows are decided in the order of the bodies."""
    n = 7
    ends = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    pattern = BlockPattern(np.repeat([6, 1], [n, n - 1]), ends)
    rows = unit_rows(np.random.default_rng(5), pattern)
    pivots = row_remainders(pattern, rows, path(np.arange(n)), 1e-12)
    R = np.linalg.qr(dense(pattern, rows).T, mode="r")
    np.testing.assert_allclose(pivots, np.abs(np.diag(R)), atol=1e-14)


def test_smaller_bodies_use_the_leading_part_of_their_storage() -> None:
    rng = np.random.default_rng(2)
    ends = np.array([[0, 1], [-1, 0]])
    pattern = BlockPattern(np.array([3, 3, 4, 1]), ends)
    rows = unit_rows(rng, pattern)
    pivots = row_remainders(pattern, rows, path(np.array([1, 0])), 1e-12)
    assert np.count_nonzero(pivots > 1e-12) == 5  # on 6 freedoms
    pattern = BlockPattern(np.array([3, 3, 6, 1]), ends)
    rows = np.concatenate([rows[:4], rows[:2] + rows[2:4], rows[4:]])
    again = row_remainders(pattern, rows, path(np.array([0, 1])), 1e-12)
    assert np.count_nonzero(again > 1e-12) == 5


@pytest.mark.parametrize("seed", range(12))
def test_the_rows_kept_on_halves_are_a_basis_of_all_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern, rows = random_rows(rng, n_bodies=int(rng.integers(2, 30)), n_repeated=2)
    order = bisected(pattern) if seed % 2 else rng.permutation(pattern.n_primal)
    keep = row_remainders(pattern, rows, halves(order), 1e-9) > 1e-9
    A = dense(pattern, rows)
    assert np.count_nonzero(keep) == np.linalg.matrix_rank(A) == np.linalg.matrix_rank(A[keep])


def test_the_product_of_remainders_is_the_volume_of_the_rows() -> None:
    rng = np.random.default_rng(1)
    ends = np.array([[-1, 0], [0, 1], [1, 2], [2, 3], [3, 0], [2, 4], [4, -1]])
    pattern = BlockPattern(np.array([6, 6, 6, 6, 6, 3, 4, 2, 3, 5, 1, 4]), ends)
    rows = unit_rows(rng, pattern)
    A = dense(pattern, rows)
    pivots = row_remainders(pattern, rows, halves(bisected(pattern)), 1e-12)
    assert 2 * np.log(pivots).sum() == pytest.approx(np.linalg.slogdet(A @ A.T)[1])


def grid(k: int) -> BlockPattern:
    i, j = np.indices((k, k))
    right = np.stack([(i * k + j)[:, :-1], (i * k + j)[:, 1:]], axis=-1).reshape(-1, 2)
    down = np.stack([(i * k + j)[:-1], (i * k + j)[1:]], axis=-1).reshape(-1, 2)
    ends = np.concatenate([right, down])
    return BlockPattern(np.repeat([6, 3], [k * k, len(ends)]), ends)


def test_work_on_a_grid_grows_with_the_cube_of_its_side() -> None:
    small, large = (remainder_flops(grid(k), halves(bisected(grid(k)))) for k in (32, 128))
    assert 4.0**2 < large / small < 1.5 * 4.0**3


def test_joints_to_the_world_cost_no_more_than_their_own_fronts():
    n = 400
    path = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    grounded = np.column_stack([np.full(n, -1), np.arange(n)])
    floating = BlockPattern(np.repeat([6, 5], [n, n - 1]), path)
    standing = BlockPattern(np.repeat([6, 5], [n, 2 * n - 1]), np.vstack([path, grounded]))
    order = np.arange(n)
    assert remainder_flops(standing, halves(order)) == remainder_flops(floating, halves(order))
