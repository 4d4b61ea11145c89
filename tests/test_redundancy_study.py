"""Studies of redundant families and of the accuracy of lifts, judged by closed forms."""

from dataclasses import replace

import numpy as np
import pytest

import sparsebody as sb
from benchmarks.cases import FORWARD_DYNAMICS
from benchmarks.redundancy import LARGEST_DENSE, accuracy, counts, truth
from sparsebody.factorization import available_factorizations
from sparsebody.study.families import Problem
from sparsebody.study.measure import measure, solve_reference
from sparsebody.study.plan import read_study


def rows_of(name, largest, folder):
    study = read_study(FORWARD_DYNAMICS.with_name(f"{name}.toml"))
    study = replace(study, settings=replace(study.settings, repeats=2, batch_seconds=1e-4))
    cases = [case for case in study.cases if case.size <= largest]
    for case in {case.reference: case for case in cases}.values():
        solve_reference(study, case, folder)
    return [measure(study, case, folder) for case in cases]


@pytest.fixture(scope="module")
def redundancy(tmp_path_factory):
    return rows_of("redundancy", 24, tmp_path_factory.mktemp("redundancy"))


def test_families_have_what_is_expected_of_them(redundancy):
    assert {row["family"] for row in redundancy} == {
        "scissor", "rotating-squares", "n-four-bar", "five-bar-array", "four-bar-torus", "bricard"
    }  # fmt: skip
    assert {one.verdict for one in counts(redundancy)} == {"met"}
    for row in redundancy:
        assert row["violation"] < 1e-12
        assert row["error"] < max(1e-10, 10 * row["kappa"] * np.finfo(float).eps)


def test_a_wrong_count_breaks_a_promise(redundancy):
    wrong = [row | {"redundant_rows": 9} for row in redundancy if row["family"] == "bricard"]
    assert [one.verdict for one in counts(wrong)] == ["NOT MET at 5", "met"]


def test_large_mechanisms_are_compared_with_six_freedoms():
    system = sb.build("n-four-bar", loops=LARGEST_DENSE).compile()
    result = truth(Problem("n-four-bar", system, system.initial_state))
    assert result.acceleration.shape == (system.n_bodies, 6)
    assert 0.0 < result.error < 1e-10


def test_lifts_keep_their_limits_with_every_backend(tmp_path):
    rows = rows_of("conditioning", 6, tmp_path)
    assert len(rows) == 3 + len(available_factorizations())
    assert {one.verdict for one in accuracy(rows)} == {"met"}
