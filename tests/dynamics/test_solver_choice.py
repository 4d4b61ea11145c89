"""The pair of ordering and factorization with the least predicted time."""

import pytest

import sparsebody as sb
import sparsebody.dynamics.preparation as choice_module
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.dynamics.preparation import choose_solver
from sparsebody.factorization import available_factorizations
from sparsebody.sparse.pattern import sampled


def pattern_of(name, **parameters):
    return kkt_structure(sb.build(name, **parameters).compile()).pattern


@pytest.mark.parametrize(
    "pattern", [pattern_of("ladder", rungs=30), pattern_of("pendulum")], ids=["ladder", "pendulum"]
)
def test_the_automatic_pair_has_the_least_predicted_time(pattern):
    choice = choose_solver(pattern, "auto", "auto")
    taken = choice.seconds[choice.ordering][choice.factorization]
    assert taken == min(min(times.values()) for times in choice.seconds.values())
    assert len(choice.seconds) > 1
    assert set(choice.metrics) == set(choice.seconds)
    explanation = choice.explain()
    assert explanation["ordering"] == choice.ordering
    assert choice.factorization in str(explanation["why"])
    assert explanation["predictions"] == {k: dict(v) for k, v in choice.seconds.items()}
    assert choose_solver(pattern, "auto", "banded").factorization == "banded"
    assert choose_solver(pattern, "reverse-cuthill-mckee", "auto").ordering != "natural"


@pytest.mark.parametrize("factorization", available_factorizations())
def test_a_named_pair_is_taken_unasked(factorization):
    choice = choose_solver(pattern_of("ladder", rungs=3), "natural", factorization)
    assert (choice.ordering, choice.factorization) == ("natural", factorization)
    assert list(choice.seconds) == ["natural"]
    assert list(choice.seconds["natural"]) == [factorization]


@pytest.mark.parametrize(
    ("name", "size"), [("ladder", {"rungs": 3000}), ("chain", {"bodies": 6000})], ids=str
)
def test_what_is_chosen_on_samples_is_as_good_as_the_best_of_all(name, size, monkeypatch):
    pattern = pattern_of(name, **size)
    result = choose_solver(pattern, "auto", "auto")
    assert len(result.seconds) == 1
    monkeypatch.setattr(choice_module, "LARGE", 10**9)
    best = choose_solver(pattern, "auto", "auto")
    assert best.factorization == result.factorization == "block-ldl"
    seconds = result.seconds[result.ordering]["block-ldl"]
    assert seconds <= choice_module.NEARLY * best.seconds[best.ordering]["block-ldl"]


def test_where_fill_in_grows_with_the_size_all_orderings_are_tried(monkeypatch):
    pattern = pattern_of("lattice", rows=20, columns=20)
    monkeypatch.setattr(choice_module, "LARGE", 1)
    monkeypatch.setattr(choice_module, "sampled", lambda pattern: sampled(pattern, 2, 20))
    pruned = choose_solver(pattern, "auto", "auto")
    assert len(pruned.seconds) > 1
    monkeypatch.undo()
    best = choose_solver(pattern, "auto", "auto")
    assert pruned.ordering == best.ordering
