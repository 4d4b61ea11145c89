"""One case measured in this process: one row of the results."""

from __future__ import annotations

import gc
import platform
import statistics
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import ours
from benchmarks.cases import CASES, Problem, at_state, mechanism, problem
from benchmarks.oracle import Reference, reference, relative_violation
from benchmarks.peers import PEERS
from sparsebody.arrays import FloatArray
from sparsebody.study import machine

BATCH_SECONDS = 0.05  # of one timing, at least
REPEATS = 5
TRUSTED = 1e-9  # last relative correction of a reference; larger means that it did not converge
LONGEST = 20.0  # of all timings of a case [s], after which fewer repeats do


@dataclass(frozen=True)
class Task:
    """What identifies a row."""

    mechanism: str
    n_bodies: int  # asked for
    method: str
    relabelled: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Row:
    """One line of the results; times are medians, NaN is what was not measured."""

    mechanism: str
    n_bodies: int
    method: str
    relabelled: bool
    seed: int
    status: str = "ok"  # or unsupported, timeout, out-of-memory, skipped, crashed, failed
    message: str = ""
    detail: str = ""
    peer_version: str = ""
    cpu_us: float = np.nan  # of one evaluation
    wall_us: float = np.nan
    cpu_us_per_body: float = np.nan
    kinematics_us: float = np.nan
    factorize_us: float = np.nan
    solve_us: float = np.nan
    forces_us: float = np.nan  # of one evaluation with all joint wrenches and residuals; ours
    flops: float = np.nan  # of one factorization, predicted; ours
    factor_entries: float = np.nan
    build_ms: float = np.nan  # the Mechanism
    compile_ms: float = np.nan  # its System
    analyze_ms: float = np.nan  # all that is prepared once after that; a peer's conversion
    acceleration_error: float = np.nan  # relative to the largest reference acceleration
    constraint_residual: float = np.nan  # max |A a - b| over the size of its terms
    kappa: float = np.nan  # estimated condition of the scaled matrix
    reference_error: float = np.nan
    system_mb: float = np.nan  # resident memory of the mechanism and its System
    memory_mb: float = np.nan  # peak above that, preparation and evaluation
    held_mb: float = np.nan  # what stays of it once prepared
    repeats: int = 0
    spread: float = np.nan  # longest over shortest CPU time of the repeats
    run: str = ""  # when the run began that measured it
    scope: str = ""  # of the run: quick, full or part
    machine: str = ""
    blas: str = ""
    python: str = ""
    packages: str = ""
    load: str = ""  # of the machine: processes at work in the last minute


COLUMNS = [field.name for field in fields(Row)]


def blank_row(task: Task, n_bodies: int | None = None, **values: Any) -> Row:
    """Return a row without measurements, such as a failure's."""
    known = asdict(task) | {"n_bodies": n_bodies or CASES[task.mechanism].size(task.n_bodies)}
    return Row(**(known | environment() | values))


def environment() -> dict[str, str]:
    """Return the columns that say where a row was measured."""
    return {
        "machine": machine.machine(),
        "blas": machine.loaded_blas(),
        "python": platform.python_version(),
        "packages": machine.package_versions("numpy", "scipy", "scikit-sparse"),
        "load": machine.load(),
    }


def measure(task: Task, cache: Path | None = None) -> Row:
    """Build, prepare, check and time one case.

    Parameters
    ----------
    task : Task
        What to measure.
    cache : Path, optional
        A folder with the reference solutions of earlier cases.
    """
    is_ours = task.method not in PEERS
    if is_ours and task.method not in ours.methods():
        known = ", ".join([*ours.methods(), *PEERS])
        raise ValueError(f"no method {task.method!r}; there are {known}")
    exact = known_reference(task, cache)
    version = ours.VERSION if is_ours else PEERS[task.method].version  # imports the engine
    given, setup = set_up(task)
    machine.reset_peak_memory()
    before, start = machine.memory_in_use(), time.perf_counter()
    prepared: Any = (
        ours.prepare(task.method, given) if is_ours else PEERS[task.method].prepare(given)
    )
    setup["analyze_ms"] = 1e3 * (time.perf_counter() - start)
    found = prepared.accelerations()
    times = timings(prepared)
    memory_mb = machine.peak_memory() - before
    gc.collect()
    held_mb = machine.memory_in_use() - before
    n = given.system.n_bodies
    return blank_row(
        task,
        n,
        message="" if isinstance(exact, tuple) else exact,
        detail=prepared.detail,
        peer_version=version,
        cpu_us_per_body=times["cpu_us"] / n,
        constraint_residual=constraint_residual(given, found),
        memory_mb=memory_mb,
        held_mb=held_mb,
        **times,
        **setup,
        **accuracy(given, found, exact),
        **(details(prepared) if is_ours else {}),
    )


def set_up(task: Task) -> tuple[Problem, dict[str, float]]:
    """Return the mechanism at its state, and what building and compiling it took."""
    before = machine.memory_in_use()
    marks = [time.perf_counter()]
    built = mechanism(task.mechanism, task.n_bodies, task.seed, task.relabelled)
    marks.append(time.perf_counter())
    system = built.compile()
    marks.append(time.perf_counter())
    given = at_state(task.mechanism, system, task.seed)
    gc.collect()
    spent = {"build_ms": 1e3 * (marks[1] - marks[0]), "compile_ms": 1e3 * (marks[2] - marks[1])}
    return given, spent | {"system_mb": machine.memory_in_use() - before}


