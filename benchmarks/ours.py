"""sparsebody itself, with the automatic choice and with every factorization of its table."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import sparsebody
from benchmarks.cases import Problem
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.factorization import FACTORIZATIONS, available_factorizations
from sparsebody.study.machine import commit

VERSION = f"sparsebody {sparsebody.__version__} {commit()}".strip()
PREFIX = "sparsebody"
PHASES = ("kinematics", "factorize", "solve")  # with assembly; with refinement


def methods() -> list[str]:
    """Return the names of all methods: sparsebody, sparsebody-cholmod, ..."""
    return [PREFIX, *(f"{PREFIX}-{name}" for name in FACTORIZATIONS)]


def is_available(method: str) -> bool:
    """Tell whether the factorization can be used here."""
    return method == PREFIX or method.removeprefix(f"{PREFIX}-") in available_factorizations()


@dataclass(frozen=True, eq=False)
class Prepared:
    """Forward dynamics, analyzed, ready to be called at the state."""

    problem: Problem
    dynamics: ForwardDynamics
    result: FloatArray  # (n_bodies, 6) filled anew, as the peers do with theirs

    @property
    def detail(self) -> str:
        """Ordering and factorization in use, and how many rows were left out."""
        chosen = f"{self.dynamics.ordering}, {self.dynamics.factorization}"
        return f"{chosen}, {len(self.dynamics.redundant_rows)} rows left out"

    def evaluate(self) -> None:
        """Compute the accelerations of all bodies, as the peers do."""
        self.dynamics.acceleration(self.problem.state, out=self.result)

    def accelerations(self) -> FloatArray:
        """Return spatial accelerations (n_bodies, 6) in body coordinates, angular first."""
        return self.dynamics.acceleration(self.problem.state)

    @property
    def predicted(self) -> dict[str, float]:
        """Return the work of one factorization, told from the pattern."""
        metrics = self.dynamics.choice.metrics[self.dynamics.ordering]
        return {"flops": metrics.flops, "factor_entries": float(metrics.nnz_l)}

    def forces(self) -> None:
        """Compute accelerations, multipliers, joint wrenches and residuals."""
        self.dynamics(self.problem.state)

    def phases(self) -> dict[str, float]:
        """Return the CPU time [s] of each of PHASES, one after the other."""
        evaluator, state = self.dynamics.evaluator, self.problem.state
        acceleration, nothing = np.empty((len(state.position), 6)), np.zeros(0)
        marks = [time.process_time()]
        evaluator.assembler.assemble(state, None, nothing)
        marks.append(time.process_time())
        evaluator.solver.factorize(state.time)
        marks.append(time.process_time())
        evaluator.solve_assembled(state, None, acceleration, nothing)
        marks.append(time.process_time())
        return {name: marks[i + 1] - marks[i] for i, name in enumerate(PHASES)}


def prepare(method: str, problem: Problem) -> Prepared:
    """Analyze a problem; forces of dependent rows are those of the kept ones, which is cheaper."""
    name = "auto" if method == PREFIX else method.removeprefix(f"{PREFIX}-")
    dynamics = ForwardDynamics(problem.system, problem.state, factorization=name, reactions="basic")
    return Prepared(problem, dynamics, np.empty((problem.system.n_bodies, 6)))
