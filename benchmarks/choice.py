"""Predicted against measured times of orderings and factorizations: hooks of `choice.toml`.

The automatic choice is judged by its regret, its time over that of the best pair measured, and the
cost model by how far its predictions are off, beside the constants that would fit best.
"""

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from scipy.optimize import nnls

import sparsebody as sb
from benchmarks.cases import problem
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.preparation import SPATIAL
from sparsebody.factorization import FACTORIZATIONS, Case, Cost
from sparsebody.ordering import order
from sparsebody.study.findings import Finding, judged
from sparsebody.study.rows import Row

REGRET = 1.5
TOLERABLE = 1.5  # median factor that predictions are off by, beyond which constants are fitted anew
FEWEST = 6  # measurements that four constants are fitted to


def findings(rows: Sequence[Row]) -> Iterator[Finding]:
    """Yield the regret for each family, and the errors of predictions for each factorization."""
    rows = [row for row in rows if row["status"] == "ok" and seconds(row) > 0.0]
    for family in dict.fromkeys(row["family"] for row in rows):
        members, values = [row for row in rows if row["family"] == family], {}
        for chosen in (row for row in members if row["factorization"] == "auto"):
            n = chosen["n_bodies"]
            best = min((row for row in members if row["n_bodies"] == n), key=seconds)
            pair = f" (best: {best['chosen_ordering']}, {best['chosen_factorization']})"
            values[n] = (seconds(chosen) / seconds(best), REGRET, pair)
        yield judged(f"{family}: time over that of the best pair", values, f"<= {REGRET}")
    for name, cost in ((name, backend.cost[:4]) for name, backend in FACTORIZATIONS.items()):
        own = [row for row in rows if row["factorization"] == name]
        if len(own) < FEWEST:
            continue
        work = np.array([work_of(row) for row in own])
        time = np.array([seconds(row) for row in own])
        constants = fitted(work, time)
        (median, worst), (best, _) = (off_by(work @ c, time) for c in (cost, constants))
        text = ", ".join(f"{k}={c:.2g}" for k, c in zip(Cost._fields[:4], constants, strict=True))
        remark = f" (worst {worst:.1f}; {best:.2f} with Cost({text}))"
        largest = max(row["n_bodies"] for row in own)
        promise = f"{name}: factor that predictions are off by, median of {len(own)} pairs"
        yield judged(promise, {largest: (median, TOLERABLE, remark)}, f"<= {TOLERABLE}")


def seconds(row: Row) -> float:
    """Return the time of one factorization and one solution."""
    return float(row["factorize_seconds"]) + float(row["solve_seconds"])


def work_of(row: Row) -> tuple[float, ...]:
    """Return what call, row, entry and flop constants are multiplied by."""
    pattern = pattern_of(row["family"], row["size"], row["seed"])
    sequence = order(pattern, row["chosen_ordering"])
    return 1.0, *FACTORIZATIONS[row["factorization"]].work(Case(pattern, sequence))


@cache
def pattern_of(family: str, n_bodies: int, seed: int) -> sb.BlockPattern:
    """Return the pattern of a problem with six freedoms a body."""
    case = problem(family, n_bodies, seed)
    options = {"ordering": "natural", "formulation": SPATIAL}
    return sb.ForwardDynamics(case.system, case.state, **options).structure.pattern


def fitted(work: FloatArray, time: FloatArray) -> FloatArray:
    """Return call, row, entry and flop constants [s] of least relative squares."""
    size = np.maximum(work.max(axis=0), 1.0)
    return np.asarray(nnls(work / size / time[:, None], np.ones(len(time)))[0] / size)


def off_by(predicted: FloatArray, time: FloatArray) -> tuple[float, float]:
    """Return how many times predictions are too long or too short: median and worst."""
    factors = np.exp(np.abs(np.log(predicted / time)))
    return float(np.median(factors)), float(factors.max())
