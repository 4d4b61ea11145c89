"""Products with a saddle-point matrix, compared with dense algebra."""

import dataclasses

import numpy as np
import pytest
from patterns import chain
from random_saddles import draw

from sparsebody.errors import ShapeError
from sparsebody.sparse import saddle


def explicit(matrix):
    """[D A'; A 0] written down block by block."""
    pattern = matrix.pattern
    dense = np.zeros((pattern.n_rows, pattern.n_rows))
    for i in range(pattern.n_primal):
        start, stop = pattern.offsets[i], pattern.offsets[i + 1]
        dense[start:stop, start:stop] = matrix.diagonal[i, : stop - start, : stop - start]
    for r, j in enumerate(matrix.row_block):
        for side, i in enumerate(pattern.ends[j]):
            if i >= 0:
                start, stop = pattern.offsets[i], pattern.offsets[i + 1]
                part = matrix.rows[r, side, : stop - start]
                dense[pattern.n_primal_rows + r, start:stop] += part
                dense[start:stop, pattern.n_primal_rows + r] += part
    return dense


@pytest.mark.parametrize("seed", range(5))
def test_matrices_and_products_are_those_of_the_one_written_down_block_by_block(seed):
    matrix = draw(seed)
    n, dense = matrix.pattern.n_primal_rows, explicit(matrix)
    np.testing.assert_array_equal(saddle.saddle_csc(matrix).toarray(), dense)
    np.testing.assert_array_equal(saddle.constraint_matrix(matrix).toarray(), dense[n:, :n])
    x = np.random.default_rng(seed).normal(size=(matrix.pattern.n_rows, 3))
    for vectors in (x, x[:, 0]):
        product = saddle.saddle_product(matrix, vectors)
        np.testing.assert_allclose(product, dense @ vectors, rtol=1e-12, atol=1e-12)


def test_vectors_that_do_not_fit_are_refused():
    matrix = draw(4)
    x = np.zeros(matrix.pattern.n_rows)
    with pytest.raises(ShapeError, match="x has 3 rows"):
        saddle.saddle_product(matrix, np.ones(3))
    with pytest.raises(ShapeError, match="the right-hand side"):
        saddle.saddle_residual(matrix, x, np.zeros((len(x), 2)))


def measured(matrix, x, rhs):
    """The residual, and its size."""
    residual = saddle.saddle_residual(matrix, x, rhs)
    return residual, saddle.residual_size(matrix, residual, saddle.residual_scales(matrix, x, rhs))


def test_the_residual_is_measured_in_the_worst_column():
    matrix = draw(4)
    n = matrix.pattern.n_primal_rows
    x = np.random.default_rng(5).normal(size=(matrix.pattern.n_rows, 3))
    rhs = explicit(matrix) @ x
    rhs[3, 1] += 0.5  # a primal row
    rhs[n + 2, 2] += 0.01  # a dual one
    residual, relative = measured(matrix, x, rhs)
    np.testing.assert_allclose(residual, rhs - explicit(matrix) @ x, atol=1e-12)
    inertia = np.abs(explicit(matrix)[:n, :n] @ x[:n, 1]).max()
    assert relative == pytest.approx(0.5 / max(np.abs(rhs[:n, 1]).max(), inertia), rel=1e-9)


@pytest.mark.parametrize("mass", [1e-12, 1.0, 1e12])
def test_the_size_of_a_residual_does_not_depend_on_the_unit_of_mass(mass):
    """D, f and the multipliers scale with the masses; motions and their equations do not."""
    matrix = draw(4)
    n = matrix.pattern.n_primal_rows
    x = np.random.default_rng(5).normal(size=matrix.pattern.n_rows)
    rhs = explicit(matrix) @ x
    rhs[[1, n + 1]] += [1e-3, 1e-3]
    expected = measured(matrix, x, rhs)[1]
    scaled = dataclasses.replace(
        matrix, diagonal=matrix.diagonal * mass, inverse=matrix.inverse / mass
    )
    unit = np.where(np.arange(len(x)) < n, 1.0, mass)
    force = np.where(np.arange(len(x)) < n, mass, 1.0)
    assert measured(scaled, x * unit, rhs * force)[1] == pytest.approx(expected, rel=1e-9)


def test_a_solution_that_is_not_finite_has_no_small_residual():
    matrix = draw(4)
    x = np.full(matrix.pattern.n_rows, np.nan)
    assert not measured(matrix, x, np.ones_like(x))[1] < 1.0


@pytest.mark.parametrize("n", [1, 2, 5, 40, 300])
@pytest.mark.parametrize("spread", [0.0, 1.0, 8.0])
def test_the_largest_eigenvalue_is_found_from_below_to_a_few_per_cent(n, spread):
    rng = np.random.default_rng(n)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    size = 10.0 ** rng.uniform(-spread, 0.0, n)
    result = saddle.largest_eigenvalue(lambda x: Q @ (size * (Q.T @ x)), n)
    assert 0.93 * size.max() <= result <= (1.0 + 1e-12) * size.max()


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (40, 60), (200, 80)])
def test_the_largest_row_sum_is_found_from_below_within_a_factor(shape):
    rng = np.random.default_rng(shape[0])
    for _ in range(20):
        A = rng.normal(size=shape) * 10.0 ** rng.uniform(-6, 0, (shape[0], 1))
        truth = np.abs(A).sum(axis=1).max()
        result = saddle.largest_row_sum(lambda x, A=A: A @ x, lambda y, A=A: A.T @ y, shape[0])
        assert truth / 3.0 <= result <= (1.0 + 1e-12) * truth


def test_nothing_has_no_norm():
    assert saddle.largest_eigenvalue(lambda x: x, 0) == 0.0
    assert saddle.largest_row_sum(lambda x: 0.0 * x, lambda y: 0.0 * y, 3) == 0.0


def test_a_unit_d_is_not_multiplied():
    pattern = chain(5)
    rng = np.random.default_rng(6)
    ones = np.tile(np.eye(6), (pattern.n_primal, 1, 1))
    rows = rng.normal(size=(pattern.n_rows - pattern.n_primal_rows, 2, 6))
    matrix = saddle.SaddleMatrix(pattern, ones, ones, rows)
    x, rhs = rng.normal(size=(2, pattern.n_rows))
    residual, size = measured(matrix, x, rhs)
    again, same = measured(dataclasses.replace(matrix, is_unit=True), x, rhs)
    np.testing.assert_allclose(again, residual, rtol=1e-14)
    assert same == pytest.approx(size, rel=1e-14)
