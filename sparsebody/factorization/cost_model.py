"""Which backend will be fastest: a cost model with constants measured once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.errors import UnknownNameError
from sparsebody.factorization import FACTORIZATIONS, available_factorizations
from sparsebody.factorization.block_ldl import MOST_UPDATES, TILE, safe_order
from sparsebody.factorization.layouts import MOST_CONTRIBUTIONS
from sparsebody.factorization.pivoted_lu import LARGEST_BAND, MOST_ROWS
from sparsebody.sparse.elimination_tree import (
    Elimination,
    OrderingMetrics,
    elimination,
    elimination_metrics,
    ordering_metrics,
    weighted_counts,
)
from sparsebody.sparse.pattern import BlockPattern, Blocks, check_order

PIVOTING = ("superlu", "banded", "dense")  # take any order of any symmetric matrix
LARGE = 5000  # primal blocks from which on work is saved that can change nothing


@dataclass(frozen=True)
class Work:
    """What a factorization and a solve have to do; infinite where they cannot be done."""

    rows: float
    entries: float  # of the factors
    flops: float


IMPOSSIBLE = Work(np.inf, np.inf, np.inf)


@dataclass(frozen=True)
class Cost:
    """Seconds for one factorization and one solve."""

    call: float
    row: float
    entry: float
    flop: float

    def seconds(self, work: Work) -> float:
        """Return call + row rows + entry entries + flop flops."""
        return self.call + self.row * work.rows + self.entry * work.entries + self.flop * work.flops


# Least squares on ladders, lifts, lattices and chains of 8 to 32,768 bodies, one core of an x86-64
# server (benchmarks/choice.toml), within a factor of 1.3 (block-ldl: 1.7 where L is larger than the
# caches): only the ratios matter, and they change little from machine to machine.
COSTS = {
    "superlu": Cost(call=3.0e-5, row=4.8e-7, entry=5.6e-9, flop=7.7e-10),
    "cholmod": Cost(call=3.3e-5, row=6.9e-8, entry=1.8e-8, flop=1.1e-10),
    "cholmod-ldl": Cost(call=5.1e-5, row=1e-8, entry=3.3e-8, flop=5e-10),
    "block-ldl": Cost(call=3.3e-6, row=1.8e-8, entry=1e-12, flop=5.7e-11),
    "multifrontal": Cost(call=2.5e-5, row=1.6e-7, entry=1.8e-9, flop=4.4e-11),
    "block-qr": Cost(call=5.0e-6, row=3e-8, entry=2e-9, flop=1e-9),  # never the fastest
    "banded": Cost(call=6.0e-6, row=3e-7, entry=6e-10, flop=6.5e-12),
    "dense": Cost(call=1.0e-5, row=1e-8, entry=4.5e-9, flop=1.8e-11),
}


class Case:
    """A pattern in an elimination order, with what several predictions need computed once."""

    def __init__(self, pattern: BlockPattern, order: IntArray) -> None:
        self.pattern = pattern
        self.order = order

    @cached_property
    def elimination(self) -> Elimination:
        """Adjacency and elimination tree in the given order."""
        return elimination(self.pattern, self.order)

    @cached_property
    def metrics(self) -> OrderingMetrics:
        """The predicted cost in the given order."""
        return elimination_metrics(self.elimination, self.pattern.block_sizes[self.order])


def _whole_work(case: Case) -> Work:
    """LDL' of the whole matrix in the given order."""
    return Work(case.pattern.n_rows, case.metrics.nnz_l, case.metrics.flops)


def _schur_work(case: Case) -> Work:
    """Primal blocks first: what is left is the Schur complement."""
    pattern, order = case.pattern, case.order
    degree = np.diff(pattern.adjacency[0])[: pattern.n_primal].astype(float)
    if degree @ (degree + 1) / 2 > MOST_CONTRIBUTIONS:
        return IMPOSSIBLE
    primal_first = order[np.argsort(order >= pattern.n_primal, kind="stable")]
    metrics = ordering_metrics(pattern, primal_first)
    return Work(pattern.n_rows, metrics.nnz_l, metrics.flops)


