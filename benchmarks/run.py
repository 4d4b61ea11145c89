"""Run the benchmarks: `python -m benchmarks.run --help`.

Every case gets a process of its own, on one thread, with a limit of time and of memory; what
fails is a row too. Rows are written as they come, so that a run can be interrupted and resumed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import click

from benchmarks import ours
from benchmarks.cases import CASES
from benchmarks.measure import Row, Task, blank_row, reference_file
from benchmarks.peers import PEERS
from benchmarks.results import FORWARD_DYNAMICS, Key, key_of, put_row, read_rows
from benchmarks.worker import REFERENCE

SIZES = (8, 32, 128, 512, 2048, 8192, 32768, 131072, 1048576)
QUICK_SIZES = (8, 32, 128, 512, 2048)
QUICK_METHODS = (
    ours.PREFIX,
    "pinocchio-aba",
    "pinocchio-lcaba",
    "pinocchio-constraint-dynamics",
    "exudyn",
    "mujoco",
)
QUICK_BUDGET = 255.0  # [s]
SHUFFLED_METHODS = (ours.PREFIX, "pinocchio-lcaba", "pinocchio-aba")  # worth a relabelled row
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
FATAL = ("timeout", "out-of-memory", "crashed", "skipped")  # larger sizes are not tried


def fits(method: str, mechanism: str) -> bool:
    """Tell whether a method is meant for a mechanism and installed."""
    if method not in PEERS:
        return ours.is_available(method)
    peer = PEERS[method]
    wrong = peer.trees_only if mechanism != "chain" else peer.loops_only
    return not wrong and peer.is_available()


def tasks(
    mechanisms: Sequence[str],
    sizes: Sequence[int],
    methods: Sequence[str],
    relabelled: Sequence[bool],
    seed: int = 0,
) -> list[Task]:
    """Return all cases, small ones first, so that an interrupted run covers every method."""
    return [
        Task(mechanism, size, method, shuffled, seed)
        for size in sorted(sizes)
        for mechanism in mechanisms
        for method in methods
        for shuffled in relabelled
        if fits(method, mechanism) and (not shuffled or method in SHUFFLED_METHODS)
    ]


def run_case(task: Task, cache: Path, seconds: float, gigabytes: float) -> Row:
    """Measure one case in a process of its own; timeouts and crashes are rows."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "row.json"
        command = [sys.executable, "-m", "benchmarks.worker"]
        arguments = [json.dumps(asdict(task)), str(target), str(cache), str(gigabytes)]
        try:
            done = subprocess.run(
                [*command, *arguments],
                env=os.environ | ONE_THREAD,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return blank_row(task, status="timeout", message=f"more than {seconds:g} s")
        if target.exists():
            return Row(**json.loads(target.read_text()))
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    status = "out-of-memory" if "alloc" in done.stderr else "crashed"
    return blank_row(task, status=status, message=f"exit code {done.returncode}: {last}"[:300])


def rows(
    todo: Sequence[Task], cache: Path, seconds: float, gigabytes: float, budget: float
) -> Iterator[Row]:
    """Measure one case after the other, until the budget of seconds is spent."""
    start = time.monotonic()
    stopped: dict[tuple[str, str, bool], Row] = {}
    for task in todo:
        if time.monotonic() - start > budget:
            return
        series = (task.mechanism, task.method, task.relabelled)
        if series in stopped:
            before = stopped[series]
            message = f"{before.status} with {before.n_bodies} bodies"
            yield blank_row(task, status="skipped", message=message)
            continue
        left = max(5.0, min(seconds, start + budget + 20.0 - time.monotonic()))
        if not reference_file(task, cache).exists():
            run_case(replace(task, method=REFERENCE, relabelled=False), cache, left, gigabytes)
        row = run_case(task, cache, left, gigabytes)
        if row.status in FATAL:
            stopped[series] = row
        yield row


def pending(todo: Sequence[Task], path: Path) -> tuple[str, list[Task]]:
    """Return the name of the newest run in a file, and the cases that it lacks."""
    old = read_rows(path)
    newest = max((row["run"] for row in old), default=now())
    done: set[Key] = {key_of(row) for row in old if row["run"] == newest}
    return newest, [task for task in todo if key_of(asdict(blank_row(task))) not in done]


def now() -> str:
    """Return the time of day, as the name of a run."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def said(row: Row) -> str:
    """Return one line about a row."""
    what = f"{row.mechanism} {row.n_bodies} {row.method}{' shuffled' if row.relabelled else ''}"
    if row.status != "ok":
        return f"{what}: {row.status} ({row.message})"
    return (
        f"{what}: {row.cpu_us:.4g} us, {row.cpu_us_per_body:.3g} us per body, "
        f"error {row.acceleration_error:.0e}, kappa {row.kappa:.0e}"
    )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--full", is_flag=True, help="All sizes, methods and shufflings; takes hours.")
@click.option("-m", "--mechanism", multiple=True, type=click.Choice(list(CASES)))
@click.option("-n", "--size", multiple=True, type=int, help="About how many bodies.")
@click.option("--method", multiple=True, type=click.Choice([*ours.methods(), *PEERS]))
@click.option("--relabelled/--ordered", default=None, help="Only shuffled, or only ordered cases.")
@click.option("--seed", default=0, show_default=True)
@click.option("--timeout", default=None, type=float, help="Of one case [s].")
@click.option("--memory", default=12.0, show_default=True, help="Of one case [GB].")
@click.option("--budget", default=None, type=float, help="Stop after so many seconds.")
@click.option("--resume", is_flag=True, help="Go on with the newest run in the file.")
@click.option("--output", default=FORWARD_DYNAMICS, type=click.Path(path_type=Path))
@click.option("--cache", default=Path("out/benchmarks"), type=click.Path(path_type=Path))
def main(
    full: bool,
    mechanism: tuple[str, ...],
    size: tuple[int, ...],
    method: tuple[str, ...],
    relabelled: bool | None,
    seed: int,
    timeout: float | None,
    memory: float,
    budget: float | None,
    resume: bool,
    output: Path,
    cache: Path,
) -> None:
    """Measure forward dynamics: mechanisms x sizes x methods, one CSV row each."""
    chosen = bool(full or mechanism or size or method)
    shufflings = ((False, True) if full else (False,)) if relabelled is None else (relabelled,)
    todo = tasks(
        mechanism or list(CASES),
        size or (SIZES if full else QUICK_SIZES),
        method or ([*ours.methods(), *PEERS] if full else QUICK_METHODS),
        shufflings,
        seed,
    )
    run, todo = pending(todo, output) if resume else (now(), todo)
    seconds = timeout or (600.0 if full else 30.0)
    limit = budget or (float("inf") if chosen else QUICK_BUDGET)
    count = 0
    for row in rows(todo, cache, seconds, memory, limit):
        count += 1
        put_row(output, replace(row, run=run))
        click.echo(f"[{count}/{len(todo)}] {said(row)}")
    if count < len(todo):
        click.echo(f"{limit:.0f} s are over, {len(todo) - count} cases left: --resume goes on")
    click.echo(f"results in {output}; figures by python -m benchmarks.report")


if __name__ == "__main__":
    main()
