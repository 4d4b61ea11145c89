import sys

import numpy as np
import pytest

from sparsebody.classical import ALGORITHMS
from sparsebody.classical.operators import SpatialOperators
from sparsebody.classical.six_revolute import (
    sine_torques,
    six_revolute_arm,
    six_revolute_symbols,
)
from sparsebody.errors import MissingDependencyError, ModelError, UnknownNameError

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
    return [[str(x).replace("**", "^").replace("*", "") for x in row] for row in matrix.tolist()]


def printed(text):
    return [line.split() for line in text.strip().splitlines()]


def test_the_printed_operators_are_reproduced_symbol_for_symbol():
    operators = six_revolute_symbols(straight=True)
    assert written(operators.masses[1]) == printed(MASS_2)
    assert written(operators.eps[6:12, :6]) == printed(PHI_2)


def test_operators_in_symbols_are_those_in_numbers():
    rng = np.random.default_rng(0)
    q, length, mass = rng.normal(size=6), 0.7, 1.3
    values = [length] * 6 + [mass] * 6 + [*np.cos(q[::-1]), *np.sin(q[::-1])]
    symbols = six_revolute_symbols()
    zero = symbols.links.mass[0] * 0

    def value(polynomial):
        terms = (zero + polynomial).terms()
        return sum(float(c) * np.prod(np.power(values, powers)) for powers, c in terms)

    numbers = SpatialOperators.of(six_revolute_arm("points", length, mass), q)
    for name in ("phi", "M", "H", "B"):
        result = [value(x) for x in getattr(symbols, name).ravel()]
        np.testing.assert_allclose(result, getattr(numbers, name).ravel(), atol=1e-13)
    assert str(symbols.mass_matrix()[-1, -1]) == "L0**2*m(1)"


def test_without_sympy_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sparsebody\[classical\]'"):
        six_revolute_symbols()


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
