"""The predicted cost chooses what is known to be best."""

from functools import partial

import numpy as np
import pytest
from patterns import chain, lattice, pattern_of
from random_saddles import along

import sparsebody.factorization as auto
from sparsebody import factorization
from sparsebody.errors import ShapeError, UnknownNameError
from sparsebody.sparse.elimination_tree import repair

sheet = partial(lattice, joint_size=2)


def test_predictions_are_made_for_all_available_backends():
    pattern = chain(10)
    name, predicted = factorization.choose_factorization(pattern, along(pattern))
    unmeasured = {"mumps"}
    dearer = {"block-qr", "iterative"}  # than block-ldl, or multifrontal, at any size
    known = set(factorization.available_factorizations()) - dearer - unmeasured
    assert set(predicted) == known
    assert predicted[name] == min(predicted.values())
    with pytest.raises(UnknownNameError, match="factorization is 'qr'"):
        factorization.predict_seconds("qr", pattern, along(pattern))
    with pytest.raises(ShapeError, match="each of 20 blocks"):
        factorization.predict_seconds("superlu", pattern, np.arange(3))


@pytest.mark.parametrize(
    ("pattern", "name"),
    [*((chain(n), "block-ldl") for n in (1, 10, 100, 1000)), (sheet(100), "multifrontal")],
    ids=lambda value: str(getattr(value, "n_primal", value)),
)
def test_small_blocks_are_chosen_for_bounded_widths_and_wide_fronts_for_sheets(pattern, name):
    assert factorization.choose_factorization(pattern, along(pattern))[0] == name


STAR = pattern_of([(-1, 0), *((0, i) for i in range(1, 15_000))], 15_000)


@pytest.mark.parametrize(
    ("name", "pattern", "order"),
    [
        ("banded", chain(20_000), np.random.default_rng(0).permutation(40_000)),
        ("dense", chain(20_000), np.arange(40_000)),
        ("cholmod", STAR, np.roll(along(STAR), -2)),  # the hub comes last
        ("block-ldl", STAR, np.arange(STAR.n_blocks)),
        ("block-ldl", STAR, along(STAR)),  # the hub comes first
    ],
)
def test_what_would_fill_the_memory_is_never_chosen(name, pattern, order):
    assert factorization.predict_seconds(name, pattern, order) == np.inf


def test_an_order_is_priced_as_block_ldl_repairs_it():
    pattern = chain(20)
    joints_first = np.arange(pattern.n_blocks)[::-1].copy()
    repaired = repair(pattern, joints_first)
    price = factorization.predict_seconds("block-ldl", pattern, joints_first)
    assert price == factorization.predict_seconds("block-ldl", pattern, repaired)


def test_work_grows_with_the_mechanism():
    for name in factorization.FACTORIZATIONS:
        times = [
            factorization.predict_seconds(name, chain(n), along(chain(n))) for n in (5, 20, 80)
        ]
        assert times == sorted(times)


@pytest.mark.parametrize("name", ["multifrontal", "cholmod", "mumps"])
def test_threads_share_the_time_of_large_mechanisms_and_ranks_the_memory_too(name):
    case, small = (factorization.Case(p, along(p)) for p in (sheet(60), chain(3)))
    one, two, many = (factorization.predict(name, case, n) for n in (1, 2, 1000))
    assert 0.5 * one.seconds < two.seconds < 0.7 * one.seconds
    assert 0.0 < many.seconds < 0.4 * one.seconds
    assert (two.bytes < 0.7 * one.bytes) if name == "mumps" else (two.bytes == one.bytes)
    if name == "multifrontal":
        assert factorization.predict(name, small, 2) == factorization.predict(name, small)


@pytest.mark.cholmod
@pytest.mark.parametrize("pattern", [chain(30), sheet(6)], ids=["chain", "sheet"])
@pytest.mark.parametrize("name", ["cholmod", "superlu", "cholmod-ldl"])
def test_no_order_is_cheaper_than_the_lower_bound(name, pattern):
    rng = np.random.default_rng(0)
    orders = [along(pattern), *(rng.permutation(pattern.n_blocks) for _ in range(5))]
    for order in orders:
        bound = factorization.least_seconds(name, factorization.Case(pattern, order))
        assert 0.0 < bound <= factorization.predict_seconds(name, pattern, order)


@pytest.mark.cholmod
def test_ruling_a_backend_out_by_its_bound_does_not_change_the_choice(monkeypatch):
    for pattern in (chain(40), sheet(12), sheet(40)):
        order = along(pattern)
        chosen, predicted = factorization.choose_factorization(pattern, order)
        monkeypatch.setattr(auto, "LARGE_PATTERN", 1)
        assert factorization.choose_factorization(pattern, order)[0] == chosen
        bounded = factorization.choose_factorization(pattern, order)[1]
        assert bounded.pop("cholmod") <= predicted.pop("cholmod")
        assert bounded == predicted
        monkeypatch.undo()
