"""Corrections by conjugate gradients where factors are rough."""

import dataclasses

import numpy as np
from random_saddles import dense_solution, draw, scaled_error
from scipy.sparse.linalg import splu
from scissor_saddle import scissor

from sparsebody.factorization import analyze, refined_solve
from sparsebody.factorization.refinement import conjugate_gradient_solve
from sparsebody.sparse.saddle import saddle_csc, saddle_residual


def test_factors_of_another_matrix_with_the_same_bodies_are_good_enough():
    matrix = draw(6)
    noise = 1 + 0.3 * np.random.default_rng(0).uniform(-1, 1, matrix.rows.shape)
    other = dataclasses.replace(matrix, rows=matrix.rows * noise)
    numeric = analyze("dense", matrix.pattern, np.arange(matrix.pattern.n_blocks)).factorize(other)
    rhs = np.random.default_rng(1).normal(size=matrix.pattern.n_rows)
    x = conjugate_gradient_solve(numeric, matrix, rhs)
    assert scaled_error(matrix, x[:, None], dense_solution(matrix, rhs[:, None])) < 1e-9


def test_a_long_scissor_under_a_smooth_load_is_solved_as_well_as_by_pivoting():
    """Its softest motion is lost in the factors, so that plain refinement would hardly help."""
    matrix = scissor(8000)
    pattern = matrix.pattern
    rhs = np.zeros(pattern.n_rows)
    rhs[: pattern.n_primal_rows].reshape(-1, 6)[:, [1, 3, 5]] = [0.1, 1.0, -9.0]
    numeric = analyze("block-ldl", pattern, np.arange(pattern.n_blocks)).factorize(matrix)
    factors = splu(saddle_csc(matrix))
    pivoted = factors.solve(rhs)
    pivoted += factors.solve(saddle_residual(matrix, pivoted, rhs))
    x, _ = refined_solve(numeric, matrix, rhs)
    n = pattern.n_primal_rows
    size = np.abs(pivoted[:n]).max()
    assert np.abs(numeric.solve(rhs) - pivoted)[:n].max() > 1e-4 * size
    assert np.abs(x - pivoted)[:n].max() < 1e-7 * size
