"""One case measured in this process: one row of the results."""

from __future__ import annotations

import copy
import gc
import math
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsebody.study import machine
from sparsebody.study.families import Problem
from sparsebody.study.methods import SparsePrepared, prepare
from sparsebody.study.plan import Case, Settings, Study
from sparsebody.study.reference import (
    TRUSTED,
    load_reference,
    reference_solution,
    relative_error,
    store_reference,
)
from sparsebody.study.states import problem_of, store_state

Row = dict[str, Any]

COLUMNS = (
    "family",
    "size",  # bodies asked for
    "n_bodies",
    "n_joints",
    "method",
    "ordering",
    "factorization",
    "peer",
    "seed",
    "status",  # ok, skipped, unsupported, unavailable, timeout, out-of-memory, failed, crashed
    "message",
    "seconds_min",  # CPU time of one evaluation, the least of the repeats
    "seconds_median",
    "auto_ratio",  # its time over that of the automatic choice; see typical_ratio
    "repeats",
    "calls",  # of one repeat, of which the mean is taken
    "compile_seconds",  # from the Mechanism to its System
    "analyze_seconds",  # all that is prepared once after that
    "case_seconds",  # all of it, on the clock
    "memory_mb",  # peak above the System's, preparation and evaluation
    "chosen_ordering",
    "chosen_factorization",
    "nnz_l",
    "flops",
    "largest_front",
    "error",  # relative, of the accelerations
    "reference_error",
    "kappa",
    "detail",
    "machine",
)

_MESSAGE = 300  # characters
_TURNS = 60  # of two methods that are compared, each shorter than a time slice
_SHORT = 0.002  # [s]
_QUICKER = 0.95  # ratio of two methods below which it is looked at more closely
_PAIRS = 5
_SLOWER = 1.5  # ratio of two methods beyond which it is clear
_CLEAR = 20  # times _SHORT, after which that may be said

MEASURED = (  # columns that differ from run to run
    "message",
    "seconds_min",
    "seconds_median",
    "repeats",
    "calls",
    "compile_seconds",
    "analyze_seconds",
    "case_seconds",
    "auto_ratio",
    "memory_mb",
    "machine",
)


def blank_row(case: Case, **values: Any) -> Row:
    """Return a row without measurements, such as a failure's."""
    known = {**case.columns, "status": "ok", "machine": machine.machine(), **values}
    return {name: known.get(name, "") for name in COLUMNS}


@dataclass(frozen=True, eq=False)
class _SetUp:
    """A problem, and what it took to make it."""

    problem: Problem
    compile_seconds: float


def _set_up(study: Study, case: Case, folder: Path) -> _SetUp:
    built = study.families[case.series.family].build(case.size, case.series.seed)
    start = time.perf_counter()
    system = built.compile()
    spent = time.perf_counter() - start
    return _SetUp(problem_of(study, case, system, folder), spent)


def measure(study: Study, case: Case, folder: Path) -> Row:
    """Build, prepare, check and time one case."""
    made = _set_up(study, case, folder)
    gc.collect()
    machine.reset_peak_memory()
    before, start = machine.memory_in_use(), time.perf_counter()
    prepared = prepare(study, case.series, made.problem)
    analyze_seconds = time.perf_counter() - start
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", UserWarning)
        acceleration = prepared.accelerations()
    warnings.simplefilter("ignore", UserWarning)
    times = timings(prepared, study.settings)
    memory_mb = machine.peak_memory() - before
    ratio = _auto_ratio(study, case, made.problem, prepared) if case.series.rivals_auto else ""
    system = made.problem.system
    exact = load_reference(case, folder)
    accuracy = {}
    if exact is not None and exact.error < TRUSTED:
        accuracy = {
            "error": relative_error(acceleration, exact),
            "reference_error": exact.error,
            "kappa": exact.kappa,
        }
    return blank_row(
        case,
        n_bodies=system.n_bodies,
        n_joints=system.n_joints,
        compile_seconds=made.compile_seconds,
        analyze_seconds=analyze_seconds,
        memory_mb=memory_mb,
        auto_ratio=ratio,
        message=str(heard[0].message)[:_MESSAGE] if heard else "",
        detail=getattr(prepared, "detail", ""),
        **times,
        **accuracy,
        **getattr(prepared, "predicted", {}),
    )


def _auto_ratio(study: Study, case: Case, problem: Problem, prepared: SparsePrepared) -> float:
    automatic = prepare(study, case.automatic, problem)
    if prepared.does_the_same(automatic):
        return 1.0
    return typical_ratio(prepared, automatic, study.settings)


def solve_reference(study: Study, case: Case, folder: Path) -> Row:
    """Make and store the state of a case, and its reference if it is to have one."""
    problem = _set_up(study, case, folder).problem
    store_state(study, case, problem.state, folder)
    if study.has_reference(case):
        store_reference(reference_solution(study, problem), case, folder)
    return blank_row(case)


def timings(prepared: Any, settings: Settings) -> Row:
    """Return least and median CPU time of one warm evaluation over some repeats, as columns."""
    times_itself = hasattr(prepared, "measure")

    def one(calls: int) -> float:
        return (
            float(prepared.measure()[0]) if times_itself else _cpu_seconds(prepared.evaluate, calls)
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
    calls = {each: _calls(each, seconds) for each in (one, other)}
    least = dict.fromkeys(calls, math.inf)
    spent = 0.0
    start = time.perf_counter()
    for turn in range(_TURNS):
        for each, count in calls.items():
            latest = _cpu_seconds(each.evaluate, count)
            least[each] = min(least[each], latest)
            spent += count * latest
        is_late = time.perf_counter() - start > settings.longest
        is_clear = spent > _CLEAR * seconds and least[one] > _SLOWER * least[other]
        if turn > 0 and (is_late or is_clear):
            break
    return least[one] / least[other]


def _calls(prepared: Any, seconds: float) -> int:
    """Return how many evaluations take so long."""
    if (first := _cpu_seconds(prepared.evaluate, 1)) > seconds:
        return 1
    return math.ceil(seconds / max(min(first, _cpu_seconds(prepared.evaluate, 1)), 1e-7))


def _cpu_seconds(evaluate: Callable[[], object], calls: int) -> float:
    """Return the CPU time of one of some calls [s]."""
    start = time.process_time()
    for _ in range(calls):
        evaluate()
    return (time.process_time() - start) / calls
