from pathlib import Path

import pytest

from sparsebody.errors import StudyError
from sparsebody.ordering import available_orderings
from sparsebody.study.plan import Series, read_study, study_of

ROOT = Path(__file__).parents[2]
FILES = [*sorted(ROOT.glob("examples/studies/*.toml")), *sorted(ROOT.glob("benchmarks/*.toml"))]
FILES.remove(ROOT / "benchmarks" / "mechanisms.toml")  # the base of others
GOOD = """
[families.chain]
mechanism = "chain"
[families.ladder]
mechanism = "ladder"
[peers.mine]
function = "json:loads"
[[runs]]
sizes = [4]
"""


def study(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return read_study(path)


def test_a_run_is_the_product_of_its_lists_small_cases_first(tmp_path):
    lists = "[8, 4]\nseeds = [0, 1]\nmethods = ['sparse', 'aba']\npeers = ['mine']"
    plan = study(tmp_path, GOOD.replace("[4]", lists))
    assert plan.title == "mine"
    assert [case.size for case in plan.cases] == 10 * [4] + 10 * [8]
    assert {case.series for case in plan.cases if case.size == 4 and case.series.seed == 1} == {
        Series("chain", "sparse", "auto", "auto", "", 1),
        Series("chain", "aba", "", "", "", 1),
        Series("chain", "peer", "", "", "mine", 1),
        Series("ladder", "sparse", "auto", "auto", "", 1),
        Series("ladder", "peer", "", "", "mine", 1),
    }


def test_all_stands_for_what_is_installed_and_the_same_case_counts_once(tmp_path):
    run = "[[runs]]\nfamilies = ['chain']\nsizes = [4]\norderings = ['all', 'natural', 'auto']\n"
    plan = study(tmp_path, GOOD + run)
    orderings = [case.series.ordering for case in plan.cases if case.series.family == "chain"]
    assert sorted(orderings) == sorted(["auto", *available_orderings()])


def test_the_largest_sizes_of_methods_factorizations_and_orderings_are_kept_to(tmp_path):
    run = "[[runs]]\nsizes = [8, 16, 80]\nmethods = ['sparse', 'aba']\nfactorizations = ['dense']\n"
    run += "[[runs]]\nsizes = [16, 80]\norderings = ['random', 'exact-treewidth', 'natural']\n"
    plan = study(tmp_path, GOOD + run + "[largest]\ndense = 8\naba = 8\nrandom = 16\n")
    cases = [(case.series, case.size) for case in plan.cases]
    for size in (16, 80):  # others of these are smaller
        of_size = [series for series, n in cases if n == size]
        assert {(series.method, series.factorization) for series in of_size} == {("sparse", "auto")}
    sizes = {(series.ordering, n) for series, n in cases}
    assert ("exact-treewidth", 16) in sizes
    assert {name for name, size in sizes if size == 80} == {"natural"}


def test_runs_may_have_limits_of_their_own_which_others_from_outside_replace(tmp_path):
    run = "[[runs]]\nsizes = [16]\ntime_limit = 5.0\n"
    plan = study(tmp_path, "time_limit = 3.0\n" + GOOD + run)
    limits = {case.size: plan.time_limit(case) for case in plan.cases}
    assert limits == {4: 3.0, 16: 5.0}
    other = plan.limited(7.0, 90.0)
    assert {other.time_limit(case) for case in study_of(other.document).cases} == {7.0}
    assert {other.time_limit(case) for case in other.cases} == {7.0}
    assert study_of(other.document).settings.memory_limit == 90.0
    kept = plan.limited(None, 90.0)
    assert {kept.time_limit(case) for case in kept.cases} == {3.0, 5.0}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_examples_and_benchmarks_make_sense(path):
    assert len(read_study(path).cases) > 10


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[runs]]", "[runs", "not TOML"),
        ("sizes = [4]", "", r"runs\[0\]: 'sizes' is a required property; add it"),
        ("sizes = [4]", "sizes = [0]", r"runs\[0\].sizes\[0\]: 0 is less than the minimum of 1"),
        ("sizes = [4]", "sizes = [4]\nsize = 3", "the entries are families, sizes, time_limit"),
        ("sizes = [4]", "sizes = [4]\nmethods = ['abba']", "there is no 'abba'; there are sparse"),
        ("sizes = [4]", "sizes = [4]\norderings = ['best']", "there is no 'best'; there are auto"),
        ("sizes = [4]", "sizes = [4]\nfactorizations = ['x']", r"runs\[0\].factorizations"),
        ("sizes = [4]", "sizes = [4]\npeers = ['his']", "there is no 'his'; there are mine"),
        ("sizes = [4]", "sizes = [4]\nfamilies = ['x']", "there is no 'x'; there are chain"),
        ("sizes = [4]", "sizes = [4]\n[largest]\nfast = 3", "largest: there is no 'fast'"),
        ('"ladder"', '"lader"', "families.ladder.mechanism: there is no 'lader'; there are"),
        ('"ladder"', '"ladder"\nmotion = "fast"', "motion: 'fast' does not match"),
        ('"ladder"', '"ladder"\nparameters = { rails = 3 }', "has no parameter 'rails'"),
        ('"json:loads"', '"json.loads"', "write it as module:function"),
        ('"json:loads"', '"jason:loads"', "there is no module 'jason'; `paths` lists"),
        ('"ladder"', '"ladder"\nmotion = "x:y"', r"families.ladder.motion: there is no module 'x'"),
        ("[peers.mine]", "[reference]\nfunction = 'x:y'\n[peers.mine]", "no module 'x'"),
    ],
)
def test_what_makes_no_sense_is_named_before_anything_runs(tmp_path, old, new, message):
    with pytest.raises(StudyError, match=message) as caught:
        study(tmp_path, GOOD.replace(old, new))
    assert str(caught.value).startswith(str(tmp_path / "mine.toml"))


def test_a_file_that_is_not_there_and_a_module_that_is_not_there_are_named(tmp_path):
    with pytest.raises(StudyError, match="cannot be read: No such file"):
        read_study(tmp_path / "none.toml")
    with pytest.raises(StudyError, match="modules: No module named 'no_such_orderings'"):
        study(tmp_path, 'modules = ["no_such_orderings"]\n' + GOOD)


def test_modules_are_imported_from_the_paths_beside_the_file(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "registers_one.py").write_text("is_here = True\n")
    plan = study(tmp_path, 'paths = ["code"]\nmodules = ["registers_one"]\n' + GOOD)
    assert plan.paths == (str(tmp_path / "code"),)
