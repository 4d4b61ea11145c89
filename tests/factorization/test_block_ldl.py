"""The block LDL' factorization: its layout, its kernels, and what it promises of orders."""

from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patterns import ladder, pattern_of, patterns, shuffled
from random_saddles import natural, random_matrix, scissor, solution_error
from scipy.sparse.linalg import splu

from sparsebody.errors import ShapeError
from sparsebody.factorization import analyze, unit_factors
from sparsebody.ordering.heuristics import leaves_first
from sparsebody.sparse.elimination_tree import column_structures, is_admissible, postordered, repair
from sparsebody.sparse.saddle import saddle_csc, saddle_product, saddle_residual


def in_parts(pattern, order):
    """LDL' of a small pattern in parts, as those of large ones come."""
    parts = unit_factors.in_parts(pattern, repair(pattern, order), fewest=1)
    return unit_factors.analyze_ldl(pattern, *parts)


ANALYSES = {name: partial(analyze, name) for name in ("block-ldl", "multifrontal")}


@pytest.mark.parametrize("analyzed", [*ANALYSES.values(), in_parts], ids=[*ANALYSES, "in parts"])
@given(pattern=patterns(), data=st.data())
def test_any_regular_matrix_is_solved_in_any_order(analyzed, pattern, data):
    order = np.array(data.draw(st.permutations(range(pattern.n_blocks))), dtype=np.intp)
    matrix = random_matrix(np.random.default_rng(0), pattern)
    dense = saddle_csc(matrix).toarray()
    if pattern.n_rows == 0 or not np.linalg.cond(dense) < 1e4:
        return
    assert solution_error(analyzed(pattern, order), matrix) < 1e-9


def test_a_tree_in_the_order_of_the_articulated_body_algorithm_is_solved_without_repair():
    rng = np.random.default_rng(0)
    ends = [(-1, 0), *((int(rng.integers(0, i)), i) for i in range(1, 30))]
    pattern = shuffled(pattern_of(ends, 30), 3)
    order = leaves_first(pattern)
    assert is_admissible(pattern, order)
    symbolic = analyze("block-ldl", pattern, order)
    np.testing.assert_array_equal(np.sort(symbolic.order), np.sort(order))
    indptr, _ = column_structures(pattern, symbolic.order)
    assert np.diff(indptr).max() == 1  # nothing fills in
    assert solution_error(symbolic, random_matrix(rng, pattern)) < 1e-8


def test_an_order_that_could_meet_a_zero_pivot_is_repaired():
    pattern = pattern_of([(-1, 0), (0, 1), (0, 1)], 2, joint_size=2)
    order = np.array([2, 3, 4, 0, 1])
    symbolic = analyze("block-ldl", pattern, order)
    assert is_admissible(pattern, symbolic.order)
    np.testing.assert_array_equal(symbolic.order, postordered(pattern, repair(pattern, order)))


def test_fronts_that_are_too_large_for_small_blocks_are_refused(monkeypatch):
    monkeypatch.setattr(unit_factors, "MOST_UPDATES", 100)
    with pytest.raises(ShapeError, match="use another ordering, or the factorization cholmod"):
        analyze("block-ldl", ladder(30), natural(ladder(30)))


@cache
def pivoting_of_a_long_scissor():
    """The matrix, a solution, its right-hand side, and that by LU with partial pivoting."""
    matrix = scissor(40_000)
    exact = np.random.default_rng(1).normal(size=matrix.pattern.n_rows)
    rhs = saddle_product(matrix, exact)
    factors = splu(saddle_csc(matrix))
    pivoted = factors.solve(rhs)
    pivoted += factors.solve(saddle_residual(matrix, pivoted, rhs))
    return matrix, exact, rhs, pivoted


@pytest.mark.parametrize("end", ["world", "free"])
def test_a_scissor_whose_stiffness_is_below_rounding_is_solved_as_well_as_by_pivoting(end):
    """Without the shift of dual pivots what is left loses its sign after 16,000 pairs."""
    matrix, exact, rhs, pivoted = pivoting_of_a_long_scissor()
    pattern = matrix.pattern
    bodies = np.arange(pattern.n_primal)[:: 1 if end == "world" else -1]
    order = repair(pattern, np.concatenate([bodies, np.arange(len(bodies), pattern.n_blocks)]))
    n = pattern.n_primal_rows
    numeric = analyze("block-ldl", pattern, order).factorize(matrix)
    x = numeric.solve(rhs)
    x += numeric.solve(saddle_residual(matrix, x, rhs))
    assert np.abs(x - exact)[:n].max() < 10 * np.abs(pivoted - exact)[:n].max()
