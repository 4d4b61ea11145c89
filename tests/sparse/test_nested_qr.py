"""Remainders of the rows, decided by nested halves, against SVD and the frontal QR."""

import numpy as np
import pytest
from front_rows import dense, random_rows, unit_rows

from sparsebody.sparse.bisection import bisected
from sparsebody.sparse.nested_qr import nested_flops, nested_pivots
from sparsebody.sparse.pattern import BlockPattern


@pytest.mark.parametrize("seed", range(12))
def test_the_kept_rows_are_a_basis_of_all_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern, rows = random_rows(rng, n_bodies=int(rng.integers(2, 30)), n_repeated=2)
    order = bisected(pattern) if seed % 2 else rng.permutation(pattern.n_primal)
    keep = nested_pivots(pattern, rows, order, 1e-9) > 1e-9
    A = dense(pattern, rows)
    assert np.count_nonzero(keep) == np.linalg.matrix_rank(A) == np.linalg.matrix_rank(A[keep])


def test_the_product_of_remainders_is_the_volume_of_the_rows() -> None:
    rng = np.random.default_rng(1)
    ends = np.array([[-1, 0], [0, 1], [1, 2], [2, 3], [3, 0], [2, 4], [4, -1]])
    pattern = BlockPattern(np.array([6, 6, 6, 6, 6, 3, 4, 2, 3, 5, 1, 4]), ends)
    rows = unit_rows(rng, pattern)
    A = dense(pattern, rows)
    pivots = nested_pivots(pattern, rows, bisected(pattern), 1e-12)
    assert 2 * np.log(pivots).sum() == pytest.approx(np.linalg.slogdet(A @ A.T)[1])


def grid(k: int) -> BlockPattern:
    i, j = np.indices((k, k))
    right = np.stack([(i * k + j)[:, :-1], (i * k + j)[:, 1:]], axis=-1).reshape(-1, 2)
    down = np.stack([(i * k + j)[:-1], (i * k + j)[1:]], axis=-1).reshape(-1, 2)
    ends = np.concatenate([right, down])
    return BlockPattern(np.repeat([6, 3], [k * k, len(ends)]), ends)


def test_work_on_a_grid_grows_with_the_cube_of_its_side() -> None:
    small, large = (nested_flops(grid(k), bisected(grid(k))) for k in (32, 128))
    assert 4.0**2 < large / small < 1.5 * 4.0**3


def test_joints_to_the_world_cost_no_more_than_their_own_fronts():
    n = 400
    path = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    grounded = np.column_stack([np.full(n, -1), np.arange(n)])
    floating = BlockPattern(np.repeat([6, 5], [n, n - 1]), path)
    standing = BlockPattern(np.repeat([6, 5], [n, 2 * n - 1]), np.vstack([path, grounded]))
    order = np.arange(n)
    assert nested_flops(standing, order) == nested_flops(floating, order)
