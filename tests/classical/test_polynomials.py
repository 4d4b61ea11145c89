from fractions import Fraction

import pytest

from sparsebody.classical.counts import Polynomial, exact_polynomial
from sparsebody.errors import ShapeError


def test_the_polynomial_of_counts_is_exact():
    def count(n: int) -> Fraction:
        return Fraction(65, 2) * n**4 + Fraction(1037, 12) * n**3 + Fraction(685, 4) * n**2 - 128

    found = exact_polynomial({n: count(n) for n in range(3, 11)})
    assert str(found) == "65/2 n^4 + 1037/12 n^3 + 685/4 n^2 - 128"
    assert (found.degree, found(6)) == (4, count(6))


def test_numbers_that_are_no_polynomial_are_an_error():
    with pytest.raises(ShapeError, match="are no polynomial in n of degree 2 or less"):
        exact_polynomial({n: 2**n for n in range(5)})


def test_a_polynomial_reads_as_a_paper_prints_it():
    assert str(Polynomial((Fraction(-3), Fraction(-1)))) == "-n - 3"
    assert str(Polynomial((Fraction(0),))) == "0"
    assert str(Polynomial((Fraction(5),))) == "5"


def test_too_few_sizes_are_an_error():
    with pytest.raises(ShapeError, match="counts at 2 sizes; count at 3 or more, of which 2 are"):
        exact_polynomial({3: 1, 4: 2})
    with pytest.raises(ShapeError, match="counts at 0 sizes"):
        exact_polynomial({})
