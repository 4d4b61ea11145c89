"""Decisions in one large front, held against projections by NumPy's SVD and QR."""

import numpy as np
import pytest

from sparsebody._core import rank as kernels

TOLERANCE = 1e-9
PANEL = 32  # columns of ready joints whose reflections are applied together


def random_front(m, n, n_ready, seed, n_dependent=0):
    """Joints of three columns each; some columns of ready joints combine others."""
    rng = np.random.default_rng(seed)
    front = rng.normal(size=(m, n))
    joint = rng.permutation(n) // 3
    ready = joint < n_ready // 3
    columns = np.flatnonzero(ready)
    for c in rng.permutation(columns)[:n_dependent]:
        others = np.setdiff1d(columns, c)
        front[:, c] = front[:, others] @ rng.normal(size=len(others)) / len(others)
    return front, joint, ready


def remainders(front, joint, ready):
    """Remainders column by column, by an orthonormal basis of the ones taken before."""
    basis, found = np.zeros((len(front), 0)), np.full(len(joint), np.nan)
    for j in np.unique(joint[ready])[::-1]:
        left = list(np.flatnonzero(joint == j))
        while left:
            rest = front[:, left] - basis @ (basis.T @ front[:, left])
            rest -= basis @ (basis.T @ rest)
            sizes = np.linalg.norm(rest, axis=0)
            k = int(np.argmax(sizes))
            found[left[k]] = sizes[k]
            if sizes[k] > TOLERANCE:
                basis = np.column_stack([basis, rest[:, k] / sizes[k]])
            del left[k]
    return found, basis


@pytest.mark.parametrize(
    ("m", "n", "n_ready", "n_dependent"),
    [
        (200, 150, 60, 0),
        (200, 150, 60, 7),
        (120, 150, 90, 0),
        (40, 150, 90, 0),  # fewer equations than rows to decide
        (200, 150, 0, 0),
        (200, 150, 150, 11),
        (5, 3, 3, 0),
        (PANEL + 1, PANEL + 1, PANEL + 1, 1),
    ],
)
def test_remainders_and_what_is_left(m, n, n_ready, n_dependent):
    front, joint, ready = random_front(m, n, n_ready, m + n_ready, n_dependent)
    expected, basis = remainders(front, joint, ready)
    pivots, column, remaining = kernels.decided_front(front, joint, ready, TOLERANCE)
    scale = np.linalg.norm(front, 2)
    np.testing.assert_allclose(pivots, expected, atol=1e-13 * scale)
    assert np.count_nonzero(pivots[ready] > TOLERANCE) == basis.shape[1]
    assert sorted(column) == sorted(np.flatnonzero(~ready))
    assert len(remaining) == min(m - basis.shape[1], len(column))
    rest = front[:, column]
    rest = rest - basis @ (basis.T @ rest)
    product = remaining.T @ remaining
    np.testing.assert_allclose(product, rest.T @ rest, atol=1e-13 * scale**2)


def test_columns_of_zeros():
    front, joint, ready = random_front(100, 80, 30, 1)
    front[:, ::4] = 0.0
    expected, _ = remainders(front, joint, ready)
    pivots = kernels.decided_front(front, joint, ready, TOLERANCE)[0]
    np.testing.assert_allclose(pivots, expected, atol=1e-13 * np.linalg.norm(front, 2))
