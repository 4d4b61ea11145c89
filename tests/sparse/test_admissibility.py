import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patterns import graph_pattern, pattern_of, patterns

from sparsebody.errors import ShapeError
from sparsebody.sparse.elimination_tree import core_joints, is_admissible, repair, tree_parts

CHAIN = pattern_of([(0, 1), (1, 2)], 3)  # joints are blocks 3 and 4
GROUNDED = pattern_of([(-1, 0), (0, 1)], 2)  # joints are blocks 2 and 3
TRIANGLE = pattern_of([(0, 1), (1, 2), (2, 0)], 3)


@pytest.mark.parametrize(
    ("pattern", "order", "admissible"),
    [
        (CHAIN, [0, 3, 1, 4, 2], True),  # from one end
        (CHAIN, [0, 3, 2, 4, 1], True),  # from both ends
        (CHAIN, [0, 1, 2, 3, 4], True),
        (CHAIN, [2, 4, 1, 3, 0], True),  # from the other end
        (CHAIN, [1, 3, 4, 0, 2], False),  # the middle body carries both joints
        (CHAIN, [3, 0, 1, 4, 2], False),
        (GROUNDED, [1, 3, 0, 2], True),
        (GROUNDED, [0, 2, 1, 3], True),
        (GROUNDED, [0, 2, 3, 1], False),  # the inner body carries both joints
        (GROUNDED, [1, 3, 2, 0], False),
        (TRIANGLE, [0, 1, 3, 2, 4, 5], True),
        (TRIANGLE, [0, 3, 1, 2, 4, 5], False),  # not shown to be safe by the two rules
    ],
)
def test_an_order_is_admissible_when_each_joint_follows_both_or_its_outer_body(
    pattern, order, admissible
):
    assert is_admissible(pattern, np.array(order)) is admissible


@given(pattern=patterns(), data=st.data())
def test_prefixes_of_an_admissible_order_have_independent_constraints(pattern, data):
    order = np.array(data.draw(st.permutations(range(pattern.n_blocks))), dtype=np.intp)
    if data.draw(st.booleans()):
        order = repair(pattern, order)
    size = pattern.block_sizes
    rows = random_constraints(pattern)
    if np.linalg.matrix_rank(rows) < len(rows) or not is_admissible(pattern, order):
        return
    joint = np.repeat(np.arange(pattern.n_dual), size[pattern.n_primal :]) + pattern.n_primal
    body = np.repeat(np.arange(pattern.n_primal), size[: pattern.n_primal])
    place = np.argsort(order)
    for end in range(len(order)):
        prefix = rows[np.ix_(place[joint] <= end, place[body] <= end)]
        assert np.linalg.matrix_rank(prefix) == len(prefix)


def random_constraints(pattern):
    """Return A with random entries where a joint touches a body."""
    generator = np.random.default_rng(0)
    rows = np.zeros((pattern.n_rows - pattern.n_primal_rows, pattern.n_primal_rows))
    for joint in range(pattern.n_primal, pattern.n_blocks):
        top, bottom = pattern.offsets[joint : joint + 2] - pattern.n_primal_rows
        for body in pattern.neighbours(joint):
            left, right = pattern.offsets[body : body + 2]
            rows[top:bottom, left:right] = generator.normal(size=(bottom - top, right - left))
    return rows


@given(pattern=patterns(), data=st.data())
def test_repair_puts_each_joint_right_after_the_later_of_its_bodies(pattern, data):
    order = np.array(data.draw(st.permutations(range(pattern.n_blocks))), dtype=np.intp)
    repaired = repair(pattern, order)
    is_body = repaired < pattern.n_primal
    np.testing.assert_array_equal(repaired[is_body], order[order < pattern.n_primal])
    latest = -1
    for block in repaired:
        if block < pattern.n_primal:
            latest = block
        else:
            assert latest in pattern.neighbours(block)
    assert is_admissible(pattern, repaired)


def test_stripping_a_tree_leaves_one_body_and_a_grounded_one_none():
    tree = graph_pattern(nx.balanced_tree(2, 3))
    outer, stripped = tree_parts(tree)
    assert len(set(outer)) == tree.n_dual
    assert set(range(tree.n_primal)) - set(stripped) == {0}
    grounded = pattern_of([*tree.ends, (-1, 0)], tree.n_primal)
    assert sorted(tree_parts(grounded)[1]) == list(range(tree.n_primal))


def test_stripping_stops_at_loops_parallel_joints_and_two_supports():
    tail = pattern_of([(0, 1), (1, 2), (2, 0), (2, 3)], 4)
    np.testing.assert_array_equal(core_joints(tail), [True, True, True, False])
    np.testing.assert_array_equal(tree_parts(tail)[1], [3])
    assert core_joints(pattern_of([(0, 1), (0, 1)], 2)).all()
    assert core_joints(pattern_of([(-1, 0), (0, 1), (1, -1)], 2)).all()


@pytest.mark.parametrize("function", [repair, is_admissible])
def test_what_is_no_order_is_refused(function):
    with pytest.raises(ShapeError, match="each of 5 blocks once"):
        function(CHAIN, np.array([0, 1, 2, 3, 3]))
