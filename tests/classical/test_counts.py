from fractions import Fraction

import pytest

from sparsebody.classical import ALGORITHMS, costs
from sparsebody.classical.counting import Counted, Tally, interpreted
from sparsebody.classical.kernels.newton_euler import cross
from sparsebody.errors import ShapeError


def test_operations_by_known_numbers_are_counted_apart():
    tally = Tally()
    x, y = Counted(2.0, tally), Counted(3.0, tally)
    zero, one, c = (Counted(k, tally, is_constant=True) for k in (0.0, 1.0, 5.0))
    values = [x * y, x - y, zero * x, one * x, c * c, x + zero, c * x, -x, 1.0 / x, 1 - x, 2 / c]
    assert [v.value for v in values] == [6, -1, 0, 2, 25, 2, 10, -2, 0.5, -1, 0.4]
    assert [v.is_constant for v in values[2:5]] == [True, False, True]
    assert tally == Tally(3, 2, 4, 1)


def test_a_kernel_calls_plain_kernels_when_it_is_interpreted():
    tally = Tally()
    vector = tuple(Counted(x, tally) for x in (1.0, 2.0, 3.0))
    assert [x.value for x in interpreted(cross)(vector, vector)] == [0, 0, 0]

    assert (tally.multiplications, tally.additions) == (6, 3)


@pytest.mark.parametrize("name", [a.name for a in ALGORITHMS.values() if a.growth < 4])
def test_counts_are_polynomials_of_the_degree_that_is_claimed(name):
    result = costs.counted(ALGORITHMS[name])
    assert result.multiplications.degree == ALGORITHMS[name].growth
    once_more = costs.count(ALGORITHMS[name], costs.GEOMETRIES["general"](12))
    assert result.multiplications(12) == once_more.multiplications
    assert result.additions(12) == once_more.additions


def test_newton_euler_by_hand():
    """Craig's form: five products by a rotation, of which one element is a known zero."""
    result = costs.counted(ALGORITHMS["luh-walker-paul"])
    assert str(result.all_multiplications) == "122 n - 60"
    assert str(result.multiplications) == "117 n - 118"


@pytest.mark.parametrize(
    ("geometry", "products"), [("general", (24, 24)), ("right-angled", (0, 20)), ("planar", (0, 0))]
)
def test_rotations_and_euler_parameters_take_four_products_a_link(geometry, products):
    assert tuple(costs.transform_products(geometry).values()) == products


def test_the_polynomial_of_counts_is_exact():
    def count(n):
        return Fraction(65, 2) * n**4 + Fraction(1037, 12) * n**3 + Fraction(685, 4) * n**2 - 128

    result = costs.exact_polynomial({n: count(n) for n in range(3, 11)})
    assert str(result) == "65/2 n^4 + 1037/12 n^3 + 685/4 n^2 - 128"
    assert (result.degree, result(6)) == (4, count(6))
    assert str(costs.Polynomial((Fraction(-3), Fraction(-1)))) == "-n - 3"
    assert [str(costs.Polynomial((Fraction(c),))) for c in (0, 5)] == ["0", "5"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({n: 2**n for n in range(5)}, "are no polynomial in n of degree 2 or less"),
        ({3: 1, 4: 2}, "counts at 2 sizes; count at 3 or more, of which 2 are"),
        ({}, "counts at 0 sizes"),
    ],
)
def test_counts_that_are_no_polynomial_or_too_few_are_an_error(values, message):
    with pytest.raises(ShapeError, match=message):
        costs.exact_polynomial(values)


QUICK = [one for one in ALGORITHMS.values() if one.growth < 4]
CONTRADICTIONS = {  # formulas that do not give what is printed for n = 6
    "Uicker/Kahn": (67143, 51548),
    "Luh/Walker/Paul": (852, 738),
    "Gibbs-Appell (Popov)": (2929, 2431),
}


@pytest.fixture(scope="module")
def rows():
    result = costs.comparisons({one.name: costs.counted(one) for one in QUICK})
    return {row.published.label: row for row in result}


def test_formulas_give_the_printed_numbers_but_for_known_contradictions():
    for one in costs.PUBLISHED:
        formulas = one.multiplications, one.additions
        for formula, printed in zip(formulas, one.printed or (), strict=False):
            if formula is not None and one.label not in CONTRADICTIONS:
                assert formula(6) == printed
    for label, values in CONTRADICTIONS.items():
        result = next(one for one in costs.PUBLISHED if one.label == label)
        assert (result.multiplications(6), result.additions(6)) == values != result.printed


@pytest.mark.parametrize(
    ("label", "least", "most"),
    [
        ("Waters", 0.97, 1.02),
        ("Hollerbach 4x4", 0.96, 1.0),
        ("Hollerbach 3x3", 0.89, 0.91),
        ("Walker/Orin", 1.06, 1.13),
        ("Luh/Walker/Paul", 0.84, 0.89),
        ("Balafoutis/Patel/Misra", 1.02, 1.06),
    ],
)
def test_counts_are_near_the_printed_ones(rows, label, least, most):
    assert all(least < ratio < most + 0.005 for ratio in rows[label].ratio)


def test_rows_that_are_not_implemented_have_no_ratio(rows):
    one = costs.comparisons({"kane": costs.counted(ALGORITHMS["kane"])}, all_published=False)
    assert [row.published.label for row in one] == ["Kane (Ma/Xu)"]
    assert rows["Renaud"].counted is None
    assert rows["Renaud"].ratio is None
    assert rows["Renaud"].to_dict()["printed"] == (992, 776)


def test_the_lagrangians_leading_terms_are_the_published_ones():
    """Full 4x4 products: per (i, j, k, l) two and a trace; per pair three, a trace and gravity."""
    lagrangian = costs.counted(ALGORITHMS["uicker-kahn"])
    published = next(one for one in costs.PUBLISHED if one.algorithm == "uicker-kahn")
    assert lagrangian.all_multiplications.coefficients[4] == Fraction(65, 2)
    assert published.multiplications.coefficients[4] == Fraction(65, 2)
    assert lagrangian.all_additions.coefficients[4] == published.additions.coefficients[4] == 25
    waters = costs.counted(ALGORITHMS["waters"])
    assert waters.all_multiplications.coefficients[2] == Fraction(3 * 64 + 20, 2)
    assert waters.all_additions.coefficients[2] == Fraction(3 * 48 + 3 + 12 + 2 + 2, 2)
