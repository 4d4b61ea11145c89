"""Decision on constraint rows that depend on others, and can be left out.

Rows are equilibrated, so that units, sizes and masses do not matter, and the decision is made in
each biconnected component of the graph by itself. That is exact for mechanisms. Let A' y = 0: the
constraint forces y balance on every body. Let P be a part attached to the rest at one body c only.
If P and c move together as one rigid body, the joints of P do no work; on the other bodies of P
their forces balance; so their resultant on c does no work on any motion of c, and vanishes. (At the
world nothing has to balance.) Hence y restricted to P is a dependence by itself. A bridge is a
component of one joint, so its rows depend only on each other.

A remainder is |R_jj|, what is left of a row beside those decided before it.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from scipy.sparse import csr_array
from threadpoolctl import ThreadpoolController

from sparsebody import tolerances
from sparsebody.arrays import BoolArray, IntArray, offsets
from sparsebody.errors import SingularSystemError
from sparsebody.sparse import row_choices
from sparsebody.sparse.pattern import biconnected_components
from sparsebody.sparse.row_choices import PartOfRows, RowChoice, Rows, agree
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix

SPARSE_ROWS = 600  # rows from which sparse methods are tried before the dense decision
DENSE_ROWS = 4000  # rows up to which the dense decision, of cubic cost, takes a few seconds
QUICK_DENSE_ROWS = 2000  # rows up to which it takes less than one
NARROW = 64  # rows in a front up to which a component is decided in passes of linear time
LARGEST_FRONT = 256  # rows of A beyond which a frontal QR costs more than it is worth
SPECTRUM = "least singular value"
_BLAS_LIMIT_LOCK = threading.Lock()


@dataclass(frozen=True, eq=False)
class RankDecision:
    """Which rows of A are independent, and how certain that is."""

    keep: BoolArray  # (n_dual_rows,)
    gap: float  # smallest |R_ii| of these by the largest of the others, in the least clear
    #   component; sigma_min / REMAINDER_FLOOR for SPECTRUM
    certain: bool  # nothing is in doubt in any component
    method: str  # in words
    doubt: str = ""  # what is not certain, in words

    @cached_property
    def rank(self) -> int:
        """Number of independent rows."""
        return int(np.count_nonzero(self.keep))

    @property
    def n_dependent(self) -> int:
        """Number of rows that can be left out."""
        return len(self.keep) - self.rank

    @property
    def is_regular(self) -> bool:
        """Whether no row is dependent, for certain."""
        return self.certain and self.n_dependent == 0


LeastSingularValue = Callable[[PartOfRows], float | None]
"""From the rows of a part, of unit norm; None where it would take too long."""


def independent_rows(
    matrix: Rows,
    tolerance: float = tolerances.RANK_TOLERANCE,
    least_singular_value: LeastSingularValue | None = None,
    threads: int = 1,
) -> RankDecision:
    """Decide which rows of A to keep.

    Parameters
    ----------
    matrix : Rows
        The rows A of a mechanism: they vanish on every rigid motion of all bodies of a part that
        hangs on one body. Otherwise too many rows may count as independent, never too few.
    tolerance : float
        Size |R_ii| / |R_11| of the column-pivoted QR of A' below which a row is dependent.
    least_singular_value : callable, optional
        Called for components of more than SPARSE_ROWS rows, at most as many as columns, whose front
        in a sweep exceeds NARROW rows. Above REGULAR_SINGULAR_VALUE, no row is dependent.
    threads : int
        That work on large components; the decision does not depend on their number.

    Returns
    -------
    RankDecision
        Certain where no remainder lies between rounding and 1e-7 and, in components of more than
        SPARSE_ROWS rows, two methods agree, dense QR has decided, the least singular value is above
        REGULAR_SINGULAR_VALUE, or a clear choice has the generic rank. Golub and Van Loan (2013),
        sec. 5.4.2; Hopcroft and Tarjan (1973).

    Raises
    ------
    SingularSystemError
        If a row is not finite.
    """
    pattern = matrix.pattern
    component = biconnected_components(pattern)
    by_component = np.argsort(component, kind="stable").astype(np.intp)
    start = offsets(np.bincount(component) if len(component) else component)
    sizes = np.diff(offsets(pattern.block_sizes[pattern.n_primal + by_component])[start])
    small = sizes <= row_choices.MOST_NATIVE_ROWS
    label = np.full(pattern.n_primal, -1, dtype=np.intp)
    keep = np.zeros(pattern.n_rows - pattern.n_primal_rows, dtype=np.bool_)
    decision = RankDecision(keep, np.inf, True, "" if len(small) else "nothing to decide")

    def make_part(dual: IntArray, sweep: bool = False) -> PartOfRows:
        part = row_choices.part_of_rows(matrix, dual, label, sweep, tolerance, threads)
        if not np.isfinite(part.rows.sum()):  # of unit rows: no overflow
            bad = int(part.index[~np.isfinite(part.rows).all(axis=(1, 2))].min())
            raise SingularSystemError(f"constraint row {bad} is not finite; give finite rows")
        row_choices.equilibrate(part)
        return part

    if small.any():
        member = by_component[np.repeat(small, np.diff(start))]
        part = make_part(member)
        choice = row_choices.small_choice(part, offsets(np.diff(start)[small]))
        keep[part.index] = choice.keep
        decision = _decision(choice, choice.doubt)
    for c in np.flatnonzero(~small):
        member = by_component[start[c] : start[c + 1]]
        part = make_part(member, sweep=True)
        # more threads are no faster there, and spin for 0.1 s after a call
        with _one_blas_thread() if len(part.rows) <= SPARSE_ROWS else nullcontext():
            large = _by_sweep(part, least_singular_value)
        keep[part.index] = large.keep
        methods = dict.fromkeys([*decision.method.split("; "), large.method])
        decision = RankDecision(
            keep,
            min(decision.gap, large.gap),
            decision.certain and large.certain,
            "; ".join(filter(None, methods)),
            decision.doubt or large.doubt,
        )
    return replace(decision, keep=keep)


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()  # takes 7 ms, as it looks into all loaded libraries


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Limit the BLAS to one thread, unless another thread does: limits are those of the process."""
    if not _BLAS_LIMIT_LOCK.acquire(blocking=False):
        yield
        return
    try:
        with _thread_pools().limit(limits=1, user_api="blas"):
            yield
    finally:
        _BLAS_LIMIT_LOCK.release()


