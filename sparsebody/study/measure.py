"""One case measured in this process: a method prepared, checked, and timed."""

import copy
import gc
import math
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.methods import SPARSE
from sparsebody.study import machine, rows
from sparsebody.study import study_references as references
from sparsebody.study.families import Problem
from sparsebody.study.plan import AUTO, PEER, Case, Series, Settings, Study
from sparsebody.tree import TreeDynamics, tree_dynamics

_TURNS = 60  # of two methods that are compared, each shorter than a time slice
_TURN_SECONDS = 0.002
_QUICKER = 0.95  # ratio of two methods below which copies of both are measured, too
_PAIRS = 5
_SLOWER = 1.5  # ratio of two methods that is clear after _CLEAR turns
_CLEAR = 20
_PHASES = 0.3  # [s] for the medians of phases
_MOST_RUNS = 1001  # of phases: an odd number, so that the median is one of them
_TICK = 1e-7  # [s] least time of a call, where the clock shows none
_MESSAGE = 300  # characters


# ---- methods in one shape: prepared once, evaluated many times --------------------------------


@dataclass(frozen=True, eq=False)
class Prepared:
    """A mechanism at a state, and all that a method prepares once; engines in studies return it."""

    evaluate: Callable[[], Any]  # computes all accelerations, and is timed
    accelerations: Callable[[], FloatArray]  # (n_bodies, 6) body coordinates, angular first
    detail: str = ""  # a line that a reader should know
    times_itself: bool = False  # `evaluate` returns the CPU time of one evaluation [s]


class SparsePrepared:
    """The body-level system, analyzed: a Prepared with its phases and more columns."""

    def __init__(self, problem: Problem, dynamics: ForwardDynamics) -> None:
        self.problem, self.dynamics = problem, dynamics
        self.result = np.empty((problem.system.n_bodies, 6))  # filled anew at every evaluation

    def evaluate(self) -> None:
        """Compute the accelerations of all bodies."""
        self.dynamics.acceleration(self.problem.state, out=self.result)

    def accelerations(self) -> FloatArray:
        """Return them."""
        return self.dynamics.acceleration(self.problem.state)

    def phases(self) -> dict[str, float]:
        """Return the CPU time [s] of assembly, factorization, solution, and of all with forces."""
        evaluator, state = self.dynamics.evaluator, self.problem.state
        no_forces = np.zeros(0)
        phases: dict[str, Callable[[], object]] = {
            "kinematics_seconds": lambda: evaluator.assembler.assemble(state, None, no_forces),
            "factorize_seconds": lambda: evaluator.factorize(state.time),
            "solve_seconds": lambda: evaluator.solve_assembled(state, self.result, no_forces),
            "forces_seconds": lambda: self.dynamics(state),  # multipliers and joint wrenches too
        }
        return {name: cpu_seconds(phase, 1) for name, phase in phases.items()}

    @property
    def predicted(self) -> dict[str, Any]:
        """What was chosen, what one factorization costs, and how many rows were left out."""
        metrics = self.dynamics.choice.metrics[self.dynamics.ordering]
        return {
            "chosen_ordering": self.dynamics.ordering,
            "chosen_factorization": self.dynamics.factorization,
            "nnz_l": metrics.nnz_l,
            "flops": metrics.flops,
            "largest_front": metrics.largest_front,
            "redundant_rows": len(self.dynamics.redundant_rows),
            "mobility": 6 * self.problem.system.n_bodies - self.dynamics.rank,
        }


def tree_prepared(problem: Problem, dynamics: TreeDynamics) -> Prepared:
    """Return a method in joint coordinates, its tree chosen."""
    accelerations = partial(dynamics.acceleration, problem.state)
    tree = dynamics.tree
    detail = f"{tree.choice} tree, {tree.n_inertia_nonzeros} nonzeros of H"
    return Prepared(accelerations, accelerations, detail)


def prepare(study: Study, series: Series, problem: Problem) -> Any:
    """Analyze a problem by the method of a series: a Prepared, or what has its attributes."""
    if series.method == PEER:
        return study.peers[series.peer].load()(problem)
    if series.method == SPARSE:
        dynamics = ForwardDynamics(
            problem.system,
            problem.state,
            ordering=series.ordering,
            factorization=series.factorization,
            reactions="basic",
        )
        return SparsePrepared(problem, dynamics)
    return tree_prepared(problem, tree_dynamics(series.method, problem.system, reactions="basic"))


# ---- CPU times of warm evaluations, and ratios of two methods measured in turn ----------------


