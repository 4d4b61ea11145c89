"""The block LDL' factorization: its layout, its kernels, and what it promises of orders."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patterns import ladder, pattern_of, patterns, shuffled
from random_saddles import dense_solution, draw, loop_of_hinges, random_matrix, scaled_error

from sparsebody.errors import ShapeError, SingularSystemError
from sparsebody.factorization import analyze, refined_solve
from sparsebody.factorization.block_ldl import kernels, layout
from sparsebody.factorization.block_ldl.layout import TILE, make_layout
from sparsebody.sparse.admissibility import is_admissible, repair, tree_parts
from sparsebody.sparse.etree import column_structures, postordered
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import saddle_csc, saddle_product


def natural(pattern):
    return np.arange(pattern.n_blocks)


def leaves_first(pattern):
    """Each outer body and then its joint, from the leaves inwards; the rest in between."""
    outer, stripped = tree_parts(pattern)
    joint_of = {int(body): pattern.n_primal + j for j, body in enumerate(outer) if body >= 0}
    parts = [block for body in stripped for block in (int(body), joint_of[int(body)])]
    rest = [block for block in range(pattern.n_blocks) if block not in set(parts)]
    return np.array(parts + rest, dtype=np.intp)


def solution_error(matrix, order, columns=2):
    rhs = np.random.default_rng(1).normal(size=(matrix.pattern.n_rows, columns))
    numeric = analyze("block-ldl", matrix.pattern, order).factorize(matrix)
    return scaled_error(matrix, numeric.solve(rhs), dense_solution(matrix, rhs))


@given(pattern=patterns(), data=st.data())
def test_any_regular_matrix_is_solved_in_any_order(pattern, data):
    order = np.array(data.draw(st.permutations(range(pattern.n_blocks))), dtype=np.intp)
    matrix = random_matrix(np.random.default_rng(0), pattern)
    dense = saddle_csc(matrix).toarray()
    if pattern.n_rows == 0 or not np.linalg.cond(dense) < 1e4:
        return
    assert solution_error(matrix, order) < 1e-9


@pytest.mark.parametrize("size", range(1, 7))
def test_bodies_of_every_size_are_solved(size):
    pattern = pattern_of([(-1, 0), (0, 1), (1, 2), (2, 3)], 4, size, max(1, size // 2))
    for order in (natural(pattern), leaves_first(pattern)):
        assert solution_error(random_matrix(np.random.default_rng(1), pattern), order) < 1e-9


@pytest.mark.parametrize("size", range(1, 10))
def test_joints_of_every_size_are_solved(size):
    pattern = BlockPattern(np.array([6, 6, size, 1, 1]), np.array([[0, 1], [-1, 0], [0, 1]]))
    matrix = random_matrix(np.random.default_rng(1), pattern)
    assert solution_error(matrix, natural(pattern)) < 1e-8


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
    assert solution_error(random_matrix(rng, pattern), order) < 1e-8


def test_an_order_that_could_meet_a_zero_pivot_is_repaired():
    pattern = pattern_of([(-1, 0), (0, 1), (0, 1)], 2, joint_size=2)
    order = np.array([2, 3, 4, 0, 1])
    symbolic = analyze("block-ldl", pattern, order)
    assert is_admissible(pattern, symbolic.order)
    np.testing.assert_array_equal(symbolic.order, postordered(pattern, repair(pattern, order)))


def test_one_body_with_two_ball_joints_to_the_world_is_solved():
    """A joint right after the first of its bodies would make a singular pivot here."""
    pattern = pattern_of([(0, 1), (-1, 0), (1, -1)], 2, joint_size=3)
    matrix = random_matrix(np.random.default_rng(0), pattern)
    assert solution_error(matrix, np.array([0, 3, 2, 4, 1])) < 1e-9


def test_positive_pivots_are_bodies_and_negative_ones_joints():
    """Sylvester: the signs of D are those of the eigenvalues."""
    matrix = draw(3)
    symbolic = analyze("block-ldl", matrix.pattern, leaves_first(matrix.pattern))
    symbolic.factorize(matrix)
    for pivot in symbolic.layout.pivots[:-1].astype(int):
        if pivot[layout.KIND] == layout.UNTOUCHED:
            continue
        steps = pivot[layout.STRIDE] + 1
        start, size = pivot[layout.START], pivot[layout.SIZE]
        diagonal = symbolic.values[start : start + steps * size : steps][:size]
        sign = 1 if pivot[layout.BLOCK] < matrix.pattern.n_primal else -1
        assert np.all(sign * diagonal > 0)


@given(pattern=patterns(), data=st.data())
def test_every_pair_of_tiles_updates_the_element_of_its_rows(pattern, data):
    order = np.array(data.draw(st.permutations(range(pattern.n_blocks))), dtype=np.intp)
    order = repair(pattern, order)
    found = make_layout(pattern, order)
    owner = panel_elements(found, *column_structures(pattern, order))
    update = 0
    for j in range(pattern.n_blocks):
        first, last = found.pivots[j : j + 2, layout.FIRST_TILE]
        rows = found.tiles[first:last, layout.ROW]
        for c, column in enumerate(rows):
            for row in rows[c:]:
                assert owner[int(found.updates[update])] == (row, column)
                update += 1
    assert update == len(found.updates)


def panel_elements(found, indptr, rows):
    """Place -> (padded row, padded column) of the first element of every tile in every column."""
    owner = {}
    pivots = found.pivots.astype(int)
    for p, pivot in enumerate(pivots[:-1]):
        blocks = [p] if pivot[layout.OWN] else []
        row = 0
        for block in blocks + list(rows[indptr[p] : indptr[p + 1]]):
            size = pivots[block, layout.SIZE]
            for inside in range(0, TILE * -(-size // TILE), TILE):
                for k in range(pivot[layout.SIZE]):
                    place = pivot[layout.START] + k * pivot[layout.STRIDE] + row
                    owner[place] = (
                        pivots[block, layout.PADDED] + inside,
                        pivot[layout.PADDED] + k,
                    )
                row += TILE
    return owner


def test_fronts_that_are_too_large_for_small_blocks_are_refused(monkeypatch):
    monkeypatch.setattr(layout, "MOST_UPDATES", 100)
    with pytest.raises(ShapeError, match="use another ordering, or the factorization cholmod"):
        analyze("block-ldl", ladder(30), natural(ladder(30)))


def test_what_32_bits_cannot_count_is_refused(monkeypatch):
    monkeypatch.setattr(layout, "MOST_VALUES", 100)
    with pytest.raises(ShapeError, match="block-ldl would store"):
        analyze("block-ldl", ladder(30), natural(ladder(30)))


def test_a_planar_loop_in_space_is_named_as_singular_by_its_joint():
    matrix = loop_of_hinges(np.random.default_rng(0), 4)
    symbolic = analyze("block-ldl", matrix.pattern, natural(matrix.pattern))
    with pytest.raises(SingularSystemError, match=r"a pivot of dual block \d vanishes: a"):
        symbolic.factorize(matrix)


def test_a_body_whose_inertia_is_not_positive_is_named():
    matrix = draw(3)
    matrix.diagonal[1, 0, 0] = -1.0
    symbolic = analyze("block-ldl", matrix.pattern, natural(matrix.pattern))
    with pytest.raises(SingularSystemError, match="primal block 1"):
        symbolic.factorize(matrix)


def test_a_long_ladder_is_solved_to_rounding_by_one_refinement():
    pattern = ladder(300)
    pattern = BlockPattern(
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


def test_masses_over_twelve_decades_are_solved():
    matrix = draw(2, n_primal=20, n_loops=4, decades=6)
    for order in (natural(matrix.pattern), leaves_first(matrix.pattern)):
        assert solution_error(matrix, order) < 1e-9


def test_factorizing_and_solving_allocate_nothing_but_the_solution():
    matrix = draw(1)
    symbolic = analyze("block-ldl", matrix.pattern, natural(matrix.pattern))
    storage = [symbolic.values, symbolic.left, symbolic.work, symbolic.block]
    symbolic.factorize(matrix).solve(np.ones(matrix.pattern.n_rows))
    now = [symbolic.values, symbolic.left, symbolic.work, symbolic.block]
    assert all(old is new for old, new in zip(storage, now, strict=True))


@pytest.mark.parametrize("size", [3, 5, 6])
def test_a_step_for_a_fixed_size_does_what_the_general_one_does(size):
    pattern = pattern_of([(0, 1), (1, 2), (2, 3)], 4, size, 1)
    symbolic = analyze("block-ldl", pattern, np.array([0, 4, 1, 5, 2, 6, 3]))
    found, rng = symbolic.layout, np.random.default_rng(0)
    place = int(np.flatnonzero(symbolic.order == 1)[0])
    pivot, end = found.pivots[place], found.pivots[place + 1, layout.FIRST_TILE]
    assert pivot[layout.SIZE] == size
    assert pivot[layout.KIND] == layout.PRIMAL
    values, left = rng.normal(size=found.n_values), rng.normal(size=found.largest_panel)
    results = []
    for suffix in ("", f"_{size}"):
        step = {name: getattr(kernels, name + suffix) for name in ("_divide", "_update")}
        v, w, y = values.copy(), left.copy(), np.ones(found.n_padded)
        step["_divide"](pivot, end, found.tiles, v, w, y, symbolic.block)
        step["_update"](pivot, end, found.tiles, found.updates, v, w)
        results.append(np.concatenate([v, y]))
    np.testing.assert_allclose(*results, rtol=1e-9, atol=1e-9)
    assert np.any(results[0][: len(values)] != values)
