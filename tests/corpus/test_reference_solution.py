import numpy as np
import pytest
from exact_solution import exact_solution, relative_difference
from scipy.linalg import hilbert
from scipy.sparse import csr_array

from sparsebody.corpus.reference_solution import backward_error, exact_product, refined


@pytest.mark.parametrize("n", [3, 6, 9])
def test_ill_conditioned_systems_are_solved_to_the_last_digit(n):
    matrix, right = hilbert(n), np.arange(1.0, n + 1)  # kappa up to 5e11
    found = refined(csr_array(matrix), right, 0)
    exact = exact_solution(matrix, right)
    assert relative_difference(found.x, exact) <= found.error < 1.2e-16
    assert found.backward_error < 2.0**-52


def test_a_system_that_is_singular_but_for_rounding_says_so():
    rows = np.random.default_rng(0).normal(size=(5, 8))
    found = refined(csr_array(rows.T @ rows), np.ones(8), 0)
    assert found.error > 1e-3


def test_halves_in_other_units_are_judged_each_by_itself_and_zeros_are_zero():
    matrix = np.diag([1.0, 3.0, 1e20, 3e20])
    found = refined(csr_array(matrix), np.array([0.0, 1.0, 0.0, 1.0]), 2)
    np.testing.assert_array_equal(found.x, [0.0, 1 / 3, 0.0, 1 / 3e20])
    assert found.backward_error < 2.0**-53


def test_products_are_rounded_once():
    matrix, x = csr_array([[1e16, 1.0, -1e16]]), np.array([1.0, 0.5, 1.0])
    np.testing.assert_array_equal(exact_product(matrix, x), [0.5])
    square = csr_array(np.diag([1.0, 2.0]))
    assert backward_error(square, np.array([1.0, 3.0]), np.array([1.0, 1.0])) == 1 / 5
