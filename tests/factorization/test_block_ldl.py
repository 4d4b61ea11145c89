"""The block LDL' factorization: its layout, its kernels, and what it promises of orders."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patterns import ladder, pattern_of, patterns, shuffled
from random_saddles import draw, natural, random_matrix, solution_error
from scipy.sparse.linalg import splu
from scissor_saddle import scissor

import sparsebody as sb
from sparsebody.errors import ShapeError
from sparsebody.factorization import analyze, refined_solve
from sparsebody.factorization import block_ldl as layouts
from sparsebody.factorization.block_ldl import make_layout
from sparsebody.sparse.elimination_tree import (
    column_structures,
    is_admissible,
    postordered,
    repair,
    tree_parts,
)
from sparsebody.sparse.saddle import saddle_csc, saddle_product, saddle_residual

# Columns of the table of pivots, see core/factorization/layout.hpp, and kinds.
SIZE, START, OWN, FIRST_BELOW, PADDED, KIND = 0, 1, 2, 3, 8, 9
CONSTANT, PRIMAL = 0, 1


def leaves_first(pattern):
    """Each outer body and then its joint, from the leaves inwards; the rest in between."""
    outer, stripped = tree_parts(pattern)
    joint_of = {int(body): pattern.n_primal + j for j, body in enumerate(outer) if body >= 0}
    parts = [block for body in stripped for block in (int(body), joint_of[int(body)])]
    rest = [block for block in range(pattern.n_blocks) if block not in set(parts)]
    return np.array(parts + rest, dtype=np.intp)


@pytest.mark.parametrize("name", ["block-ldl", "multifrontal"])
@given(pattern=patterns(), data=st.data())
def test_any_regular_matrix_is_solved_in_any_order(name, pattern, data):
    order = np.array(data.draw(st.permutations(range(pattern.n_blocks))), dtype=np.intp)
    matrix = random_matrix(np.random.default_rng(0), pattern)
    dense = saddle_csc(matrix).toarray()
    if pattern.n_rows == 0 or not np.linalg.cond(dense) < 1e4:
        return
    assert solution_error(name, matrix, order) < 1e-9


@pytest.mark.parametrize("size", range(1, 7))
def test_bodies_of_every_size_are_solved(size):
    pattern = pattern_of([(-1, 0), (0, 1), (1, 2), (2, 3)], 4, size, max(1, size // 2))
    for order in (natural(pattern), leaves_first(pattern)):
        assert (
            solution_error("block-ldl", random_matrix(np.random.default_rng(1), pattern), order)
            < 1e-9
        )


@pytest.mark.parametrize("size", range(1, 10))
def test_joints_of_every_size_are_solved(size):
    pattern = sb.BlockPattern(np.array([6, 6, size, 1, 1]), np.array([[0, 1], [-1, 0], [0, 1]]))
    matrix = random_matrix(np.random.default_rng(1), pattern)
    assert solution_error("block-ldl", matrix, natural(pattern)) < 1e-8


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
    assert solution_error("block-ldl", random_matrix(rng, pattern), order) < 1e-8


def test_an_order_that_could_meet_a_zero_pivot_is_repaired():
    pattern = pattern_of([(-1, 0), (0, 1), (0, 1)], 2, joint_size=2)
    order = np.array([2, 3, 4, 0, 1])
    symbolic = analyze("block-ldl", pattern, order)
    assert is_admissible(pattern, symbolic.order)
    np.testing.assert_array_equal(symbolic.order, postordered(pattern, repair(pattern, order)))


def test_positive_pivots_are_bodies_and_negative_ones_joints():
    """Sylvester: the signs of D are those of the eigenvalues."""
    matrix = draw(3)
    symbolic = analyze("block-ldl", matrix.pattern, leaves_first(matrix.pattern))
    symbolic.factorize(matrix)
    for pivot in symbolic.layout.pivots()[:-1].astype(int):
        if pivot[KIND] == CONSTANT:
            continue
        start, size = pivot[[OWN, SIZE]]
        lanes = 4 if size < 4 else 8
        diagonal = symbolic.factors.values[start : start + lanes * size : lanes + 1][:size]
        sign = 1 if pivot[KIND] == PRIMAL else -1
        assert np.all(sign * diagonal > 0)


@given(pattern=patterns(), data=st.data())
def test_every_pair_of_blocks_updates_the_place_of_its_rows(pattern, data):
    order = np.array(data.draw(st.permutations(range(pattern.n_blocks))), dtype=np.intp)
    order = repair(pattern, order)
    layout = make_layout(pattern, order)
    pivots, below, updates = layout.pivots(), layout.below(), layout.updates().ravel()
    owner = panel_blocks(pivots.astype(int), *column_structures(pattern, order))
    update = 0
    for j in range(pattern.n_blocks):
        first, last = pivots[j : j + 2, FIRST_BELOW]
        for r, (row, _) in enumerate(below[first:last]):
            for column, n_rows in below[first : first + r + 1]:
                if n_rows:
                    assert owner[int(updates[update])] == (row, column)
                update += 1
    assert update == len(updates)


def panel_blocks(pivots, indptr, rows):
    """Place -> (padded row, padded column) of the first element of every block."""
    owner = {}
    for p, pivot in enumerate(pivots[:-1]):
        if pivot[KIND] != CONSTANT:
            owner[pivot[OWN]] = (pivot[PADDED], pivot[PADDED])
        place = pivot[START]
        for block in rows[indptr[p] : indptr[p + 1]]:
            owner[place] = (pivots[block, PADDED], pivot[PADDED])
            place += pivot[SIZE] * (4 if pivots[block, SIZE] < 4 else 8)
    return owner


def test_fronts_that_are_too_large_for_small_blocks_are_refused(monkeypatch):
    monkeypatch.setattr(layouts, "MOST_UPDATES", 100)
    with pytest.raises(ShapeError, match="use another ordering, or the factorization cholmod"):
        analyze("block-ldl", ladder(30), natural(ladder(30)))


def test_a_long_ladder_is_solved_to_rounding_by_one_refinement():
    pattern = ladder(300)
    pattern = sb.BlockPattern(
        np.append(pattern.block_sizes, [3, 3]), np.vstack([pattern.ends, [[-1, 0], [-1, 1]]])
    )
    matrix = random_matrix(np.random.default_rng(0), pattern)
    exact = np.random.default_rng(1).normal(size=pattern.n_rows)
    rhs = saddle_product(matrix, exact)
    for order in (repair(pattern, natural(pattern)), natural(pattern)):
        numeric = analyze("block-ldl", pattern, order).factorize(matrix)
        x, residual = refined_solve(numeric, matrix, rhs)
        assert residual < 1e-14
        assert np.abs(x - exact).max() < 1e-9


def test_joints_of_more_than_six_rows_are_cut_in_several_blocks():
    pattern = sb.BlockPattern(np.array([6, 6, 8, 1]), np.array([[0, 1], [-1, 0]]))
    pieces, order = layouts.split(pattern, np.array([0, 1, 3, 2]))
    np.testing.assert_array_equal(pieces.block_sizes, [6, 6, 6, 2, 1])
    np.testing.assert_array_equal(pieces.ends, [[0, 1], [0, 1], [-1, 0]])
    np.testing.assert_array_equal(order, [0, 1, 4, 2, 3])


def test_bodies_of_more_than_six_rows_are_refused():
    pattern = sb.BlockPattern(np.array([7, 1]), np.array([[-1, 0]]))
    with pytest.raises(ShapeError, match="at most 6 rows"):
        analyze("block-ldl", pattern, np.array([0, 1]))


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
