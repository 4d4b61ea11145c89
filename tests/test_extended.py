"""Arithmetic of 31 digits against fractions; accelerations with it against closed forms."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from linkages import in_motion

import sparsebody as sb
from benchmarks.cases import problem
from benchmarks.doubled import EPS, Doubled
from benchmarks.oracle import extended_reference, scissor_accelerations

DIGITS = 1e-28


def fractions(x):
    return [
        Fraction(float(high)) + Fraction(float(low))
        for high, low in zip(x.high.ravel(), x.low.ravel(), strict=True)
    ]


def random_numbers(seed):
    rng = np.random.default_rng(seed)
    high = rng.normal(size=200) * 10.0 ** rng.uniform(-8, 8, 200)
    return Doubled(high) + high * rng.uniform(-1e-17, 1e-17, 200)


@pytest.mark.parametrize("operation", ["+", "-", "*", "/"])
def test_operations_round_at_the_31st_digit(operation):
    a, b = random_numbers(1), random_numbers(2)
    result = {"+": a + b, "-": a - b, "*": a * b, "/": a / b}[operation]
    for x, y, z in zip(fractions(a), fractions(b), fractions(result), strict=True):
        exact = {"+": x + y, "-": x - y, "*": x * y, "/": x / y}[operation]
        scale = abs(x) + abs(y) if operation in "+-" else abs(exact)
        assert abs(z - exact) <= 4 * Fraction(EPS) * scale


def test_roots_are_as_accurate():
    a = random_numbers(3)
    a = a * a
    for x, z in zip(fractions(a), fractions(a.root()), strict=True):
        exact = Fraction(isqrt(int(x * 2**400)), 2**200)
        assert abs(z - exact) <= 8 * Fraction(EPS) * exact


def relative(result, exact):
    return (result - exact).largest() / exact.largest()


@pytest.mark.parametrize("pairs", [1, 3, 50, 400])
def test_a_scissor_moves_as_its_one_equation_says_to_28_digits(pairs):
    lift = problem("scissor", 2 * pairs)
    result = extended_reference(lift.system, lift.state)
    exact = scissor_accelerations(lift.system, lift.state, *result.exact[:2])
    assert relative(result.exact[2], exact) < DIGITS * max(1.0, (pairs / 50) ** 2)
    assert result.closure < 1e-29 * pairs
    assert result.violation < 1e-30 * pairs


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("rotating-squares", {"rows": 6, "columns": 6}), ("n-four-bar", {"loops": 12})],
)
def test_rows_left_out_hold_to_as_many_digits(name, parameters):
    system = sb.build(name, gravity=(1.0, -2.0, 3.0), **parameters).compile()
    result = extended_reference(system, in_motion(system, seed=1))
    assert max(result.closure, result.violation, result.imbalance) < DIGITS


def test_a_row_too_few_is_betrayed_by_a_violation():
    lift = problem("scissor", 6)
    exact = extended_reference(lift.system, lift.state)
    assert exact.violation < DIGITS
    is_middle = np.char.startswith(lift.system.joint_names, "middle")[lift.system.row_joint]
    assert extended_reference(lift.system, lift.state, is_middle).violation > 1e-3


def test_what_the_reference_does_not_know_is_refused():
    system = sb.build("scissor", drive=True).compile()
    with pytest.raises(ValueError, match="no reference with forces or drives"):
        extended_reference(system, system.initial_state)
