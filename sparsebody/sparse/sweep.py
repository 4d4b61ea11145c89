"""Independent rows by the pivots of the Schur complement + delta, swept along a band."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded
from scipy.sparse import csr_array

from sparsebody._core import graph, rank
from sparsebody.arrays import BoolArray, FloatArray, IntArray

# Scissors, sheets, lattices and rows of four-bars of any size have a gap of 1e6 and more in the
# pivots of a sweep by levels; it grows as 1 / delta down to 1e-13. Other bands, such as those of
# reverse Cuthill-McKee that start in the middle, can close it.
DELTA = 1e-12
LARGEST_BAND = 1e9  # bytes
CHECK_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class RowChoice:
    """The independent rows that one method chooses."""

    keep: BoolArray
    gap: float  # ratio of the least remainder of an independent row to the largest dropped
    method: str
    least_kept: float = 1.0  # remainder; those of squares are not comparable
    largest_dropped: float = 0.0

    @property
    def rank(self) -> int:
        """Number of independent rows."""
        return int(np.count_nonzero(self.keep))


def swept_choices(rows: csr_array) -> list[RowChoice]:
    """Return the choices of sweeps by levels in both directions that pass a check.

    None does where the band is too wide. The direction matters: a long scissor is decided
    clearly from the ground to the free end, and not at all in the opposite direction, where errors
    grow with the leverage.
    """
    schur = (rows @ rows.T).tocsr()
    schur.sort_indices()
    order = _level_order(schur)
    choices = [_swept(rows, schur, order), _swept(rows, schur, order[::-1].copy())]
    return [choice for choice in choices if choice is not None]


def _swept(rows: csr_array, schur: csr_array, order: IntArray) -> RowChoice | None:
    """Return the choice by pivots of the Schur complement + delta; None if the band is too wide.

    A dependent row has a pivot of about delta. The threshold is the largest gap of the
    pivots, and the outcome is checked: the independent rows must have a regular Schur complement,
    and a random motion that they allow must satisfy the dropped ones.
    """
    band = _lower_band(schur, order)
    if band is None:
        return None
    band[:, 0] += DELTA
    pivots = rank.band_pivots(band)
    threshold, ratio = _largest_gap(pivots)
    keep = np.zeros(len(order), dtype=np.bool_)
    keep[order] = pivots > threshold
    if not _is_consistent(rows, schur, order, keep):
        return None
    return RowChoice(keep, float(np.sqrt(ratio)), "swept pivots")


def _level_order(matrix: csr_array) -> IntArray:
    """Sweep level by level, from one far end of every connected part to the other."""
    return graph.level_order(matrix.indptr, matrix.indices)


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


def _largest_gap(pivots: FloatArray) -> tuple[float, float]:
    """Return a threshold and the ratio of the pivots on its two sides.

    Where all pivots are far above delta, none is dropped and the ratio is that to delta.
    """
    ordered = np.sort(np.concatenate([[DELTA], pivots.clip(min=DELTA)]))
    ratio = ordered[1:] / ordered[:-1]
    k = int(np.argmax(ratio))
    return float(np.sqrt(ordered[k] * ordered[k + 1])), float(ratio[k])


def _is_consistent(rows: csr_array, schur: csr_array, order: IntArray, keep: BoolArray) -> bool:
    """Return whether a random motion that the independent rows allow satisfies all rows."""
    independent = order[keep[order]]
    factor = _band_factor(schur, independent)
    if factor is None:  # they are still dependent
        return False
    motion = np.random.default_rng(0).normal(size=rows.shape[1])
    size = np.abs(motion).max()
    for _ in range(3):  # projection, refined
        error = rows[independent] @ motion
        motion -= rows[independent].T @ cho_solve_banded((factor, True), error)
    return float(np.abs(rows @ motion).max()) <= CHECK_TOLERANCE * float(size)


def _band_factor(matrix: csr_array, order: IntArray) -> FloatArray | None:
    """Return the Cholesky factor of the permuted matrix; None if it is singular or too wide."""
    band = _lower_band(matrix, order)
    if band is None:
        return None
    try:
        return np.asarray(
            cholesky_banded(np.asfortranarray(band).T, lower=True, check_finite=False)
        )
    except LinAlgError:
        return None


def smallest_singular_value(rows: csr_array) -> float:
    """Return an estimate by a few inverse iterations on rows rows'; 0 for dependent rows."""
    schur = (rows @ rows.T).tocsr()
    schur.sort_indices()
    factor = _band_factor(schur, _level_order(schur))
    if factor is None:
        return 0.0
    x = np.random.default_rng(1).normal(size=rows.shape[0])
    growth = 1.0
    for _ in range(6):
        x /= np.linalg.norm(x)
        x = cho_solve_banded((factor, True), x, check_finite=False)
        growth = float(np.linalg.norm(x))
    return float(1.0 / np.sqrt(growth))
