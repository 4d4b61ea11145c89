"""Factorizations of saddle-point matrices: one file per backend, and the table of them.

A backend's time is predicted by constants measured once: least squares on ladders, lifts, lattices
and chains of 8 to 32,768 bodies, one core of an x86-64 server (benchmarks/choice.toml), within a
factor of 1.3 (block-ldl: 1.7 where L is larger than the caches). Only the ratios matter, and they
change little from machine to machine. The part of these times that is divided by the threads, or
the ranks of MUMPS (Amdahl (1967), AFIPS 30:483), and the memory were measured on cubes of 16 to 32
bodies a side and ladders of 131,072.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import NamedTuple, cast

import numpy as np

from sparsebody import errors, ranks
from sparsebody.arrays import IntArray
from sparsebody.factorization import cholmod, mumps, pivoted_lu, substructures, unit_factors
from sparsebody.factorization.backend import Numeric, Symbolic, refined_solve
from sparsebody.factorization.layouts import MOST_CONTRIBUTIONS
from sparsebody.sparse import elimination_tree as trees
from sparsebody.sparse.pattern import BlockPattern, Blocks, check_order

__all__ = [
    "FACTORIZATIONS",
    "Backend",
    "Numeric",
    "Prediction",
    "Symbolic",
    "analyze",
    "available_factorizations",
    "predict",
    "refined_solve",
]

PIVOTING = ("superlu", "banded", "dense")  # LU with pivoting: any symmetric matrix in any order
LARGE_PATTERN = (
    5000  # primal blocks; beyond, a backend whose least possible time is too long is out
)
INSTALL = {
    "sksparse.cholmod": "apt install libsuitesparse-dev && pip install 'scikit-sparse==0.4.16'",
    "mumps": "apt install libmumps-dev libopenmpi-dev openmpi-bin && pip install 'sparsebody[mpi]'",
}


# ---- predicted work ------------------------------------------------------------------------------


class Work(NamedTuple):
    """Sizes of a factorization and a solve; infinite where they cannot be done."""

    rows: float
    entries: float  # of the factors
    flops: float


BYTES = 10.0  # of memory in all for each entry of the factors, where it was not measured
LARGE_FACTORS = 1e9  # bytes; larger factors are compared with the machine's free memory
IMPOSSIBLE = Work(np.inf, np.inf, np.inf)


@dataclass(frozen=True, eq=False)
class Case:
    """A pattern in an elimination order, whose tree and metrics several predictions share."""

    pattern: BlockPattern
    order: IntArray

    @cached_property
    def elimination(self) -> trees.Elimination:
        """Adjacency and elimination tree in the given order."""
        return trees.elimination(self.pattern, self.order)

    @cached_property
    def metrics(self) -> trees.OrderingMetrics:
        """The predicted cost in the given order."""
        return trees.elimination_metrics(self.elimination, self.pattern.block_sizes[self.order])


def _whole_work(case: Case) -> Work:
    """LDL' of the whole matrix in the given order."""
    return Work(case.pattern.n_rows, case.metrics.nnz_l, case.metrics.flops)


def _schur_work(case: Case) -> Work:
    """Primal blocks first, then their Schur complement."""
    pattern, order = case.pattern, case.order
    degree = np.diff(pattern.adjacency[0])[: pattern.n_primal].astype(float)
    if degree @ (degree + 1) / 2 > MOST_CONTRIBUTIONS:
        return IMPOSSIBLE
    primal_first = order[np.argsort(order >= pattern.n_primal, kind="stable")]
    metrics = trees.ordering_metrics(pattern, primal_first)
    return Work(pattern.n_rows, metrics.nnz_l, metrics.flops)


