"""The ordering with the least predicted work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.ordering import ORDERINGS, available_orderings, order
from sparsebody.sparse.elimination_tree import OrderingMetrics, core_joints, ordering_metrics
from sparsebody.sparse.pattern import BlockPattern

_CLEARLY_LESS = 0.95  # a later one in the table must promise less than this share of the work


@dataclass(frozen=True, eq=False)
class OrderingChoice:
    """The ordering chosen, and the predicted costs of all candidates."""

    name: str
    order: IntArray  # (n_blocks,)
    predictions: Mapping[str, OrderingMetrics]

    def __str__(self) -> str:
        lines = [f"{'ordering':<24}{'flops':>12}{'entries of L':>14}{'largest front':>15}"]
        for name, metrics in self.predictions.items():
            mark = "  <- chosen" if name == self.name else ""
            lines.append(
                f"{name:<24}{metrics.flops:>12.3g}{metrics.nnz_l:>14}"
                f"{metrics.largest_front:>15}{mark}"
            )
        return "\n".join(lines)


def choose(pattern: BlockPattern, names: list[str] | None = None) -> OrderingChoice:
    """Return the ordering that predicts the fewest flops, the first of the table if much alike.

    `names`: the orderings to try. Otherwise the installed ones that the table offers for this size:
    admissible, deterministic, and not too slow for it.
    """
    candidates = candidate_orderings(pattern) if names is None else names
    orders = {name: order(pattern, name) for name in candidates}
    predictions = {name: ordering_metrics(pattern, blocks) for name, blocks in orders.items()}
    best = candidates[0]
    for name in candidates[1:]:
        if predictions[name].flops < _CLEARLY_LESS * predictions[best].flops:
            best = name
    return OrderingChoice(best, orders[best], predictions)


def candidate_orderings(pattern: BlockPattern) -> list[str]:
    """Return the installed orderings worth their time on a pattern of this size.

    Those of CHOLMOD see the Schur complement, which is as large as bodies with many joints make it.
    """
    joints_of = np.diff(pattern.adjacency[0])[: pattern.n_primal].astype(float)
    size = max(pattern.n_blocks, 1, float(np.sum(joints_of**2)) / 4)  # 4: four joints on a body
    n_in_loops = np.count_nonzero(core_joints(pattern))
    names = available_orderings(pattern.n_blocks)
    return [
        name
        for name in names
        if ORDERINGS[name].smallest_automatic <= n_in_loops
        and size <= ORDERINGS[name].largest_automatic
    ]


def quickest(names: list[str]) -> str:
    """Return the ordering that takes the least time to compute, the first of several."""
    return min(names, key=lambda name: ORDERINGS[name].microseconds)
