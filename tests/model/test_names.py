import numpy as np
import pytest

from sparsebody.errors import ModelError
from sparsebody.model.names import Names, interleaved, numbered

MANY = 768


def names_of(*parts):
    names = Names()
    for part in parts:
        assert names.clash(part) is None
        names.extend(part)
    return names


CASES = {
    "words": ["a", "b", "world 2", "bar 07"],
    "numbered": numbered("bar-{}", range(MANY)),
    "backwards": numbered("bar-{}", range(MANY)[::-1]),
    "shuffled": numbered("bar {} end", np.random.default_rng(0).permutation(MANY) * 7),
    "grid": numbered("cube-{}-{}", np.repeat(range(20), 20), np.tile(range(20), 20)),
    "interleaved": interleaved(
        numbered("left-{}", range(MANY)), numbered("right-{}-{}", range(MANY), 3)
    ),
}


@pytest.mark.parametrize("part", CASES.values(), ids=CASES)
def test_every_name_leads_back_to_its_place(part):
    names = names_of(["first"], part, ["last"])
    words = ["first", *part, "last"]
    assert list(names) == words
    assert len(names) == len(words)
    assert [names[i] for i in range(len(words))] == words
    assert [names.find(word) for word in words] == list(range(len(words)))
    assert names.find_all(words[::-1]).tolist() == list(range(len(words)))[::-1]
    assert (names[-1], names[1:3]) == ("last", tuple(words[1:3]))
    assert names == tuple(words)
    assert hash(names) == hash(tuple(words))
    assert repr(names) == repr(tuple(words))


@pytest.mark.parametrize(
    "word",
    ["", "bar", "bar-", "bar-03", "bar--1", "bar-768", "bar-1-1", "xbar-1", "bar-" + "9" * 40],
)
def test_what_is_no_name_is_not_found(word):
    names = names_of(CASES["numbered"])
    assert names.find(word) == -1
    assert word not in names
    assert names.find_all([word, "bar-1"]).tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("here", "new", "twice"),
    [
        (["a", "b"], ["c", "b"], "b"),
        ([], ["c", "d", "c"], "c"),
        (["bar-5"], CASES["numbered"], "bar-5"),
        (CASES["numbered"], ["x", "bar-5"], "bar-5"),
        (CASES["numbered"], numbered("bar-{}", np.arange(MANY) + MANY - 1), f"bar-{MANY - 1}"),
        (CASES["grid"], numbered("cube-3-{}", np.arange(19, 19 + MANY)), "cube-3-19"),
        ([], numbered("bar-{}", [*range(MANY), 8]), "bar-8"),
        ([], interleaved(CASES["numbered"], CASES["backwards"]), None),
        (["bar-05"], CASES["numbered"], None),
        (numbered("a{}-1", range(MANY)), numbered("a2-{}", range(MANY)), "a2-1"),
        (numbered("a{}", range(MANY)), numbered("a1{}", range(MANY)), "a10"),
        (numbered("a{}-1", range(MANY)), numbered("a{}-2", range(MANY)), None),
        ([], interleaved(numbered("a{}-1", range(MANY)), numbered("a2-{}", range(MANY))), "a2-1"),
        (CASES["numbered"], numbered("bar-{}-{}", range(MANY), 1), None),
        (CASES["numbered"], numbered("rod-{}", range(MANY)), None),
        (CASES["numbered"], numbered("bar-{}", np.arange(MANY) + MANY), None),
    ],
)
def test_a_name_that_is_taken_is_told(here, new, twice):
    names = names_of(here)
    clash = names.clash(new)
    words = [*here, *new]
    if len(set(words)) == len(words):
        assert clash is twice is None
    else:
        assert words.count(clash) > 1
        assert clash == twice or twice is None


def test_a_snapshot_does_not_grow():
    names = names_of(["a"], CASES["grid"])
    before = names.snapshot()
    names.extend(["b"])
    names.extend(["c"])
    assert (len(before), len(names)) == (401, 403)
    assert (before.find("b"), names.find("b")) == (-1, 401)
    assert before.find_all(["b", "a"]).tolist() == [-1, 0]
    assert before == ("a", *CASES["grid"])
    with pytest.raises(IndexError, match="there are 401 names, and none has number 401"):
        before[401]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bar", [1]), r"names 'bar': give a template with fields \{\}"),
        (("bar-{}-{}", [1]), r"one for each of the 2 fields \{\}, not 1-D int64"),
        (("{}-{x}", [1]), r"names '\{\}-\{x\}': give a template"),
        (("bar-{}", [0.5]), r"names 'bar-\{\}': give .* whole numbers, .* not 1-D float64"),
    ],
)
def test_a_template_that_is_none_is_refused(arguments, message):
    with pytest.raises(ModelError, match=message):
        numbered(*arguments)
