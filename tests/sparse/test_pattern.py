import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from patterns import ladder, ordered_patterns, pattern_of, patterns, scalar_factor

import sparsebody as sb
from sparsebody.errors import ShapeError
from sparsebody.sparse.pattern import block_order, check_order, saddle_blocks, symmetric_pattern


@given(pattern=patterns())
def test_adjacency_is_symmetric_sorted_and_holds_the_ends_of_every_joint(pattern):
    coupled = {(i, int(k)) for i in range(pattern.n_blocks) for k in pattern.neighbours(i)}
    assert coupled == {(k, i) for i, k in coupled}
    expected = {
        (pattern.n_primal + j, int(body))
        for j, pair in enumerate(pattern.ends)
        for body in pair
        if body >= 0
    }
    assert {pair for pair in coupled if pair[0] >= pattern.n_primal} == expected
    for i in range(pattern.n_blocks):
        assert np.all(np.diff(pattern.neighbours(i)) > 0)


def test_scalar_order_lists_the_rows_of_each_block_in_turn():
    pattern = pattern_of([(0, 1)], 2, body_size=2, joint_size=1)
    np.testing.assert_array_equal(pattern.scalar_order(np.array([1, 2, 0])), [2, 3, 4, 0, 1])


@pytest.mark.parametrize(
    ("sizes", "ends", "message"),
    [
        ([6, 5], [0, 1], "ends must be"),
        ([6], [[0, 0], [0, 0]], "2 dual blocks, 1 blocks"),
        ([6, 0], [[0, -1]], "at least one row"),
        ([6, 5], [[0, 1]], "ends must lie in -1 .. 0"),
        ([6, 5], [[0, -2]], "ends must lie in -1 .. 0"),
    ],
)
def test_a_pattern_that_cannot_be_is_refused(sizes, ends, message):
    with pytest.raises(ShapeError, match=message):
        sb.BlockPattern(np.array(sizes), np.array(ends))


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, 2, 3]])
def test_an_order_that_is_no_permutation_is_refused(order):
    with pytest.raises(ShapeError, match="each of 3 blocks once"):
        check_order(pattern_of([(0, 1)], 2), np.array(order))


def entries(pattern, seed=0):
    """Return rows and columns of a matrix of the pattern with its blocks shuffled, and the rest."""
    shuffle = np.random.default_rng(seed).permutation(pattern.n_blocks)
    coupled = np.tril(scalar_factor(pattern, shuffle)[0])
    is_dual = shuffle >= pattern.n_primal
    dual_rows = np.repeat(is_dual, pattern.block_sizes[shuffle])
    coupled &= ~np.logical_and.outer(dual_rows, dual_rows)
    return *np.nonzero(coupled), pattern.block_sizes[shuffle], shuffle, is_dual


@settings(max_examples=25)
@given(pattern=patterns(), seed=st.integers(0, 99))
def test_the_pattern_of_a_mechanism_is_found_in_its_matrix(pattern, seed):
    assume(pattern.n_blocks)
    row, column, sizes, shuffle, is_dual = entries(pattern, seed)
    result = symmetric_pattern(row, column, sizes)
    assert result.n_rows == pattern.n_rows
    np.testing.assert_array_equal(result.has_pivot, ~is_dual)
    saddle = saddle_blocks(result)
    touches = np.any(pattern.ends >= 0, axis=1)
    if not touches.all() or pattern.n_dual == 0:
        assert saddle is None
        return
    mechanism, block = saddle
    back = shuffle[block]  # blocks of the mechanism by those that were found
    np.testing.assert_array_equal(mechanism.block_sizes, pattern.block_sizes[back])
    for j, ends in enumerate(mechanism.ends.tolist()):
        expected = pattern.ends[back[pattern.n_primal + j] - pattern.n_primal]
        assert {back[end] for end in ends if end >= 0} == {e for e in expected if e >= 0}


def test_kinds_tell_bodies_from_joints_where_no_zeros_do():
    pattern, diagonal = ladder(3), np.arange(ladder(3).n_rows)  # quasi-definite
    row, column, sizes, _, is_dual = entries(pattern)
    row, column = np.r_[row, diagonal], np.r_[column, diagonal]
    assert saddle_blocks(symmetric_pattern(row, column, sizes)) is None
    told, _ = saddle_blocks(symmetric_pattern(row, column, sizes, is_dual=is_dual))
    assert told.n_dual == pattern.n_dual


@pytest.mark.parametrize(
    "entries",
    [
        ([0, 1, 2, 3, 3, 3], [0, 1, 2, 0, 1, 2]),  # a joint of three bodies
        ([0, 1, 1, 2, 3], [0, 1, 0, 1, 0]),  # bodies that couple
    ],
)
def test_matrices_of_other_kinds_are_no_mechanisms(entries):
    row, column = np.array(entries)
    assert saddle_blocks(symmetric_pattern(row, column, np.ones(4, dtype=np.intp))) is None


def test_entries_outside_of_the_blocks_are_told():
    with pytest.raises(ShapeError, match=r"the blocks have 2 rows in all, but .* column 3"):
        symmetric_pattern(np.array([2]), np.array([0]), np.array([1, 1]))
    with pytest.raises(ShapeError, match="a matrix without rows"):
        symmetric_pattern(*np.zeros((3, 0), dtype=np.intp))
    with pytest.raises(ShapeError, match="block 1 has 0 rows"):
        symmetric_pattern(np.array([0]), np.array([0]), np.array([1, 0]))


@settings(max_examples=25)
@given(case=ordered_patterns())
def test_an_order_of_scalar_rows_is_one_of_blocks(case):
    pattern, order = case
    assume(len(order))
    for rows in (order, pattern.scalar_order(order)):
        result, is_whole = block_order(pattern, rows)
        assert is_whole
        np.testing.assert_array_equal(result, order)


def test_blocks_whose_rows_are_apart_come_with_their_last_row():
    pattern = sb.BlockPattern(np.array([2, 2]), np.zeros((0, 2), dtype=np.intp))
    result, is_whole = block_order(pattern, np.array([0, 2, 3, 1]))
    assert (result.tolist(), is_whole) == ([1, 0], False)
    for wrong in ([0, 1, 2], [0, 1, 2, 2], [0, 0]):
        with pytest.raises(ShapeError):
            block_order(pattern, np.array(wrong))
