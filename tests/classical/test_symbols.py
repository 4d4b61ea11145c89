from fractions import Fraction

import numpy as np
import pytest

from sparsebody.classical.symbols import Expression, array_of, constant, symbol
from sparsebody.errors import ModelError


def test_expressions_read_as_they_are_written():
    x, y = symbol("x"), symbol("y")
    written = [x * x * y - 2 * y + 1, -x, x - x, constant(-3), Fraction(1, 2) * y * x, 2 - x]
    read = ["x^2 y - 2 y + 1", "-x", "0", "-3", "1/2 x y", "-x + 2"]
    assert [str(one) for one in written] == read
    assert str(constant(1)) == "1"
    assert str(-constant(1) * x * 1) == "-x"


def test_expressions_are_a_ring():
    rng = np.random.default_rng(0)
    x, y = symbol("x"), symbol("y")
    for _ in range(20):
        a, b, c = (
            i * x + j * y + k * x * y + h for i, j, k, h in rng.integers(-3, 4, (3, 4)).tolist()
        )
        assert (a + b) * c == a * c + b * c
        assert (a * b) * c == a * (b * c)
        assert a * b == b * a
        assert a - b == -(b - a)
        at = {"x": 0.3, "y": -1.7}
        assert (a * b - c)(at) == pytest.approx(a(at) * b(at) - c(at), abs=1e-12)


def test_equal_expressions_are_one_in_sets():
    x, y = symbol("x"), symbol("y")
    assert {x + y, y + x, x * 1 + y} == {x + y}
    assert {x - x, 0, constant(3), 3, constant(0.5), 0.5} == {0, 3, 0.5}
    assert x != "x"
    assert not x - x


def test_matrices_of_expressions_multiply():
    a, b = array_of([symbol("a"), 0, 1, symbol("b")], (2, 2)), array_of([1, 2], (2,))
    assert (a @ b).tolist() == [symbol("a"), 1 + 2 * symbol("b")]


def test_a_quotient_is_an_error():
    with pytest.raises(TypeError, match="unsupported operand"):
        Expression({(): 1}) / symbol("x")


def test_powers_and_parts_are_polynomials_and_other_powers_errors():
    x, y = symbol("x"), symbol("y")
    assert str((x + y) ** 2 / 2) == "x y + 1/2 x^2 + 1/2 y^2"
    assert x**0 == 1
    for power in (-1, 0.5, y):
        with pytest.raises(TypeError, match="unsupported operand"):
            x**power


def test_a_symbol_without_a_value_is_an_error_that_names_it():
    x, y = symbol("x"), symbol("y")
    with pytest.raises(ModelError, match="symbol 'y' has no value; give it a number"):
        (x + y)({"x": 1.0})
