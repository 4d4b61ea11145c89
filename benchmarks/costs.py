"""Predicted against reported costs of cubes: `python -m benchmarks.costs` writes results/costs.

Runs cubes by MUMPS on 1, 2 and 4 ranks, which reports flops, entries and memory; the messages of
one factorization and solution are counted by Open MPI's monitoring, as the difference of runs of
three evaluations and of one. A table of predictions up to 10^9 bodies stands beside.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import sparsebody as sb
from sparsebody import ranks

RESULTS = Path(__file__).parent / "results" / "costs"
SIZES, RANKS, EVALUATIONS = (8, 16, 24, 32), (1, 2, 4), (1, 3)
PREDICTED = (8, 16, 32, 48, 64, 100, 128, 215, 464, 1000)
ITERATIVE = (8, 16, 24, 32, 48, 64)


def dynamics(n: int, **options: Any) -> tuple[sb.ForwardDynamics, sb.State]:
    """Return a cube of n x n x n bodies and its state, with all rows."""
    cube = sb.build("lattice", rows=n, columns=n, layers=n)
    system = cube.compile()
    state = sb.consistent_state(system)
    return sb.ForwardDynamics(system, state, reactions="basic", **options), state


def run(n: int, evaluations: int) -> None:
    """Evaluate on all ranks; rank 0 prints what MUMPS reports, and the least time."""
    solver, state = dynamics(
        n, redundancy="keep", factorization="mumps", ordering="geometric-dissection"
    )
    times = []
    for _ in range(evaluations):
        start = perf_counter()
        solver.acceleration(state)
        times.append(perf_counter() - start)
    if ranks.communicator().rank == 0:
        print(json.dumps({"seconds": min(times), "numbers": solver.explain()}, default=str))


def measured(n: int, n_ranks: int) -> dict[str, float]:
    """Return what MUMPS reports, with the messages of one evaluation."""
    sent, report = [], {}
    for evaluations in EVALUATIONS if n_ranks > 1 else EVALUATIONS[1:]:
        with tempfile.TemporaryDirectory() as folder:
            monitoring = {"enable": "2", "enable_output": "3", "filename": f"{folder}/sent"}
            options = [
                x for k, v in monitoring.items() for x in ("--mca", f"pml_monitoring_{k}", v)
            ]
            command = [
                "mpiexec",
                "--oversubscribe",
                *" ".join(options).split(),
                "-n",
                str(n_ranks),
                sys.executable,
            ]
            command += ["-m", "benchmarks.costs", str(n), str(evaluations)]
            done = subprocess.run(
                command, check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
            )
            report = json.loads(done.stdout.splitlines()[-1])
            lines = [x for file in Path(folder).iterdir() for x in file.read_text().splitlines()]
        pairs = [line.split("\t") for line in lines if line.startswith(("E\t", "I\t"))]
        sent.append([sum(int(pair[k].split()[0]) for pair in pairs) for k in (3, 4)])
    size, messages = np.diff(sent, axis=0)[0] / 2 if n_ranks > 1 else (0.0, 0.0)
    numbers = report["numbers"]
    return {
        "seconds": report["seconds"],
        "flops": numbers["flops"]["used"],
        "entries": numbers["entries"]["used"],
        "megabytes of a rank": max(numbers["megabytes"]["used"]),
        "messages": messages,
        "message bytes": size,
    }


def table_of_runs() -> Iterable[list[str]]:
    """Yield predicted and measured numbers of every cube and number of ranks."""
    titles = "cube,ranks,flops,MUMPS,entries,MUMPS,MB of a rank,MUMPS,messages,counted,MB sent"
    yield [*titles.split(","), "counted", "s", "measured"]
    for n in SIZES:
        for n_ranks in RANKS:
            one, other = sb.predict_cost((n, n, n), ranks=n_ranks), measured(n, n_ranks)
            pairs = [
                (one.flops, other["flops"]),
                (one.entries, other["entries"]),
                (one.memory_of_rank / 1e6, other["megabytes of a rank"]),
                (one.messages, other["messages"]),
                (one.message_bytes / 1e6, other["message bytes"] / 1e6),
                (one.seconds, other["seconds"]),
            ]
            numbers = [f"{value:.2g}" for pair in pairs for value in pair]
            yield [f"{n} x {n} x {n}", str(n_ranks), *numbers]


def table_of_predictions() -> Iterable[list[str]]:
    """Yield what cubes of up to 10^9 bodies take, directly and by iterations."""
    titles = (
        "bodies;flops;GB;s;s on 1,024 ranks;GB of a rank;messages;GB sent;iterative: flops;GB;s"
    )
    yield titles.split(";")
    for n in PREDICTED:
        one, many = (sb.predict_cost((n, n, n), ranks=r) for r in (1, 1024))
        parts = sb.predict_cost((n, n, n), method="iterative")
        numbers = (one.flops, one.memory / 1e9, one.seconds, many.seconds)
        numbers += (many.memory_of_rank / 1e9, many.messages, many.message_bytes / 1e9)
        numbers += (parts.flops, parts.memory / 1e9, parts.seconds)
        yield [f"{n**3:,}", *(f"{value:.2g}" for value in numbers)]


def table_of_iterations(sizes: Sequence[int]) -> Iterable[list[str]]:
    """Yield time, memory and error of the factorization "iterative", on two threads."""
    yield ["bodies", "predicted s", "s", "predicted GB", "GB", "steps", "error estimate"]
    for n in sizes:
        line = subprocess.run(
            [sys.executable, "-m", "benchmarks.costs", "iterative", str(n)],
            check=True,
            capture_output=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        ).stdout.splitlines()[-1]
        yield json.loads(line)


def iterate(n: int) -> None:
    """Print one line of the table of iterations."""
    from resource import RUSAGE_SELF, getrusage

    solver, state = dynamics(n, redundancy="krylov", factorization="iterative", threads=2)
    times = []
    for _ in range(2):
        start = perf_counter()
        result = solver(state)
        times.append(perf_counter() - start)
    gigabytes = getrusage(RUSAGE_SELF).ru_maxrss / 1e6
    one = sb.predict_cost((n, n, n), method="iterative")
    numbers = (one.seconds, min(times), one.memory / 1e9, gigabytes, result.solver.iterations)
    error = solver.condition(state).forward_error
    print(json.dumps([f"{n**3:,}", *(f"{value:.2g}" for value in (*numbers, error))]))


def write(name: str, lines: Iterable[list[str]]) -> None:
    """Write a table, line by line."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        for line in lines:
            writer.writerow(line)
            file.flush()


if __name__ == "__main__":
    if sys.argv[1:2] == ["iterative"]:
        iterate(int(sys.argv[2]))
    elif len(sys.argv) > 2:
        run(int(sys.argv[1]), int(sys.argv[2]))
    else:
        write("predictions", table_of_predictions())
        write("runs", table_of_runs())
        write("iterations", table_of_iterations(ITERATIVE))
