import itertools
import os

import pytest

from sparsebody.study import machine, measure
from sparsebody.study.plan import Settings


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
