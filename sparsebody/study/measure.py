"""One case measured in this process: one row of the results."""

from __future__ import annotations

import gc
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsebody.arrays import FloatArray
from sparsebody.study import machine
from sparsebody.study.families import Problem
from sparsebody.study.plan import Case, Study
from sparsebody.study.prepared import SparsePrepared, prepare
from sparsebody.study.study_references import (
    TRUSTED,
    load_reference,
    problem_of,
    reference_solution,
    relative_error,
    store_reference,
    store_state,
)
from sparsebody.study.timings import median_seconds, phase_seconds, timings, typical_ratio

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
    "kinematics_seconds",  # of one evaluation, with assembly; with `details`
    "factorize_seconds",
    "solve_seconds",  # with refinement
    "forces_seconds",  # of one evaluation with joint wrenches and residuals
    "build_seconds",  # the Mechanism
    "compile_seconds",  # from the Mechanism to its System
    "analyze_seconds",  # all that is prepared once after that
    "case_seconds",  # all of it, on the clock
    "system_mb",  # resident memory of the Mechanism and its System
    "memory_mb",  # peak above that, preparation and evaluation
    "held_mb",  # what stays of it once prepared
    "chosen_ordering",
    "chosen_factorization",
    "nnz_l",
    "flops",
    "largest_front",
    "redundant_rows",
    "mobility",
    "violation",  # of all joints by the accelerations, as the study's function says
    "error",  # relative, of the accelerations
    "reference_error",
    "kappa",
    "detail",
    "machine",
)

_MESSAGE = 300  # characters

NUMBERS = tuple(
    name
    for name in COLUMNS
    if name.endswith(("seconds", "_mb", "error"))
    or name in ("seconds_min", "seconds_median", "auto_ratio", "flops", "violation", "kappa")
)
MEASURED = (  # columns that differ from run to run
    "message",
    "repeats",
    "calls",
    "machine",
    *(name for name in NUMBERS if "seconds" in name or "_mb" in name or name == "auto_ratio"),
)


def blank_row(case: Case, **values: Any) -> Row:
    """Return a row without measurements, such as a failure's."""
    known = {**case.columns, "status": "ok", "machine": machine.machine(), **values}
    return {name: known.get(name, "") for name in COLUMNS}


@dataclass(frozen=True, eq=False)
class _SetUp:
    """A problem, and what it took to make it."""

    problem: Problem
    columns: Row


def _set_up(study: Study, case: Case, folder: Path) -> _SetUp:
    before, marks = machine.memory_in_use(), [time.perf_counter()]
    built = study.families[case.series.family].build(case.size, case.series.seed)
    marks.append(time.perf_counter())
    system = built.compile()
    marks.append(time.perf_counter())
    problem = problem_of(study, case, system, folder)
    gc.collect()
    spent = {"build_seconds": marks[1] - marks[0], "compile_seconds": marks[2] - marks[1]}
    return _SetUp(problem, {**spent, "system_mb": machine.memory_in_use() - before})


def measure(study: Study, case: Case, folder: Path) -> Row:
    """Build, prepare, check and time one case."""
    made = _set_up(study, case, folder)
    system = made.problem.system
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
    gc.collect()
    return blank_row(
        case,
        n_bodies=system.n_bodies,
        n_joints=system.n_joints,
        analyze_seconds=analyze_seconds,
        memory_mb=memory_mb,
        held_mb=machine.memory_in_use() - before,
        message=str(heard[0].message)[:_MESSAGE] if heard else "",
        detail=getattr(prepared, "detail", ""),
        **made.columns,
        **times,
        **_accuracy(study, case, folder, made.problem, acceleration),
        **_sparse_columns(study, case, made.problem, prepared),
        **getattr(prepared, "predicted", {}),
    )


def _accuracy(
    study: Study, case: Case, folder: Path, problem: Problem, acceleration: FloatArray
) -> Row:
    columns: Row = {}
    if study.violation is not None and study.has_reference(case):
        columns["violation"] = study.violation.load()(problem, acceleration)
    exact = load_reference(case, folder)
    if exact is not None and exact.error < TRUSTED:
        columns["error"] = relative_error(acceleration, exact)
        columns |= {"reference_error": exact.error, "kappa": exact.kappa}
    return columns


def _sparse_columns(study: Study, case: Case, problem: Problem, prepared: Any) -> Row:
    """Return what is measured of the sparse method alone."""
    columns: Row = {}
    if not isinstance(prepared, SparsePrepared):
        return columns
    if study.settings.details:
        columns["forces_seconds"] = median_seconds(prepared.forces, study.settings)
        columns |= phase_seconds(prepared.phases, study.settings)
    if case.series.rivals_auto:
        automatic = prepare(study, case.automatic, problem)
        same = prepared.does_the_same(automatic)
        ratio = 1.0 if same else typical_ratio(prepared, automatic, study.settings)
        columns["auto_ratio"] = ratio
    return columns


def solve_reference(study: Study, case: Case, folder: Path) -> Row:
    """Make and store the state of a case, and its reference if it is to have one."""
    problem = _set_up(study, case, folder).problem
    store_state(study, case, problem.state, folder)
    if study.has_reference(case):
        store_reference(reference_solution(study, problem), case, folder)
    return blank_row(case)
