"""Rows of A in units in which masses and sizes of the bodies do not matter.

The rank of A is that of W A S, whatever the weights W of the rows and the regular blocks S on the
bodies. Inertias are one choice of S, and a bad one where a crank of a gram moves a press of a ton:
the press alone decides. Here S makes the weighted rows on each body orthonormal columns, and W
gives the rows unit norm then. What is rounding on a body must stay small, so S enlarges no
direction by more than 10, and no unit by more than a few thousand.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.sparse.whitening import PartOfRows

# Of what runs for every row: calls that count references take longer than the work.
STEP: dict[str, Any] = {"cache": True, "fastmath": {"contract"}, "_nrt": False, "forceinline": True}
PASSES = 3
OWN = 1e-2  # least pivot of a body's Gram matrix, by its own diagonal entry,
LARGEST = 1e-7  # and by the largest one


def equilibrated(part: PartOfRows) -> PartOfRows:
    """Return the same rows with even parts on all bodies, of unit norm; zero rows stay.

    References
    ----------
    Van der Sluis (1969), Numer. Math. 14:14, on column scaling; Ruiz (2001), RAL-TR-2001-034.
    """
    pattern = part.pattern
    n = pattern.n_primal
    sizes = np.ascontiguousarray(pattern.block_sizes, dtype=np.intp)
    ends = np.ascontiguousarray(pattern.ends, dtype=np.intp)
    first = pattern.offsets[n:] - pattern.n_primal_rows
    rows = np.ascontiguousarray(part.rows)
    width = rows.shape[2]
    weight, gram = np.ones(len(rows)), np.empty((n, width, width))
    scaled = np.empty_like(rows)
    for count in range(PASSES):
        _scale(ends, first, sizes[:n], rows, weight, gram, scaled, count == PASSES - 1)
    return replace(part, rows=scaled)


@njit(cache=True)
def _scale(
    ends: IntArray,
    first: IntArray,
    sizes: IntArray,
    rows: FloatArray,
    weight: FloatArray,
    gram: FloatArray,
    scaled: FloatArray,
    is_last: bool,
) -> None:
    """Update W and, where it is the last time, fill `scaled` with W A S; `gram` is room for S."""
    gram[:] = 0.0
    for j in range(len(ends)):
        for side in range(2):
            if ends[j, side] >= 0:
                for k in range(first[j], first[j + 1]):
                    _add_square(weight[k] ** 2, rows, k, side, gram, ends[j, side])
    for i in range(len(gram)):
        _factorize(gram, i, sizes[i])
    for j in range(len(ends)):
        for k in range(first[j], first[j + 1]):
            square = 0.0
            for side in range(2):
                i = ends[j, side]
                if i >= 0:
                    square += _solve(gram, i, sizes[i], rows, k, side, scaled, is_last)
                elif is_last:
                    scaled[k, side] = 0.0
            if square > 0.0:
                weight[k] = 1.0 / np.sqrt(square)
                if is_last:
                    for side in range(2):
                        for a in range(rows.shape[2]):
                            scaled[k, side, a] *= weight[k]


@njit(**STEP)
def _add_square(
    weight: float, rows: FloatArray, k: int, side: int, gram: FloatArray, body: int
) -> None:
    if rows.shape[2] == 6:
        _add_square_6(weight, rows[k, side], gram[body])
        return
    for a in range(rows.shape[2]):
        x = weight * rows[k, side, a]
        for b in range(a + 1):
            gram[body, a, b] += x * rows[k, side, b]


@njit(**STEP)
def _add_square_6(weight: float, row: FloatArray, gram: FloatArray) -> None:
    """Do so for six freedoms, in registers."""
    r = row[0], row[1], row[2], row[3], row[4], row[5]
    for a in range(6):
        x = weight * r[a]
        for b in range(6):
            if b <= a:
                gram[a, b] += x * r[b]


@njit(**STEP)
def _factorize(gram: FloatArray, body: int, n: int) -> None:
    """Cholesky factor in the lower triangle, the pivots large enough; inverses on the diagonal."""
    largest = 0.0
    for j in range(n):
        largest = max(largest, gram[body, j, j])
    if largest == 0.0:
        largest = 1.0
    for j in range(n):
        least = max(OWN * gram[body, j, j], LARGEST * largest)
        for i in range(j, n):
            value = gram[body, i, j]
            for k in range(j):
                value -= gram[body, i, k] * gram[body, j, k]
            if i == j:
                gram[body, j, j] = 1.0 / np.sqrt(max(value, least))
            else:
                gram[body, i, j] = value * gram[body, j, j]


@njit(**STEP)
def _solve(
    gram: FloatArray,
    body: int,
    n: int,
    rows: FloatArray,
    k: int,
    side: int,
    scaled: FloatArray,
    is_kept: bool,
) -> float:
    """Fill scaled[k, side] with L^-1 of the row if it is kept; return its square."""
    if n == 6:
        return _solve_6(gram[body], rows[k, side], scaled[k, side], is_kept)
    if n == 3 and rows.shape[2] == 3:
        return _solve_3(gram[body], rows[k, side], scaled[k, side], is_kept)
    square = 0.0
    for a in range(rows.shape[2]):
        value = rows[k, side, a]
        if a < n:
            for b in range(a):
                value -= gram[body, a, b] * scaled[k, side, b]
            value *= gram[body, a, a]
        scaled[k, side, a] = value
        square += value**2
    return square


@njit(**STEP)
def _solve_6(g: FloatArray, row: FloatArray, scaled: FloatArray, is_kept: bool) -> float:
    """Do so for six freedoms, in registers."""
    y0 = (row[0]) * g[0, 0]
    y1 = (row[1] - g[1, 0] * y0) * g[1, 1]
    y2 = (row[2] - g[2, 0] * y0 - g[2, 1] * y1) * g[2, 2]
    y3 = (row[3] - g[3, 0] * y0 - g[3, 1] * y1 - g[3, 2] * y2) * g[3, 3]
    y4 = (row[4] - g[4, 0] * y0 - g[4, 1] * y1 - g[4, 2] * y2 - g[4, 3] * y3) * g[4, 4]
    y5 = (row[5] - g[5, 0] * y0 - g[5, 1] * y1 - g[5, 2] * y2 - g[5, 3] * y3 - g[5, 4] * y4) * g[
        5, 5
    ]
    if is_kept:
        scaled[0], scaled[1], scaled[2], scaled[3], scaled[4], scaled[5] = y0, y1, y2, y3, y4, y5
    return y0 * y0 + y1 * y1 + y2 * y2 + y3 * y3 + y4 * y4 + y5 * y5


@njit(**STEP)
def _solve_3(g: FloatArray, row: FloatArray, scaled: FloatArray, is_kept: bool) -> float:
    """Do so for three freedoms."""
    y0 = row[0] * g[0, 0]
    y1 = (row[1] - g[1, 0] * y0) * g[1, 1]
    y2 = (row[2] - g[2, 0] * y0 - g[2, 1] * y1) * g[2, 2]
    if is_kept:
        scaled[0], scaled[1], scaled[2] = y0, y1, y2
    return y0 * y0 + y1 * y1 + y2 * y2
