"""Every method of a study in one shape: prepared once, evaluated many times."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.methods import SPARSE
from sparsebody.study.families import Problem
from sparsebody.study.plan import PEER, Series, Study
from sparsebody.tree import TreeDynamics, tree_dynamics


class Prepared(Protocol):
    """A mechanism at a state, and all that a method prepares once.

    Engines outside the package may have `measure` instead of `evaluate`, which returns CPU and
    wall time [s] of one evaluation; `detail`, a line that a reader should know; and `predicted`,
    a dict of other columns.
    """

    def evaluate(self) -> object:
        """Compute all accelerations, which is what is timed."""
        ...

    def accelerations(self) -> FloatArray:
        """Return spatial accelerations (n_bodies, 6) in body coordinates, angular first."""
        ...


@dataclass(frozen=True, eq=False)
class SparsePrepared:
    """The body-level system, analyzed."""

    problem: Problem
    dynamics: ForwardDynamics
    result: FloatArray = field(init=False)  # filled anew at every evaluation

    def __post_init__(self) -> None:
        object.__setattr__(self, "result", np.empty((self.problem.system.n_bodies, 6)))

    def evaluate(self) -> None:
        """Compute the accelerations of all bodies."""
        self.dynamics.acceleration(self.problem.state, out=self.result)

    def accelerations(self) -> FloatArray:
        """Return them."""
        return self.dynamics.acceleration(self.problem.state)

    def does_the_same(self, other: SparsePrepared) -> bool:
        """Tell whether another one eliminates in the same order by the same factorization."""
        mine, its = self.dynamics, other.dynamics
        return mine.factorization == its.factorization and np.array_equal(
            mine.choice.order, its.choice.order
        )

    def forces(self) -> None:
        """Compute accelerations, multipliers, joint wrenches and residuals."""
        self.dynamics(self.problem.state)

    def phases(self) -> dict[str, float]:
        """Return the CPU time [s] of kinematics with assembly, factorization, solution."""
        evaluator, state = self.dynamics.evaluator, self.problem.state
        nothing = np.zeros(0)
        marks = [time.process_time()]
        evaluator.assembler.assemble(state, None, nothing)
        marks.append(time.process_time())
        evaluator.factorize(state.time)
        marks.append(time.process_time())
        evaluator.solve_assembled(state, self.result, nothing)
        marks.append(time.process_time())
        spent = np.diff(marks).tolist()
        return dict(
            zip(("kinematics_seconds", "factorize_seconds", "solve_seconds"), spent, strict=True)
        )

    @property
    def predicted(self) -> dict[str, Any]:
        """What was chosen, what one factorization costs, and how many rows were left out."""
        metrics = self.dynamics.choice.metrics[self.dynamics.ordering]
        return {
            "chosen_ordering": self.dynamics.ordering,
            "chosen_factorization": self.dynamics.factorization,
            "nnz_l": metrics.nnz_l,
            "flops": metrics.flops,
            "largest_front": metrics.largest_front,
            "redundant_rows": len(self.dynamics.redundant_rows),
            "mobility": 6 * self.problem.system.n_bodies - self.dynamics.rank,
        }


@dataclass(frozen=True, eq=False)
class TreePrepared:
    """A method in joint coordinates, its tree chosen."""

    problem: Problem
    dynamics: TreeDynamics

    def evaluate(self) -> None:
        """Compute the accelerations of all bodies."""
        self.dynamics.acceleration(self.problem.state)

    def accelerations(self) -> FloatArray:
        """Return them."""
        return self.dynamics.acceleration(self.problem.state)

    @property
    def detail(self) -> str:
        """The tree in use."""
        tree = self.dynamics.tree
        return f"{tree.choice} tree, {tree.n_inertia_nonzeros} nonzeros of H"


def prepare(study: Study, series: Series, problem: Problem) -> Any:
    """Analyze a problem by the method of a series; a Prepared."""
    if series.method == PEER:
        return study.peers[series.peer].load()(problem)
    if series.method == SPARSE:
        dynamics = ForwardDynamics(
            problem.system,
            problem.state,
            ordering=series.ordering,
            factorization=series.factorization,
            reactions="basic",
        )
        return SparsePrepared(problem, dynamics)
    return TreePrepared(problem, tree_dynamics(series.method, problem.system, reactions="basic"))