def _tile_work(case: Case) -> Work:
    """LDL' of the whole matrix with every block filled up to whole tiles."""
    pattern, order = case.pattern, safe_order(case.pattern, case.order)
    elimination_of_order = case.elimination if order is case.order else elimination(pattern, order)
    size = pattern.block_sizes[order]
    tiled = TILE * -(-size // TILE)
    below = (weighted_counts(elimination_of_order, tiled) - tiled).astype(float)
    if below @ (below + TILE) / (2 * TILE**2) > MOST_UPDATES:
        return IMPOSSIBLE
    return Work(pattern.n_rows, float(size @ below), float(size @ below**2))


def _band_work(case: Case) -> Work:
    """Partial pivoting doubles the upper band."""
    rows, width = case.pattern.n_rows, float(case.metrics.scalar_bandwidth)
    entries = rows * (3 * width + 1)
    if 8 * entries > LARGEST_BAND:
        return IMPOSSIBLE
    return Work(rows, entries, 4 * rows * width**2)


def _dense_work(case: Case) -> Work:
    """LU of all rows."""
    rows = float(case.pattern.n_rows)
    if rows > MOST_ROWS:
        return IMPOSSIBLE
    return Work(rows, rows**2, 2 / 3 * rows**3)


WORK: dict[str, Callable[[Case], Work]] = {
    "superlu": _whole_work,
    "cholmod": _schur_work,
    "cholmod-ldl": _whole_work,
    "block-ldl": _tile_work,
    "multifrontal": _whole_work,
    "block-qr": _schur_work,
    "banded": _band_work,
    "dense": _dense_work,
}


def predict_seconds(name: str, pattern: BlockPattern, order: IntArray) -> float:
    """Return the predicted time [s] of one factorization and one solve; inf where impossible.

    Raises UnknownNameError or ShapeError for a wrong name or order.
    """
    if not isinstance(name, str) or name not in FACTORIZATIONS:
        known = ", ".join(FACTORIZATIONS)
        raise UnknownNameError(f"unknown factorization {name!r}; there are {known}")
    check_order(pattern, order)
    return _seconds(name, Case(pattern, order))


def _seconds(name: str, case: Case) -> float:
    """Return the predicted time [s]; of a backend from elsewhere, as if it were SuperLU."""
    return COSTS.get(name, COSTS["superlu"]).seconds(WORK.get(name, _whole_work)(case))


def pivoted_seconds(pattern: Blocks, order: IntArray) -> dict[str, float]:
    """Return the predicted times [s] of the backends that pivot, for any symmetric pattern."""
    case = Case(cast(BlockPattern, pattern), order)  # these look at rows and metrics alone
    return {name: _seconds(name, case) for name in PIVOTING}


def least_seconds(name: str, case: Case) -> float:
    """Return a time [s] that no order goes below: no entry fills in, and nothing is multiplied."""
    pattern, sizes = case.pattern, case.pattern.block_sizes
    joined = np.where(pattern.ends >= 0, sizes[pattern.ends], 0).sum(axis=1)
    entries = float(sizes @ (sizes + 1)) / 2 + float(sizes[pattern.n_primal :] @ joined)
    return COSTS[name].seconds(Work(pattern.n_rows, entries, 0.0))


def choose_factorization(
    pattern: BlockPattern, order: IntArray, case: Case | None = None
) -> tuple[str, dict[str, float]]:
    """Return the available backend with the least predicted time, and all predictions [s].

    Those from elsewhere, whose times were never measured, are not among them.
    In large patterns "cholmod" is predicted by a lower bound where that is enough to rule it out. A
    `case` of the same pattern and order saves work.
    """
    case = Case(pattern, order) if case is None else case
    names = [name for name in available_factorizations() if name in COSTS and name != "block-qr"]
    predicted = {name: _seconds(name, case) for name in names if name != "cholmod"}
    if "cholmod" in names:  # it needs an analysis of its own
        bound = least_seconds("cholmod", case)
        cannot_win = pattern.n_primal >= LARGE and bound > min(predicted.values())
        predicted["cholmod"] = bound if cannot_win else _seconds("cholmod", case)
    predicted = {name: predicted[name] for name in names}
    return min(predicted, key=lambda name: predicted[name]), predicted
