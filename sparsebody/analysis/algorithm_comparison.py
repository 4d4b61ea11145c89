"""The algorithms of the literature on one matrix: what each costs, counted and timed, and loses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from time import thread_time
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.preparation import SPATIAL
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ShapeError, SingularSystemError
from sparsebody.factorization.plain_ldl import analyze
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.system import State, System
from sparsebody.ordering.literature_orders import ALGORITHMS, algorithm_order
from sparsebody.sparse.elimination_tree import OrderingMetrics, ordering_metrics
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix

EPS = (1e-4, 1e-8, 1e-12, 0.0)
MOST_FLOPS = 2e9  # beyond which nothing is factorized: some seconds
_TRIALS = 5


@dataclass(frozen=True)
class AlgorithmLine:
    """One algorithm as an order of the matrix; NaN for what was not done, or had a zero pivot."""

    name: str
    summary: str
    source: str
    metrics: OrderingMetrics  # predicted
    counted_flops: float  # operations of the factorization, as they were done
    seconds: float  # of processor time: the least of some factorizations, each with a solution
    errors: dict[float, float]  # by eps: of the accelerations, relative to the largest

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        return {
            "algorithm": self.name,
            "summary": self.summary,
            "source": self.source,
            **vars(self.metrics),
            "counted_flops": self.counted_flops,
            "seconds": self.seconds,
            "errors": {f"{eps:g}": error for eps, error in self.errors.items()},
        }


@dataclass(frozen=True, eq=False)
class AlgorithmComparison:
    """The algorithms on one matrix, in the order of their table."""

    pattern: BlockPattern
    lines: tuple[AlgorithmLine, ...]
    orders: dict[str, IntArray]  # (n_blocks,) each


def compare_algorithms(
    mechanism: Mechanism | System,
    names: Sequence[str] = (),
    *,
    eps: Sequence[float] = EPS,
    state: State | None = None,
    most_flops: float = MOST_FLOPS,
) -> AlgorithmComparison:
    """Return what the algorithms cost and lose as orders of [D A'; A -eps] in one factorization.

    Constraint rows that depend on others are left out, and rows of A are scaled to one in the
    metric of D^-1. The predicted flops are exactly the counted ones: zeros within blocks count.

    Parameters
    ----------
    mechanism : Mechanism or System
        All bodies with six freedoms.
    names : sequence of str
        Keys of ALGORITHMS; default: all.
    eps : sequence of float
        Errors are found with each. Zero suits only orders without joints before their bodies.
    state : State, optional
        Default: the consistent one nearest to the initial one.
    most_flops : float
        Orders that are predicted to take more are not run.

    Raises
    ------
    UnknownNameError
        For an algorithm that is not there.
    ShapeError
        If there is no eps, or one that is negative or not finite.
    AssemblyError
        If the joints of the mechanism do not close.
    """
    if len(eps) == 0 or not all(0.0 <= value < math.inf for value in eps):
        raise ShapeError(f"eps is {list(eps)}; give zero or small positive numbers, such as 1e-8")
    if not most_flops >= 0.0:
        raise ShapeError(f"most_flops is {most_flops}; give a number that is not negative")
    system = mechanism.compile() if isinstance(mechanism, Mechanism) else mechanism
    state = consistent_state(system) if state is None else state
    dynamics = ForwardDynamics(system, state, formulation=SPATIAL, reactions="basic")
    evaluation, structure = dynamics.evaluate(state), dynamics.structure
    force, gamma = evaluation.applied - evaluation.bias, evaluation.constraint.acceleration
    matrix = structure.matrix(evaluation.constraint)  # (8.64) with independent rows
    acceleration = dynamics.acceleration(state)
    free = np.einsum("nij,nj->ni", matrix.inverse, force.reshape(system.n_bodies, -1))
    largest = max(np.abs(free).max(initial=0.0), np.abs(acceleration).max(initial=0.0))
    size = float(largest) or 1.0  # of the accelerations, with joints or not
    equations = matrix, structure.right_hand_side(force, gamma), acceleration.ravel(), size
    pattern = matrix.pattern
    orders = {name: algorithm_order(pattern, name) for name in dict.fromkeys(names or ALGORITHMS)}
    lines = (_line(name, order, equations, eps, most_flops) for name, order in orders.items())
    return AlgorithmComparison(pattern, tuple(lines), orders)


Equations = tuple[SaddleMatrix, FloatArray, FloatArray, float]


def _line(
    name: str, order: IntArray, equations: Equations, eps: Sequence[float], most_flops: float
) -> AlgorithmLine:
    """Factorize in one order with every eps; `equations` with accelerations and their size."""
    matrix, rhs, acceleration, size = equations
    metrics = ordering_metrics(matrix.pattern, order)
    errors, counted, seconds = dict.fromkeys(map(float, eps), math.nan), math.nan, math.nan
    if metrics.flops <= most_flops:
        symbolic = analyze(matrix.pattern, order)
        for value in errors:
            try:
                numeric = symbolic.factorize(matrix, value)
            except SingularSystemError:
                continue
            wrong = numeric.solve(rhs)[: len(acceleration)] - acceleration
            errors[value] = float(np.abs(wrong).max(initial=0.0)) / size
            if math.isnan(seconds):
                counted, times = float(numeric.flops), []
                for _ in range(_TRIALS):
                    begin = thread_time()
                    symbolic.factorize(matrix, value).solve(rhs)
                    times.append(thread_time() - begin)
                seconds = min(times)
    entry = ALGORITHMS[name]
    return AlgorithmLine(name, entry.summary, entry.source, metrics, counted, seconds, errors)
