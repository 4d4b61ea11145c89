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

from dataclasses import dataclass, replace

import numpy as np
from numba import njit
from scipy.linalg import qr
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.sparse.components import biconnected_components
from sparsebody.sparse.frontal_qr import front_widths, frontal_pivots
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix
from sparsebody.sparse.sweep import RowChoice, smallest_singular_value, swept_choices

CLEAR_GAP = 1e3  # between the smallest |R_ii| that is kept and the largest that is dropped
NOISE = 1e-15  # stands for the largest dropped |R_ii| where nothing is dropped
SMALL = 48  # rows up to which compiled Gram-Schmidt is faster than a call of LAPACK
SPARSE_ROWS = 600  # rows from which sparse methods are tried before the dense decision
DENSE_ROWS = 4000  # rows beyond which the dense decision would take minutes
LARGEST_FRONT = 256  # rows of A beyond which a frontal QR costs more than it is worth
SHARE = 0.01  # of the best conditioning: how much a choice that holds in more poses may cost
POOR = 1e-6  # smallest singular value of kept rows below which a better choice is looked for


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
    rows = whitened_rows(matrix)
    component = biconnected_components(matrix.pattern)[matrix.row_block]
    by_component = np.argsort(component, kind="stable")
    n_components = int(component.max(initial=-1)) + 1
    indptr = np.searchsorted(component[by_component], np.arange(n_components + 1))
    ends = matrix.pattern.ends[matrix.row_block]
    keep = np.zeros(len(rows), dtype=np.bool_)
    small = np.diff(indptr) <= SMALL
    joint = matrix.row_block
    gap = _decide_small(rows, ends, joint, by_component, indptr, small, tolerance, NOISE, keep)
    decision = RankDecision(keep, float(gap), bool(gap >= CLEAR_GAP), "pivoted QR by components")
    if np.all(small):
        return decision
    whitened = constraint_matrix(replace(matrix, rows=rows)).tocsr()
    for c in np.flatnonzero(~small):
        member = by_component[indptr[c] : indptr[c + 1]]
        bodies, local = _local_numbers(ends[member])
        sizes = matrix.pattern.block_sizes[bodies]
        columns = _without_empty_columns(whitened[member])
        fronts = _decide_by_fronts(rows[member], local, joint[member], sizes, tolerance)
        part = _decide_large(columns, fronts, tolerance)
        keep[member] = part.keep
        decision = _joined(decision, part)
    return decision


def _joined(whole: RankDecision, part: RankDecision) -> RankDecision:
    """Take a component's doubts over; the rows are copied by the caller."""
    method = whole.method if part.method in whole.method else f"{whole.method}; {part.method}"
    certain = whole.certain and part.certain
    return RankDecision(whole.keep, min(whole.gap, part.gap), certain, method)


def whitened_rows(matrix: SaddleMatrix) -> FloatArray:
    """Return the rows of A D^-1/2 scaled to unit norm, (n_dual_rows, 2, width); zero rows stay."""
    pattern = matrix.pattern
    width = matrix.rows.shape[2]
    unused = np.arange(width) >= pattern.block_sizes[: pattern.n_primal, None]
    root = np.linalg.cholesky(matrix.inverse + unused[:, :, None] * np.eye(width))
    ends = pattern.ends[matrix.row_block]
    rows = matrix.rows * (ends >= 0)[:, :, None]
    twice = (ends[:, 0] == ends[:, 1])[:, None]  # both ends on one body: they act together
    rows[:, 0] += np.where(twice, rows[:, 1], 0.0)
    rows[:, 1] *= ~twice
    if len(root):
        rows = np.einsum("rsa,rsab->rsb", rows, root[ends])
    norm = np.sqrt(np.einsum("rsa,rsa->r", rows, rows))
    return rows / np.where(norm > 0.0, norm, 1.0)[:, None, None]


@njit(cache=True)
def _decide_small(
    rows: FloatArray,
    ends: IntArray,
    joint: IntArray,
    members: IntArray,
    indptr: IntArray,
    small: BoolArray,
    tolerance: float,
    noise: float,
    keep: BoolArray,
) -> float:
    """Set `keep` in the small components; return the least clear gap of them."""
    gap = np.inf
    for c in range(len(indptr) - 1):
        if small[c]:
            member = members[indptr[c] : indptr[c + 1]]
            gathered = _gathered(rows, ends, member)
            pivots = _gram_schmidt(gathered.copy(), np.zeros_like(member), tolerance)
            by_joint = _gram_schmidt(gathered, joint[member], tolerance)
            least, largest = _least_and_largest(pivots, tolerance, noise)
            gap = min(gap, least / largest)
            same_rank = np.sum(by_joint > tolerance) == np.sum(pivots > tolerance)
            if same_rank and _least_and_largest(by_joint, tolerance, noise)[0] > SHARE * least:
                pivots = by_joint
            for k in range(len(member)):
                keep[member[k]] = pivots[k] > tolerance
    return gap


@njit(cache=True)
def _least_and_largest(pivots: FloatArray, tolerance: float, noise: float) -> tuple[float, float]:
    """Return the least remainder that is kept and the largest that is dropped."""
    least, largest = np.inf, noise
    for pivot in pivots:
        if pivot > tolerance:
            least = min(least, pivot)
        else:
            largest = max(largest, pivot)
    return least, largest


