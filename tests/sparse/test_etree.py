from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patterns import eliminated, graph_pattern, pattern_of, patterns

from sparsebody.errors import ShapeError
from sparsebody.sparse.elimination_tree import (
    column_counts,
    column_structures,
    elimination_tree,
    postorder,
    postordered,
    tree_height,
)
from sparsebody.sparse.pattern import positions


@st.composite
def ordered_patterns(draw):
    pattern = draw(patterns())
    order = draw(st.permutations(range(pattern.n_blocks)))
    return pattern, np.array(order, dtype=np.intp)


@given(case=ordered_patterns())
def test_parent_is_the_first_block_below_the_pivot_of_dense_symbolic_elimination(case):
    expected = [min(below, default=-1) for below in eliminated(*case)]
    np.testing.assert_array_equal(elimination_tree(*case), expected)


@given(case=ordered_patterns())
def test_column_structures_are_those_of_dense_symbolic_elimination(case):
    start, rows = column_structures(*case)
    found = [rows[a:b].tolist() for a, b in pairwise(start)]
    assert found == [sorted(below) for below in eliminated(*case)]


@given(case=ordered_patterns())
def test_column_counts_are_the_scalar_rows_of_dense_symbolic_elimination(case):
    pattern, order = case
    size = pattern.block_sizes[order]
    expected = [size[i] + sum(size[k] for k in b) for i, b in enumerate(eliminated(*case))]
    np.testing.assert_array_equal(column_counts(pattern, order), expected)


def test_large_column_counts_agree_with_column_structures():
    pattern = graph_pattern(nx.grid_2d_graph(12, 12))
    order = np.random.default_rng(3).permutation(pattern.n_blocks)
    start, rows = column_structures(pattern, order)
    size = pattern.block_sizes[order]
    below = [size[rows[a:b]].sum() for a, b in pairwise(start)]
    np.testing.assert_array_equal(column_counts(pattern, order), size + np.array(below))


@given(case=ordered_patterns())
def test_postorder_puts_every_node_after_its_descendants_in_one_piece(case):
    parent = elimination_tree(*case)
    place = positions(postorder(parent))
    n_below = np.ones(len(parent), dtype=int)
    earliest = place.copy()
    for i, above in enumerate(parent):
        if above >= 0:
            assert place[i] < place[above]
            n_below[above] += n_below[i]
            earliest[above] = min(earliest[above], earliest[i])
    np.testing.assert_array_equal(place - earliest + 1, n_below)


@given(case=ordered_patterns())
def test_postordering_changes_no_column_but_its_number(case):
    pattern, order = case
    new_order = postordered(pattern, order)
    before, after = np.empty((2, pattern.n_blocks), dtype=int)
    before[order] = column_counts(pattern, order)
    after[new_order] = column_counts(pattern, new_order)
    np.testing.assert_array_equal(before, after)


def test_a_chain_in_sequence_is_one_path_and_from_both_ends_two():
    chain = pattern_of([(0, 1), (1, 2), (2, 3), (3, 4)], 5)
    assert tree_height(elimination_tree(chain, np.array([0, 5, 1, 6, 2, 7, 3, 8, 4]))) == 9
    assert tree_height(elimination_tree(chain, np.array([0, 5, 1, 6, 4, 8, 3, 7, 2]))) == 5


@pytest.mark.parametrize(
    "function", [elimination_tree, column_counts, column_structures, postordered]
)
def test_what_is_no_order_is_refused(function):
    with pytest.raises(ShapeError, match="each of 3 blocks once"):
        function(pattern_of([(0, 1)], 2), np.array([0, 1, 1]))
