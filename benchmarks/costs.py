"""Predicted against reported costs of cubes: `python -m benchmarks.costs` writes results/costs.

Runs cubes by MUMPS on 1, 2 and 4 ranks, which reports flops, entries and memory; the messages of
one factorization and solution are counted by Open MPI's monitoring, as the difference of runs of
three evaluations and of one. Cubes are solved by iterations, each in a process of its own, on two
threads. A table of predictions up to 10^9 bodies stands beside.
"""

import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from timeit import repeat
from typing import Any

import numpy as np

import sparsebody as sb
from sparsebody import ranks

RESULTS = Path(__file__).parent / "results" / "costs"
SIZES, RANKS = (8, 16, 24, 32), (1, 2, 4)
PREDICTED = (8, 16, 32, 48, 64, 100, 128, 215, 464, 1000)
ITERATIVE = (8, 16, 24, 32, 48, 64)
HEADERS = {
    "predictions": "bodies;flops;GB;s;s on 1,024 ranks;GB of a rank;messages;GB sent;"
    "iterative: flops;GB;s",
    "runs": "cube;ranks;flops;MUMPS;entries;MUMPS;MB of a rank;MUMPS;messages;counted;MB sent;"
    "counted;s;measured",
    "iterations": "bodies;predicted s;s;predicted GB;GB;steps;error estimate",
}


def dynamics(n: int, **options: Any) -> tuple[sb.ForwardDynamics, sb.State]:
    """Return a cube of n x n x n bodies and its state, with all rows."""
    system = sb.build("lattice", rows=n, columns=n, layers=n).compile()
    state = sb.consistent_state(system)
    return sb.ForwardDynamics(system, state, reactions="basic", **options), state


def line(names: Iterable[str], numbers: Iterable[float]) -> list[str]:
    """Return a line of a table."""
    return [*names, *(f"{number:.2g}" for number in numbers)]


# ---- MUMPS, on several ranks ---------------------------------------------------------------------


def evaluate(n: int, evaluations: int) -> None:
    """Evaluate on all ranks; rank 0 prints what MUMPS reports, and the least time."""
    mumps = {"factorization": "mumps", "ordering": "geometric-dissection"}
    solver, state = dynamics(n, redundancy="keep", **mumps)
    seconds = min(repeat(lambda: solver.acceleration(state), number=1, repeat=evaluations))
    if ranks.communicator().rank == 0:
        print(json.dumps({**solver.explain(), "seconds": seconds}, default=str))


def evaluated(n: int, evaluations: int, n_ranks: int) -> tuple[dict[str, Any], list[int]]:
    """Return what rank 0 prints, with the messages of all ranks and their bytes."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["mpiexec", "--oversubscribe", "-n", str(n_ranks)]
        monitoring = {"enable": "2", "enable_output": "3", "filename": f"{folder}/sent"}
        for name, value in monitoring.items():
            command += ["--mca", f"pml_monitoring_{name}", value]
        command += [sys.executable, "-m", __spec__.name, str(n), str(evaluations)]
        printed = subprocess.run(command, check=True, capture_output=True).stdout
        lines = [x for file in Path(folder).iterdir() for x in file.read_text().splitlines()]
    pairs = [x.split("\t") for x in lines if x.startswith(("E\t", "I\t"))]
    sent = [sum(int(pair[k].split()[0]) for pair in pairs) for k in (4, 3)]
    return json.loads(printed.splitlines()[-1]), sent


def runs() -> Iterator[list[str]]:
    """Yield predicted and measured numbers of every cube and number of ranks."""
    for n in SIZES:
        for n_ranks in RANKS:
            predicted = sb.predict_cost((n, n, n), ranks=n_ranks)
            report, sent = evaluated(n, 3, n_ranks)
            once = evaluated(n, 1, n_ranks)[1] if n_ranks > 1 else sent
            messages, message_bytes = np.subtract(sent, once) / 2
            pairs = [
                (predicted.flops, report["flops"]["used"]),
                (predicted.entries, report["entries"]["used"]),
                (predicted.memory_of_rank / 1e6, max(report["megabytes"]["used"])),
                (predicted.messages, messages),
                (predicted.message_bytes / 1e6, message_bytes / 1e6),
                (predicted.seconds, report["seconds"]),
            ]
            yield line((f"{n} x {n} x {n}", str(n_ranks)), np.ravel(pairs))


# ---- iterations, and predictions -----------------------------------------------------------------


def iterations(n: int) -> list[str]:
    """Return time, memory and error of the factorization "iterative", on two threads."""
    solver, state = dynamics(n, redundancy="krylov", factorization="iterative", threads=2)
    results = list[sb.Accelerations]()
    seconds = min(repeat(lambda: results.append(solver(state)), number=1, repeat=2))
    gigabytes = getrusage(RUSAGE_SELF).ru_maxrss / 1e6
    one, steps = sb.predict_cost((n, n, n), method="iterative"), results[-1].solver.iterations
    numbers = one.seconds, seconds, one.memory / 1e9, gigabytes, steps
    return line([f"{n**3:,}"], (*numbers, solver.condition(state).forward_error))


def predictions() -> Iterator[list[str]]:
    """Yield what cubes of up to 10^9 bodies take, directly and by iterations."""
    for n in PREDICTED:
        one, many = (sb.predict_cost((n, n, n), ranks=r) for r in (1, 1024))
        parts = sb.predict_cost((n, n, n), method="iterative")
        numbers = (one.flops, one.memory / 1e9, one.seconds, many.seconds)
        numbers += (many.memory_of_rank / 1e9, many.messages, many.message_bytes / 1e9)
        yield line([f"{n**3:,}"], (*numbers, parts.flops, parts.memory / 1e9, parts.seconds))


def write(name: str, lines: Iterable[list[str]]) -> None:
    """Write a table, line by line."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADERS[name].split(";"))
        for cells in lines:
            writer.writerow(cells)
            file.flush()


def main() -> None:
    """Write all tables."""
    write("predictions", predictions())
    write("runs", runs())
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as own_processes:
        write("iterations", own_processes.map(iterations, ITERATIVE))


if __name__ == "__main__":
    evaluate(*map(int, sys.argv[1:])) if sys.argv[1:] else main()
