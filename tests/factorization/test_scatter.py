"""Layouts and kernels, held against SciPy's sparse algebra."""

import numpy as np
import pytest
from random_saddles import draw
from scipy.sparse import csc_array

from sparsebody.factorization.layouts import (
    dual_rhs,
    fill_saddle,
    fill_schur,
    primal_solution,
    saddle_columns,
    scales,
    schur_layout,
)
from sparsebody.sparse.saddle import constraint_matrix, saddle_csc


def block_inverse(matrix):
    n = matrix.pattern.n_primal_rows
    return np.linalg.inv(saddle_csc(matrix).toarray()[:n, :n])


@pytest.mark.parametrize("seed", range(5))
def test_filled_columns_are_the_scaled_permuted_matrix(seed):
    matrix = draw(seed, decades=2)
    pattern = matrix.pattern
    order = np.random.default_rng(seed).permutation(pattern.n_blocks)
    layout, columns = saddle_columns(pattern, order)
    data = np.full(layout.n_values, np.nan)
    scale = scales(matrix)
    fill_saddle(layout, matrix, scale, 0.0, data)
    shape = (pattern.n_rows, pattern.n_rows)
    filled = csc_array((data, columns.indices, columns.indptr), shape=shape)
    assert filled.has_sorted_indices
    rows = pattern.scalar_order(order)
    expected = (scale[:, None] * saddle_csc(matrix).toarray() * scale)[np.ix_(rows, rows)]
    np.testing.assert_allclose(filled.toarray(), expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_lower_columns_hold_the_lower_triangle_and_the_shift(seed):
    matrix = draw(seed)
    pattern = matrix.pattern
    order = np.random.default_rng(seed).permutation(pattern.n_blocks)
    layout, columns = saddle_columns(pattern, order, lower=True)
    data = np.full(layout.n_values, np.nan)
    fill_saddle(layout, matrix, np.ones(pattern.n_rows), -0.5, data)
    shape = (pattern.n_rows, pattern.n_rows)
    filled = csc_array((data, columns.indices, columns.indptr), shape=shape).toarray()
    expected = saddle_csc(matrix).toarray()
    dual = np.arange(pattern.n_primal_rows, pattern.n_rows)
    expected[dual, dual] = -0.5
    rows = pattern.scalar_order(order)
    np.testing.assert_array_equal(np.tril(filled), np.tril(expected[np.ix_(rows, rows)]))


def test_scaling_gives_unit_diagonals_to_the_matrix_and_its_schur_complement():
    matrix = draw(1, decades=3)
    n = matrix.pattern.n_primal_rows
    scale = scales(matrix)
    np.testing.assert_allclose(saddle_csc(matrix).diagonal()[:n] * scale[:n] ** 2, 1.0)
    A = constraint_matrix(matrix).toarray()
    schur = A @ block_inverse(matrix) @ A.T
    np.testing.assert_allclose(np.diag(schur) * scale[n:] ** 2, 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_schur_columns_hold_the_lower_triangle_of_the_schur_complement(seed):
    matrix = draw(seed)
    pattern = matrix.pattern
    order = np.random.default_rng(seed).permutation(pattern.n_blocks)
    layout = schur_layout(pattern, order)
    data = np.full(len(layout.columns.indices), np.nan)
    fill_schur(layout, matrix, np.ones(pattern.n_rows), data)
    n = len(layout.order)
    columns = layout.columns
    filled = csc_array((data, columns.indices, columns.indptr), shape=(n, n)).toarray()
    A = constraint_matrix(matrix).toarray()
    expected = (A @ block_inverse(matrix) @ A.T)[np.ix_(layout.order, layout.order)]
    np.testing.assert_allclose(np.tril(filled), np.tril(expected), rtol=1e-12, atol=1e-12)


def test_reduction_and_back_substitution_solve_the_whole_system():
    matrix = draw(2)
    n = matrix.pattern.n_primal_rows
    rhs = np.random.default_rng(0).normal(size=(matrix.pattern.n_rows, 2))
    A = constraint_matrix(matrix).toarray()
    schur = A @ block_inverse(matrix) @ A.T
    y = np.linalg.solve(schur, dual_rhs(matrix, rhs))
    x = primal_solution(matrix, rhs, y)
    np.testing.assert_allclose(saddle_csc(matrix) @ x, rhs, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(x[n:], y)
