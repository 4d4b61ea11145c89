import math

import numpy as np
import pytest
from scipy.optimize import curve_fit

from sparsebody.study.fits import crossover, growth

SIZES = np.array([8.0, 32, 128, 512, 2048])


def test_a_power_law_is_found_exactly():
    fit = growth(SIZES, 3e-6 * SIZES**1.5)
    assert fit.exponent == pytest.approx(1.5)
    assert fit.constant == pytest.approx(3e-6)
    assert fit.low == pytest.approx(1.5)
    assert fit.spans_two_decades
    np.testing.assert_allclose(fit(SIZES), 3e-6 * SIZES**1.5)


def test_the_interval_is_that_of_another_least_squares_and_holds_the_truth_95_times_of_100():
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(400):
        y = SIZES**1.2 * np.exp(rng.normal(0.0, 0.2, len(SIZES)))
        fit = growth(SIZES, y)
        inside += fit.low <= 1.2 <= fit.high
    assert 0.92 * 400 < inside < 0.98 * 400
    _, covariance = curve_fit(lambda x, a, b: a + b * x, np.log(SIZES), np.log(y))
    t_3 = 3.182446  # 97.5 % quantile of Student's t with three degrees of freedom
    assert fit.high - fit.exponent == pytest.approx(t_3 * math.sqrt(covariance[1, 1]), rel=1e-5)


def test_small_sizes_and_what_was_not_measured_can_be_left_out():
    y = np.where(SIZES < 100, 1.0, SIZES)
    y[-1] = np.nan
    fit = growth(SIZES, y, smallest=100)
    assert (fit.exponent, fit.n_points, fit.largest) == pytest.approx((1.0, 2, 512))
    assert math.isnan(fit.low)
    assert not fit.spans_two_decades
    assert growth(SIZES[:1], y[:1]) is None


def test_a_crossover_of_two_power_laws_is_where_they_meet():
    own, other = ({n: y(n) for n in SIZES} for y in (lambda n: 10.0 * n, lambda n: 0.1 * n**2))
    fit = crossover(own, other)
    assert fit.size == pytest.approx(100.0)
    assert (fit.below, fit.above) == (32.0, 128.0)
    assert fit.ratio == pytest.approx(20.48)
    assert str(fit) == "100 (between 32 and 128)"
    assert str(crossover(other, own)) == "not up to 2048"
    assert str(crossover(own, {n: 2 * y for n, y in own.items()})) == "from the smallest on (8)"
    assert crossover(own, {9.0: 1.0}) is None


def test_only_a_lead_that_lasts_counts():
    own = dict.fromkeys((1.0, 10.0, 100.0, 1000.0), 1.0)
    other = {1.0: 2.0, 10.0: 2.0, 100.0: 0.5, 1000.0: 2.0}
    assert crossover(own, other).size == pytest.approx(10**2.5)
