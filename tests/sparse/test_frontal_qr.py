"""Remainders of the rows against dense QR and SVD."""

import numpy as np
import pytest

from sparsebody.sparse.frontal_qr import front_widths, frontal_pivots


def random_rows(rng: np.random.Generator, n_bodies: int, n_rows: int) -> tuple:
    """Rows between random bodies, or a body and the world."""
    ends = np.array([rng.choice(n_bodies, 2, replace=False) for _ in range(n_rows)])
    ends[rng.random(n_rows) < 0.2, 0] = -1
    rows = rng.normal(size=(n_rows, 2, 6)) * (ends >= 0)[:, :, None]
    return rows / np.linalg.norm(rows, axis=(1, 2))[:, None, None], ends


def dense(rows: np.ndarray, ends: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    A = np.zeros((len(rows), 6 * len(sizes)))
    for r, (row, end) in enumerate(zip(rows, ends, strict=True)):
        for side in range(2):
            if end[side] >= 0:
                A[r, 6 * end[side] : 6 * end[side] + 6] += row[side]
    return A


@pytest.mark.parametrize("seed", range(8))
def test_the_kept_rows_are_a_basis_of_all_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    rows, ends = random_rows(rng, n, int(rng.integers(3, 7 * n)))
    again = rng.integers(0, len(rows), 5)  # planted dependence
    rows, ends = np.concatenate([rows, rows[again]]), np.concatenate([ends, ends[again]])
    sizes = np.full(n, 6)
    pivots = frontal_pivots(
        rows, ends, sizes, rng.permutation(n), rng.integers(0, 5, len(rows)), 1e-9
    )
    A = dense(rows, ends, sizes)
    keep = pivots > 1e-9
    assert np.count_nonzero(keep) == np.linalg.matrix_rank(A) == np.linalg.matrix_rank(A[keep])


def test_remainders_are_those_of_gram_schmidt_in_the_same_order() -> None:
    """On a chain with one row a joint, rows are decided in the order of the bodies."""
    rng = np.random.default_rng(5)
    n = 7
    ends = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    rows = rng.normal(size=(n - 1, 2, 6))
    rows /= np.linalg.norm(rows, axis=(1, 2))[:, None, None]
    pivots = frontal_pivots(
        rows, ends, np.full(n, 6), np.arange(n), np.zeros(n - 1, dtype=int), 1e-12
    )
    R = np.linalg.qr(dense(rows, ends, np.full(n, 6)).T, mode="r")
    np.testing.assert_allclose(pivots, np.abs(np.diag(R)), atol=1e-14)


def test_smaller_bodies_use_the_leading_part_of_their_storage() -> None:
    rng = np.random.default_rng(2)
    ends = np.array([[0, 1], [0, 1], [0, 1], [0, 1], [-1, 0]])
    sizes = np.array([3, 3])
    rows = rng.normal(size=(5, 2, 6))
    rows[:, :, 3:] = 0.0
    rows[4, 0] = 0.0
    rows /= np.linalg.norm(rows, axis=(1, 2))[:, None, None]
    pivots = frontal_pivots(rows, ends, sizes, np.array([1, 0]), np.zeros(5, dtype=int), 1e-12)
    assert np.count_nonzero(pivots > 1e-12) == 5  # on 6 freedoms
    more = np.concatenate([rows, rows[:2] + rows[2:4]])
    ends = np.concatenate([ends, ends[:2]])
    again = frontal_pivots(more, ends, sizes, np.array([0, 1]), np.zeros(7, dtype=int), 1e-12)
    assert np.count_nonzero(again > 1e-12) == 5


def test_a_ladder_has_a_front_of_fixed_width() -> None:
    for rungs in (5, 50, 500):
        rails = [(b, b + 2) for b in range(2 * rungs - 2)]
        crossings = [(2 * k, 2 * k + 1) for k in range(rungs)]
        ends = np.array(rails + crossings)
        widths = front_widths(ends, np.full(2 * rungs, 6), np.arange(2 * rungs))
        assert widths.max() == 4
