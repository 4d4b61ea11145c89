"""Products of A and A' with vectors, where D = 1."""

from __future__ import annotations

from numba import njit

from sparsebody.arrays import FloatArray, IntArray


@njit(cache=True)
def fill_gaps(
    ends: IntArray,
    first: IntArray,
    first_row: IntArray,
    rows: FloatArray,
    x: FloatArray,
    asked: FloatArray,
    gap: FloatArray,
) -> None:
    """Fill gap = A x - asked; `first` and `first_row` are where blocks start in x and in gap."""
    for j in range(len(ends)):
        for k in range(first_row[j], first_row[j + 1]):
            total = -asked[k]
            for side in range(2):
                body = ends[j, side]
                if body >= 0:
                    for a in range(first[body + 1] - first[body]):
                        total += rows[k, side, a] * x[first[body] + a]
            gap[k] = total


@njit(cache=True)
def subtract_forces(
    ends: IntArray,
    first: IntArray,
    first_row: IntArray,
    rows: FloatArray,
    y: FloatArray,
    x: FloatArray,
) -> None:
    """Replace x by x - A' y."""
    for j in range(len(ends)):
        for k in range(first_row[j], first_row[j + 1]):
            for side in range(2):
                body = ends[j, side]
                if body >= 0:
                    for a in range(first[body + 1] - first[body]):
                        x[first[body] + a] -= rows[k, side, a] * y[k]
