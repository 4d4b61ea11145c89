from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patterns import eliminated, graph_pattern, ordered_patterns, pattern_of, scalar_factor

from sparsebody.errors import ShapeError
from sparsebody.sparse import elimination_tree as etree
from sparsebody.sparse.pattern import positions
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix


@given(case=ordered_patterns())
def test_parents_columns_and_counts_are_those_of_dense_symbolic_elimination(case):
    pattern, order = case
    expected, size = eliminated(*case), pattern.block_sizes[order]
    first = [min(below, default=-1) for below in expected]
    np.testing.assert_array_equal(etree.elimination(*case).parent, first)
    start, rows = etree.column_structures(*case)
    assert [rows[a:b].tolist() for a, b in pairwise(start)] == [sorted(b) for b in expected]
    counts = [size[i] + sum(size[k] for k in below) for i, below in enumerate(expected)]
    np.testing.assert_array_equal(column_counts(*case), counts)


def column_counts(pattern, order):
    return etree.weighted_counts(etree.elimination(pattern, order), pattern.block_sizes[order])


@given(case=ordered_patterns())
def test_postorder_puts_every_node_after_its_descendants_in_one_piece(case):
    _, parent, sequence = etree.elimination(*case)
    position = positions(sequence)
    n_below = np.ones(len(parent), dtype=int)
    earliest = position.copy()
    for i, above in enumerate(parent):
        if above >= 0:
            assert position[i] < position[above]
            n_below[above] += n_below[i]
            earliest[above] = min(earliest[above], earliest[i])
    np.testing.assert_array_equal(position - earliest + 1, n_below)


@given(case=ordered_patterns())
def test_postordering_changes_no_column_but_its_number(case):
    pattern, order = case
    new_order = etree.postordered(pattern, order)
    before, after = np.empty((2, pattern.n_blocks), dtype=int)
    before[order] = column_counts(pattern, order)
    after[new_order] = column_counts(pattern, new_order)
    np.testing.assert_array_equal(before, after)


def test_what_is_no_order_is_refused():
    first = etree.elimination, etree.column_structures, etree.postordered, etree.ordering_metrics
    for function in (*first, etree.repair, etree.is_admissible):
        with pytest.raises(ShapeError, match="each of 3 blocks once"):
            function(pattern_of([(0, 1)], 2), np.array([0, 1, 1]))


@given(case=ordered_patterns())
def test_metrics_are_those_of_dense_symbolic_elimination(case):
    pattern, order = case
    metrics = etree.ordering_metrics(pattern, order)
    matrix, factor = scalar_factor(pattern, order)
    below = factor.sum(axis=0) - 1
    row, column = np.nonzero(matrix)
    first = matrix.argmax(axis=1) if len(matrix) else np.zeros(0)
    position = np.argsort(order)
    assert metrics.nnz_l == factor.sum()
    assert metrics.flops == pytest.approx(np.sum(below * (below + 2)))
    assert metrics.scalar_bandwidth == np.max(row - column, initial=0)
    assert metrics.profile == np.sum(np.arange(len(matrix)) - first)
    assert metrics.largest_front == np.max(below + 1, initial=0)
    height = {-1: 0}
    for node, above in reversed(list(enumerate(etree.elimination(pattern, order).parent.tolist()))):
        height[node] = height[above] + 1
    assert metrics.etree_height == max(height.values())
    distance = [abs(position[i] - position[pattern.neighbours(i)]) for i in range(len(order))]
    assert metrics.block_bandwidth == max((d.max(initial=0) for d in distance), default=0)


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
    assert etree.is_admissible(pattern, np.array(order)) is admissible


@given(case=ordered_patterns(), is_repaired=st.booleans())
def test_prefixes_of_an_admissible_order_have_independent_constraints(case, is_repaired):
    pattern, order = case
    order = etree.repair(pattern, order) if is_repaired else order
    size = pattern.block_sizes
    rows = random_constraints(pattern)
    if np.linalg.matrix_rank(rows) < len(rows) or not etree.is_admissible(pattern, order):
        return
    joint = np.repeat(np.arange(pattern.n_dual), size[pattern.n_primal :]) + pattern.n_primal
    body = np.repeat(np.arange(pattern.n_primal), size[: pattern.n_primal])
    position = np.argsort(order)
    for end in range(len(order)):
        prefix = rows[np.ix_(position[joint] <= end, position[body] <= end)]
        assert np.linalg.matrix_rank(prefix) == len(prefix)


def random_constraints(pattern):
    """Return A with random entries where a joint touches a body."""
    n = pattern.n_rows - pattern.n_primal_rows
    rows = np.random.default_rng(0).normal(size=(n, 2, 6))
    return constraint_matrix(SaddleMatrix.of_rows(pattern, rows)).toarray()


@given(case=ordered_patterns())
def test_repair_puts_each_joint_right_after_the_later_of_its_bodies(case):
    pattern, order = case
    repaired = etree.repair(pattern, order)
    is_body = repaired < pattern.n_primal
    np.testing.assert_array_equal(repaired[is_body], order[order < pattern.n_primal])
    latest = -1
    for block in repaired:
        if block < pattern.n_primal:
            latest = block
        else:
            assert latest in pattern.neighbours(block)
    assert etree.is_admissible(pattern, repaired)


def test_stripping_a_tree_leaves_one_body_and_a_grounded_one_none():
    tree = graph_pattern(nx.balanced_tree(2, 3))
    outer, stripped = etree.tree_parts(tree)
    assert len(set(outer)) == tree.n_dual
    assert set(range(tree.n_primal)) - set(stripped) == {0}
    grounded = pattern_of([*tree.ends, (-1, 0)], tree.n_primal)
    assert sorted(etree.tree_parts(grounded)[1]) == list(range(tree.n_primal))


def test_stripping_stops_at_loops_parallel_joints_and_two_supports():
    tail = pattern_of([(0, 1), (1, 2), (2, 0), (2, 3)], 4)
    np.testing.assert_array_equal(etree.core_joints(tail), [True, True, True, False])
    np.testing.assert_array_equal(etree.tree_parts(tail)[1], [3])
    assert etree.core_joints(pattern_of([(0, 1), (0, 1)], 2)).all()
    assert etree.core_joints(pattern_of([(-1, 0), (0, 1), (1, -1)], 2)).all()