def details(prepared: ours.Prepared) -> dict[str, float]:
    """Return the columns that only sparsebody has."""
    cpu = statistics.median(_batch(prepared.forces)[0] for _ in range(3))
    return {"forces_us": 1e6 * cpu, **prepared.predicted, **phase_times(prepared)}


# ---- time ------------------------------------------------------------------------------------


def timings(prepared: Any) -> dict[str, Any]:
    """Return median CPU and wall time of one warm evaluation, repeats and spread, as columns."""
    one = prepared.measure if hasattr(prepared, "measure") else lambda: _batch(prepared.evaluate)
    one()
    cpu: list[float] = []
    wall: list[float] = []
    start = time.perf_counter()
    while len(cpu) < REPEATS and (len(cpu) < 2 or time.perf_counter() - start < LONGEST):
        spent = one()
        cpu.append(spent[0])
        wall.append(spent[1])
    medians = {"cpu_us": 1e6 * statistics.median(cpu), "wall_us": 1e6 * statistics.median(wall)}
    return medians | {"repeats": len(cpu), "spread": max(cpu) / max(min(cpu), 1e-9)}


def _batch(evaluate: Any) -> tuple[float, float]:
    """Return CPU and wall time of one evaluation, averaged over a batch."""
    count, todo = 0, 1
    cpu, wall = time.process_time(), time.perf_counter()
    while True:
        for _ in range(todo):
            evaluate()
        count += todo
        spent = time.perf_counter() - wall
        if spent >= BATCH_SECONDS:
            return (time.process_time() - cpu) / count, spent / count
        todo = count


def phase_times(prepared: ours.Prepared) -> dict[str, float]:
    """Return medians of the phases [us], named as the columns."""
    prepared.phases()
    runs: list[dict[str, float]] = []
    start = time.perf_counter()
    while len(runs) < 3 or (len(runs) < 1001 and time.perf_counter() - start < 0.3):
        runs.append(prepared.phases())
    return {f"{name}_us": 1e6 * statistics.median(run[name] for run in runs) for name in runs[0]}


# ---- accuracy --------------------------------------------------------------------------------

Named = tuple[tuple[str, ...], Reference]  # names of the bodies, and their accelerations


def known_reference(task: Task, cache: Path | None) -> Named | str:
    """Return the reference of a case, or why there is none."""
    if cache is not None and missing_file(task, cache).exists():
        return "no reference: " + missing_file(task, cache).read_text()
    found = load_reference(task, cache) or store_reference(task, cache)
    error = found[1].error
    return found if error < TRUSTED else f"no reference: its last correction was {error:.0e}"


def has_reference(task: Task, cache: Path) -> bool:
    """Tell whether it is known, or known that there is none."""
    return reference_file(task, cache).exists() or missing_file(task, cache).exists()


def give_up_reference(task: Task, cache: Path, reason: str) -> None:
    """Remember that there is no reference, which is known of the mechanism however numbered."""
    cache.mkdir(parents=True, exist_ok=True)
    missing_file(task, cache).write_text(reason)


def constraint_residual(given: Problem, found: FloatArray) -> float:
    """Return how well the joints are obeyed; NaN where the oracle's rows do not fit in memory."""
    try:
        return relative_violation(given, found)
    except MemoryError:
        return float("nan")


def accuracy(given: Problem, found: FloatArray, exact: Named | str) -> dict[str, float]:
    """Return the columns about the error; nothing without a reference."""
    if isinstance(exact, str):
        return {}
    return {
        "acceleration_error": acceleration_error(given, found, exact),
        "kappa": exact[1].kappa,
        "reference_error": exact[1].error,
    }


def acceleration_error(given: Problem, found: FloatArray, exact: Named) -> float:
    """Return max |a - a_exact| / max |a_exact|, bodies matched by name."""
    place = {name: i for i, name in enumerate(exact[0])}
    truth = exact[1].acceleration[[place[name] for name in given.system.body_names]]
    return float(np.abs(found - truth).max() / np.abs(truth).max())


def store_reference(task: Task, cache: Path | None) -> Named:
    """Solve and store the reference, which shuffled mechanisms share with the ordered one."""
    given = problem(task.mechanism, task.n_bodies, task.seed)
    solution = reference(given)
    names = given.system.body_names
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
        target = reference_file(task, cache)
        draft = target.with_suffix(f".{time.time_ns()}.npz")
        np.savez(
            draft,
            names=np.array(names),
            acceleration=solution.acceleration,
            numbers=[solution.error, solution.kappa],
        )
        draft.replace(target)
    return names, solution


def load_reference(task: Task, cache: Path | None) -> Named | None:
    """Return what an earlier case stored."""
    if cache is None or not reference_file(task, cache).exists():
        return None
    with np.load(reference_file(task, cache)) as stored:
        error, kappa = stored["numbers"]
        solution = Reference(stored["acceleration"], float(error), float(kappa))
        return tuple(stored["names"].tolist()), solution


def reference_file(task: Task, cache: Path) -> Path:
    """Return where the reference solution of a case is stored."""
    return cache / f"{task.mechanism}-{task.n_bodies}-{task.seed}.npz"


def missing_file(task: Task, cache: Path) -> Path:
    """Return where it is stored that there is none."""
    return reference_file(task, cache).with_suffix(".missing")
