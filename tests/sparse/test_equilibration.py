"""Equilibrated rows: of the same rank, and even."""

import numpy as np
import pytest
from random_saddles import loop_of_hinges, scissor

from sparsebody.sparse.rank.constraint_parts import PartOfRows, equilibrate, part_of_rows
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix


def part_of(matrix: SaddleMatrix) -> PartOfRows:
    label = np.full(matrix.pattern.n_primal, -1)
    return part_of_rows(matrix, np.arange(matrix.pattern.n_dual), label)


def equilibrated(matrix: SaddleMatrix) -> PartOfRows:
    part = part_of(matrix)
    equilibrate(part)
    return part


def dense(part: PartOfRows) -> np.ndarray:
    nothing = np.empty((part.pattern.n_primal, 0, 0))
    return constraint_matrix(SaddleMatrix(part.pattern, nothing, nothing, part.rows)).toarray()


@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
def test_rows_keep_their_rank_and_have_unit_norm(size: float) -> None:
    matrix = loop_of_hinges(np.random.default_rng(1), 6, size=size)
    part = equilibrated(matrix)
    rows = dense(part)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-12)
    sigma = np.linalg.svd(rows, compute_uv=False)
    assert sigma[-4] > 1e-3
    assert sigma[-3] < 1e-12


def test_rows_on_a_body_are_nearly_orthonormal_columns() -> None:
    rows = dense(equilibrated(scissor(5, np.random.default_rng(0))))
    for body in range(1, 9):
        columns = rows[:, 6 * body : 6 * body + 6]
        sigma = np.linalg.svd(columns, compute_uv=False)
        assert sigma[0] < 3.0
        assert sigma[-1] > 0.1


def test_masses_do_not_matter() -> None:
    light = loop_of_hinges(np.random.default_rng(2), 4)
    heavy = loop_of_hinges(np.random.default_rng(2), 4, masses=[1e-3, 1e3, 1e-3, 1e3])
    np.testing.assert_array_equal(equilibrated(light).rows, equilibrated(heavy).rows)


def test_zero_rows_stay() -> None:
    matrix = loop_of_hinges(np.random.default_rng(2), 4)
    matrix.rows[3] = 0.0
    part = equilibrated(matrix)
    np.testing.assert_array_equal(part.rows[3], 0.0)
    assert np.all(np.isfinite(part.rows))
