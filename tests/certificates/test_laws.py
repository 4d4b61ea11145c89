import numpy as np
import pytest

from sparsebody.certificates.laws import asymptotic, law, local_exponents, logarithmic_growth

N = 2.0 ** np.arange(4, 13)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (7 * N, "n"),
        (2 + N**1.5, "n^1.5"),
        (3 * np.sqrt(N), "sqrt(n)"),
        (0 * N + 5, "1"),
        (N ** (2 / 3), "n^(2/3)"),
        (N**1.2, "n^1.20"),
        (N**1.41, "n^1.41"),  # near 4/3, and surely another
    ],
)
def test_orders_of_growth_have_their_names(values, name):
    assert law(asymptotic(N, values)) == name


def test_a_doubtful_exponent_has_no_name():
    noise = np.exp(np.random.default_rng(1).normal(0.0, 0.3, len(N)))
    assert law(asymptotic(N, N * noise)).startswith("n^")


def test_local_exponents_are_those_of_each_step():
    np.testing.assert_allclose(local_exponents(N, N**1.5), 1.5)


def test_n_log_n_is_told_from_powers():
    logarithmic = logarithmic_growth(N, N * (4 + 3 * np.log2(N)))
    assert logarithmic.is_better
    assert (logarithmic.constant, logarithmic.slope) == pytest.approx((4.0, 3.0))
    assert not logarithmic_growth(N, N**1.15).is_better
    assert logarithmic_growth(N[:2], N[:2]) is None
