"""When two methods are enough, and what is said where they are not."""

import numpy as np
import pytest
from linkages import matrix_at_start
from random_saddles import scissor

import sparsebody.sparse.rank as rank_module
from sparsebody.model.gallery import build
from sparsebody.sparse.rank import independent_rows
from sparsebody.sparse.rank.row_choices import (
    FRONTAL,
    HALVES,
    PIVOTED,
    SWEPT,
    RowChoice,
    agree,
    doubt_about,
    generic_rank,
    narrow_choices,
)

KEEP = np.array([True, True, False])


def choice(least=0.1, dropped=1e-15, method=FRONTAL, keep=KEEP):
    return RowChoice(keep, least / dropped, method, least, dropped)


@pytest.mark.parametrize(
    ("least", "dropped", "method", "doubt"),
    [
        (0.1, 1e-15, FRONTAL, ""),
        (0.1, 1e-11, FRONTAL, "nearly singular: a row that was left out is 1e-11 off zero"),
        (1e-4, 1e-11, FRONTAL, ""),  # errors grow with the inverse of what was kept
        (1e-4, 1e-11, PIVOTED, "nearly singular: a row that was left out is 1e-11 off zero"),
        (3e-8, 1e-15, FRONTAL, "nearly singular: a row that was kept is only 3e-08 off the others"),
    ],
)
def test_remainders_between_rounding_and_zero_are_in_doubt(least, dropped, method, doubt):
    assert doubt_about(choice(least, dropped, method)) == doubt


def test_two_methods_agree_if_both_are_clear_and_keep_as_many_rows():
    assert agree(choice(), choice(method=HALVES))
    assert not agree(choice(), choice())
    assert not agree(choice(), choice(method=HALVES, keep=~KEEP))
    assert not agree(choice(), choice(least=1e-9, method=HALVES))
    assert agree(choice(), RowChoice(KEEP, 30.0, SWEPT))
    assert not agree(choice(), RowChoice(KEEP, 3.0, SWEPT))


def test_the_pebble_game_is_a_second_method_where_nothing_is_special(monkeypatch):
    monkeypatch.setattr(
        rank_module, "narrow_choices", lambda *arguments: [next(iter(narrow_choices(*arguments)))]
    )
    decision = independent_rows(matrix_at_start(build("ladder", rungs=150).compile()))
    assert decision.is_regular
    assert "pebble game" in decision.method
    decision = independent_rows(scissor(200, np.random.default_rng(0)))
    assert decision.n_dependent == 3 * 199
    assert "pebble game" not in decision.method


def test_bodies_of_different_freedoms_have_no_generic_rank():
    pattern = matrix_at_start(build("ladder", rungs=3).compile()).pattern
    assert generic_rank(pattern) == 27
    sizes = pattern.block_sizes.copy()
    sizes[0] = 3
    assert generic_rank(type(pattern)(sizes, pattern.ends)) == -1
