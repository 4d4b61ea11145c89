"""Which constraint rows depend on the others, and can be left out.

Rows are scaled to unit norm after multiplication with D^-1/2, so that units and masses do not
matter, and the decision is made in each biconnected component of the graph by itself. That is
exact for mechanisms: suppose A' y = 0, that is, the forces y balance on every body. The world, or a
body where components meet, splits a component off; on a rigid motion of all bodies of the part that
hangs there no constraint does work, so the forces of that part on that body do no work either, for
any of its motions: they balance by themselves. Hence every component's share of y is a dependence.
A bridge is a component of one joint, so its rows depend on nothing but each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr
from scipy.sparse import csr_array

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.sparse.bisection import bisected
from sparsebody.sparse.components import biconnected_components
from sparsebody.sparse.frontal_qr import frontal_pivots
from sparsebody.sparse.frontal_schur import largest_gap, schur_pivots
from sparsebody.sparse.fronts import Fronts, fronts
from sparsebody.sparse.nested_qr import nested_flops, nested_pivots
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix
from sparsebody.sparse.small_rank import NOISE, SHARE, SMALL, small_choice
from sparsebody.sparse.sweep import RowChoice, smallest_singular_value, swept_choices
from sparsebody.sparse.whitening import WhitenedRows, whitened_part

CLEAR_GAP = 1e3  # between the smallest |R_ii| that is kept and the largest that is dropped
SECOND_GAP = 10.0  # enough of a second method whose gap, out of thousands, is at the same count
SPARSE_ROWS = 600  # rows from which sparse methods are tried before the dense decision
DENSE_ROWS = 4000  # rows beyond which the dense decision would take minutes
MOST_FLOPS = 1e12  # of a frontal QR on nested halves: less than a minute
MOST_WORK = 2e10  # rows times the square of the front, for a second opinion: a second or so
NARROW = 64  # rows in a front up to which a component is decided in passes of linear time
LARGEST_FRONT = 256  # rows of A beyond which a frontal QR costs more than it is worth
POOR = 1e-6  # smallest singular value of kept rows below which a better choice is looked for
FRONTAL, SWEPT = "frontal QR", "swept pivots"


@dataclass(frozen=True, eq=False)
class RankDecision:
    """Which rows of A are kept, and how sure that is."""

    keep: BoolArray  # (n_dual_rows,)
    gap: float  # smallest kept |R_ii| by largest dropped one, in the least clear component
    certain: bool  # whether the gap is clear in every component
    method: str  # in words

    @property
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


def rank(matrix: SaddleMatrix, tolerance: float = 1e-8) -> int:
    """Return the rank of A; see `independent_rows`."""
    return independent_rows(matrix, tolerance).rank


def independent_rows(matrix: SaddleMatrix, tolerance: float = 1e-8) -> RankDecision:
    """Decide which rows of A to keep.

    Parameters
    ----------
    matrix : SaddleMatrix
        The rows A of a mechanism: they vanish on every rigid motion of all bodies of a part that
        hangs on one body. Rows without that property can be judged as too many, never too few.
    tolerance : float
        Relative size |R_ii| / |R_11| of the column-pivoted QR below which a row is dependent.

    Returns
    -------
    RankDecision
        `certain` is False where the numbers leave doubt: look at the gap then.

    References
    ----------
    Golub and Van Loan (2013), sec. 5.4.2; Hopcroft and Tarjan (1973).
    """
    pattern = matrix.pattern
    by_component, start = _grouped(biconnected_components(pattern))
    sizes = np.diff(_sums(pattern.block_sizes[pattern.n_primal + by_component])[start])
    small = sizes <= SMALL
    label = np.full(pattern.n_primal, -1, dtype=np.intp)
    keep = np.zeros(pattern.n_rows - pattern.n_primal_rows, dtype=np.bool_)
    decision = RankDecision(keep, np.inf, True, "pivoted QR by components")
    if small.any():
        member = by_component[np.repeat(small, np.diff(start))]
        part = whitened_part(matrix, member, label)
        keep[part.index], gap = small_choice(part, _sums(np.diff(start)[small]), tolerance)
        decision = replace(decision, gap=gap, certain=gap >= CLEAR_GAP)
    for c in np.flatnonzero(~small):
        part = whitened_part(matrix, by_component[start[c] : start[c + 1]], label, sweep=True)
        found = _decide_large(part, tolerance)
        keep[part.index] = found.keep
        decision = _joined(decision, found)
    return decision


def _grouped(component: IntArray) -> tuple[IntArray, IntArray]:
    """Return the dual blocks sorted by component, and where each component starts."""
    count = np.bincount(component, minlength=1) if len(component) else np.zeros(0, dtype=np.intp)
    return np.argsort(component, kind="stable").astype(np.intp), _sums(count)


def _sums(values: IntArray) -> IntArray:
    """Return the sums of the values before each one, and of all."""
    return np.concatenate([[0], np.cumsum(values)]).astype(np.intp)


def _joined(whole: RankDecision, part: RankDecision) -> RankDecision:
    """Take a component's doubts over; the rows are copied by the caller."""
    method = whole.method if part.method in whole.method else f"{whole.method}; {part.method}"
    certain = whole.certain and part.certain
    return RankDecision(whole.keep, min(whole.gap, part.gap), certain, method)


