import numpy as np
import pytest
from hypothesis import given
from patterns import pattern_of, patterns

from sparsebody.errors import ShapeError
from sparsebody.sparse.pattern import BlockPattern, check_order


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
        BlockPattern(np.array(sizes), np.array(ends))


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, 2, 3]])
def test_an_order_that_is_no_permutation_is_refused(order):
    with pytest.raises(ShapeError, match="each of 3 blocks once"):
        check_order(pattern_of([(0, 1)], 2), np.array(order))
