import numpy as np
import pytest
from hypothesis import given
from patterns import ladder, pattern_of, patterns, shuffled

from sparsebody.errors import MissingDependencyError, UnknownNameError
from sparsebody.ordering import ORDERINGS, available_orderings, is_admissible, order
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.pattern import check_order


def parameters():
    marks = {"sksparse": [pytest.mark.cholmod], None: []}
    return [pytest.param(name, marks=marks[entry.needs]) for name, entry in ORDERINGS.items()]


@pytest.mark.parametrize("name", parameters())
@given(pattern=patterns())
def test_every_ordering_lists_every_block_once_and_keeps_its_promise(name, pattern):
    found = order(pattern, name)
    assert found.dtype == np.intp
    check_order(pattern, found)
    assert is_admissible(pattern, found) or not ORDERINGS[name].admissible


@pytest.mark.parametrize("name", parameters())
def test_every_ordering_gives_the_same_order_twice(name):
    pattern = shuffled(ladder(10), seed=0)
    np.testing.assert_array_equal(order(pattern, name), order(pattern, name))


@pytest.mark.parametrize("name", parameters())
def test_every_ordering_takes_a_mechanism_without_bodies(name):
    assert len(order(pattern_of([], 0), name)) == 0


NUMBERED = {"natural", "random"}  # those that look at the numbers of the blocks


@pytest.mark.parametrize("name", [p for p in parameters() if p.values[0] not in NUMBERED])
def test_numbering_does_not_change_the_cost_of_a_ladder(name):
    n_rungs = 100 if ORDERINGS[name].microseconds < 10_000 else 10
    costs = []
    for seed in range(3):
        pattern = shuffled(ladder(n_rungs), seed)
        costs.append(ordering_metrics(pattern, order(pattern, name)).flops)
    assert max(costs) < 1.2 * min(costs)


def test_an_unknown_name_is_answered_with_the_names_there_are():
    with pytest.raises(UnknownNameError, match=r"no ordering 'amd'.*natural.*level-sweep"):
        order(ladder(2), "amd")


def test_a_missing_package_is_answered_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr("sparsebody.ordering.entry.find_spec", lambda package: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sparsebody\[cholmod\]'"):
        order(ladder(2), "cholmod-amd")
    assert "cholmod-amd" not in available_orderings()
    assert "minimum-degree" in available_orderings()


def test_every_ordering_says_in_a_few_words_what_it_does():
    for entry in ORDERINGS.values():
        assert 10 < len(entry.summary) < 72
