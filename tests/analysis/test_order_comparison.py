import numpy as np
import pytest
from patterns import ladder

import sparsebody as sb
from sparsebody.analysis import order_comparison as orders
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.dynamics.preparation import SPATIAL
from sparsebody.errors import OrderingError, ShapeError
from sparsebody.ordering import is_admissible, order
from sparsebody.sparse import treewidth
from sparsebody.sparse.elimination_tree import ordering_metrics, repair
from sparsebody.sparse.pattern import symmetric_pattern


def test_orderings_that_give_up_or_grow_exponentially_are_left_out_unless_asked_for(monkeypatch):
    tube = sb.build("tube", rings=4, rails=4)
    names = {line.name for line in orders.compare_orderings(tube).lines}
    assert not names & {"exact-treewidth", "exact-bandwidth"}
    monkeypatch.setattr(treewidth, "_MOST_SETS", 3)
    squares = sb.build("lattice", rows=3, columns=3, layers=1)
    names = {line.name for line in orders.compare_orderings(squares).lines}
    assert names & {"exact-treewidth", "exact-bandwidth"} == {"exact-bandwidth"}
    with pytest.raises(OrderingError, match="more than 3 sets"):
        orders.compare_orderings(squares, ["exact-treewidth"])


@pytest.fixture(scope="module")
def scissor():
    return sb.build("scissor", pairs=3).compile()


@pytest.fixture(scope="module")
def comparison(scissor):
    return orders.compare_orderings(scissor, ["natural"])


def line(comparison, name):
    return next(one for one in comparison.lines if one.name == name)


def test_an_admissible_order_is_judged_like_ours():
    pattern = ladder(4)
    sequence = order(pattern, "leaves-first")
    (judged,) = orders.judge_order(pattern, sequence, "theirs")
    assert judged.metrics == ordering_metrics(pattern, sequence)
    assert judged.remark == "admissible"
    ours = line(orders.compared(pattern, ["leaves-first"]), "leaves-first")
    assert judged.factorization == ours.factorization


def test_an_order_with_early_joints_is_judged_as_it_is_and_repaired():
    pattern = ladder(4)
    sequence = np.arange(pattern.n_blocks)[::-1]
    as_it_is, repaired = orders.judge_order(
        pattern, sequence, "theirs", joints=[f"j{k}" for k in range(10)]
    )
    assert not is_admissible(pattern, sequence)
    assert as_it_is.metrics == ordering_metrics(pattern, sequence)
    assert as_it_is.factorization in ("superlu", "banded", "dense")
    assert as_it_is.remark == "10 joints before their bodies, first 'j0': needs pivoting"
    assert repaired.metrics == ordering_metrics(pattern, repair(pattern, sequence))
    assert (repaired.name, repaired.remark) == ("theirs, repaired", "admissible")


def test_orders_of_a_mechanism_are_those_of_its_blocks_or_rows(scissor, comparison):
    pattern = comparison.structure.pattern
    sequence = order(pattern, "leaves-first")
    blocks = comparison.judged(sequence, "theirs")
    rows = comparison.judged(pattern.scalar_order(sequence), "theirs")
    assert line(blocks, "theirs") == line(rows, "theirs")
    assert line(blocks, "theirs").metrics == ordering_metrics(pattern, sequence)
    assert line(blocks, "natural") == line(comparison, "natural")


def test_orders_of_all_rows_serve_the_kept_ones_too():
    system = sb.build("bricard").compile()
    dynamics = sb.ForwardDynamics(system, formulation=SPATIAL)
    comparison = orders.compare_orderings(system, ["natural"])
    whole = kkt_structure(system).pattern
    sequence = np.arange(whole.n_blocks)
    judged = comparison.judged(whole.scalar_order(sequence), "theirs")
    assert line(judged, "theirs").metrics == line(comparison, "natural").metrics
    assert whole.n_rows > dynamics.structure.pattern.n_rows


def test_an_order_that_fits_nothing_is_told_what_does(comparison):
    with pytest.raises(ShapeError, match="3 entries, but scissor has 6 bodies and 9 joints"):
        comparison.judged(np.arange(3), "theirs")
    bare = orders.compared(ladder(2), ["natural"])
    with pytest.raises(ShapeError, match="without a mechanism"):
        bare.judged(np.arange(8), "theirs")


def test_orders_of_matrices_come_back_in_the_blocks_of_the_file():
    """Joint first, then its bodies."""
    row, column = np.array([1, 2, 1, 2]), np.array([1, 2, 0, 0])
    pattern = symmetric_pattern(row, column, np.array([1, 1, 1]))
    comparison = orders.compare_pattern(pattern, ["natural"])
    assert "[D A'; A 0] of 2 bodies and 1 joints" in comparison.description
    np.testing.assert_array_equal(comparison.order("natural"), [1, 2, 0])
    judged = comparison.judged(comparison.order("natural"), "theirs")
    theirs, ours = (line(judged.comparison, name) for name in ("theirs", "natural"))
    assert theirs.metrics == ours.metrics
    assert theirs.remark == "admissible"
    with pytest.raises(ShapeError, match="fits neither"):
        comparison.judged(np.arange(5), "theirs")


def test_matrices_of_other_kinds_have_general_orderings():
    n = 30
    pattern = symmetric_pattern(np.arange(1, n), np.arange(n - 1), np.ones(n, dtype=np.intp))
    comparison = orders.compare_pattern(pattern, ["natural", "minimum-degree"])
    assert "not a matrix of bodies and joints" in comparison.description
    assert {one.metrics.nnz_l for one in comparison.comparison.lines} == {2 * n - 1}
    judged = comparison.judged(np.arange(n)[::-1], "theirs")
    assert line(judged.comparison, "theirs").metrics.nnz_l == 2 * n - 1