def timings(prepared: Any, settings: Settings) -> dict[str, Any]:
    """Return least and median CPU time of one warm evaluation over some repeats, as columns."""
    times_itself = getattr(prepared, "times_itself", False)

    def one(calls: int) -> float:
        if times_itself:
            return float(prepared.evaluate())
        return cpu_seconds(prepared.evaluate, calls)

    calls = 1
    for most in (10, 100, math.inf):  # the first calls of all are slow
        calls = math.ceil(min(most, settings.batch_seconds / max(one(calls), _TICK)))
        if calls == 1 < most // 10:
            break
    spent, start = list[float](), time.perf_counter()
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
    """Return the ratio of two times; where `one` seems quicker, the median of several pairs.

    Each pair is a copy at another place in memory, which is worth some percent.
    """
    ratios = [time_ratio(one, other, settings)]
    while ratios[0] < _QUICKER and len(ratios) < _PAIRS:
        one, other = copy.deepcopy((one, other))
        one.evaluate(), other.evaluate()
        ratios.append(time_ratio(one, other, settings))
    return statistics.median(ratios)


def time_ratio(one: Any, other: Any, settings: Settings) -> float:
    """Return the least CPU time of `one` over that of `other`, measured in turn.

    What slows the machine down for a while then counts for neither. Where `one` is much slower,
    fewer turns do.
    """
    seconds = min(_TURN_SECONDS, settings.batch_seconds)
    calls = {each: _calls(each.evaluate, seconds) for each in (one, other)}
    least, spent, start = dict.fromkeys(calls, math.inf), 0.0, time.perf_counter()
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
    return math.ceil(seconds / max(min(first, cpu_seconds(evaluate, 1)), _TICK))


def cpu_seconds(evaluate: Callable[[], object], calls: int) -> float:
    """Return the CPU time of one of some calls [s]."""
    start = time.process_time()
    for _ in range(calls):
        evaluate()
    return (time.process_time() - start) / calls


def phase_seconds(phases: Callable[[], dict[str, float]], settings: Settings) -> dict[str, float]:
    """Return the medians of the times that `phases` measures [s]."""
    phases()
    runs, start = list[dict[str, float]](), time.perf_counter()
    while len(runs) < settings.repeats or (
        len(runs) < _MOST_RUNS and time.perf_counter() - start < min(_PHASES, settings.longest)
    ):
        runs.append(phases())
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


# ---- one case ---------------------------------------------------------------------------------


def _set_up(study: Study, case: Case, folder: Path) -> tuple[Problem, rows.Row]:
    """Return the problem of a case, and what making it cost."""
    before, start = machine.memory(), time.perf_counter()
    built = study.families[case.series.family].build(case.size, case.series.seed)
    middle = time.perf_counter()
    system = built.compile()
    spent = {"build_seconds": middle - start, "compile_seconds": time.perf_counter() - middle}
    problem = references.problem_of(study, case, system, folder)
    gc.collect()
    return problem, {**spent, "system_mb": machine.memory() - before}


def measure(study: Study, case: Case, folder: Path) -> rows.Row:
    """Build, prepare, check and time one case."""
    problem, columns = _set_up(study, case, folder)
    machine.reset_peak_memory()
    before, start = machine.memory(), time.perf_counter()
    prepared = prepare(study, case.series, problem)
    analyze_seconds = time.perf_counter() - start
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", UserWarning)
        acceleration = prepared.accelerations()
    warnings.simplefilter("ignore", UserWarning)
    times = timings(prepared, study.settings)
    memory_mb = machine.memory("VmHWM") - before
    gc.collect()
    if isinstance(prepared, SparsePrepared) and study.settings.details:
        columns |= phase_seconds(prepared.phases, study.settings)
    differs_in_order = case.series.factorization == AUTO != case.series.ordering
    if isinstance(prepared, SparsePrepared) and differs_in_order:
        automatic = prepare(study, case.automatic, problem)
        one, two = prepared.dynamics, automatic.dynamics
        same = np.array_equal(one.choice.order, two.choice.order)
        same &= one.factorization == two.factorization
        ratio = 1.0 if same else typical_ratio(prepared, automatic, study.settings)
        columns["auto_ratio"] = ratio
    if study.violation is not None and study.has_reference(case):
        columns["violation"] = study.violation.load()(problem, acceleration)
    exact = references.load_reference(case, folder)
    if exact is not None and exact.error < references.TRUSTED:
        columns["error"] = references.relative_error(acceleration, exact)
        columns |= {"reference_error": exact.error, "kappa": exact.kappa}
    return rows.blank_row(
        case,
        n_bodies=problem.system.n_bodies,
        n_joints=problem.system.n_joints,
        analyze_seconds=analyze_seconds,
        memory_mb=memory_mb,
        held_mb=machine.memory() - before,
        message=str(heard[0].message)[:_MESSAGE] if heard else "",
        detail=getattr(prepared, "detail", ""),
        **columns,
        **times,
        **getattr(prepared, "predicted", {}),
    )


def solve_reference(study: Study, case: Case, folder: Path) -> rows.Row:
    """Make and store the state of a case, and its reference if it is to have one."""
    problem, _ = _set_up(study, case, folder)
    references.store_state(study, case, problem.state, folder)
    if study.has_reference(case):
        solve = references.pivoted if study.reference is None else study.reference.load()
        references.store_reference(solve(problem), case, folder)
    return rows.blank_row(case)
