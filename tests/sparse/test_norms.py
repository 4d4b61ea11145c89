"""Estimates of norms against the matrices themselves."""

from __future__ import annotations

import numpy as np
import pytest

from sparsebody.sparse.saddle import largest_eigenvalue, largest_row_sum


@pytest.mark.parametrize("n", [1, 2, 5, 40, 300])
@pytest.mark.parametrize("spread", [0.0, 1.0, 8.0])
def test_the_largest_eigenvalue_is_found_from_below_to_a_few_per_cent(
    n: int, spread: float
) -> None:
    rng = np.random.default_rng(n)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    size = 10.0 ** rng.uniform(-spread, 0.0, n)
    found = largest_eigenvalue(lambda x: Q @ (size * (Q.T @ x)), n)
    assert 0.93 * size.max() <= found <= (1.0 + 1e-12) * size.max()


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (40, 60), (200, 80)])
def test_the_largest_row_sum_is_found_from_below_within_a_factor(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape[0])
    for _ in range(20):
        A = rng.normal(size=shape) * 10.0 ** rng.uniform(-6, 0, (shape[0], 1))
        truth = np.abs(A).sum(axis=1).max()
        found = largest_row_sum(lambda x, A=A: A @ x, lambda y, A=A: A.T @ y, shape[0])
        assert truth / 3.0 <= found <= (1.0 + 1e-12) * truth


def test_nothing_has_no_norm() -> None:
    assert largest_eigenvalue(lambda x: x, 0) == 0.0
    assert largest_row_sum(lambda x: 0.0 * x, lambda y: 0.0 * y, 3) == 0.0
