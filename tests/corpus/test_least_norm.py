import numpy as np
import pytest
from scipy.sparse import block_array, csr_array, eye_array

from sparsebody.corpus.reference_solution import least_multipliers


@pytest.mark.parametrize("softness", [1.0, 1e-6])
def test_the_least_multipliers_are_those_of_a_dense_least_squares_solution(softness):
    generator = np.random.default_rng(4)
    kept = generator.normal(size=(12, 20))
    kept[-1] = kept[0] + softness * kept[-1]
    A = np.vstack([kept, generator.normal(size=(5, 12)) @ kept])
    shuffle = generator.permutation(17)
    A, keep = A[shuffle], shuffle < 12
    K = block_array([[3.0 * eye_array(20), A[keep].T], [A[keep], None]])
    multiplier = generator.normal(size=12)
    found = least_multipliers(csr_array(K), csr_array(A), keep, multiplier)
    expected = np.linalg.lstsq(A.T, A[keep].T @ multiplier, rcond=1e-12)[0]
    np.testing.assert_allclose(found, expected, atol=1e-13 / softness)
