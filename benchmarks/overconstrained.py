"""Redundant constraints found and expected: `python -m benchmarks.overconstrained [--full]`.

Every mechanism is taken twice: with six freedoms a body, and with three where all move in a plane.
The expected counts are closed forms, given with the families. "violation" is that of all joints,
dependent rows included, by benchmarks.oracle; errors of accelerations are those to TRUTH, and
"apart" is how far those with six and with three freedoms differ.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.cases import TILTED, Problem, at_state
from benchmarks.oracle import Reference, equations, reference, relative_violation, to_spatial
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.gallery import build
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.system import System
from sparsebody.study import machine

LARGEST_DENSE = 60  # bodies of a dense reference
LARGEST_CHECKED = 50_000  # bodies of a violation in extended precision


@dataclass(frozen=True)
class Family:
    """Mechanisms of one kind, and what is redundant in them."""

    name: str
    build: Callable[[int], Mechanism]
    redundant: Callable[[int], int]  # rows in space
    mobility: Callable[[int], int]
    sizes: tuple[int, ...]
    large: tuple[int, ...] = ()  # sizes of a full run


@dataclass(frozen=True)
class Row:
    """One mechanism with six or three freedoms a body."""

    family: str
    size: int
    freedoms: int
    bodies: int
    rows: int
    redundant: int
    expected: int
    mobility: int
    is_right: bool  # redundant rows and mobility
    certain: bool
    gap: float
    method: str
    seconds: float  # of ForwardDynamics(...), CPU
    megabytes: float
    residual: float  # as the solution reports it, rows left out included
    violation: float
    error: float  # NaN without a reference
    kappa: float
    apart: float  # difference of accelerations with six and with three freedoms


def _square(name: str, k: int) -> Mechanism:
    return build(name, rows=k, columns=k, gravity=TILTED)


FAMILIES = (
    Family(
        "scissor",
        lambda n: build("scissor", pairs=n, gravity=TILTED),
        lambda n: 3 * (n - 1),
        lambda n: 1,
        (3, 10, 100, 1000, 10_000),
        (100_000,),
    ),
    Family(
        "rotating-squares",
        lambda k: _square("rotating-squares", k),
        lambda k: 4 * k * k - 10 * k + 7,
        lambda k: 2,
        (3, 5, 10, 20),
        (40, 100),
    ),
    Family(
        "n-four-bar",
        lambda n: build("n-four-bar", loops=n, gravity=TILTED),
        lambda n: 3 * n,
        lambda n: 1,
        (1, 10, 100, 1000),
    ),
    Family(
        "five-bar-array",
        lambda n: build("five-bar-array", loops=n, gravity=TILTED),
        lambda n: 3 * n,
        lambda n: n + 1,
        (1, 10, 100, 1000),
        (10_000,),
    ),
    Family(
        "four-bar-torus",
        lambda k: _square("four-bar-torus", k),
        lambda k: 3 * k * k + 2 * k + 1,
        lambda k: 2 * k - 4,
        (3, 5, 10, 20),
        (40,),
    ),
    Family("bricard", lambda n: build("bricard"), lambda n: 1, lambda n: 1, (1,)),
)


def dense_reference(problem: Problem) -> Reference | None:
    """Return what the pseudo-inverse of all rows gives, in double precision; small ones only."""
    n = problem.system.n_bodies
    if n > LARGEST_DENSE:
        return None
    equation = equations(problem)
    A = np.zeros((len(equation.rate), 6 * n))
    np.add.at(A, (equation.row, equation.column), equation.value.astype(float))
    root = np.zeros((6 * n, 6 * n))  # L of the inertias, L L'
    for i in range(n):
        root[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = np.linalg.cholesky(
            equation.inertia[i].astype(float)
        )
        for a in range(3):
            k = 6 * i + 3 + a
            root[k, k] = np.sqrt(float(equation.mass[3 * i + a]))
    free = np.linalg.solve(root, equation.force.astype(float))  # L' a without constraints
    whitened = np.linalg.solve(root, A.T).T
    size = np.linalg.norm(whitened, axis=1)
    whitened, rate = whitened / size[:, None], equation.rate.astype(float) / size
    change = np.linalg.lstsq(whitened, rate - whitened @ free, rcond=1e-10)[0]
    sigma = np.linalg.svd(whitened, compute_uv=False)
    sigma = sigma[sigma > 1e-10 * sigma[0]]
    world = np.linalg.solve(root.T, free + change).reshape(-1, 6)
    return Reference(to_spatial(problem, world), 1e-13, float(sigma[0] / sigma[-1]))


def truth(problem: Problem) -> Reference | None:
    """Return the accelerations to compare with: in closed form, or dense; None where unknown."""
    if problem.mechanism == "scissor":
        return reference(problem)
    return dense_reference(problem)


TRUTH: Callable[[Problem], Reference | None] = truth


def rows(family: Family, size: int) -> list[Row]:
    """Return what is found with six freedoms a body, and with three where that applies."""
    system = family.build(size).compile()
    given = _problem(family.name, system)
    exact = TRUTH(given)
    spatial, acceleration = _row(family, size, given, exact, "none")
    if not ForwardDynamics(system, given.state, reactions="basic").is_planar:
        return [spatial]
    planar, other = _row(family, size, given, exact, "auto")
    apart = _error(acceleration, other)
    return [replace(row, apart=apart) for row in (spatial, planar)]


def _problem(name: str, system: System) -> Problem:
    if name == "scissor":
        return at_state(name, system)
    return Problem(name, system, system.initial_state)


def _row(
    family: Family, size: int, given: Problem, exact: Reference | None, reduction: str
) -> tuple[Row, FloatArray]:
    system = given.system
    machine.reset_peak_memory()
    before, start = machine.memory_in_use(), time.process_time()
    dynamics = ForwardDynamics(system, given.state, reduction=reduction, reactions="basic")
    seconds, megabytes = time.process_time() - start, machine.peak_memory() - before
    solution = dynamics(given.state)
    redundant, expected = len(dynamics.redundant_rows), family.redundant(size)
    mobility = 6 * system.n_bodies - dynamics.rank
    told = dynamics.explain()
    error = kappa = float("nan")
    if exact is not None:
        error, kappa = _error(solution.acceleration, exact.acceleration), exact.kappa
    violation = float("nan")
    if system.n_bodies <= LARGEST_CHECKED:
        violation = relative_violation(given, solution.acceleration)
    row = Row(
        family.name,
        size,
        3 if dynamics.is_planar else 6,
        system.n_bodies,
        system.n_rows,
        redundant,
        expected,
        mobility,
        (redundant, mobility) == (expected, family.mobility(size)),
        bool(told["redundancy_certain"]),
        float(dynamics.rank_decision.gap) if dynamics.rank_decision else float("nan"),
        str(told["redundancy_method"]),
        seconds,
        megabytes,
        max(solution.residual, solution.dropped_residual),
        violation,
        error,
        kappa,
        float("nan"),
    )
    return row, solution.acceleration


def _error(found: FloatArray, exact: FloatArray) -> float:
    return float(np.abs(found - exact).max() / np.abs(exact).max())


HEAD = (
    f"{'family':17}{'size':>7}{'free':>5}{'bodies':>8}{'rows':>9}{'redundant':>10}{'expected':>9}"
    f"{'mobility':>9}  {'':16}{'gap':>7}{'s':>8}{'MB':>7}{'residual':>9}{'violated':>9}"
    f"{'error':>8}{'kappa':>8}{'apart':>8}  method"
)


def line(row: Row) -> str:
    """Return a row of the table."""
    verdict = ("right" if row.is_right else "WRONG") + (
        ", certain" if row.certain else ", in doubt"
    )
    return (
        f"{row.family:17}{row.size:7d}{row.freedoms:5d}{row.bodies:8d}{row.rows:9d}"
        f"{row.redundant:10d}{row.expected:9d}{row.mobility:9d}  {verdict:16}{row.gap:7.0e}"
        f"{row.seconds:8.2f}{row.megabytes:7.0f}{row.residual:9.0e}{row.violation:9.0e}"
        f"{row.error:8.0e}{row.kappa:8.0e}{row.apart:8.0e}  {row.method}"
    )


def main() -> None:
    """Print the table; leave with 1 if a count is not right."""
    full = "--full" in sys.argv[1:]
    print(HEAD)
    wrong = 0
    for family in FAMILIES:
        rows(family, family.sizes[0])  # compiles
        for size in family.sizes + (family.large if full else ()):
            for row in rows(family, size):
                wrong += not row.is_right
                print(line(row), flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
