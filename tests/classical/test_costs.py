import math

import pytest

from sparsebody.classical import ALGORITHMS, costs
from sparsebody.classical.arm_links import IS_COMPILED
from sparsebody.classical.costs import Cost, cost_panels, counted, measured
from sparsebody.plots.curves import plot_costs


@pytest.fixture(scope="module")
def cost():
    chosen = ALGORITHMS["balafoutis-patel-misra"]
    return measured(chosen, counted(chosen), sizes=(3, 6))


def test_times_are_measured_at_the_sizes_that_are_asked_for(cost):
    assert sorted(cost.python) == [3, 6]
    assert sorted(cost.compiled) == ([3, 6] if IS_COMPILED else [])
    assert all(seconds > 0.0 for seconds in (*cost.python.values(), *cost.compiled.values()))


def test_what_a_call_from_python_takes_is_no_part_of_compiled_times(monkeypatch):
    monkeypatch.setattr(costs, "IS_COMPILED", True)
    monkeypatch.setattr(costs, "_call_time", lambda: 2e-6)
    monkeypatch.setattr(costs, "_least_time", lambda call: 5e-6)
    chosen = ALGORITHMS["balafoutis-patel-misra"]
    assert measured(chosen, counted(chosen), [3]).compiled == {3: pytest.approx(3e-6)}


def test_exponents_are_fitted_to_the_largest_sizes():
    counts = counted(ALGORITHMS["balafoutis-patel-misra"])
    times = {n: 1e-6 * n**3.0 for n in (8, 16, 32)}
    known = Cost("made up", counts, {4: 1.0} | times, {8: 1.0})
    assert known.exponents["compiled"] == pytest.approx(3.0)
    assert math.isnan(known.exponents["python"])
    assert known.counted[8] == counts.multiplications(8) + counts.additions(8)


def test_the_figure_has_a_line_for_each_algorithm_in_each_panel(cost):
    figure = plot_costs(cost_panels([cost, cost]))
    assert [axes.get_title() for axes in figure.axes] == list(cost_panels([cost]))
    assert all(len(axes.lines) == 4 for axes in figure.axes)  # with their fits
    assert len(figure.legends[0].get_texts()) == 2


def test_a_long_call_is_made_a_few_times_and_a_short_one_in_batches(monkeypatch):
    calls = []
    costs._least_time(lambda: calls.append(0))
    assert len(calls) > 100
    calls.clear()
    no_time = costs.plan.Settings(batch_seconds=1e-9, longest=0.0)
    monkeypatch.setattr(costs, "_SETTINGS", no_time)
    costs._least_time(lambda: calls.append(0))
    assert len(calls) == 4  # two of them to see how long it takes
