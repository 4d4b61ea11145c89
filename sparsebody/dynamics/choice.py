"""Which ordering and which factorization: the pair with the least predicted time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparsebody.arrays import IntArray
from sparsebody.factorization import Symbolic, analyze
from sparsebody.factorization.auto import choose_factorization, predict_seconds
from sparsebody.ordering import order
from sparsebody.ordering.auto import candidate_orderings
from sparsebody.sparse.metrics import OrderingMetrics, ordering_metrics
from sparsebody.sparse.pattern import BlockPattern


@dataclass(frozen=True, eq=False)
class SolverChoice:
    """An elimination order and a symbolic factorization, and why they were taken."""

    ordering: str
    factorization: str
    order: IntArray  # (n_blocks,)
    symbolic: Symbolic
    metrics: Mapping[str, OrderingMetrics]  # of every ordering that was tried
    seconds: Mapping[str, Mapping[str, float]]  # predicted, by ordering and factorization

    def explain(self) -> dict[str, object]:
        """Names and predictions, for people and for JSON."""
        seconds = self.seconds[self.ordering][self.factorization]
        return {
            "ordering": self.ordering,
            "factorization": self.factorization,
            "predicted_seconds": seconds,
            "why": f"least predicted time of {sum(map(len, self.seconds.values()))} combinations: "
            f"{self.ordering} with {self.factorization}, {1e6 * seconds:.3g} us a solution",
            "orderings": {name: vars(metrics) for name, metrics in self.metrics.items()},
            "predictions": {name: dict(times) for name, times in self.seconds.items()},
        }


def choose_solver(pattern: BlockPattern, ordering: str, factorization: str) -> SolverChoice:
    """Return the pair asked for, "auto" standing for the least predicted time.

    Raises
    ------
    UnknownNameError, MissingDependencyError
        For a name that is in no table, or a package that is not installed.
    """
    names = candidate_orderings(pattern) if ordering == "auto" else [ordering]
    orders = {name: order(pattern, name) for name in names}
    metrics = {name: ordering_metrics(pattern, found) for name, found in orders.items()}
    seconds = {
        name: choose_factorization(pattern, found)[1]
        if factorization == "auto"
        else {factorization: predict_seconds(factorization, pattern, found)}
        for name, found in orders.items()
    }
    _, best, backend = min(
        (time, names.index(name), backend)
        for name, times in seconds.items()
        for backend, time in times.items()
    )
    chosen = names[best]
    symbolic = analyze(backend, pattern, orders[chosen])
    return SolverChoice(chosen, backend, orders[chosen], symbolic, metrics, seconds)
