import numpy as np
import pytest

from sparsebody.tree.loops.jets import Jet, differentiate

FUNCTIONS = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    "arctan": np.arctan,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "reciprocal": np.reciprocal,
    "square": np.square,
    "cube": lambda x: x**3,
    "root": lambda x: x**-0.5,
    "power": lambda x: x**x,
    "base": lambda x: 2.0**x,
    "quotient": lambda x: (1.0 - x) / (3.0 + x) - x / 2.0 + 1.0 / x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_elementary_functions_are_those_of_complex_steps(name):
    function, h = FUNCTIONS[name], 1e-20
    for x in (0.3, 0.8):
        value, slope, second = differentiate(lambda y: [function(y[0])], np.array([x]), [1.0])
        assert value[0] == pytest.approx(function(x), rel=1e-14)
        assert slope[0, 0] == pytest.approx(function(x + 1j * h).imag / h, rel=1e-13)
        circle = np.exp(1j * np.pi * (np.arange(32) + 0.5) / 16)  # Cauchy's formula
        points = function(x + 0.1 * circle)
        assert second[0] == pytest.approx(np.mean(2.0 * points / (0.1 * circle) ** 2).real, 1e-10)


def test_angles_of_points_are_differentiated_in_every_quadrant():
    for turn in np.linspace(-3.0, 3.0, 7):
        y, rate, bend = np.array([2.0, turn]), np.array([0.3, -0.7]), np.array([0.1, 0.4])

        def point(y):
            x = y[0] * np.array([np.cos(y[1]), np.sin(y[1])])
            return [np.hypot(x[0], x[1]), np.arctan2(x[1], x[0])]

        value, slope, second = differentiate(point, y, rate, bend)
        np.testing.assert_allclose(value, y, rtol=1e-14)
        np.testing.assert_allclose(slope, np.eye(2), atol=1e-14)
        np.testing.assert_allclose(second, bend, atol=1e-14)


def test_arrays_go_through_products_and_norms():
    A = np.array([[1.0, 2.0], [3.0, -1.0]])
    y, rate = np.array([0.4, -0.3]), np.array([1.0, 2.0])
    value, slope, second = differentiate(
        lambda y: [*(A @ y), y @ A @ y, np.linalg.norm(y), 7.0, abs(y[1]), max(y)], y, rate
    )
    length = np.linalg.norm(y)
    np.testing.assert_allclose(value, [*(A @ y), y @ A @ y, length, 7.0, 0.3, 0.4])
    expected = [*A, (A + A.T) @ y, y / length, [0, 0], [0, -1], [1, 0]]
    np.testing.assert_allclose(slope, expected, atol=1e-15)
    across = rate @ rate / length - (rate @ y) ** 2 / length**3
    np.testing.assert_allclose(second, [0, 0, rate @ (A + A.T) @ rate, across, 0, 0, 0], atol=1e-13)


def test_jets_are_compared_by_value_and_shown_with_derivatives():
    x = Jet(1.0, np.array([1.0]), 0.0)
    assert x < 2.0
    assert x <= 1.0
    assert x > 0.5
    assert x >= 1.0
    assert (+x).conjugate() is x
    assert repr(x) == "Jet(1.0, array([1.]), 0.0)"
