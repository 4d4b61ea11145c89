"""Which ordering and which factorization: the pair with the least predicted time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import UnknownNameError
from sparsebody.factorization import is_available
from sparsebody.factorization.cost_model import LARGE, Case, choose_factorization, predict_seconds
from sparsebody.factorization.krylov import QUASI_DEFINITE
from sparsebody.ordering import candidate_orderings, order, quickest
from sparsebody.sparse.elimination_tree import OrderingMetrics
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.searches import sampled

NEARLY = 1.02  # orderings within this share of the least predicted time are as good
WIDE = 100  # rows in a front beyond which LDL' of wide fronts may be faster than QR of small ones
AS_EXPECTED = 1.25  # share of a sample's time, in proportion, at which no other ordering is tried

CHANGE_OF_BASIS = 8e-8  # [s] a body, to its freedoms and back


@dataclass(frozen=True, eq=False)
class SolverChoice:
    """An elimination order and a factorization, and why they were taken."""

    ordering: str
    factorization: str
    order: IntArray  # (n_blocks,)
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


def choose_solver(
    pattern: BlockPattern,
    ordering: str,
    factorization: str,
    positions: FloatArray | None = None,
) -> SolverChoice:
    """Return the pair asked for, "auto" standing for the least predicted time.

    The ordering asked for gets the `positions` (n_primal, 3) of the bodies if it takes any. Of
    large mechanisms samples are tried, and the quickest of the best is taken if it keeps its
    promise.
    """
    if ordering != "auto":
        return _best(pattern, [ordering], factorization, positions)
    names = candidate_orderings(pattern)
    if pattern.n_primal < LARGE:
        return _best(pattern, names, factorization)
    sample = sampled(pattern)
    tried = _predictions(sample, names, factorization)
    least = {name: min(tried[name][1].values()) for name in names}
    name = quickest([name for name in names if least[name] <= NEARLY * min(least.values())])
    choice = _best(pattern, [name], factorization)
    seconds = choice.seconds[choice.ordering][choice.factorization]
    expected = least[name] * pattern.n_rows / sample.n_rows
    if seconds > AS_EXPECTED * expected:  # what fills in grows with the size
        unlike = {least[name]: name for name in reversed(names)}  # the same prediction once
        return _best(pattern, [*unlike.values()][::-1], factorization)
    return choice


def choose_in_plane(
    pattern: BlockPattern,
    ordering: str,
    factorization: str,
    positions: FloatArray | None = None,
) -> SolverChoice:
    """Return the pair for a planar mechanism; see `choose_solver`.

    "auto" is QR, which keeps the accuracy that long lifts need, or multifrontal LDL' if faster.
    """
    choice = choose_solver(pattern, ordering, "block-qr", positions)
    if factorization == "block-qr" or choice.metrics[choice.ordering].largest_front <= WIDE:
        return choice
    other = choose_solver(pattern, ordering, "multifrontal", positions)
    return min(choice, other, key=lambda c: c.seconds[c.ordering][c.factorization])


def reduction_pays(reduced: BlockPattern, whole: BlockPattern, ordering: str) -> bool:
    """Tell whether fewer rows are predicted to save more time than the change of basis takes."""
    least = [
        min(min(times.values()) for times in choice.seconds.values())
        for choice in (choose_solver(p, ordering, "auto") for p in (reduced, whole))
    ]
    return least[0] + CHANGE_OF_BASIS * reduced.n_primal < least[1]


def choose_quasi_definite(pattern: BlockPattern, ordering: str, factorization: str) -> SolverChoice:
    """Return the pair for all rows; UnknownNameError if the factorization needs a rank decision."""
    if factorization not in ("auto", *QUASI_DEFINITE):
        raise UnknownNameError(
            f"factorization is {factorization!r}, which needs independent rows; without a decision "
            f"on the rank give one of auto, {', '.join(QUASI_DEFINITE)}"
        )
    names = [factorization] if factorization != "auto" else [*filter(is_available, QUASI_DEFINITE)]
    choices = [choose_solver(pattern, ordering, name) for name in names]
    return min(choices, key=lambda c: c.seconds[c.ordering][c.factorization])


def _best(
    pattern: BlockPattern,
    names: list[str],
    factorization: str,
    positions: FloatArray | None = None,
) -> SolverChoice:
    """Return the pair with the least predicted time among some orderings."""
    predictions = _predictions(pattern, names, factorization, positions)
    _, best, backend = min(
        (time, names.index(name), backend)
        for name, (_, times) in predictions.items()
        for backend, time in times.items()
    )
    metrics = {name: case.metrics for name, (case, _) in predictions.items()}
    seconds = {name: times for name, (_, times) in predictions.items()}
    order = predictions[names[best]][0].order
    return SolverChoice(names[best], backend, order, metrics, seconds)


def _predictions(
    pattern: BlockPattern,
    names: list[str],
    factorization: str,
    positions: FloatArray | None = None,
) -> dict[str, tuple[Case, dict[str, float]]]:
    """Return for every ordering its order, and the predicted times [s] by factorization."""
    predictions = {}
    for name in names:
        case = Case(pattern, order(pattern, name, positions))
        if factorization == "auto":
            times = choose_factorization(pattern, case.order, case)[1]
        else:
            times = {factorization: predict_seconds(factorization, pattern, case.order)}
        predictions[name] = case, times
    return predictions
