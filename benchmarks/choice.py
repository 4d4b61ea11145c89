"""Predicted against measured times of orderings and factorizations: `python -m benchmarks.choice`.

One row for each pair in results/choice.csv; prints how far predictions are off, what the automatic
choice costs beside the best pair measured (its regret), and the constants that fit best.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click
import numpy as np
from scipy.optimize import nnls

from benchmarks.cases import problem
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.assembler import SpatialAssembler
from sparsebody.dynamics.evaluators import direct_evaluator
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.preparation import SPATIAL
from sparsebody.errors import SparsebodyError
from sparsebody.factorization import FACTORIZATIONS, available_factorizations
from sparsebody.factorization import Case as Elimination
from sparsebody.model.system import State
from sparsebody.ordering import candidate_orderings, order
from sparsebody.study import machine
from sparsebody.study.measure import cpu_seconds

CHOICE = Path(__file__).parent / "results" / "choice.csv"
MECHANISMS = ("ladder", "scissor", "lattice", "chain")
SIZES = (8, 32, 128, 512, 2048, 8192, 32768)
ALWAYS = ("block-ldl", "cholmod", "superlu")  # measured in their best order at least
NEAR = 3.0  # other pairs are measured up to so many times the least predicted time
LONGEST = 1.0  # predicted [s], above which nothing is measured
BUDGET = 0.06  # of one measurement [s]
ROUNDS = 2  # of all measurements, the least of which counts
TOLERABLE = 1.5  # median error of predictions
FEWEST = 6  # measurements that four constants are fitted to


@dataclass(frozen=True)
class Pair:
    """An ordering with a factorization: its work, predicted and measured time."""

    mechanism: str
    n_bodies: int
    ordering: str
    factorization: str
    is_chosen: bool
    rows: float
    entries: float
    flops: float
    predicted_us: float  # of one factorization and one solve
    measured_us: float = np.nan  # the least CPU time of several
    ratio: float = np.nan  # predicted over measured
    regret: float = np.nan  # measured time over that of the best pair of the same mechanism
    message: str = ""
    machine: str = ""


def pairs(name: str, n_bodies: int) -> list[Pair]:
    """Return the pairs of a mechanism that are worth measuring, measured."""
    case = problem(name, n_bodies)
    dynamics = ForwardDynamics(case.system, case.state, reactions="basic", formulation=SPATIAL)
    chosen = worth_measuring(list(_predicted(name, dynamics)))
    for _ in range(ROUNDS):
        chosen = [measured(pair, dynamics, case.state) for pair in chosen]
    return with_regret(chosen)


def worth_measuring(predicted: list[Pair]) -> list[Pair]:
    """Return the chosen pair, those near the best, and the best of some factorizations."""
    possible = [one for one in predicted if one.predicted_us < 1e6 * LONGEST or one.is_chosen]
    near = NEAR * min(one.predicted_us for one in possible)
    of_backend = ([one for one in possible if one.factorization == name] for name in ALWAYS)
    best = [min(same, key=lambda one: one.predicted_us) for same in of_backend if same]
    return [one for one in possible if one.is_chosen or one.predicted_us <= near or one in best]


def _predicted(name: str, dynamics: ForwardDynamics) -> Iterator[Pair]:
    """Yield every pair of a candidate ordering and a factorization with its prediction."""
    pattern, choice, n = dynamics.structure.pattern, dynamics.choice, dynamics.system.n_bodies
    where = machine.machine()
    for ordering in dict.fromkeys([*candidate_orderings(pattern), choice.ordering]):
        case = Elimination(pattern, order(pattern, ordering))
        for backend in available_factorizations():
            cost = FACTORIZATIONS[backend].cost
            work = cost.work(case)
            chosen = (ordering, backend) == (choice.ordering, choice.factorization)
            counts = (work.rows, work.entries, work.flops)
            us = 1e6 * cost.seconds(work)
            yield Pair(name, n, ordering, backend, chosen, *counts, us, machine=where)


def measured(pair: Pair, dynamics: ForwardDynamics, state: State) -> Pair:
    """Return a pair with the least time so far of one factorization and one solve."""
    sequence = order(dynamics.structure.pattern, pair.ordering)
    acceleration, no_forces = np.empty((dynamics.system.n_bodies, 6)), np.zeros(0)
    try:
        arguments = dynamics.system, dynamics.structure, sequence, pair.factorization
        evaluator = direct_evaluator(SpatialAssembler(*arguments))
        assembler = evaluator.assembler
        assembler.assemble(state, None, no_forces)

        def factorize_and_solve() -> None:
            evaluator.factorize(state.time)
            evaluator.solve(assembler.right, state.time, goal=np.inf)  # no refinement
            assembler.native.to_user_order(acceleration, no_forces)

        microseconds = np.fmin(pair.measured_us, 1e6 * least_seconds(factorize_and_solve, BUDGET))
    except SparsebodyError as error:
        return replace(pair, message=str(error))
    return replace(pair, measured_us=microseconds, ratio=pair.predicted_us / microseconds)


def least_seconds(call: Callable[[], object], budget: float) -> float:
    """Return the least CPU time of one call."""
    calls = max(1, math.ceil(0.005 / max(cpu_seconds(call, 1), 1e-7)))
    times = [cpu_seconds(call, calls) for _ in range(3)]
    while calls * sum(times) < budget:
        times.append(cpu_seconds(call, calls))
    return min(times)


def with_regret(rows: list[Pair]) -> list[Pair]:
    """Return pairs of one mechanism with their times over the least of them."""
    least = min((one.measured_us for one in rows if one.measured_us > 0.0), default=np.nan)
    return [replace(one, regret=one.measured_us / least) for one in rows]


# ---- predictions judged -----------------------------------------------------------------------


def fitted(rows: list[Pair]) -> FloatArray | None:
    """Return call, row, entry and flop constants [s] of least relative squares; None if too few."""
    known = [one for one in rows if one.measured_us > 0.0]
    if len(known) < FEWEST:
        return None
    work, time = _work(known), np.array([1e-6 * one.measured_us for one in known])
    size = np.maximum(work.max(axis=0), 1.0)
    return np.asarray(nnls(work / size / time[:, None], np.ones(len(time)))[0] / size)


def _work(rows: list[Pair]) -> FloatArray:
    return np.array([[1.0, one.rows, one.entries, one.flops] for one in rows])


def off_by(rows: list[Pair], constants: FloatArray | None = None) -> tuple[float, float]:
    """Return how many times predictions are off, too long or too short: median and worst."""
    known = [one for one in rows if one.measured_us > 0.0]
    ratios = np.array([one.ratio for one in known])
    if constants is not None:
        ratios = 1e6 * _work(known) @ constants / [one.measured_us for one in known]
    factors = np.exp(np.abs(np.log(ratios)))
    return float(np.median(factors)), float(factors.max())


def accuracy_table(rows: list[Pair]) -> Iterator[str]:
    """Return lines: how far each factorization's predictions are off, and constants that fit."""
    yield "predictions are off by a factor of, median (worst):"
    for name in FACTORIZATIONS:
        own = [one for one in rows if one.factorization == name]
        constants = fitted(own)
        if constants is None:
            continue
        (median, worst), (new_median, new_worst) = off_by(own), off_by(own, constants)
        mark = f", more than {TOLERABLE}: refit" if median > TOLERABLE else ""
        yield f"{name:12} {median:.2f} ({worst:.1f}) of {len(own)} pairs{mark}"
        names = ("call", "row", "entry", "flop")
        values = ", ".join(f"{k}={v:.2g}" for k, v in zip(names, constants, strict=True))
        yield f'{"":12} {new_median:.2f} ({new_worst:.1f}) with "{name}": Cost({values}),'