def _decide_large(part: WhitenedRows, tolerance: float) -> RankDecision:
    """Decide in one component by sparse methods, the fronts and the pivots of a sweep.

    Where those that are clear agree, theirs is the rank, unless all that they keep is poorly
    conditioned. Otherwise dense QR decides, as long as that takes no minutes. Wide components,
    such as lattices, are decided by nested halves: along a sweep, errors grow from level to level.
    """
    n = len(part.rows)
    narrow = next(_both_ways(part)).width <= NARROW
    if n > SPARSE_ROWS and narrow:
        decision = _decide_narrow(part, tolerance)
        if n > DENSE_ROWS or decision.is_regular:
            return decision
    choices = [] if narrow else _by_halves(part, tolerance)
    if n > DENSE_ROWS:
        return _decide_wide(part, choices)
    rows = _as_matrix(part)
    choices += _frontal_choices(part, tolerance)
    if n > SPARSE_ROWS:
        sweep = next(_both_ways(part))
        is_quick = not narrow and sweep.width <= LARGEST_FRONT
        swept = [_by_pivots(sweep, part)] if is_quick else []
        swept += swept_choices(rows)
        found = [c for c in [*choices, *swept] if c.gap >= SECOND_GAP]
        clear = [choice for choice in found if choice.gap >= CLEAR_GAP]
        if len({np.count_nonzero(choice.keep) for choice in clear}) == 1:
            methods = sorted({c.method for c in found if _agree(clear[0], c, SECOND_GAP)})
            best, floor = _preferred(rows, clear)
            if floor >= POOR:
                return RankDecision(best.keep, best.gap, len(methods) > 1, " and ".join(methods))
    decision = _decide_by_qr(rows, tolerance)
    same = [choice for choice in choices if np.count_nonzero(choice.keep) == decision.rank]
    pivoted = RowChoice(decision.keep, decision.gap, decision.method)
    return replace(decision, keep=_preferred(rows, [*same, pivoted])[0].keep)


def _decide_narrow(part: WhitenedRows, tolerance: float) -> RankDecision:
    """Decide by one pass with either method, or one more from the other end."""
    found: list[RowChoice] = []
    for sweep in _both_ways(part):
        by_fronts, by_pivots = _by_fronts(sweep, part, tolerance), _by_pivots(sweep, part)
        if _agree(by_fronts, by_pivots):
            return RankDecision(by_fronts.keep, by_fronts.gap, True, f"{FRONTAL} and {SWEPT}")
        found += [by_fronts, by_pivots]
    best = max(found, key=lambda choice: choice.gap)
    clear = [choice for choice in found if choice.gap >= CLEAR_GAP]
    if len({np.count_nonzero(choice.keep) for choice in clear}) == 1:
        return RankDecision(best.keep, best.gap, False, best.method)
    return RankDecision(best.keep, best.gap, False, f"{best.method}, in doubt")


