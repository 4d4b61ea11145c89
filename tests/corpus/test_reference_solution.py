import numpy as np
import pytest
from exact_solution import exact_solution, relative_difference
from scipy.linalg import hilbert
from scipy.sparse import block_array, csr_array, eye_array

from sparsebody.corpus import reference_solution


@pytest.mark.parametrize("n", [3, 6, 9])
def test_ill_conditioned_systems_are_solved_to_the_last_digit(n):
    matrix, right = hilbert(n), np.arange(1.0, n + 1)  # kappa up to 5e11
    solution = reference_solution.refined(csr_array(matrix), right, 0)
    exact = exact_solution(matrix, right)
    assert relative_difference(solution.x, exact) <= solution.error < 1.2e-16
    assert solution.backward_error < 2.0**-52


def test_a_system_that_is_singular_but_for_rounding_says_so():
    matrix = hilbert(18)  # kappa 1e18 and more
    assert reference_solution.refined(csr_array(matrix), np.ones(18), 0).error > 1e-3


def test_halves_in_other_units_are_judged_each_by_itself_and_zeros_are_zero():
    matrix = np.diag([1.0, 3.0, 1e20, 3e20])
    solution = reference_solution.refined(csr_array(matrix), np.array([0.0, 1.0, 0.0, 1.0]), 2)
    np.testing.assert_array_equal(solution.x, [0.0, 1 / 3, 0.0, 1 / 3e20])
    assert solution.backward_error < 2.0**-53


def test_products_are_rounded_once():
    matrix, x = csr_array([[1e16, 1.0, -1e16]]), np.array([1.0, 0.5, 1.0])
    np.testing.assert_array_equal(reference_solution.exact_product(matrix, x), [0.5])
    square = csr_array(np.diag([1.0, 2.0]))
    assert (
        reference_solution.backward_error(square, np.array([1.0, 3.0]), np.array([1.0, 1.0]))
        == 1 / 5
    )


@pytest.mark.parametrize("softness", [1.0, 1e-6])
def test_the_least_multipliers_are_those_of_a_dense_least_squares_solution(softness):
    generator = np.random.default_rng(4)
    independent = generator.normal(size=(12, 20))
    independent[-1] = independent[0] + softness * independent[-1]
    A = np.vstack([independent, generator.normal(size=(5, 12)) @ independent])
    shuffle = generator.permutation(17)
    A, keep = A[shuffle], shuffle < 12
    K = block_array([[3.0 * eye_array(20), A[keep].T], [A[keep], None]])
    multiplier = generator.normal(size=12)
    least = reference_solution.least_multipliers(csr_array(K), csr_array(A), keep, multiplier)
    expected = np.linalg.lstsq(A.T, A[keep].T @ multiplier, rcond=1e-12)[0]
    np.testing.assert_allclose(least, expected, atol=1e-13 / softness)
