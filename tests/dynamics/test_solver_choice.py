"""The pair of ordering and factorization with the least predicted time."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import sparsebody as sb
import sparsebody.dynamics.preparation as choice_module
from sparsebody import factorization, ranks
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.dynamics.preparation import choose_solver
from sparsebody.equations import memoized
from sparsebody.errors import MemoryLimitError
from sparsebody.factorization import available_factorizations
from sparsebody.ordering import order
from sparsebody.sparse.pattern import sampled


def pattern_of(name, **parameters):
    return kkt_structure(sb.build(name, **parameters).compile()).pattern


@pytest.fixture
def chosen_anew(monkeypatch):
    """Nothing is memoized: what is patched changes choices."""
    monkeypatch.setattr(memoized, "MOST_ROWS", 0)


def test_the_choice_for_an_equal_pattern_is_remembered_until_a_table_changes(monkeypatch):
    first, again = (choose_solver(pattern_of("scissor", pairs=3), "auto", "auto") for _ in "12")
    assert again is first
    monkeypatch.setattr(memoized, "MOST_ROWS", 0)
    anew = choose_solver(pattern_of("scissor", pairs=3), "auto", "auto")
    assert (anew.explain(), anew.work) == (first.explain(), first.work)
    np.testing.assert_array_equal(anew.order, first.order)
    monkeypatch.undo()
    slow = replace(
        factorization.FACTORIZATIONS[first.factorization],
        cost=factorization.Cost(1.0, 0.0, 0.0, 0.0),
    )
    monkeypatch.setitem(factorization.FACTORIZATIONS, first.factorization, slow)
    other = choose_solver(pattern_of("scissor", pairs=3), "auto", "auto")
    assert other.factorization != first.factorization


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


@pytest.mark.parametrize("name", available_factorizations())
def test_a_named_pair_is_taken_unasked(name):
    choice = choose_solver(pattern_of("ladder", rungs=3), "natural", name)
    assert (choice.ordering, choice.factorization) == ("natural", name)
    assert list(choice.seconds) == ["natural"]
    assert list(choice.seconds["natural"]) == [name]


@pytest.mark.parametrize(
    ("name", "size"), [("ladder", {"rungs": 3000}), ("chain", {"bodies": 6000})], ids=str
)
def test_what_is_chosen_on_samples_is_as_good_as_the_best_of_all(name, size, monkeypatch):
    pattern = pattern_of(name, **size)
    result = choose_solver(pattern, "auto", "auto")
    assert len(result.seconds) == 1
    monkeypatch.setattr(choice_module, "LARGE_PATTERN", 10**9)
    best = choose_solver(pattern, "auto", "auto")
    assert best.factorization == result.factorization == "block-ldl"
    seconds = result.seconds[result.ordering]["block-ldl"]
    assert seconds <= choice_module.NEARLY * best.seconds[best.ordering]["block-ldl"]


def test_where_fill_in_grows_with_the_size_all_orderings_are_tried(monkeypatch):
    pattern = pattern_of("lattice", rows=20, columns=20)
    monkeypatch.setattr(choice_module, "LARGE_PATTERN", 1)
    monkeypatch.setattr(choice_module, "sampled", lambda pattern: sampled(pattern, 2, 20))
    pruned = choose_solver(pattern, "auto", "auto")
    assert len(pruned.seconds) > 1
    monkeypatch.undo()
    best = choose_solver(pattern, "auto", "auto")
    assert pruned.ordering == best.ordering


@pytest.mark.usefixtures("chosen_anew")
def test_where_a_solution_takes_long_orderings_that_take_long_are_tried(monkeypatch):
    pattern = pattern_of("lattice", rows=12, columns=12)
    quick = ["natural", "reverse-cuthill-mckee"]
    monkeypatch.setattr(
        choice_module,
        "candidate_orderings",
        lambda pattern, seconds=0.0: [*quick, "nested-dissection"] if seconds > 0.0 else quick,
    )
    assert choose_solver(pattern, "auto", "auto").ordering in quick
    monkeypatch.setattr(choice_module, "LONGEST_ORDERING", 0.0)
    assert choose_solver(pattern, "auto", "auto").ordering == "nested-dissection"


@pytest.mark.usefixtures("chosen_anew")
def test_what_does_not_fit_into_memory_is_not_chosen_and_an_error_where_nothing_fits(monkeypatch):
    pattern = pattern_of("lattice", rows=12, columns=12)
    nnz = {name: one.nnz_l for name, one in choose_solver(pattern, "auto", "auto").metrics.items()}
    monkeypatch.setattr(factorization, "LARGE_FACTORS", 0.0)
    free = factorization.FACTORIZATIONS["multifrontal"].cost.bytes * 1.01 * min(nnz.values()) / 1e6
    monkeypatch.setattr(factorization.mumps, "available_megabytes", lambda: free)
    fits = choose_solver(pattern, "auto", "multifrontal")
    assert nnz[fits.ordering] <= 1.01 * min(nnz.values())
    monkeypatch.setattr(factorization.mumps, "available_megabytes", lambda: 0.01)
    message = r"factors need at least 0\.0 GB, but 0\.0 GB are available: use a machine with more"
    for named in ("auto", "multifrontal"):
        with pytest.raises(MemoryLimitError, match=message):
            choose_solver(pattern, "auto", named)


def test_where_memory_lacks_with_all_rows_the_remedies_are_those_that_keep_them(monkeypatch):
    cube = sb.build("lattice", rows=6, columns=6, layers=6).compile()
    iterative = sb.ForwardDynamics(cube, factorization="iterative").explain()["predicted_megabytes"]
    monkeypatch.setattr(factorization, "LARGE_FACTORS", 0.0)

    def refusal(megabytes, **options):
        monkeypatch.setattr(factorization.mumps, "available_megabytes", lambda: megabytes)
        with pytest.raises(MemoryLimitError) as refused:
            sb.ForwardDynamics(cube, **options)
        return str(refused.value)

    named = {"redundancy": "krylov", "factorization": "multifrontal", "ordering": "random"}
    assert "use factorization='iterative', which" in refusal(1.01 * iterative, **named)
    none_fits = refusal(1.0, redundancy="krylov")
    assert "use redundancy='keep', factorization='mumps' under mpiexec" in none_fits


def test_ranks_that_share_work_take_mumps_where_the_memory_of_one_does_not_do(monkeypatch):
    pattern = pattern_of("lattice", rows=12, columns=12)
    case = factorization.Case(pattern, order(pattern, "nested-dissection"))
    world = SimpleNamespace(allgather=lambda value: [value])
    monkeypatch.setattr(ranks, "communicator", lambda: world)
    monkeypatch.setattr(ranks, "n_ranks", lambda: 4)
    monkeypatch.setattr(ranks, "n_local_ranks", lambda: 1)
    monkeypatch.setattr(factorization, "is_available", lambda name: True)
    monkeypatch.setattr(factorization, "LARGE_FACTORS", 0.0)

    def chosen(megabytes):
        monkeypatch.setattr(factorization.mumps, "available_megabytes", lambda: megabytes)
        return choose_solver(pattern, "nested-dissection", "auto")

    each = factorization.predict("mumps", case, 4).bytes
    monkeypatch.setattr(ranks, "share_work", lambda: True)
    assert chosen(1e3).factorization != "mumps"  # slower on a sheet
    choice = chosen(1.01e-6 * each)
    assert choice.factorization == "mumps"
    assert choice.explain(threads=2)["predicted_megabytes"] == 1e-6 * each
    assert "by 4 ranks" in choice.explain()["why"]
    monkeypatch.setattr(ranks, "share_work", lambda: False)  # others may do something else
    with pytest.raises(MemoryLimitError, match=r"use factorization='mumps' under mpiexec -n 4"):
        chosen(1.01e-6 * each)