def regret_table(rows: list[Pair]) -> Iterator[str]:
    """Return lines: the chosen pair of each mechanism beside the best one measured."""
    for pair in rows:
        if not pair.is_chosen:
            continue
        case = (pair.mechanism, pair.n_bodies)
        same = [one for one in rows if (one.mechanism, one.n_bodies) == case]
        best = next((one for one in same if one.regret == 1.0), pair)
        what = f"{pair.mechanism:8}{pair.n_bodies:7}  {pair.ordering}, {pair.factorization}"
        yield (
            f"{what}: predicted {pair.predicted_us:.4g} us, measured {pair.measured_us:.4g} us, "
            f"regret {pair.regret:.2f} (best of {len(same)}: {best.ordering}, {best.factorization})"
        )


def _text(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.5g}"
    return str(value)


def write(rows: list[Pair], path: Path) -> None:
    """Write one row for each pair."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(asdict(rows[0]))
        writer.writerows(map(_text, asdict(one).values()) for one in rows)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-m", "--mechanism", multiple=True, type=click.Choice(MECHANISMS))
@click.option("-n", "--size", multiple=True, type=int, help="About how many bodies.")
@click.option("--output", default=CHOICE, type=click.Path(path_type=Path))
def main(mechanism: tuple[str, ...], size: tuple[int, ...], output: Path) -> None:
    """Measure orderings with factorizations, and compare with their predictions."""
    rows: list[Pair] = []
    for n_bodies in size or SIZES:
        for name in mechanism or MECHANISMS:
            new = pairs(name, n_bodies)
            rows += new
            click.echo("\n".join(regret_table(new)))
            write(rows, output)
    click.echo("\n".join(accuracy_table(rows)))
    worst = max((one.regret for one in rows if one.is_chosen), default=np.nan)
    click.echo(f"worst regret {worst:.2f}; rows in {output}")


if __name__ == "__main__":
    main()
