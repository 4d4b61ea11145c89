"""Every backend of the table, compared with dense algebra."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from patterns import chain, pattern_of
from random_saddles import (
    ORDERS,
    dense_solution,
    draw,
    natural,
    random_matrix,
    scaled_error,
)

import sparsebody as sb
import sparsebody.factorization as factorization
from sparsebody import errors
from sparsebody.factorization import (
    FACTORIZATIONS,
    Backend,
    analyze,
    available_factorizations,
    pivoted_lu,
    refined_solve,
)
from sparsebody.factorization.backend import conjugate_gradient_solve
from sparsebody.sparse.saddle import SaddleMatrix, saddle_product

MARKS = {"sksparse.cholmod": [pytest.mark.cholmod], "mumps": [pytest.mark.mpi], None: []}
BACKENDS = [
    pytest.param(name, marks=MARKS[backend.needs]) for name, backend in FACTORIZATIONS.items()
]
every_backend = pytest.mark.parametrize("backend", BACKENDS)
IN_PLACE = ("cholmod", "cholmod-ldl", "block-ldl", "multifrontal", "block-qr", "mumps")
overwriting = pytest.mark.parametrize(
    "backend", [backend for backend in BACKENDS if backend.values[0] in IN_PLACE]
)


def repeated_row(matrix):
    """The same matrix, whose last dual block is replaced by a copy of its first row twice."""
    pattern = matrix.pattern
    sizes = np.append(pattern.block_sizes, 1)
    ends = np.vstack([pattern.ends, pattern.ends[-1]])
    rows = np.concatenate([matrix.rows, 3.0 * matrix.rows[-1:]])
    return SaddleMatrix(sb.BlockPattern(sizes, ends), matrix.diagonal, matrix.inverse, rows)


@cache
def solved(seed, decades):
    """A matrix, a right-hand side, and the solution by dense algebra."""
    matrix, rng = draw(seed, decades=decades), np.random.default_rng(seed)
    rhs = saddle_product(matrix, rng.normal(size=(matrix.pattern.n_rows, 2)))
    return matrix, rhs, dense_solution(matrix, rhs)


@every_backend
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("decades", [0, 3])
def test_solution_in_every_order_matches_dense_algebra(backend, order, decades):
    for seed in range(8):
        matrix, rhs, expected = solved(seed, decades)
        blocks = ORDERS[order](np.random.default_rng(seed), matrix.pattern)
        x = analyze(backend, matrix.pattern, blocks).factorize(matrix).solve(rhs)
        assert scaled_error(matrix, x, expected) < 1e-9


SPECIAL = {
    "eight rows, and two joints to the world": (
        sb.BlockPattern(
            np.array([6, 6, 6, 2, 8, 3, 2]), np.array([[-1, 0], [0, 1], [-1, 2], [2, 1]])
        ),
        np.arange(7),
    ),
    "no joints": (
        sb.BlockPattern(np.array([6, 3]), np.empty((0, 2), dtype=np.intp)),
        np.array([1, 0]),
    ),
    "both ends on one body": (
        sb.BlockPattern(np.array([6, 6, 2, 3]), np.array([[0, 0], [0, 1]])),
        np.array([2, 0, 3, 1]),
    ),
    "many bodies in a random order": (
        draw(5, n_primal=40, n_loops=12).pattern,
        np.random.default_rng(0).permutation(draw(5, n_primal=40, n_loops=12).pattern.n_blocks),
    ),
}


@every_backend
@pytest.mark.parametrize(("pattern", "order"), SPECIAL.values(), ids=SPECIAL)
def test_joints_of_every_kind_are_solved(backend, pattern, order):
    matrix = random_matrix(np.random.default_rng(3), pattern)
    rhs = np.random.default_rng(4).normal(size=(pattern.n_rows, 1))
    x = analyze(backend, pattern, order).factorize(matrix).solve(rhs)
    assert scaled_error(matrix, x, dense_solution(matrix, rhs)) < 1e-9


@every_backend
def test_one_right_hand_side_gives_one_column_of_many(backend):
    matrix = draw(1)
    rhs = np.random.default_rng(0).normal(size=(matrix.pattern.n_rows, 3))
    numeric = analyze(backend, matrix.pattern, natural(matrix.pattern)).factorize(matrix)
    together = numeric.solve(rhs)
    for column in range(3):
        alone = numeric.solve(rhs[:, column])
        assert alone.shape == (len(rhs),)
        np.testing.assert_allclose(alone, together[:, column], rtol=1e-9, atol=1e-12)


@overwriting
def test_factors_that_were_overwritten_cannot_be_used(backend):
    matrix = draw(1)
    symbolic = analyze(backend, matrix.pattern, natural(matrix.pattern))
    old = symbolic.factorize(matrix)
    symbolic.factorize(matrix)
    with pytest.raises(sb.SparsebodyError, match="overwritten"):
        old.solve(np.ones(matrix.pattern.n_rows))


CHAIN = chain(3000)
STAR = pattern_of([(0, i) for i in range(1, 12_001)], 12_001)
HEPTAGON = sb.BlockPattern(np.array([7, 1]), np.array([[-1, 0]]))


@pytest.mark.parametrize(
    ("backend", "pattern", "message"),
    [
        ("banded", CHAIN, r"band would take .* GB"),
        ("dense", CHAIN, "too many for dense"),
        pytest.param("cholmod", STAR, "carries 12000", marks=pytest.mark.cholmod),
        ("block-ldl", HEPTAGON, "at most 6 rows"),
    ],
)
def test_patterns_too_large_for_a_backend_are_refused(backend, pattern, message):
    with pytest.raises(errors.ShapeError, match=message):
        analyze(backend, pattern, natural(pattern))


@every_backend
def test_what_does_not_fit_the_pattern_is_refused_and_an_equal_one_taken(backend):
    matrix = draw(1)
    pattern = sb.BlockPattern(matrix.pattern.block_sizes.copy(), matrix.pattern.ends.copy())
    symbolic = analyze(backend, pattern, natural(matrix.pattern))
    numeric = symbolic.factorize(matrix)
    with pytest.raises(errors.ShapeError, match="right-hand side"):
        numeric.solve(np.ones(3))
    with pytest.raises(errors.ShapeError, match="another pattern"):
        symbolic.factorize(draw(2, n_primal=5))
    with pytest.raises(errors.ShapeError, match="each of"):
        analyze(backend, pattern, np.arange(3))


@every_backend
def test_singular_matrices_are_named_by_what_makes_them_so(backend):
    matrix = draw(4)
    rows, diagonal, negative = matrix.rows.copy(), matrix.diagonal.copy(), matrix.diagonal.copy()
    rows[-1], diagonal[2, 0, 0], negative[1, 0, 0] = 0.0, np.nan, -1.0
    symbolic = analyze(backend, matrix.pattern, natural(matrix.pattern))
    for change, message in (
        ({"rows": rows}, f"dual block {matrix.pattern.n_dual - 1} is zero"),
        ({"diagonal": diagonal}, "primal block 2"),
        ({"diagonal": negative}, "primal block 1"),
    ):
        with pytest.raises(errors.SingularSystemError, match=message):
            symbolic.factorize(dataclasses.replace(matrix, **change))


@every_backend
def test_a_factorization_works_again_after_a_repeated_row_was_refused(backend):
    singular = repeated_row(draw(3))
    rng, rows = np.random.default_rng(0), singular.rows.copy()
    rows[-1] = rng.normal(size=rows[-1].shape) * (rows[-1] != 0.0)
    regular = dataclasses.replace(singular, rows=rows)
    rhs = rng.normal(size=(singular.pattern.n_rows, 1))
    symbolic = analyze(backend, singular.pattern, natural(singular.pattern))
    with pytest.raises(errors.SingularSystemError, match="redundant joints"):
        symbolic.factorize(singular).solve(rhs)
    x = symbolic.factorize(regular).solve(rhs)
    assert scaled_error(regular, x, dense_solution(regular, rhs)) < 1e-8


@every_backend
def test_new_values_give_what_a_fresh_analysis_does_and_nothing_is_changed_by_solving(backend):
    matrix = draw(2)
    pattern = matrix.pattern
    changed = random_matrix(np.random.default_rng(77), pattern)
    rhs = np.random.default_rng(0).normal(size=pattern.n_rows)
    before = rhs.copy(), changed.diagonal.copy(), changed.rows.copy()
    symbolic = analyze(backend, pattern, natural(matrix.pattern))
    symbolic.factorize(matrix)
    again = symbolic.factorize(changed).solve(rhs)
    for old, new in zip(before, (rhs, changed.diagonal, changed.rows), strict=True):
        np.testing.assert_array_equal(old, new)
    fresh = analyze(backend, pattern, natural(matrix.pattern)).factorize(changed).solve(rhs)
    np.testing.assert_array_equal(again, fresh)


def test_a_missing_package_is_answered_with_the_command_that_installs_it(monkeypatch):
    missing = Backend(pivoted_lu.analyze_dense, needs="no_such_package", summary="")
    monkeypatch.setitem(FACTORIZATIONS, "missing", missing)
    monkeypatch.setitem(factorization.INSTALL, "no_such_package", "pip install it")
    assert "missing" not in available_factorizations()
    with pytest.raises(errors.MissingDependencyError, match="pip install it"):
        analyze("missing", draw(1).pattern, natural(draw(1).pattern))


@every_backend
def test_refinement_with_factors_of_a_nearby_matrix_reaches_rounding(backend):
    matrix = draw(6)
    nearby = dataclasses.replace(matrix, rows=matrix.rows * (1 + 1e-6))
    rhs = np.random.default_rng(0).normal(size=(matrix.pattern.n_rows, 2))
    numeric = analyze(backend, matrix.pattern, natural(matrix.pattern)).factorize(nearby)
    _, rough = refined_solve(numeric, matrix, rhs, steps=0)
    x, fine = refined_solve(numeric, matrix, rhs, steps=5)
    assert fine < 1e-13 < 1e-9 < rough
    assert scaled_error(matrix, x, dense_solution(matrix, rhs)) < 1e-10


def test_factors_of_another_matrix_with_the_same_bodies_are_good_enough():
    matrix = draw(6)
    noise = 1 + 0.3 * np.random.default_rng(0).uniform(-1, 1, matrix.rows.shape)
    other = dataclasses.replace(matrix, rows=matrix.rows * noise)
    numeric = analyze("dense", matrix.pattern, natural(matrix.pattern)).factorize(other)
    rhs = np.random.default_rng(1).normal(size=matrix.pattern.n_rows)
    x = conjugate_gradient_solve(numeric, matrix, rhs)
    assert scaled_error(matrix, x[:, None], dense_solution(matrix, rhs[:, None])) < 1e-9


@pytest.mark.cholmod
def test_ldl_solves_with_a_singular_value_far_below_the_square_root_of_delta():
    """Stationary refinement would need thousands of steps: the Krylov method takes over."""
    matrix = repeated_row(draw(3))
    rows = matrix.rows.copy()
    used = rows[-1] != 0.0
    rows[-1][used] += 1e-5 * np.random.default_rng(1).normal(size=np.count_nonzero(used))
    matrix = dataclasses.replace(matrix, rows=rows)
    exact = np.random.default_rng(0).normal(size=matrix.pattern.n_rows)
    numeric = analyze("cholmod-ldl", matrix.pattern, natural(matrix.pattern)).factorize(matrix)
    x = numeric.solve(saddle_product(matrix, exact))
    n = matrix.pattern.n_primal_rows
    np.testing.assert_allclose(x[:n], exact[:n], rtol=1e-7, atol=1e-7)
