import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patterns import ladder, pattern_of, patterns, scalar_factor

from sparsebody.errors import ShapeError
from sparsebody.sparse.elimination_tree import elimination_tree, ordering_metrics, tree_height


@given(pattern=patterns(), data=st.data())
def test_metrics_are_those_of_dense_symbolic_elimination(pattern, data):
    order = np.array(data.draw(st.permutations(range(pattern.n_blocks))), dtype=np.intp)
    metrics = ordering_metrics(pattern, order)
    matrix, factor = scalar_factor(pattern, order)
    below = factor.sum(axis=0) - 1
    row, column = np.nonzero(matrix)
    first = matrix.argmax(axis=1) if len(matrix) else np.zeros(0)
    place = np.argsort(order)
    assert metrics.nnz_l == factor.sum()
    assert metrics.flops == pytest.approx(np.sum(below * (below + 2)))
    assert metrics.scalar_bandwidth == np.max(row - column, initial=0)
    assert metrics.profile == np.sum(np.arange(len(matrix)) - first)
    assert metrics.largest_front == np.max(below + 1, initial=0)
    assert metrics.etree_height == tree_height(elimination_tree(pattern, order))
    distance = [abs(place[i] - place[pattern.neighbours(i)]) for i in range(len(order))]
    assert metrics.block_bandwidth == max((d.max(initial=0) for d in distance), default=0)


def test_one_dense_block_costs_what_a_dense_factorization_costs():
    metrics = ordering_metrics(pattern_of([], 1), np.array([0]))
    assert metrics.flops == sum(m * (m + 2) for m in range(6))
    assert metrics.nnz_l == 21
    assert metrics.profile == 15
    assert metrics.etree_height == 1


def test_a_hundred_thousand_blocks_have_the_cost_of_ten_thousand_times_ten():
    costs = []
    for n_rungs in (2_002, 20_002):
        pattern = ladder(n_rungs)
        bodies = np.arange(pattern.n_primal)  # each joint after its later body
        joints = pattern.ends.max(axis=1)
        key = np.concatenate([2 * bodies, 2 * joints + 1])
        costs.append(ordering_metrics(pattern, np.argsort(key, kind="stable")).flops)
    assert costs[1] / costs[0] == pytest.approx(10, rel=0.01)


def test_what_is_no_order_is_refused():
    with pytest.raises(ShapeError, match="each of 3 blocks once"):
        ordering_metrics(pattern_of([(0, 1)], 2), np.array([0, 2, 2]))
