import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from patterns import ladder, patterns, scalar_factor
from random_saddles import random_matrix, random_pattern

from sparsebody.errors import ShapeError, SingularSystemError
from sparsebody.factorization import plain_ldl
from sparsebody.factorization.layouts import scales
from sparsebody.ordering import ALGORITHMS, algorithm_order
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.saddle import saddle_csc

EPS = 1e-3


def quasi_definite(matrix, eps):
    """[D A'; A -eps], scaled as the factorization does, dense."""
    dense, scale, n = saddle_csc(matrix).toarray(), scales(matrix), matrix.pattern.n_primal_rows
    dense = dense * np.outer(scale, scale)
    dense[n:, n:] -= eps * np.eye(len(dense) - n)
    return dense, scale


def counted_pivots(dense, filled):
    """Eliminate the lower triangle, entries of L only; return D, and how much was done."""
    a, done = dense.copy(), 0
    for k in range(len(a)):
        rows = np.flatnonzero(filled[:, k])
        for j in rows[rows > k]:
            below = rows[rows >= j]
            a[below, j] -= a[below, k] * (a[j, k] / a[k, k])
            done += 1 + 2 * len(below)  # a division, and a product and a difference each
    return np.diag(a), done


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("seed", range(2))
def test_predicted_flops_are_those_done_and_those_that_numbers_count(name, seed):
    rng = np.random.default_rng(seed)
    pattern = random_pattern(rng, 5, 2)
    matrix, sequence = random_matrix(rng, pattern), algorithm_order(pattern, name)
    numeric = plain_ldl.analyze(pattern, sequence).factorize(matrix, EPS)
    rows, (_, filled) = pattern.scalar_order(sequence), scalar_factor(pattern, sequence)
    dense = quasi_definite(matrix, EPS)[0][np.ix_(rows, rows)]
    pivots, done = counted_pivots(dense, filled)
    assert numeric.flops == done == ordering_metrics(pattern, sequence).flops
    base, size = numeric.symbolic.base[:-1], numeric.symbolic.sizes
    stride = np.diff(numeric.symbolic.base) // size + 1  # along the diagonal of a block
    positions = np.concatenate([base[k] + stride[k] * np.arange(n) for k, n in enumerate(size)])
    np.testing.assert_allclose(numeric.values[positions], pivots, rtol=1e-8)


@given(pattern=patterns(), seed=st.integers(0, 2**16))
@settings(max_examples=20)
def test_any_order_solves_the_quasi_definite_system(pattern, seed):
    rng = np.random.default_rng(seed)
    assume(np.all(pattern.ends[:, 0] != pattern.ends[:, 1]))  # no joint of a body with itself
    matrix, rhs = random_matrix(rng, pattern), rng.normal(size=pattern.n_rows)
    sequence = rng.permutation(pattern.n_blocks)
    numeric = plain_ldl.analyze(pattern, sequence).factorize(matrix, EPS)
    assert numeric.flops == ordering_metrics(pattern, sequence).flops
    dense, scale = quasi_definite(matrix, EPS)
    expected = scale * np.linalg.solve(dense, scale * rhs) if len(rhs) else rhs
    np.testing.assert_allclose(numeric.solve(rhs), expected, rtol=1e-7, atol=1e-7)


def test_a_joint_before_its_bodies_needs_a_positive_eps():
    rng = np.random.default_rng(2)
    pattern = ladder(3)
    symbolic = plain_ldl.analyze(pattern, algorithm_order(pattern, "penalty"))
    matrix = random_matrix(rng, pattern)
    with pytest.raises(SingularSystemError, match=r"pivot of joint 0 is zero .* give a larger eps"):
        symbolic.factorize(matrix)
    assert symbolic.factorize(matrix, 1e-6).flops > 0


def test_numbers_that_do_not_fit_and_factors_too_large_are_refused(monkeypatch):
    pattern = ladder(2)
    symbolic = plain_ldl.analyze(pattern, algorithm_order(pattern, "auto"))
    matrix = random_matrix(np.random.default_rng(0), pattern)
    for eps in (-1e-9, np.nan, np.inf):
        with pytest.raises(ShapeError, match="give zero or a small positive number"):
            symbolic.factorize(matrix, eps)
    for shape in ((3,), (pattern.n_rows, 2)):
        with pytest.raises(ShapeError, match="right-hand side"):
            symbolic.factorize(matrix).solve(np.zeros(shape))
    monkeypatch.setattr(plain_ldl, "MOST_VALUES", 100)
    with pytest.raises(ShapeError, match="more than 1e"):
        plain_ldl.analyze(ladder(4), algorithm_order(ladder(4), "penalty"))
