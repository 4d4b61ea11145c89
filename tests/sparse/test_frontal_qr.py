"""Remainders of the rows against dense QR and SVD."""

import numpy as np
import pytest
from front_rows import dense, random_rows, unit_rows

from sparsebody.sparse.frontal_qr import frontal_pivots
from sparsebody.sparse.fronts import fronts
from sparsebody.sparse.pattern import BlockPattern


@pytest.mark.parametrize("seed", range(8))
def test_the_kept_rows_are_a_basis_of_all_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern, rows = random_rows(rng, n_bodies=int(rng.integers(2, 9)), n_repeated=2)
    order = rng.permutation(pattern.n_primal)
    keep = frontal_pivots(fronts(pattern, order), rows, 1e-9) > 1e-9
    A = dense(pattern, rows)
    assert np.count_nonzero(keep) == np.linalg.matrix_rank(A) == np.linalg.matrix_rank(A[keep])


def test_remainders_are_those_of_gram_schmidt_in_the_same_order() -> None:
    """On a chain with one row a joint, rows are decided in the order of the bodies."""
    n = 7
    ends = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    pattern = BlockPattern(np.repeat([6, 1], [n, n - 1]), ends)
    rows = unit_rows(np.random.default_rng(5), pattern)
    pivots = frontal_pivots(fronts(pattern, np.arange(n)), rows, 1e-12)
    R = np.linalg.qr(dense(pattern, rows).T, mode="r")
    np.testing.assert_allclose(pivots, np.abs(np.diag(R)), atol=1e-14)


def test_smaller_bodies_use_the_leading_part_of_their_storage() -> None:
    rng = np.random.default_rng(2)
    ends = np.array([[0, 1], [-1, 0]])
    pattern = BlockPattern(np.array([3, 3, 4, 1]), ends)
    rows = unit_rows(rng, pattern)
    pivots = frontal_pivots(fronts(pattern, np.array([1, 0])), rows, 1e-12)
    assert np.count_nonzero(pivots > 1e-12) == 5  # on 6 freedoms
    pattern = BlockPattern(np.array([3, 3, 6, 1]), ends)
    rows = np.concatenate([rows[:4], rows[:2] + rows[2:4], rows[4:]])
    again = frontal_pivots(fronts(pattern, np.array([0, 1])), rows, 1e-12)
    assert np.count_nonzero(again > 1e-12) == 5
