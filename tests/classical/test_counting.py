import pytest

from sparsebody.classical import ALGORITHMS
from sparsebody.classical.counting import Counted, Tally, interpreted
from sparsebody.classical.counts import GEOMETRIES, count, counted, transform_products
from sparsebody.classical.kernels.small_matrices import cross, turned


def test_operations_by_known_numbers_are_counted_apart():
    tally = Tally()
    x, y = Counted(2.0, tally), Counted(3.0, tally)
    zero, one, c = (Counted(k, tally, known=True) for k in (0.0, 1.0, 5.0))
    values = [x * y, x - y, zero * x, one * x, c * c, x + zero, c * x, -x, 1.0 / x, 1 - x, 2 / c]
    assert [v.value for v in values] == [6, -1, 0, 2, 25, 2, 10, -2, 0.5, -1, 0.4]
    assert [v.known for v in values[2:5]] == [True, False, True]
    assert tally == Tally(3, 2, 4, 1)


def test_a_kernel_calls_plain_kernels_when_it_is_interpreted():
    tally = Tally()
    vector = tuple(Counted(x, tally) for x in (1.0, 2.0, 3.0))
    assert [x.value for x in interpreted(cross)(vector, vector)] == [0, 0, 0]
    interpreted(turned)(vector * 3, vector)
    assert (tally.multiplications, tally.additions) == (6 + 9, 3 + 6)


@pytest.mark.parametrize("name", [a.name for a in ALGORITHMS.values() if a.growth < 4])
def test_counts_are_polynomials_of_the_degree_that_is_claimed(name):
    found = counted(ALGORITHMS[name])
    assert found.multiplications.degree == ALGORITHMS[name].growth
    once_more = count(ALGORITHMS[name], GEOMETRIES["general"](12))
    assert found.multiplications(12) == once_more.multiplications
    assert found.additions(12) == once_more.additions


def test_newton_euler_by_hand():
    """Craig's form: five products by a rotation, of which one element is a known zero."""
    found = counted(ALGORITHMS["luh-walker-paul"])
    assert str(found.all_multiplications) == "122 n - 60"
    assert str(found.multiplications) == "117 n - 118"


@pytest.mark.parametrize(
    ("geometry", "products"), [("general", (24, 24)), ("right-angled", (0, 20)), ("planar", (0, 0))]
)
def test_rotations_and_euler_parameters_take_four_products_a_link(geometry, products):
    assert tuple(transform_products(geometry).values()) == products