@njit(cache=True)
def _gathered(rows: FloatArray, ends: IntArray, member: IntArray) -> FloatArray:
    """Return the rows of one component as a dense matrix over the bodies that they touch."""
    width = rows.shape[2]
    bodies = np.unique(ends[member])  # sorted; -1, the world, has no columns
    gathered = np.zeros((len(member), len(bodies) * width))
    for k in range(len(member)):
        for side in range(2):
            if ends[member[k], side] >= 0:
                start = width * np.searchsorted(bodies, ends[member[k], side])
                for a in range(width):
                    gathered[k, start + a] += rows[member[k], side, a]
    return gathered


@njit(cache=True)
def _gram_schmidt(rows: FloatArray, group: IntArray, tolerance: float) -> FloatArray:
    """Return |R_ii| of each row, taken group by group, largest first; overwrites `rows`.

    Remainders up to `tolerance` are dependent and are not used.
    """
    n = rows.shape[0]
    pivots, waiting = np.zeros(n), np.ones(n, dtype=np.bool_)
    for _ in range(n):
        now = 2**62
        for i in range(n):
            if waiting[i]:
                now = min(now, group[i])
        best, largest = -1, -1.0
        for i in range(n):
            if waiting[i] and group[i] == now:
                square = 0.0
                for a in range(rows.shape[1]):
                    square += rows[i, a] ** 2
                if square > largest * (1.0 + 1e-12):
                    best, largest = i, square
        waiting[best] = False
        pivots[best] = np.sqrt(largest)
        if pivots[best] <= tolerance:
            continue
        unit = rows[best]
        for a in range(rows.shape[1]):
            unit[a] /= pivots[best]
        for i in range(n):
            if waiting[i]:
                row, part = rows[i], 0.0
                for a in range(rows.shape[1]):
                    part += row[a] * unit[a]
                for a in range(rows.shape[1]):
                    row[a] -= part * unit[a]
    return pivots


def _local_numbers(ends: IntArray) -> tuple[IntArray, IntArray]:
    """Number the bodies that rows touch from 0; return them and the ends in these numbers."""
    bodies, local = np.unique(np.append(ends.ravel(), -1), return_inverse=True)
    return bodies[1:], (local[:-1] - 1).reshape(ends.shape).astype(np.intp)


def _without_empty_columns(rows: csr_array) -> csr_array:
    """Leave out the columns of bodies that these rows do not touch."""
    return rows[:, np.unique(rows.indices)]


def _decide_large(rows: csr_array, fronts: list[RowChoice], tolerance: float) -> RankDecision:
    """Decide in one component, from the choices of a frontal QR and what else is needed.

    Large ones by sparse methods, the fronts and the pivots of a sweep: where those that are clear
    agree, theirs is the rank, unless all that they keep is poorly conditioned. Otherwise dense QR
    decides, as long as that takes no minutes.
    """
    n = rows.shape[0]
    if n > SPARSE_ROWS:
        found = [*fronts, *swept_choices(rows)]
        clear = [choice for choice in found if choice.gap >= CLEAR_GAP]
        methods = sorted({choice.method for choice in clear})
        if len({np.count_nonzero(choice.keep) for choice in clear}) == 1:
            best, floor = _preferred(rows, clear)
            if floor >= POOR or n > DENSE_ROWS:
                return RankDecision(best.keep, best.gap, len(methods) > 1, " and ".join(methods))
        if n > DENSE_ROWS:
            everything = RowChoice(np.ones(n, dtype=np.bool_), 0.0, "nothing left out")
            best = max([everything, *found], key=lambda choice: choice.gap)
            return RankDecision(best.keep, best.gap, False, f"{best.method}, in doubt")
    decision = _decide_by_qr(rows, tolerance)
    same = [choice for choice in fronts if np.count_nonzero(choice.keep) == decision.rank]
    pivoted = RowChoice(decision.keep, decision.gap, decision.method)
    return replace(decision, keep=_preferred(rows, [*same, pivoted])[0].keep)


def _preferred(rows: csr_array, choices: list[RowChoice]) -> tuple[RowChoice, float]:
    """Return the first choice that is not much worse conditioned than the best one.

    Choices of the frontal QR come first: made joint by joint, they hold in other poses as well.
    """
    floor = [smallest_singular_value(rows[choice.keep]) for choice in choices]
    k = next(k for k, value in enumerate(floor) if value >= SHARE * max(floor))
    return choices[k], floor[k]


def _decide_by_fronts(
    rows: FloatArray, ends: IntArray, joint: IntArray, sizes: IntArray, tolerance: float
) -> list[RowChoice]:
    """Frontal QR from both ends of the component; nothing where the fronts are too wide."""
    joined = ends[(ends >= 0).all(axis=1)]
    graph = coo_array((np.ones(len(joined)), joined.T), shape=(len(sizes), len(sizes))).tocsr()
    order = reverse_cuthill_mckee(graph + graph.T, symmetric_mode=True).astype(np.intp)
    choices = []
    for direction in (order, order[::-1].copy()):
        if front_widths(ends, sizes, direction).max() <= LARGEST_FRONT:
            pivots = frontal_pivots(rows, ends, sizes, direction, joint, tolerance)
            keep = pivots > tolerance
            dropped = max(float(pivots[~keep].max(initial=0.0)), NOISE)
            gap = float(pivots[keep].min(initial=np.inf)) / dropped
            choices.append(RowChoice(keep, gap, "frontal QR"))
    return choices


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
