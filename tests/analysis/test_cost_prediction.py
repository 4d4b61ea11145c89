"""Costs of lattices by recursion: those of the elimination tree, and their growth."""

import math

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.errors import ModelError, UnknownNameError


@pytest.mark.parametrize("shape", [(4, 4, 4), (8, 8, 8), (16, 8, 8), (16, 16, 1)])
def test_the_recursion_gives_the_elimination_tree_of_a_lattice(shape):
    rows, columns, layers = shape
    lattice = sb.build("lattice", rows=rows, columns=columns, layers=layers).compile()
    by_tree, by_recursion = sb.predict_cost(lattice), sb.predict_cost(shape)
    assert by_recursion.rows == by_tree.rows
    assert by_recursion.entries == pytest.approx(by_tree.entries, rel=0.01)
    assert by_recursion.flops == pytest.approx(by_tree.flops, rel=0.01)
    assert by_recursion.largest_front == pytest.approx(by_tree.largest_front, rel=0.01)


def test_a_row_of_bodies_is_counted_by_hand():
    """Two bodies and the joint between: 6 pivots above 3 rows each, then 3 of none."""
    two = sb.predict_cost((1, 2, 1))
    assert two.entries == 2 * (21 + 18) + 6
    assert two.flops == 2 * sum(m * (m + 2) for m in range(3, 9)) + 1 * 3 + 2 * 4
    assert two.largest_front == 9


@pytest.mark.parametrize(
    ("shapes", "exponents"),
    [
        ([(2**k, 2**k, 1) for k in (10, 11)], (1.0, 1.5)),
        ([(2**k,) * 3 for k in (8, 9)], (4 / 3, 2)),
    ],
    ids=["sheets", "cubes"],
)
def test_entries_and_flops_grow_as_dissection_promises(shapes, exponents):
    """George: in the plane n log n and n^1.5, in space n^(4/3) and n^2."""
    small, large = (sb.predict_cost(shape) for shape in shapes)
    ratio = math.log(large.bodies / small.bodies)
    growth = [math.log(getattr(large, k) / getattr(small, k)) / ratio for k in ("entries", "flops")]
    np.testing.assert_allclose(growth, exponents, atol=0.12)


def test_iterations_take_memory_in_proportion():
    small, large = (sb.predict_cost((n, n, n), method="iterative") for n in (32, 256))
    for quantity in ("memory", "flops", "entries"):
        ratio = getattr(large, quantity) / getattr(small, quantity)
        assert ratio / 512 == pytest.approx(1.0, rel=0.35)
    assert large.memory < sb.predict_cost((256, 256, 256)).memory / 15


def test_ranks_share_the_work():
    one, *shared = (sb.predict_cost((64, 64, 64), ranks=r) for r in (1, 2, 64))
    assert one.messages == one.message_bytes == 0.0
    assert one.critical_flops == one.flops
    for many in shared:
        assert (many.flops, many.entries) == (one.flops, one.entries)
        assert one.flops / many.ranks <= many.critical_flops < 2 * one.flops / many.ranks
        assert one.memory / many.ranks <= many.memory_of_rank < 2 * one.memory / many.ranks
        assert many.seconds < one.seconds
    assert shared[0].message_bytes < shared[1].message_bytes
    assert str(shared[1]).startswith("262144 bodies on 64 ranks: ")


def test_wrong_questions_are_refused():
    lattice = sb.build("lattice", rows=2, columns=2).compile()
    with pytest.raises(UnknownNameError, match="method"):
        sb.predict_cost((2, 2, 2), method="guess")
    with pytest.raises(ModelError, match="power of two"):
        sb.predict_cost((2, 2, 2), ranks=3)
    with pytest.raises(ModelError, match="on several"):
        sb.predict_cost(lattice, ranks=2)
    with pytest.raises(ModelError, match="give rows, columns and layers"):
        sb.predict_cost(lattice, method="iterative")
    for shape in ((2, 0, 2), (2, 2.5, 2), (2, 2), sb.build("lattice", rows=2, columns=2), None):
        with pytest.raises(ModelError, match="three integers"):
            sb.predict_cost(shape)
