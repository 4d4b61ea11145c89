"""The independent rows that one method chooses, and how well they are conditioned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sparsebody._core import rank as kernels
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.sparse.rank.parts import PartOfRows, kernel_part
from sparsebody.sparse.rank.tolerances import JOINTWISE_SHARE, REMAINDER_FLOOR

LARGEST_BAND = 1e9  # bytes


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
    factor = _band_factor(schur, reverse_cuthill_mckee(schur, symmetric_mode=True))
    if factor is None:
        return 0.0
    x = np.random.default_rng(1).normal(size=rows.shape[0])
    growth = 1.0
    for _ in range(6):
        x /= np.linalg.norm(x)
        x = cho_solve_banded((factor, True), x, check_finite=False)
        growth = float(np.linalg.norm(x))
    return float(1.0 / np.sqrt(growth))


SMALL = 48  # rows up to which it is faster than a call of LAPACK
PIVOTED = "pivoted QR by components"


def small_choice(part: PartOfRows, component_start: IntArray, tolerance: float) -> RowChoice:
    """Decide which rows to keep, component by component.

    Parameters
    ----------
    part : PartOfRows
        The rows of all components, one after the other.
    component_start : (n_components + 1,) int array
        The first dual block of each component; at most SMALL rows in one.
    tolerance : float
        Remainders up to it are dependent.

    Returns
    -------
    RowChoice
        Its gap is the least clear one of all components. A choice made joint by joint holds in
        other poses as well, and is taken where it costs little conditioning.
    """
    free, jointwise = kernels.small_remainders(
        kernel_part(part.pattern, part.rows), component_start, tolerance
    )
    first_row = part.pattern.dual_offsets[component_start]
    size = np.diff(first_row)
    starts, size = first_row[:-1][size > 0], size[size > 0]
    if len(size) == 0:
        return RowChoice(free > tolerance, np.inf, PIVOTED, np.inf)
    rank, least, largest = _extremes(free, starts, tolerance)
    jointwise_rank, jointwise_least, _ = _extremes(jointwise, starts, tolerance)
    is_good = (jointwise_rank == rank) & (jointwise_least > JOINTWISE_SHARE * least)
    keep = np.where(np.repeat(is_good, size), jointwise, free) > tolerance
    gap = float((least / largest).min())
    return RowChoice(keep, gap, PIVOTED, float(least.min()), float(largest.max()))


def _extremes(
    remainders: FloatArray, starts: IntArray, tolerance: float
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return rank, least remainder kept and largest dropped of each component."""
    keep = remainders > tolerance
    return (
        np.add.reduceat(keep.astype(np.intp), starts),
        np.minimum.reduceat(np.where(keep, remainders, np.inf), starts),
        np.maximum.reduceat(np.where(keep, 0.0, remainders), starts).clip(min=REMAINDER_FLOOR),
    )
