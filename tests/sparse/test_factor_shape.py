import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patterns import eliminated, graph_pattern, ladder, pattern_of, patterns, scalar_factor

from sparsebody.errors import ShapeError
from sparsebody.ordering import order
from sparsebody.sparse.factor_shape import factor_shape
from sparsebody.sparse.metrics import ordering_metrics


@given(pattern=patterns(), data=st.data())
def test_the_shape_is_that_of_dense_symbolic_elimination(pattern, data):
    order = np.array(data.draw(st.permutations(range(pattern.n_blocks))), dtype=np.intp)
    shape = factor_shape(pattern, order)
    matrix, factor = scalar_factor(pattern, order)
    n = len(matrix)
    active = [np.any(matrix[i:, : i + 1], axis=1).sum() for i in range(n)]
    np.testing.assert_array_equal(shape.wavefront, active)
    assert shape.largest_wavefront == max(active, default=0)
    assert shape.rms_wavefront == pytest.approx(np.sqrt(np.mean(np.square(active))) if n else 0.0)
    columns = eliminated(pattern, order)
    sizes = pattern.block_sizes[order]
    below = factor.sum(axis=0) - 1
    per_block = np.add.reduceat(below * (below + 2), np.r_[0, np.cumsum(sizes)[:-1]]) if n else []
    np.testing.assert_allclose(shape.flops, per_block)
    depth, until = np.zeros(len(order), dtype=int), np.array(per_block, dtype=float)
    for i in reversed(range(len(order))):
        depth[i] = depth[min(columns[i])] + 1 if columns[i] else 0
    for i in range(len(order)):
        if columns[i]:
            above = min(columns[i])
            until[above] = max(until[above], until[i] + per_block[above])
    np.testing.assert_array_equal(shape.level_widths, np.bincount(depth))
    assert shape.critical_path == pytest.approx(max(until, default=0.0))


@given(pattern=patterns(), data=st.data())
def test_no_front_is_narrower_than_the_bounds(pattern, data):
    order = np.array(data.draw(st.permutations(range(pattern.n_blocks))), dtype=np.intp)
    shape = factor_shape(pattern, order)
    widest = max(map(len, eliminated(pattern, order)), default=0)
    assert shape.treewidth_bound <= widest
    assert shape.front_bound <= shape.largest_front
    assert shape.front_bound <= shape.admissible_front_bound


@given(pattern=patterns())
def test_no_admissible_front_is_narrower_than_its_bound(pattern):
    for name in ("minimum-fill", "leaves-first", "natural"):
        shape = factor_shape(pattern, order(pattern, name))
        assert shape.admissible_front_bound <= shape.largest_front


def test_the_shape_agrees_with_the_metrics():
    pattern = ladder(20)
    found = order(pattern, "minimum-fill")
    shape, metrics = factor_shape(pattern, found), ordering_metrics(pattern, found)
    assert shape.flops.sum() == pytest.approx(metrics.flops)
    assert (shape.tree_height, shape.largest_front) == (metrics.etree_height, metrics.largest_front)
    assert shape.level_widths.sum() == pattern.n_blocks


def test_minimum_fill_on_a_ladder_has_the_narrowest_front_there_is():
    pattern = ladder(40)
    shape = factor_shape(pattern, order(pattern, "minimum-fill"))
    assert shape.largest_front == shape.admissible_front_bound == 15


def test_a_star_is_computed_side_by_side_and_a_chain_from_one_end_is_not():
    star = graph_pattern(nx.star_graph(100))
    assert factor_shape(star, order(star, "leaves-first")).parallel_speed_up > 90
    chain = pattern_of([(-1, 0), *((k, k + 1) for k in range(99))], 100)
    assert factor_shape(chain, order(chain, "leaves-first")).parallel_speed_up == 1.0
    assert factor_shape(chain, order(chain, "nested-dissection")).parallel_speed_up == 1.0


def test_what_is_no_order_is_refused():
    with pytest.raises(ShapeError, match="each of 3 blocks once"):
        factor_shape(pattern_of([(0, 1)], 2), np.array([0, 2, 2]))
