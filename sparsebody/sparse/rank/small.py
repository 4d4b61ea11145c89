"""Dependent rows in components of a few rows, by Gram-Schmidt with pivoting."""

from __future__ import annotations

import numpy as np

from sparsebody._core import rank as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.sparse.rank.choices import RowChoice
from sparsebody.sparse.rank.parts import PartOfRows, kernel_part
from sparsebody.sparse.rank.tolerances import JOINTWISE_SHARE, REMAINDER_FLOOR

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
