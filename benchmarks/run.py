"""Run the benchmarks: `python -m benchmarks.run --help`.

Every case gets a process of its own, on one thread, with a limit of time and of memory; what
fails is a row too. Rows are written as they come, so that a run can be interrupted and resumed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import click

from benchmarks import ours
from benchmarks.cases import CASES
from benchmarks.measure import Row, Task, blank_row, give_up_reference, has_reference
from benchmarks.peers import PEERS
from benchmarks.results import FORWARD_DYNAMICS, Key, key_of, put_row, read_rows
from benchmarks.worker import REFERENCE, run_case
from sparsebody.study import machine
from sparsebody.study.isolation import preload

SIZES = (8, 32, 128, 512, 2048, 8192, 32768, 131072, 1048576)
SHUFFLED_METHODS = (  # worth a relabelled row
    ours.PREFIX,
    "pinocchio-aba",
    "pinocchio-lcaba",
    "pinocchio-lean-lcaba",
)
QUICK_SIZES = {  # of each method; the largest where that takes a few seconds
    ours.PREFIX: SIZES[:7],
    "pinocchio-aba": SIZES[:3],
    "pinocchio-lcaba": SIZES[:3],
    "pinocchio-constraint-dynamics": SIZES[:3],
    "pinocchio-lean-aba": SIZES[2:5],
    "pinocchio-lean-lcaba": SIZES[2:4],
    "linear-superlu": SIZES[:6],
    "linear-cholmod": SIZES[3:6],
    "exudyn": SIZES[:4],
    "mujoco": SIZES[:3],
    "drake": SIZES[:3],
}
QUICK_SHUFFLED = SIZES[2:6:3]
QUICK_LARGE = ("ladder", "scissor")  # whose growth is fitted over two decades
QUICK_BUDGET = 270.0  # [s]
MOST_MEMORY = 0.7  # of the machine's, for the largest cases of peers and of the oracle
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


def quick_tasks(seed: int = 0) -> list[Task]:
    """Return the cases of a run in minutes."""
    found = [
        task
        for method, sizes in QUICK_SIZES.items()
        if method == ours.PREFIX or (PEERS[method].is_available() and PEERS[method].is_ready())
        for task in tasks(list(CASES), sizes, [method], [False], seed)
    ]
    found += tasks(list(CASES), QUICK_SHUFFLED, [ours.PREFIX], [True], seed)
    found += tasks(QUICK_LARGE, SIZES[7:8], [ours.PREFIX], [False], seed)
    return sorted(found, key=lambda task: task.n_bodies)


def rows(
    todo: Sequence[Task], cache: Path, seconds: float, gigabytes: float, deadline: float
) -> Iterator[Row]:
    """Measure one case after the other, until the deadline of the monotonic clock."""
    stopped: dict[tuple[str, str, bool], Row] = {}
    for task in todo:
        if time.monotonic() > deadline:
            return
        series = (task.mechanism, task.method, task.relabelled)
        if series in stopped:
            before = stopped[series]
            message = f"{before.status} with {before.n_bodies} bodies"
            yield blank_row(task, status="skipped", message=message)
            continue
        left = max(5.0, min(seconds, deadline + 10.0 - time.monotonic()))
        make_reference(task, cache, left, gigabytes)
        row = run_case(task, cache, left, gigabytes)
        if row.status in FATAL:
            stopped[series] = row
        yield row


def make_reference(task: Task, cache: Path, seconds: float, gigabytes: float) -> None:
    """Store the reference solution of a case, or why there is none: some do not fit in memory."""
    if has_reference(task, cache):
        return
    done = run_case(replace(task, method=REFERENCE, relabelled=False), cache, seconds, gigabytes)
    if done.status != "ok":
        give_up_reference(task, cache, f"{done.status} {done.message}".strip())


def pending(todo: Sequence[Task], path: Path, scope: str) -> tuple[str, list[Task]]:
    """Return the name of the newest run of a scope in a file, and the cases that it lacks."""
    old = [row for row in read_rows(path) if row["scope"] == scope]
    newest = max((row["run"] for row in old), default=now())
    done: set[Key] = {key_of(row) for row in old if row["run"] == newest}
    blanks = [asdict(blank_row(task, scope=scope)) for task in todo]
    return newest, [task for task, row in zip(todo, blanks, strict=True) if key_of(row) not in done]


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
@click.option(
    "--full",
    is_flag=True,
    help="All sizes, methods and shufflings; takes hours.",
)
@click.option("-m", "--mechanism", multiple=True, type=click.Choice(list(CASES)))
@click.option("-n", "--size", multiple=True, type=int, help="About how many bodies.")
@click.option("--method", multiple=True, type=click.Choice([*ours.methods(), *PEERS]))
@click.option("--relabelled/--ordered", default=None, help="Only shuffled, or only ordered cases.")
@click.option("--seed", default=0, show_default=True)
@click.option("--timeout", default=None, type=float, help="Of one case [s].")
@click.option("--memory", type=float, help="Of one case [GB]; default 12, in full runs most of it.")
@click.option("--budget", default=None, type=float, help="Stop after so many seconds.")
@click.option("--resume", is_flag=True, help="Go on with the newest such run in the file.")
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
    memory: float | None,
    budget: float | None,
    resume: bool,
    output: Path,
    cache: Path,
) -> None:
    """Measure forward dynamics: mechanisms x sizes x methods, one CSV row each."""
    start = time.monotonic()
    scope = "full" if full else "part" if mechanism or size or method else "quick"
    if scope == "quick":
        todo = quick_tasks(seed)
    else:
        shufflings = (False, True) if relabelled is None and full else (bool(relabelled),)
        methods = method or [*ours.methods(), *PEERS]
        todo = tasks(mechanism or list(CASES), size or SIZES, methods, shufflings, seed)
    run, todo = pending(todo, output, scope) if resume else (now(), todo)
    click.echo(f"{len(todo)} cases" if todo else "nothing to do")
    preload()
    seconds = timeout or (30.0 if scope == "quick" else 300.0)
    limit = budget or (QUICK_BUDGET if scope == "quick" else float("inf"))
    gigabytes = memory or (MOST_MEMORY * machine.memory() if full else 12.0)
    count = 0
    for row in rows(todo, cache, seconds, gigabytes, start + limit):
        count += 1
        put_row(output, replace(row, run=run, scope=scope))
        spent = time.monotonic() - start
        click.echo(f"[{count}/{len(todo)}, {spent:.0f} s] {said(row)}")
    if count < len(todo):
        click.echo(f"{limit:.0f} s are over, {len(todo) - count} cases left: --resume goes on")
    click.echo(f"results in {output}; figures by python -m benchmarks.report")


if __name__ == "__main__":
    main()
