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
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded, qr
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, reverse_cuthill_mckee

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.sparse.components import biconnected_components
from sparsebody.sparse.frontal_qr import front_widths, frontal_pivots
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix

CLEAR_GAP = 1e3  # between the smallest |R_ii| that is kept and the largest that is dropped
NOISE = 1e-15  # stands for the largest dropped |R_ii| where nothing is dropped
SMALL = 48  # rows up to which compiled Gram-Schmidt is faster than a call of LAPACK
SWEEP_ROWS = 600  # rows from which the sparse sweep is tried before the dense decision
DENSE_ROWS = 4000  # rows beyond which the dense decision would take minutes
# Scissors, sheets, lattices and rows of four-bars of any size have a gap of 1e6 and more in the
# pivots of a sweep by levels in the better direction; it grows as 1 / delta down to 1e-13. A band
# that starts in the middle, as reverse Cuthill-McKee's may, closes it.
SWEEP_DELTA = 1e-12
SWEEP_GAP = 1e4
LARGEST_BAND = 1e9  # bytes
CHECK_TOLERANCE = 1e-6
LARGEST_FRONT = 256  # rows of A beyond which a frontal QR costs more than the opinion is worth
SWEPT = "swept pivots in large components"


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
    gap = _decide_small(rows, ends, by_component, indptr, small, tolerance, NOISE, keep)
    decision = RankDecision(keep, float(gap), bool(gap >= CLEAR_GAP), "pivoted QR by components")
    if np.all(small):
        return decision
    whitened = constraint_matrix(replace(matrix, rows=rows)).tocsr()
    for c in np.flatnonzero(~small):
        member = by_component[indptr[c] : indptr[c + 1]]
        part = _decide_large(_without_empty_columns(whitened[member]), tolerance)
        if part.method == SWEPT:
            opinion = _second_opinion(rows[member], ends[member], matrix.pattern, tolerance)
            part = _weighed(part, opinion, whitened[member], tolerance)
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
            pivots, pivot_rows = _pivoted_gram_schmidt(_gathered(rows, ends, member))
            for k in range(len(pivots)):
                keep[member[pivot_rows[k]]] = pivots[k] > tolerance
            least, largest = np.inf, noise
            for pivot in pivots:
                if pivot > tolerance:
                    least = min(least, pivot)
                else:
                    largest = max(largest, pivot)
            gap = min(gap, least / largest)
    return gap


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
def _pivoted_gram_schmidt(rows: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return |R_ii| and the rows in the order in which they were taken; overwrites `rows`."""
    n = rows.shape[0]
    pivots, order = np.zeros(n), np.arange(n)
    for k in range(n):
        best, largest = k, -1.0
        for i in range(k, n):
            square = 0.0
            for a in range(rows.shape[1]):
                square += rows[order[i], a] ** 2
            if square > largest * (1.0 + 1e-12):
                best, largest = i, square
        order[k], order[best] = order[best], order[k]
        pivots[k] = np.sqrt(largest)
        if pivots[k] == 0.0:
            break
        unit = rows[order[k]]
        for a in range(rows.shape[1]):
            unit[a] /= pivots[k]
        for i in range(k + 1, n):
            row = rows[order[i]]
            part = 0.0
            for a in range(rows.shape[1]):
                part += row[a] * unit[a]
            for a in range(rows.shape[1]):
                row[a] -= part * unit[a]
    return pivots, order


def _without_empty_columns(rows: csr_array) -> csr_array:
    """Leave out the columns of bodies that these rows do not touch."""
    return rows[:, np.unique(rows.indices)]


def _decide_large(rows: csr_array, tolerance: float) -> RankDecision:
    """Decide in one component: by a sparse sweep if it is large and leaves no doubt."""
    n = rows.shape[0]
    swept = _decide_by_sweep(rows) if n > SWEEP_ROWS else None
    if swept is not None and (swept.certain or n > DENSE_ROWS):
        return swept
    return _decide_by_qr(rows, tolerance)


def _second_opinion(
    rows: FloatArray, ends: IntArray, pattern: BlockPattern, tolerance: float
) -> int | None:
    """Return the rank by a frontal QR; None where that is too wide or leaves doubt itself."""
    bodies, local = np.unique(np.append(ends.ravel(), -1), return_inverse=True)
    local = local[:-1].reshape(ends.shape) - 1  # the world comes first
    sizes = pattern.block_sizes[bodies[1:]]
    joined = local[(local >= 0).all(axis=1)]
    graph = coo_array((np.ones(len(joined)), joined.T), shape=(len(sizes), len(sizes))).tocsr()
    order = reverse_cuthill_mckee(graph + graph.T, symmetric_mode=True).astype(np.intp)
    if front_widths(local, sizes, order).max() > LARGEST_FRONT:
        return None
    pivots = frontal_pivots(rows, local, sizes, order, tolerance)
    kept = pivots > tolerance
    clear = pivots[kept].min() >= CLEAR_GAP * max(pivots[~kept].max(initial=0.0), NOISE)
    return int(np.count_nonzero(kept)) if clear else None


def _weighed(
    swept: RankDecision, opinion: int | None, rows: csr_array, tolerance: float
) -> RankDecision:
    """Weigh the sweep's decision, which squares the condition number, against one that does not."""
    if opinion is None:
        return swept
    if opinion == swept.rank:
        return replace(swept, method=f"{SWEPT}, confirmed by a frontal QR")
    if len(swept.keep) <= DENSE_ROWS:
        return _decide_by_qr(_without_empty_columns(rows), tolerance)
    return replace(swept, certain=False, method=f"{SWEPT}; a frontal QR finds rank {opinion}")


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


def _decide_by_sweep(rows: csr_array) -> RankDecision | None:
    """Sweep by levels in both directions and take the clearer decision; None if too wide.

    The direction matters: a long scissor is decided clearly from the ground to the free end, and
    not at all the other way, where errors grow with the leverage.
    """
    schur = (rows @ rows.T).tocsr()
    schur.sort_indices()
    order = _level_order(schur)
    decisions = [_swept(rows, schur, order), _swept(rows, schur, order[::-1].copy())]
    found = [decision for decision in decisions if decision is not None]
    return max(found, key=lambda decision: (decision.certain, decision.gap), default=None)


def _swept(rows: csr_array, schur: csr_array, order: IntArray) -> RankDecision | None:
    """Pivots of the Schur complement + delta in one order; None where the band is too wide.

    A dependent row has a pivot of about delta. The gap is found among the pivots, and the outcome
    is checked: the rows kept must have a regular Schur complement, and a random motion that they
    allow must be allowed by the dropped ones.
    """
    band = _lower_band(schur, order)
    if band is None:
        return None
    band[:, 0] += SWEEP_DELTA
    pivots = _band_pivots(band)
    threshold, ratio = _largest_gap(pivots)
    keep = np.zeros(len(order), dtype=np.bool_)
    keep[order] = pivots > threshold
    certain = ratio >= SWEEP_GAP and _is_consistent(rows, schur, order, keep)
    return RankDecision(keep, float(np.sqrt(ratio)), certain, SWEPT)


def _level_order(matrix: csr_array) -> IntArray:
    """Sweep level by level, from one far end of every connected part to the other."""
    seen = np.zeros(matrix.shape[0], dtype=np.bool_)
    parts = []
    while not np.all(seen):
        start = int(np.argmin(seen))
        for _ in range(4):  # the last one reached is far away
            part = breadth_first_order(matrix, start, False, return_predecessors=False)
            start = part[-1]
        seen[part] = True
        parts.append(part)
    return np.concatenate(parts).astype(np.intp)


def _lower_band(matrix: csr_array, order: IntArray) -> FloatArray | None:
    """Return elements (i + d, i) of the permuted matrix as (n, width + 1); None if too many."""
    permuted = matrix[order][:, order].tocoo()
    below = permuted.row >= permuted.col
    column, distance = permuted.col[below], (permuted.row - permuted.col)[below]
    width = int(distance.max(initial=0))
    if 8.0 * len(order) * (width + 1) > LARGEST_BAND:
        return None
    band = np.zeros((len(order), width + 1))
    band[column, distance] = permuted.data[below]
    return band


@njit(cache=True)
def _band_pivots(band: FloatArray) -> FloatArray:
    """Return the pivots of LDL' in the given order; overwrites `band`."""
    n, width = band.shape
    pivots = np.empty(n)
    for k in range(n):
        pivot = pivots[k] = max(band[k, 0], 1e-300)
        most = min(width, n - k)
        for c in range(1, most):
            factor = band[k, c] / pivot
            if factor != 0.0:
                for r in range(c, most):
                    band[k + c, r - c] -= factor * band[k, r]
    return pivots


def _largest_gap(pivots: FloatArray) -> tuple[float, float]:
    """Return a threshold and the ratio of the pivots on its two sides.

    Where all pivots are far above delta, none is dropped and the ratio is that to delta.
    """
    ordered = np.sort(np.concatenate([[SWEEP_DELTA], pivots.clip(min=SWEEP_DELTA)]))
    ratio = ordered[1:] / ordered[:-1]
    k = int(np.argmax(ratio))
    return float(np.sqrt(ordered[k] * ordered[k + 1])), float(ratio[k])


def _is_consistent(rows: csr_array, schur: csr_array, order: IntArray, keep: BoolArray) -> bool:
    """Tell whether a random motion that the kept rows allow is allowed by all rows."""
    kept = order[keep[order]]
    band = _lower_band(schur, kept)
    try:
        factor = cholesky_banded(np.asfortranarray(band).T, lower=True, check_finite=False)
    except LinAlgError:  # the rows kept are still dependent
        return False
    motion = np.random.default_rng(0).normal(size=rows.shape[1])
    size = np.abs(motion).max()
    for _ in range(3):  # projection, refined
        motion -= rows[kept].T @ cho_solve_banded((factor, True), rows[kept] @ motion)
    return float(np.abs(rows @ motion).max()) <= CHECK_TOLERANCE * float(size)
