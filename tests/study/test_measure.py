import itertools
import os

import numpy as np
import pytest

from sparsebody.study import machine, measure
from sparsebody.study.measure import solve_reference
from sparsebody.study.plan import Settings, study_of
from sparsebody.study.study_references import is_known, is_settled, problem_of, state_file


class Method:
    """Takes `seconds`, but longer from time to time."""

    def __init__(self, seconds, disturbed):
        self.times = itertools.cycle([disturbed * seconds] * 3 + [seconds])

    def evaluate(self):
        return next(self.times)


def test_the_ratio_of_two_methods_is_that_of_their_least_times(monkeypatch):
    monkeypatch.setattr(measure, "cpu_seconds", lambda evaluate, calls: evaluate())
    one, other = Method(3e-5, 9.0), Method(2e-5, 2.0)
    assert measure.time_ratio(one, other, Settings()) == pytest.approx(1.5)


class Placed:
    """As fast as the place in memory of the copy at hand."""

    def __init__(self, *seconds):
        self.seconds = seconds

    def __deepcopy__(self, memo):
        return Placed(*self.seconds[1:])

    def evaluate(self):
        return self.seconds[0]


@pytest.mark.parametrize(
    ("seconds", "ratio"), [((0.8, 1.0, 0.97, 0.99, 0.98), 0.98), ((0.96, 0.1), 0.96)]
)
def test_of_a_method_that_seems_quicker_several_copies_are_measured(monkeypatch, seconds, ratio):
    monkeypatch.setattr(measure, "cpu_seconds", lambda evaluate, calls: evaluate())
    one, other = Placed(*seconds), Placed(*[1.0] * 5)
    assert measure.typical_ratio(one, other, Settings()) == pytest.approx(ratio)


def test_the_cpu_time_of_a_process_grows_and_that_of_none_is_unknown():
    before = machine.cpu_seconds(os.getpid())
    sum(range(3_000_000))
    assert before < machine.cpu_seconds(os.getpid()) < 10_000.0
    assert machine.cpu_seconds(2**30) != machine.cpu_seconds(2**30)


STUDY = study_of(
    {
        "batch_seconds": 1e-4,
        "repeats": 1,
        "families": {
            "moving": {"mechanism": "ring", "motion": "random"},
            "resting": {"mechanism": "ring"},
        },
        "reference": {"largest": 4},
        "runs": [{"sizes": [4, 6]}],
    }
)
CASES = {(case.series.family, case.size): case for case in STUDY.cases}


def test_a_moving_state_is_stored_once_and_is_what_every_case_gets(tmp_path):
    case = CASES["moving", 6]
    assert not is_settled(STUDY, case, tmp_path)
    solve_reference(STUDY, case, tmp_path)
    assert is_settled(STUDY, case, tmp_path)
    system = STUDY.families["moving"].build(6).compile()
    fresh = problem_of(STUDY, case, system, tmp_path / "elsewhere").state
    file = state_file(case, tmp_path)
    with np.load(file) as kept:
        assert np.array_equal(kept["velocity"], fresh.velocity)
    np.savez(file, velocity=2.0 * fresh.velocity)
    stored = problem_of(STUDY, case, system, tmp_path).state
    assert np.array_equal(stored.velocity, 2.0 * fresh.velocity)
    assert np.array_equal(stored.position, fresh.position)
    assert is_known(STUDY, CASES["resting", 6], tmp_path)  # without a file
