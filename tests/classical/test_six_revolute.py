from fractions import Fraction

import numpy as np
import pytest

from sparsebody.classical import ALGORITHMS
from sparsebody.classical.operators import SpatialOperators
from sparsebody.classical.six_revolute import (
    constant,
    sine_torques,
    six_revolute_arm,
    six_revolute_symbols,
    symbol,
)
from sparsebody.errors import ModelError, UnknownNameError

MASS_2 = """
    0 0        0        0       0       0
    0 L1^2m(2) 0        0       0       -L1m(2)
    0 0        L1^2m(2) 0       L1m(2)  0
    0 0        0        m(2)    0       0
    0 0        L1m(2)   0       m(2)    0
    0 -L1m(2)  0        0       0       m(2)
"""  # Liu (2011), as printed
PHI_2 = """
    1 0 0 0 0  0
    0 1 0 0 0  -L1
    0 0 1 0 L1 0
    0 0 0 1 0  0
    0 0 0 0 1  0
    0 0 0 0 0  1
"""


def written(matrix):
    return [[str(x).replace(" ", "") for x in row] for row in matrix.tolist()]


def printed(text):
    return [line.split() for line in text.strip().splitlines()]


def test_the_printed_operators_are_reproduced_symbol_for_symbol():
    operators = six_revolute_symbols(straight=True)
    assert written(operators.masses[1]) == printed(MASS_2)
    assert written(operators.eps[6:12, :6]) == printed(PHI_2)


def test_operators_in_symbols_are_those_in_numbers():
    rng = np.random.default_rng(0)
    q, length, mass = rng.normal(size=6), 0.7, 1.3
    values = {f"L{k}": length for k in range(7)} | {f"m({k})": mass for k in range(1, 7)}
    for k in range(1, 7):
        values |= {f"c({k})": np.cos(q[6 - k]), f"s({k})": np.sin(q[6 - k])}
    symbols = six_revolute_symbols()
    numbers = SpatialOperators.of(six_revolute_arm("points", length, mass), q)
    for name in ("phi", "M", "H", "B"):
        result = [(constant(0) + x)(values) for x in getattr(symbols, name).ravel()]
        np.testing.assert_allclose(result, getattr(numbers, name).ravel(), atol=1e-13)
    tip = symbols.mass_matrix()[-1, -1]
    assert str(tip) == "L0^2 m(1)"


@pytest.mark.parametrize(
    ("bodies", "torque"), [("points", -204.472694095972), ("rods", -170.739634729986)]
)
def test_the_torque_at_the_base_after_one_second(bodies, torque):
    arm = six_revolute_arm(bodies)
    for one in ALGORITHMS.values():
        if not one.is_forward:
            assert sine_torques(arm, [1.0], one)[0, 0] == pytest.approx(torque, rel=1e-14)


def test_bodies_that_cannot_be_are_errors():
    with pytest.raises(UnknownNameError, match="bodies is 'balls'; give one of points, rods"):
        six_revolute_arm("balls")
    with pytest.raises(ModelError, match="link 1: mass 0"):
        six_revolute_arm(mass=0.0)
    with pytest.raises(ModelError, match=r"link 1: com is .*inf"):
        six_revolute_arm(length=np.inf)
    with pytest.raises(ModelError, match="times is 'noon'"):
        sine_torques(six_revolute_arm(), "noon", ALGORITHMS["kane"])
    with pytest.raises(ModelError, match="walker-orin-3 is forward dynamics; give one"):
        sine_torques(six_revolute_arm(), 1.0, ALGORITHMS["walker-orin-3"])


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


def test_expressions_read_as_they_are_written_and_what_is_none_is_an_error():
    x, y = symbol("x"), symbol("y")
    one = constant(1)
    written = [x * x * y - 2 * y + 1, -x, x - x, constant(-3), Fraction(1, 2) * y * x, 2 - x, one]
    read = ["x^2 y - 2 y + 1", "-x", "0", "-3", "1/2 x y", "-x + 2", "1"]
    assert [str(one) for one in written] == read
    assert {x + y, y + x, x * 1 + y} == {x + y}
    assert {x - x, 0, constant(3), 3, constant(0.5), 0.5} == {0, 3, 0.5}
    assert x != "x"
    assert str((x + y) ** 2 / 2) == "x y + 1/2 x^2 + 1/2 y^2"
    assert x**0 == 1
    for operation in (lambda: x**-1, lambda: x**0.5, lambda: x**y, lambda: 1 * y / x):
        with pytest.raises(TypeError, match="unsupported operand"):
            operation()
    with pytest.raises(ModelError, match="symbol 'y' has no value; give it a number"):
        (x + y)({"x": 1.0})
