"""Dependent rows in components of a few rows, by Gram-Schmidt with pivoting."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.sparse.sweep import RowChoice
from sparsebody.sparse.whitening import PartOfRows

SMALL = 48  # rows up to which it is faster than a call of LAPACK
NOISE = 1e-15  # stands for the largest dropped |R_ii| where nothing is dropped
PIVOTED = "pivoted QR by components"
SHARE = 0.01  # of the best conditioning: how much a choice that holds in more poses may cost


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
    keep = np.zeros(len(part.rows), dtype=np.bool_)
    pattern = part.pattern
    first_row = pattern.offsets[pattern.n_primal :] - pattern.n_primal_rows
    label = np.full(pattern.n_primal, -1, dtype=np.intp)
    gap, least, largest = _decide(
        part.rows, pattern.ends, first_row, component_start, label, tolerance, keep
    )
    return RowChoice(keep, gap, PIVOTED, least, largest)


@njit(cache=True)
def _decide(
    rows: FloatArray,
    ends: IntArray,
    first_row: IntArray,
    component_start: IntArray,
    label: IntArray,
    tolerance: float,
    keep: BoolArray,
) -> tuple[float, float, float]:
    """Set `keep`; return the least clear gap, and extreme remainders of all components."""
    most = 0
    for c in range(len(component_start) - 1):
        n = first_row[component_start[c + 1]] - first_row[component_start[c]]
        most = max(most, n)
    gathered = np.zeros((most, 2 * max(most, 1) * rows.shape[2]))
    pivots, by_joint, waiting = np.empty(most), np.empty(most), np.empty(most, dtype=np.bool_)
    group = np.zeros(most, dtype=np.intp)
    gap, least_kept, largest_dropped = np.inf, np.inf, 0.0
    for c in range(len(component_start) - 1):
        begin, end = component_start[c], component_start[c + 1]
        start, n = first_row[begin], first_row[end] - first_row[begin]
        width = _gather(rows, ends, first_row, begin, end, label, gathered)
        group[:n] = 0
        _gram_schmidt(gathered, n, width, group, tolerance, waiting, pivots)
        least, largest = _least_and_largest(pivots[:n], tolerance)
        gap = min(gap, least / largest)
        least_kept, largest_dropped = min(least_kept, least), max(largest_dropped, largest)
        chosen = pivots
        if end > begin + 1:
            _gather(rows, ends, first_row, begin, end, label, gathered)
            for j in range(begin, end):
                group[first_row[j] - start : first_row[j + 1] - start] = j
            _gram_schmidt(gathered, n, width, group, tolerance, waiting, by_joint)
            same_rank = np.sum(by_joint[:n] > tolerance) == np.sum(pivots[:n] > tolerance)
            if same_rank and _least_and_largest(by_joint[:n], tolerance)[0] > SHARE * least:
                chosen = by_joint
        for k in range(n):
            keep[start + k] = chosen[k] > tolerance
    return gap, least_kept, largest_dropped


@njit(cache=True)
def _least_and_largest(pivots: FloatArray, tolerance: float) -> tuple[float, float]:
    """Return the least remainder that is kept and the largest that is dropped."""
    least, largest = np.inf, NOISE
    for pivot in pivots:
        if pivot > tolerance:
            least = min(least, pivot)
        else:
            largest = max(largest, pivot)
    return least, largest


@njit(cache=True)
def _gather(
    rows: FloatArray,
    ends: IntArray,
    first_row: IntArray,
    begin: int,
    end: int,
    label: IntArray,
    gathered: FloatArray,
) -> int:
    """Fill the rows of joints begin .. end-1 as a dense matrix; return the number of columns."""
    width, start, n_bodies = rows.shape[2], first_row[begin], 0
    for j in range(begin, end):
        for side in range(2):
            if ends[j, side] >= 0 and label[ends[j, side]] < 0:
                label[ends[j, side]] = n_bodies
                n_bodies += 1
    gathered[: first_row[end] - start, : n_bodies * width] = 0.0
    for j in range(begin, end):
        for side in range(2):
            if ends[j, side] >= 0:
                column = width * label[ends[j, side]]
                for k in range(first_row[j], first_row[j + 1]):
                    for a in range(width):
                        gathered[k - start, column + a] += rows[k, side, a]
    for j in range(begin, end):
        for side in range(2):
            if ends[j, side] >= 0:
                label[ends[j, side]] = -1
    return n_bodies * width


@njit(cache=True, fastmath={"contract", "reassoc"})
def _gram_schmidt(
    rows: FloatArray,
    n: int,
    width: int,
    group: IntArray,
    tolerance: float,
    waiting: BoolArray,
    pivots: FloatArray,
) -> None:
    """Fill `pivots` with |R_ii| of rows[:n, :width], group by group, the largest of a group first.

    Remainders up to `tolerance` are dependent and are not used. Overwrites `rows`.
    """
    waiting[:n] = True
    for _ in range(n):
        now = 2**62
        for i in range(n):
            if waiting[i]:
                now = min(now, group[i])
        best, largest = -1, -1.0
        for i in range(n):
            if waiting[i] and group[i] == now:
                square = 0.0
                for a in range(width):
                    square += rows[i, a] ** 2
                if square > largest * (1.0 + 1e-12):
                    best, largest = i, square
        waiting[best] = False
        pivots[best] = np.sqrt(largest)
        if pivots[best] <= tolerance:
            continue
        for a in range(width):
            rows[best, a] /= pivots[best]
        for i in range(n):
            if waiting[i]:
                part = 0.0
                for a in range(width):
                    part += rows[i, a] * rows[best, a]
                for a in range(width):
                    rows[i, a] -= part * rows[best, a]
