import csv
import json
import math
import multiprocessing
import os
import random
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

from sparsebody.errors import StudyError
from sparsebody.study.plan import read_study
from sparsebody.study.rows import COLUMNS, FILE, MEASURED, Journal, blank_row, read_results
from sparsebody.study.runner import CaseQueue, run_study

TESTS = Path(__file__).parents[1]
STUDY = """
batch_seconds = 1e-4
repeats = 2

[families.pendulums]
mechanism = "chain"

[families.ladder]
mechanism = "ladder"
parameters = { gravity = [1.3, -2.1, -9.493] }

[[runs]]
sizes = [2, 4]
methods = ["sparse", "aba"]
[[runs]]
sizes = [6]
orderings = ["natural", "minimum-degree"]
factorizations = ["block-ldl"]
"""
PEERS = f"""
batch_seconds = 1e-4
repeats = 2
time_limit = 5.0
memory_limit = 500.0
paths = [{str(TESTS)!r}]
[reference]
largest = 3
[families.chain]
mechanism = "chain"
[peers]
dense.function = "study_peers:dense"
slow.function = "study_peers:slow"
greedy.function = "study_peers:greedy"
dying.function = "study_peers:dying"
refusing.function = "study_peers:refusing"
missing.function = "study_peers:missing"
broken.function = "study_peers:broken"
[peers.of-loops]
function = "study_peers:dense"
graphs = "loops"
[[runs]]
sizes = [2, 3, 4]
peers = ["dense", "greedy", "dying", "refusing", "missing", "broken", "of-loops"]
[[runs]]
sizes = [2]
peers = ["slow"]
[[runs]]
sizes = [3, 4]
peers = ["slow"]
time_limit = 0.5
[largest]
dying = 3
"""


def written(folder, text):
    path = folder / "study.toml"
    path.write_text(text)
    return path


def ladders(folder, sizes):
    """The plan of a study of one family, without references."""
    head = STUDY.partition("[[runs]]")[0] + "[reference]\nlargest = 1\n[[runs]]\n"
    return read_study(written(folder, head + f"sizes = {sizes}\nfamilies = ['ladder']\n"))


def settled(path):
    """The rows as they stand in the file, without what differs from run to run."""
    with path.open(newline="") as file:
        return [
            [row[name] for name in COLUMNS if name not in MEASURED] for row in csv.DictReader(file)
        ]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    return run_study(read_study(written(folder, STUDY)), folder / "out", jobs=2)


@pytest.fixture(scope="module")
def troubled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("troubled")
    path = run_study(read_study(written(folder, PEERS)), folder / "out")
    return {(row["peer"], row["size"]): row for row in read_results(path)}


def test_every_case_has_its_row_with_times_and_an_error_against_the_reference(undisturbed):
    rows = read_results(undisturbed)
    assert len(rows) == 10  # of aba only the trees
    assert [row["size"] for row in rows] == 3 * [2] + 3 * [4] + 4 * [6]
    for row in rows:
        assert row["status"] == "ok", row["message"]
        assert 0.0 < row["seconds_min"] <= row["seconds_median"] < 1.0
        assert row["error"] < 1e-11
        assert row["kappa"] > 1.0
        assert row["n_bodies"] == row["size"]
        assert (row["nnz_l"] is not None) == (row["method"] == "sparse")


def test_a_study_killed_twice_ends_with_the_same_file_and_runs_nothing_twice(undisturbed, tmp_path):
    out = tmp_path / "out"
    study = read_study(written(tmp_path, STUDY))
    draw = random.Random(8)
    journal, before = out / FILE, b""
    for n_lines in (1, 6):
        process = multiprocessing.get_context("spawn").Process(target=run_study, args=(study, out))
        process.start()
        while process.is_alive():
            if journal.exists() and journal.read_bytes().count(b"\n") > n_lines:
                time.sleep(draw.uniform(0.0, 0.1))
                break
            time.sleep(0.02)
        assert process.is_alive()
        process.kill()
        process.join()
        after = journal.read_bytes()
        assert after.startswith(before)
        before = after[: after.rfind(b"\n") + 1]
    with journal.open("ab") as file:
        file.write(b'{"family": "pend')  # what a kill in the middle of a line leaves
    run_study(study, out)
    whole = journal.read_bytes()
    assert whole.startswith(before)
    assert whole.count(b"\n") == 1 + 10
    assert settled(out / "results.csv") == settled(undisturbed)
    assert settled(run_study(study, out)) == settled(undisturbed)
    assert journal.read_bytes() == whole


@pytest.mark.parametrize(
    ("peer", "size", "status", "message"),
    [
        ("slow", 2, "ok", ""),
        ("slow", 3, "timeout", "more than 0.5 s"),
        ("slow", 4, "skipped", "timeout with 3 bodies"),
        ("greedy", 3, "out-of-memory", "Unable to allocate"),
        ("greedy", 4, "skipped", "out-of-memory with 3 bodies"),
        ("dying", 2, "crashed", "the engine gave up"),
        ("refusing", 3, "unsupported", "this engine takes no chains"),
        ("missing", 3, "unavailable", "No module named 'engine'"),
        ("broken", 3, "failed", "this should not have happened"),
        ("broken", 4, "failed", "this should not have happened"),
    ],
)
def test_a_case_that_goes_wrong_is_a_row_that_says_how(troubled, peer, size, status, message):
    row = troubled[peer, size]
    assert row["status"] == status
    assert message in row["message"]


