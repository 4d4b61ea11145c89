"""Remainders of the rows, in sweeps and on nested halves, against dense QR and SVD."""

import numpy as np
import pytest
from front_rows import dense, random_rows, unit_rows

from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank.row_fronts import (
    fronts,
    halves,
    largest_gap,
    path,
    remainder_flops,
    row_remainders,
    schur_pivots,
)
from sparsebody.sparse.searches import bisected
from sparsebody.tolerances import SCHUR_SHIFT as DELTA


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


TOLERANCE = 1e-9
PANEL = 32  # columns of joints whose reflections are applied together
SECOND = 20  # freedoms of the second body


def random_joints(m, n, n_ready, seed, n_dependent=0):
    """Rows of joints, three each, on bodies of m and SECOND freedoms; the first are on one alone.

    Some rows of these combine others.
    """
    rng = np.random.default_rng(seed)
    rows = np.zeros((n, 2, m))
    rows[:, 0] = rng.normal(size=(n, m))
    rows[n_ready:, 1, :SECOND] = rng.normal(size=(n - n_ready, SECOND))
    for r in rng.permutation(n_ready)[:n_dependent]:
        others = np.setdiff1d(np.arange(n_ready), r)  # which may have others among them in turn
        rows[r, 0] = rng.normal(size=len(others)) @ rows[others, 0] / len(others)
    joints = np.arange(n // 3)
    ends = np.where(joints < n_ready // 3, -1, 1)
    sizes = np.concatenate([[m, SECOND], np.full(n // 3, 3)])
    return BlockPattern(sizes, np.stack([np.zeros_like(joints), ends], axis=1)), rows


def expected_remainders(pattern, rows):
    """Remainders row by row, by an orthonormal basis of the ones taken before."""
    A = np.hstack([rows[:, 0], rows[:, 1]])
    joint = np.arange(len(A)) // 3
    is_second = pattern.ends[joint, 1] == 1
    basis, remainder = np.zeros((A.shape[1], 0)), np.empty(len(A))
    for stage in (~is_second, is_second):
        for j in np.unique(joint[stage])[::-1]:
            waiting = list(np.flatnonzero(joint == j))
            while waiting:
                rest = A[waiting].T - basis @ (basis.T @ A[waiting].T)
                rest -= basis @ (basis.T @ rest)
                sizes = np.linalg.norm(rest, axis=0)
                k = int(np.argmax(sizes))
                remainder[waiting[k]] = sizes[k]
                if sizes[k] > TOLERANCE:
                    basis = np.column_stack([basis, rest[:, k] / sizes[k]])
                del waiting[k]
    return remainder


@pytest.mark.parametrize(
    ("m", "n", "n_ready", "n_dependent"),
    [
        (200, 150, 60, 0),
        (200, 150, 60, 7),
        (120, 150, 90, 0),
        (40, 150, 90, 0),  # fewer equations than rows to decide
        (200, 150, 0, 0),
        (200, 150, 150, 11),
        (SECOND, 3, 3, 0),
        (PANEL + 1, PANEL + 1, PANEL + 1, 1),
    ],
)
def test_remainders_in_two_fronts_are_those_of_projections(m, n, n_ready, n_dependent):
    pattern, rows = random_joints(m, n, n_ready, m + n_ready, n_dependent)
    remainders = row_remainders(pattern, rows, path(np.arange(2)), TOLERANCE)
    scale = np.linalg.norm(rows.reshape(n, -1), 2)
    np.testing.assert_allclose(remainders, expected_remainders(pattern, rows), atol=1e-12 * scale)
    rank = np.linalg.matrix_rank(rows.reshape(n, -1))
    assert np.count_nonzero(remainders > TOLERANCE) == rank


def test_rows_of_zeros():
    pattern, rows = random_joints(100, 81, 30, 1)
    rows[::4] = 0.0
    remainders = row_remainders(pattern, rows, path(np.arange(2)), TOLERANCE)
    np.testing.assert_allclose(remainders, expected_remainders(pattern, rows), atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_pivots_are_those_of_the_dense_schur_complement(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern, rows = random_rows(rng, n_bodies=6)
    order = rng.permutation(pattern.n_primal)
    pivots = schur_pivots(pattern, rows, fronts(pattern, order), delta=0.5)
    A = dense(pattern, rows)
    # the determinant of a leading part is the product of its pivots, in whatever order they come
    whole = np.linalg.slogdet(A @ A.T + 0.5 * np.eye(len(A)))[1]
    assert np.log(pivots).sum() == pytest.approx(whole)
    step = np.where(pattern.ends >= 0, np.argsort(order)[pattern.ends], -1).max(axis=1)
    last = np.repeat(step, pattern.block_sizes[pattern.n_primal :])
    for step in range(pattern.n_primal):
        part = A[last <= step]
        expected = np.linalg.slogdet(part @ part.T + 0.5 * np.eye(len(part)))[1]
        assert np.log(pivots[last <= step]).sum() == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_repeated_rows_have_pivots_of_about_delta(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern, rows = random_rows(rng, n_bodies=20, n_repeated=3, joints_per_body=1.2)
    pivots = schur_pivots(pattern, rows, fronts(pattern, rng.permutation(20)))
    threshold, ratio = largest_gap(pivots)
    assert np.sum(pivots > threshold) == np.linalg.matrix_rank(dense(pattern, rows))
    assert ratio > 1e5


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_gap_is_that_between_sorted_pivots(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pivots = 10 ** rng.uniform(-14, 0, int(rng.integers(1, 15)))
    ordered = np.sort(np.append(pivots.clip(min=DELTA), DELTA))
    ratios = ordered[1:] / ordered[:-1]
    threshold, ratio = largest_gap(pivots)
    assert ratio == pytest.approx(ratios.max())
    k = int(np.argmax(ratios))
    assert ordered[k] < threshold < ordered[k + 1]


def test_a_gap_to_delta_itself_drops_nothing() -> None:
    threshold, ratio = largest_gap(np.array([0.5, 1.0, 0.3]))
    assert DELTA < threshold < 0.3
    assert ratio == pytest.approx(0.3 / DELTA)
