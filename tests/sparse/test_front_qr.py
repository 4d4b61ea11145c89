"""Decisions in large fronts, held against projections by NumPy."""

import numpy as np
import pytest

from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank.row_fronts import path, row_remainders

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
