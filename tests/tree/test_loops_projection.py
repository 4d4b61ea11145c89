import numpy as np
import pytest

from sparsebody.errors import ModelError, ShapeError
from sparsebody.tree.loops_projection import explicit_form

SHAPES = [(3, 5, 3), (6, 5, 3), (7, 7, 7), (8, 12, 5), (0, 4, 0), (4, 3, 0)]


def equations(m, n, r, seed=0):
    """K (m, n) of rank r, and k in its range."""
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(m, r)) @ rng.normal(size=(r, n))
    return K, K @ rng.normal(size=n)


@pytest.mark.parametrize(("m", "n", "r"), SHAPES)
def test_g_spans_the_null_space_and_the_independent_entries_are_y(m, n, r):
    K, k = equations(m, n, r)
    form = explicit_form(K, k)
    assert form.rank == r == len(form.rows)
    assert form.G.shape == (n, n - r)
    np.testing.assert_allclose(K @ form.G, 0.0, atol=1e-13)
    np.testing.assert_allclose(K @ form.g, k, atol=1e-13)
    np.testing.assert_array_equal(form.G[form.independent], np.eye(n - r))
    np.testing.assert_array_equal(form.g[form.independent], 0.0)
    assert sorted([*form.independent, *form.dependent]) == list(range(n))
    assert np.linalg.matrix_rank(K[np.ix_(form.rows, form.dependent)]) == r if r else True


def test_columns_that_are_masked_out_belong_to_y_and_change_nothing():
    K, k = equations(4, 6, 3)
    K[:, [1, 4]] = 0.0
    k = K @ np.ones(6)
    mask = np.abs(K).max(axis=0) > 0.0
    masked, full = explicit_form(K, k, mask=mask), explicit_form(K, k)
    assert {1, 4} <= set(masked.independent)
    np.testing.assert_allclose(masked.G, full.G, atol=1e-14)
    np.testing.assert_allclose(masked.g, full.g, atol=1e-14)


def test_independent_entries_can_be_chosen():
    K, k = equations(5, 7, 4)
    for given in ([0, 1, 2], [6, 3, 5], [4]):
        form = explicit_form(K, k, independent=given)
        assert set(given) <= set(form.independent)
        np.testing.assert_allclose(K @ form.G, 0.0, atol=1e-12)
        np.testing.assert_allclose(K @ form.g, k, atol=1e-12)


def test_entries_that_depend_cannot_be_chosen():
    K, k = equations(5, 7, 4)
    with pytest.raises(ModelError, match=r"\[0, 1, 2, 3\] of x are not independent"):
        explicit_form(K, k, independent=[0, 1, 2, 3])
    with pytest.raises(ShapeError, match=r"k must be \(5,\)"):
        explicit_form(K, k[:3])


def test_weights_take_units_out_of_the_rank_decision():
    K, k = equations(4, 6, 4)
    unit = np.array([1.0, 1e6, 1.0, 1e-6, 1.0, 1e9])  # of the entries of x
    size = np.array([1.0, 1e-9, 1e4, 1.0])  # of the rows
    form = explicit_form(K, k)
    scaled = explicit_form(size[:, None] * K / unit, size * k, weight=unit, row_size=size)
    np.testing.assert_array_equal(scaled.independent, form.independent)
    G = form.G * unit[:, None] / unit[form.independent]
    np.testing.assert_allclose(scaled.G, G, rtol=1e-10)
    assert explicit_form(size[:, None] * K / unit, size * k).rank < 4