def test_engines_run_beside_our_methods_on_what_they_are_for(troubled):
    row = troubled["dense", 3]
    assert (row["method"], row["status"], row["detail"]) == ("peer", "ok", "dense")
    assert row["error"] < 1e-14
    assert math.isnan(troubled["dense", 4]["error"])  # beyond `largest`
    assert not any(peer == "of-loops" for peer, _ in troubled)
    assert ("dying", 4) not in troubled


def test_rows_of_another_study_are_not_mixed_with_these(undisturbed, tmp_path):
    other = read_study(written(tmp_path, STUDY.replace("repeats = 2", "repeats = 3")))
    with pytest.raises(StudyError, match="give another --output"):
        run_study(other, undisturbed.parent)


def test_a_larger_study_goes_on_from_a_smaller_one_and_so_does_one_with_other_limits(undisturbed):
    text = (undisturbed.parent.parent / "study.toml").read_text()
    larger = "time_limit = 9.0\n" + text.replace("[2, 4]", "[2, 4, 8]")
    study = read_study(written(undisturbed.parent, larger))
    with Journal(undisturbed.parent, study) as journal:
        missing = [case for case in study.cases if case not in journal.rows]
    assert [case.size for case in missing] == [8, 8, 8]


def fake(status_of):
    """A submit function that runs nothing."""

    def submit(job, case):
        future = Future()
        future.set_result(blank_row(case, status=status_of(case), message=""))
        ran.append(case)
        return future

    ran = []
    return submit, ran


def test_smaller_cases_than_one_that_exceeded_a_limit_run_all_the_same(tmp_path):
    study = ladders(tmp_path, [2, 3, 5, 6])
    known = {study.cases[2]: blank_row(study.cases[2], status="timeout")}
    submit, ran = fake(lambda case: "ok")
    rows = dict(CaseQueue(study, tmp_path, known).rows(submit, 2))
    assert [case.size for case in ran] == [2, 3]
    status = [rows[case]["status"] for case in study.cases if case in rows]
    assert status == ["ok", "ok", "skipped"]


def test_series_that_reach_the_largest_sizes_run_first(tmp_path):
    text = STUDY.partition("[[runs]]")[0] + "[reference]\nlargest = 1\n"
    long = "[[runs]]\nsizes = [2, 9]\nfamilies = ['ladder']\n"
    short = "[[runs]]\nsizes = [2, 3]\nfamilies = ['pendulums']\n"
    study = read_study(written(tmp_path, text + short + long))
    for at_once, families in ((1, "llpp"), (2, "lplp")):
        submit, ran = fake(lambda case: "ok")
        assert len(dict(CaseQueue(study, tmp_path, {}).rows(submit, at_once))) == 4
        assert "".join(case.series.family[0] for case in ran) == families


def test_what_was_not_measured_can_be_tried_again(tmp_path, monkeypatch):
    study = ladders(tmp_path, [2, 3, 4])
    for status, runs in (("timeout", 2), ("ok", 2), ("ok", 0)):
        submit, ran = fake(lambda case, status=status: status if case.size > 2 else "ok")
        run_job = lambda study, folder, job, case, to=submit: to(job, case).result()  # noqa: E731
        monkeypatch.setattr("sparsebody.study.runner.run_job", run_job)
        path = run_study(study, tmp_path / "out", retry=True)
        assert len(ran) == runs
    assert [row["status"] for row in read_results(path)] == ["ok", "ok", "ok"]


def test_a_script_without_a_guard_runs_a_study_once(tmp_path):
    ladders(tmp_path, [2])
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\n"
        "from sparsebody.study.runner import run_study\n"
        "from sparsebody.study.plan import read_study\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "print(run_study(read_study(folder / 'study.toml'), folder / 'out'))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [str(tmp_path / "out" / "results.csv")]
    assert [row["status"] for row in read_results(tmp_path / "out")] == ["ok"]


def test_two_processes_do_not_run_one_study_and_broken_lines_of_its_journal_are_named(tmp_path):
    study, journal = read_study(written(tmp_path, STUDY)), tmp_path / FILE
    with Journal(tmp_path, study), pytest.raises(StudyError, match="another process runs"):
        Journal(tmp_path, study)
    first = journal.read_text().splitlines()[0]
    for line, message in (
        ("{", "line 2 is not JSON"),
        ('{"size": 1}', "line 2 lacks the column 'family'"),
    ):
        journal.write_text(f"{first}\n{line}\n")
        with pytest.raises(StudyError, match=message):
            Journal(tmp_path, study)


def test_a_study_without_a_case_is_an_error(tmp_path):
    text = STUDY.replace('["sparse", "aba"]', '["aba"]').partition("[[runs]]\nsizes = [6]")[0]
    text = text.replace("[[runs]]", '[[runs]]\nfamilies = ["ladder"]')
    with pytest.raises(StudyError, match="nothing would run"):
        run_study(read_study(written(tmp_path, text)), tmp_path / "out")


def test_the_environment_is_recorded(undisturbed):
    (environment,) = json.loads((undisturbed.parent / "environment.json").read_text())
    assert environment["cores"] == os.cpu_count()
    assert "numpy" in environment["packages"]
    assert environment["started"].endswith("Z")
