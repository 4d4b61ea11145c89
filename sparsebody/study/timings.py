"""CPU times of warm evaluations, and ratios of two methods measured in turn."""

from __future__ import annotations

import copy
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

from sparsebody.study.plan import Settings

_TURNS = 60  # of two methods that are compared, each shorter than a time slice
_SHORT = 0.002  # [s]
_QUICKER = 0.95  # ratio of two methods below which it is looked at more closely
_PAIRS = 5
_SLOWER = 1.5  # ratio of two methods beyond which it is clear
_CLEAR = 20  # times _SHORT, after which that may be said
_PHASES = 0.3  # [s] for the medians of phases


def timings(prepared: Any, settings: Settings) -> dict[str, Any]:
    """Return least and median CPU time of one warm evaluation over some repeats, as columns."""
    times_itself = hasattr(prepared, "measure")

    def one(calls: int) -> float:
        return (
            float(prepared.measure()[0]) if times_itself else cpu_seconds(prepared.evaluate, calls)
        )

    calls = 1
    for most in (10, 100, math.inf):  # the first calls of all are slow
        calls = math.ceil(min(most, settings.batch_seconds / max(one(calls), 1e-7)))
        if calls == 1 < most // 10:
            break
    spent: list[float] = []
    start = time.perf_counter()
    while len(spent) < settings.repeats and (
        len(spent) < 2 or time.perf_counter() - start < settings.longest
    ):
        spent.append(one(calls))
    return {
        "seconds_min": min(spent),
        "seconds_median": statistics.median(spent),
        "repeats": len(spent),
        "calls": 1 if times_itself else calls,
    }


def typical_ratio(one: Any, other: Any, settings: Settings) -> float:
    """Return the ratio of two times, the median of `time_ratios`."""
    return statistics.median(time_ratios(one, other, settings))


def time_ratios(
    one: Any, other: Any, settings: Settings, quicker: float = _QUICKER, pairs: int = _PAIRS
) -> list[float]:
    """Return the ratio of two times; where `one` seems quicker than that, of several pairs.

    Each pair is a copy at another place in memory, which is worth some percent.
    """
    ratios = [time_ratio(one, other, settings)]
    while ratios[0] < quicker and len(ratios) < pairs:
        one, other = copy.deepcopy((one, other))
        one.evaluate(), other.evaluate()
        ratios.append(time_ratio(one, other, settings))
    return ratios


def time_ratio(one: Any, other: Any, settings: Settings) -> float:
    """Return the least CPU time of `one` over that of `other`, measured in turn.

    What slows the machine down for a while then counts for neither. Where `one` is much slower,
    fewer turns do.
    """
    seconds = min(_SHORT, settings.batch_seconds)
    calls = {each: _calls(each.evaluate, seconds) for each in (one, other)}
    least = dict.fromkeys(calls, math.inf)
    spent = 0.0
    start = time.perf_counter()
    for turn in range(_TURNS):
        for each, count in calls.items():
            latest = cpu_seconds(each.evaluate, count)
            least[each] = min(least[each], latest)
            spent += count * latest
        is_late = time.perf_counter() - start > settings.longest
        is_clear = spent > _CLEAR * seconds and least[one] > _SLOWER * least[other]
        if turn > 0 and (is_late or is_clear):
            break
    return least[one] / least[other]


def _calls(evaluate: Callable[[], object], seconds: float) -> int:
    """Return how many evaluations take so long."""
    if (first := cpu_seconds(evaluate, 1)) > seconds:
        return 1
    return math.ceil(seconds / max(min(first, cpu_seconds(evaluate, 1)), 1e-7))


def cpu_seconds(evaluate: Callable[[], object], calls: int) -> float:
    """Return the CPU time of one of some calls [s]."""
    start = time.process_time()
    for _ in range(calls):
        evaluate()
    return (time.process_time() - start) / calls


def median_seconds(evaluate: Callable[[], object], settings: Settings) -> float:
    """Return the median CPU time [s] of a call."""
    calls = _calls(evaluate, settings.batch_seconds)
    return statistics.median(cpu_seconds(evaluate, calls) for _ in range(settings.repeats))


def phase_seconds(phases: Callable[[], dict[str, float]], settings: Settings) -> dict[str, float]:
    """Return medians of what a function says of its own phases [s]."""
    phases()
    runs: list[dict[str, float]] = []
    start = time.perf_counter()
    while len(runs) < settings.repeats or (
        len(runs) < 1001 and time.perf_counter() - start < _PHASES
    ):
        runs.append(phases())
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}