def _decision(choice: RowChoice, doubt: str = "", method: str = "") -> RankDecision:
    """Return a choice as the decision, certain where there is no doubt."""
    return RankDecision(choice.keep, choice.gap, not doubt, method or choice.method, doubt)


def _by_sweep(part: PartOfRows, least_singular_value: LeastSingularValue | None) -> RankDecision:
    """Decide in one component by sparse methods, the fronts and the pivots of a sweep.

    Two that are clear and agree are right, unless the independent rows are poorly conditioned;
    otherwise dense QR decides, up to DENSE_ROWS rows.
    """
    n = len(part.rows)
    narrow = next(row_choices.sweep_fronts(part)).width <= NARROW
    if n > SPARSE_ROWS:
        if not narrow and least_singular_value is not None and n <= part.pattern.n_primal_rows:
            least = least_singular_value(part)
            if least is not None and least > tolerances.REGULAR_SINGULAR_VALUE:
                everything = np.ones(n, dtype=np.bool_)
                return RankDecision(everything, least / tolerances.REMAINDER_FLOOR, True, SPECTRUM)
        decision = _first_agreement(part, narrow)
        is_near = n > QUICK_DENSE_ROWS and decision.doubt.startswith(row_choices.SINGULAR)
        if n > DENSE_ROWS or decision.is_regular or is_near:
            return decision
    choices = [] if narrow else row_choices.by_halves(part)
    rows = constraint_matrix(SaddleMatrix.of_rows(part.pattern, part.rows)).tocsr()
    rows = rows[:, np.unique(rows.indices)]
    sweeps = [sweep for sweep in row_choices.sweep_fronts(part) if sweep.width <= LARGEST_FRONT]
    choices += [row_choices.by_fronts(sweep, part) for sweep in sweeps]
    if n > SPARSE_ROWS:
        swept = [row_choices.by_pivots(sweep, part) for sweep in sweeps]
        candidates = [c for c in [*choices, *swept] if c.gap >= tolerances.SECOND_GAP]
        clear = [choice for choice in candidates if not choice.doubt]
        if len({choice.rank for choice in clear}) == 1:
            same = [c.method for c in candidates if agree(clear[0], c)]
            methods = sorted({clear[0].method, *same})
            best, floor = _preferred(rows, clear)
            if floor >= tolerances.POOR_SINGULAR_VALUE and len(methods) > 1:
                return _decision(best, method=" and ".join(methods))
    pivoted = row_choices.by_columns(rows, part.tolerance)
    alike = [choice for choice in choices if choice.rank == pivoted.rank]
    keep = _preferred(rows, [*alike, pivoted])[0].keep
    return _decision(replace(pivoted, keep=keep), pivoted.doubt)


def _first_agreement(part: PartOfRows, narrow: bool) -> RankDecision:
    """Try one method after the other until two that are clear agree.

    Wide components are decided by nested halves: along a sweep, errors grow from level to level.
    Halves cut elsewhere, like sweeps from the other end, have other errors.
    """
    choices: list[RowChoice] = []
    methods = row_choices.narrow_choices if narrow else row_choices.wide_choices
    for choice in methods(part):
        for other in choices:
            if agree(other, choice) or agree(choice, other):
                first = choice if other.doubt or other.method == row_choices.SWEPT else other
                return _decision(first, method=" and ".join(sorted({other.method, choice.method})))
        choices.append(choice)
    frontal = [choice for choice in choices if choice.method != row_choices.SWEPT]
    if not frontal:
        everything = np.ones(len(part.rows), dtype=np.bool_)
        return RankDecision(everything, 0.0, False, "nothing left out", "too wide to be decided")
    best = max(frontal, key=lambda choice: (not choice.doubt, choice.gap))
    if not best.doubt and best.rank == row_choices.generic_rank(part.pattern):
        return _decision(best, method=f"{best.method} and pebble game")
    return _decision(
        best, best.doubt or "no second method is clear, or it keeps another number of rows"
    )


def _preferred(rows: csr_array, choices: list[RowChoice]) -> tuple[RowChoice, float]:
    """Return the first choice not much worse conditioned than the best; its least singular value.

    Choices of the frontal QR come first: made joint by joint, they tend to stay independent in
    other poses.
    """
    floor = [row_choices.smallest_singular_value(rows[choice.keep]) for choice in choices]
    k = next(k for k, value in enumerate(floor) if value >= tolerances.JOINTWISE_SHARE * max(floor))
    return choices[k], floor[k]