def _decide_wide(part: WhitenedRows, by_halves: list[RowChoice]) -> RankDecision:
    """Decide by nested halves; a sweep, less accurate, is a second opinion where it is quick."""
    n = len(part.rows)
    everything = RowChoice(np.ones(n, dtype=np.bool_), 0.0, "nothing left out")
    best = max([everything, *by_halves], key=lambda choice: choice.gap)
    if best.gap < CLEAR_GAP:
        return RankDecision(best.keep, best.gap, False, f"{best.method}, in doubt")
    for sweep in _both_ways(part):
        if float(n) * sweep.width**2 > MOST_WORK:
            continue
        if _agree(best, _by_pivots(sweep, part), SECOND_GAP):
            return RankDecision(best.keep, best.gap, True, f"{FRONTAL} and {SWEPT}")
    return RankDecision(best.keep, best.gap, False, best.method)


def _agree(one: RowChoice, other: RowChoice, least: float = CLEAR_GAP) -> bool:
    """Return whether both are clear, the other one by `least`, and keep as many rows."""
    clear = one.gap >= CLEAR_GAP and other.gap >= least
    return clear and np.count_nonzero(one.keep) == np.count_nonzero(other.keep)


def _both_ways(part: WhitenedRows) -> Iterator[Fronts]:
    """Sweep from the ground and towards it."""
    forward = np.arange(part.pattern.n_primal, dtype=np.intp)
    for order in (forward, forward[::-1]):
        yield fronts(part.pattern, order)


def _by_fronts(sweep: Fronts, part: WhitenedRows, tolerance: float) -> RowChoice:
    """Rows to keep by a frontal QR."""
    return _choice(frontal_pivots(sweep, part.rows, tolerance), tolerance)


def _by_halves(part: WhitenedRows, tolerance: float) -> list[RowChoice]:
    """Rows to keep by a frontal QR on nested halves; nothing where that would take minutes."""
    order = bisected(part.pattern)
    if nested_flops(part.pattern, order) > MOST_FLOPS:
        return []
    return [_choice(nested_pivots(part.pattern, part.rows, order, tolerance), tolerance)]


def _choice(pivots: FloatArray, tolerance: float) -> RowChoice:
    """Rows to keep, by their remainders."""
    keep = pivots > tolerance
    dropped = max(float(np.max(pivots, where=~keep, initial=0.0)), NOISE)
    return RowChoice(keep, float(np.min(pivots, where=keep, initial=np.inf)) / dropped, FRONTAL)


def _by_pivots(sweep: Fronts, part: WhitenedRows) -> RowChoice:
    """Rows to keep by the pivots of the Schur complement."""
    pivots = schur_pivots(sweep, part.rows)
    threshold, ratio = largest_gap(pivots)
    return RowChoice(pivots > threshold, float(np.sqrt(ratio)), SWEPT)


def _as_matrix(part: WhitenedRows) -> csr_array:
    """Return the rows as a SciPy matrix, without empty columns."""
    nothing = np.empty((part.pattern.n_primal, 0, 0))
    rows = constraint_matrix(SaddleMatrix(part.pattern, nothing, nothing, part.rows)).tocsr()
    return rows[:, np.unique(rows.indices)]


def _preferred(rows: csr_array, choices: list[RowChoice]) -> tuple[RowChoice, float]:
    """Return the first choice that is not much worse conditioned than the best one.

    Choices of the frontal QR come first: made joint by joint, they hold in other poses as well.
    """
    floor = [smallest_singular_value(rows[choice.keep]) for choice in choices]
    k = next(k for k, value in enumerate(floor) if value >= SHARE * max(floor))
    return choices[k], floor[k]


def _frontal_choices(part: WhitenedRows, tolerance: float) -> list[RowChoice]:
    """Frontal QR from both ends of the component; nothing where the fronts are too wide."""
    narrow = [sweep for sweep in _both_ways(part) if sweep.width <= LARGEST_FRONT]
    return [_by_fronts(sweep, part, tolerance) for sweep in narrow]


def _decide_by_qr(rows: csr_array, tolerance: float) -> RankDecision:
    """Column-pivoted QR of the transpose by LAPACK."""
    (r, order) = qr(rows.toarray().T, mode="r", pivoting=True, overwrite_a=True, check_finite=False)
    pivots = np.zeros(rows.shape[0])
    pivots[: min(r.shape)] = np.abs(np.diag(r))
    kept = pivots > tolerance * pivots[0]
    keep = np.zeros(rows.shape[0], dtype=np.bool_)
    keep[order[kept]] = True
    gap = float(pivots[kept].min() / pivots[~kept].max(initial=NOISE))
    return RankDecision(keep, gap, gap >= CLEAR_GAP, "pivoted QR by components")