def _tile_work(case: Case) -> Work:
    """LDL' of the whole matrix, every block padded to multiples of TILE rows.

    A column of b padded rows below a block of size s takes s b entries and s b^2 flops.
    """
    pattern, order = case.pattern, unit_factors.safe_order(case.pattern, case.order)
    tree = case.elimination if order is case.order else trees.elimination(pattern, order)
    size = pattern.block_sizes[order]
    tiled = unit_factors.TILE * -(-size // unit_factors.TILE)
    below = (trees.weighted_counts(tree, tiled) - tiled).astype(float)
    if below @ (below + unit_factors.TILE) / (2 * unit_factors.TILE**2) > unit_factors.MOST_UPDATES:
        return IMPOSSIBLE
    return Work(pattern.n_rows, float(size @ below), float(size @ below**2))


def _band_work(case: Case) -> Work:
    """LU of n rows of a band of half width w: n (3 w + 1) entries, 4 n w^2 flops.

    Partial pivoting doubles the upper half. Golub and Van Loan (2013), sec. 4.3.
    """
    rows, width = case.pattern.n_rows, float(case.metrics.scalar_bandwidth)
    entries = rows * (3 * width + 1)
    if 8 * entries > pivoted_lu.LARGEST_BAND:
        return IMPOSSIBLE
    return Work(rows, entries, 4 * rows * width**2)


def _dense_work(case: Case) -> Work:
    """LU of all rows."""
    rows = float(case.pattern.n_rows)
    if rows > pivoted_lu.MOST_ROWS:
        return IMPOSSIBLE
    return Work(rows, rows**2, 2 / 3 * rows**3)


SUBSTRUCTURE_ENTRIES = 110.0  # of factors and of coarse motions to a row, measured on cubes


def parts_work(rows: float) -> Work:
    """Substructures, in proportion to the rows."""
    return Work(rows, SUBSTRUCTURE_ENTRIES * rows, 0.0)


class Cost(NamedTuple):
    """Time and memory of one factorization and one solve: coefficients of its work."""

    call: float  # [s]
    row: float  # [s] for each of Work.rows, ...
    entry: float  # [s]
    flop: float  # [s]
    parallel: float = 0.0  # part of the time that is divided by threads, or by ranks of MUMPS
    parallel_flops: float = 0.0  # least work of which a part is done in parallel
    bytes: float = BYTES  # of memory for each entry


class Prediction(NamedTuple):
    """What one factorization and one solve take."""

    seconds: float
    bytes: float  # of the process, or of the rank that needs most


# ---- the table -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Backend:
    """One line of the table FACTORIZATIONS."""

    analyze: Callable[[BlockPattern, IntArray], Symbolic]
    needs: str | None  # the package that it imports
    summary: str
    work: Callable[[Case], Work] = _whole_work
    cost: Cost | None = None  # if it was measured; else predicted as if it were SuperLU's

    def predict(self, work: Work, workers: int = 1) -> Prediction:
        """Return what one factorization and one solve take on threads, or on ranks of MUMPS."""
        cost = self.cost or FACTORIZATIONS["superlu"].cost or Cost(0.0, 0.0, 0.0, 0.0)
        seconds = sum(a * b for a, b in zip(cost, (1.0, *work), strict=False))
        parallel = cost.parallel if work.flops >= cost.parallel_flops else 0.0
        part = 1.0 - parallel + parallel / workers  # Amdahl's law
        size = cost.bytes * work.entries
        return Prediction(seconds * part, size * part if self.needs == "mumps" else size)

    def seconds(self, work: Work) -> float:
        """Return the time [s] of one factorization and one solve by one thread."""
        return self.predict(work).seconds


# fmt: off
FACTORIZATIONS: dict[str, Backend] = {
    "superlu": Backend(pivoted_lu.analyze_superlu, None, "LU of the whole matrix",
        _whole_work, Cost(call=3.0e-5, row=4.8e-7, entry=5.6e-9, flop=7.7e-10)),
    "cholmod": Backend(cholmod.analyze, "sksparse.cholmod", "Cholesky of the Schur complement",
        _schur_work, Cost(3.3e-5, row=6.9e-8, entry=1.8e-8, flop=1.1e-10, parallel=0.66)),
    "cholmod-ldl": Backend(cholmod.analyze_ldl, "sksparse.cholmod",
        "LDL' of the quasi-definite matrix, refined",
        _whole_work, Cost(call=5.1e-5, row=1e-8, entry=3.3e-8, flop=5e-10)),
    "block-ldl": Backend(unit_factors.analyze_ldl, None,
        "LDL' of the whole matrix by small dense blocks",
        _tile_work, Cost(3.3e-6, row=1.8e-8, entry=1e-12, flop=5.7e-11,
            parallel=0.75, parallel_flops=2e7)),
    "multifrontal": Backend(unit_factors.analyze_multifrontal, None,
        "LDL' of the whole matrix by wide dense fronts",
        _whole_work, Cost(2.5e-5, row=1.6e-7, entry=1.8e-9, flop=4.4e-11,
            parallel=0.88, parallel_flops=2e6, bytes=13.5)),
    "mumps": Backend(mumps.analyze, "mumps",
        "LDL' of the whole matrix by MUMPS, over the ranks of mpiexec",
        _whole_work, Cost(2e-4, row=9e-7, entry=4.6e-9, flop=7.5e-11, parallel=0.86, bytes=17.0)),
    "iterative": Backend(substructures.analyze, None,
        "conjugate gradients, preconditioned by substructures and their motions",
        lambda case: parts_work(case.pattern.n_rows),
        Cost(call=2e-3, row=5e-6, entry=0.0, flop=0.0)),
    "block-qr": Backend(unit_factors.analyze_qr, None,
        "QR of the constraint columns by small fronts",
        _schur_work, Cost(call=5.0e-6, row=3e-8, entry=2e-9, flop=1e-9)),  # never the fastest
    "banded": Backend(pivoted_lu.analyze_banded, None, "LU of a band by LAPACK",
        _band_work, Cost(call=6.0e-6, row=3e-7, entry=6e-10, flop=6.5e-12)),
    "dense": Backend(pivoted_lu.analyze_dense, None, "LU of the dense matrix by LAPACK",
        _dense_work, Cost(call=1.0e-5, row=1e-8, entry=4.5e-9, flop=1.8e-11)),
}
# fmt: on


@cache
def is_available(name: str) -> bool:
    """Tell whether the package of a backend can be imported, with its libraries."""
    try:
        import_module(FACTORIZATIONS[name].needs or __name__)
    except ImportError:
        return False
    return True


def available_factorizations() -> list[str]:
    """Return the names of the backends that can be used here."""
    return [name for name in FACTORIZATIONS if is_available(name)]


def analyze(name: str, pattern: BlockPattern, order: IntArray) -> Symbolic:
    """Analyze a pattern with the backend of that name.

    Raises UnknownNameError if there is none, MissingDependencyError if a package is not installed.
    """
    errors.check_name(name, FACTORIZATIONS, "factorization")
    backend = FACTORIZATIONS[name]
    if not is_available(name):
        raise errors.MissingDependencyError(
            f"{name} needs {backend.needs}, which cannot be imported: {INSTALL[str(backend.needs)]}"
        )
    return backend.analyze(pattern, order)


# ---- predicted times -----------------------------------------------------------------------------


def predict_seconds(
    name: str, pattern: BlockPattern, order: IntArray, case: Case | None = None
) -> float:
    """Return the predicted time [s]; UnknownNameError or ShapeError for a wrong name or order.

    A `case` of the same pattern and order saves work.
    """
    errors.check_name(name, FACTORIZATIONS, "factorization")
    check_order(pattern, order)
    return _seconds(name, Case(pattern, order) if case is None else case)


def predict(name: str, case: Case, threads: int = 1) -> Prediction:
    """Return what a backend takes in an order, regardless of the machine's memory.

    `threads` are ranks for MUMPS. Infinite if the backend cannot factorize this pattern.
    """
    return FACTORIZATIONS[name].predict(FACTORIZATIONS[name].work(case), threads)


def _workers(name: str) -> int:
    """Return the number of ranks for MUMPS, else 1: a choice must not depend on threads."""
    return ranks.n_ranks() if name == "mumps" else 1


def _seconds(name: str, case: Case) -> float:
    """Return the predicted time [s]; infinite, on all ranks, if any machine lacks memory."""
    seconds, size = predict(name, case, _workers(name))
    if not LARGE_FACTORS < size < np.inf:
        return seconds
    is_shared = ranks.share_work() or (name == "mumps" and ranks.n_ranks() > 1)
    processes = ranks.n_local_ranks() if is_shared else 1
    lacks = size * processes > 1e6 * mumps.available_megabytes()
    if is_shared:
        lacks = any(ranks.communicator().allgather(lacks))
    return np.inf if lacks else seconds


Seconds = Mapping[str, float]  # predicted, by backend


def check_memory(predictions: Mapping[Case, Seconds], usable: Sequence[str] = ()) -> None:
    """Raise MemoryLimitError if no backend has memory enough in any order.

    `predictions`: seconds by case and backend, infinite where memory lacks. The message names
    backends, of those `usable` (all by default), that would do. If none can factorize the pattern
    at all, nothing is raised: its analysis will say why.
    """
    if all(np.isinf(time) for times in predictions.values() for time in times.values()):
        needed = min(
            predict(name, case, _workers(name)).bytes
            for case, times in predictions.items()
            for name in times
        )
        if np.isfinite(needed):
            available = mumps.available_megabytes() / 1e3
            raise errors.MemoryLimitError(
                f"factors need at least {needed / 1e9:.1f} GB, but {available:.1f} GB are "
                f"available: {_remedy(list(predictions), 1e9 * available, usable)}"
            )


MOST_MACHINES = 1024  # that the remedy of a lack of memory may propose


def _remedy(cases: list[Case], available: float, usable: Sequence[str]) -> str:
    """Return the backends that fit into the memory [bytes] of this machine, or of several."""
    names = [name for name in usable or FACTORIZATIONS if name != "mumps" and is_available(name)]
    keep = "redundancy='keep', " if usable else ""  # MUMPS leaves dependent rows out by itself
    least = {name: min(predict(name, case).bytes for case in cases) for name in names}
    fits = [
        f"factorization={name!r}, which needs {size / 1e9:.1f} GB"
        for name, size in least.items()
        if size <= available
    ]
    for n in range(2, MOST_MACHINES + 1):
        size = min(predict("mumps", case, n).bytes for case in cases)
        if size <= available:
            fits.append(
                f"{keep}factorization='mumps' under mpiexec -n {n} on {n} machines like this one, "
                f"which needs {size / 1e9:.1f} GB on each"
            )
            break
    return f"use {'; or '.join([*fits, 'a machine with more memory'])}"


def pivoted_seconds(pattern: Blocks, order: IntArray) -> dict[str, float]:
    """Return the predicted times [s] of the backends that pivot, for any symmetric pattern."""
    case = Case(cast(BlockPattern, pattern), order)  # these look at rows and metrics alone
    return {name: _seconds(name, case) for name in PIVOTING}


def least_seconds(name: str, case: Case) -> float:
    """Return a lower bound of the time [s] in any order: no fill-in, no flops."""
    pattern, sizes = case.pattern, case.pattern.block_sizes
    coupled = np.where(pattern.ends >= 0, sizes[pattern.ends], 0).sum(axis=1)  # rows of A's blocks
    entries = float(sizes @ (sizes + 1)) / 2 + float(sizes[pattern.n_primal :] @ coupled)
    return FACTORIZATIONS[name].seconds(Work(pattern.n_rows, entries, 0.0))


def choose_factorization(
    pattern: BlockPattern, order: IntArray, case: Case | None = None
) -> tuple[str, dict[str, float]]:
    """Return the available backend with the least predicted time, and all predictions [s].

    Candidates are those whose cost was measured, except "block-qr" and "iterative"; MUMPS is one
    if ranks share work, that is, if the program has called `ranks.communicator`. In large patterns
    "cholmod" is predicted by a lower bound if that rules it out. A `case` of the same pattern and
    order saves work.
    """
    case = Case(pattern, order) if case is None else case
    excluded = ("block-qr", "iterative", "mumps")
    names = [name for name, one in FACTORIZATIONS.items() if one.cost and name not in excluded]
    names = [*filter(is_available, names)]
    predicted = {name: _seconds(name, case) for name in names if name != "cholmod"}
    if "cholmod" in names:  # it needs an analysis of its own
        bound = least_seconds("cholmod", case)
        cannot_win = pattern.n_primal >= LARGE_PATTERN and bound > min(predicted.values())
        predicted["cholmod"] = bound if cannot_win else _seconds("cholmod", case)
    predicted = {name: predicted[name] for name in names}
    least = FACTORIZATIONS["mumps"].seconds(Work(0.0, 0.0, 0.0))
    if min(predicted.values()) > least and ranks.share_work() and is_available("mumps"):
        predicted["mumps"] = _seconds("mumps", case)
    return min(predicted, key=lambda name: predicted[name]), predicted
