"""Dependent rows in components of a few rows, by Gram-Schmidt with pivoting."""

from __future__ import annotations

from sparsebody._core import rank as kernels
from sparsebody.arrays import IntArray
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
        Its gap is the least clear one of all components.
    """
    keep, gap, least, largest = kernels.small_components(
        kernel_part(part.pattern, part.rows),
        component_start,
        tolerance,
        REMAINDER_FLOOR,
        JOINTWISE_SHARE,
    )
    return RowChoice(keep, gap, PIVOTED, least, largest)
