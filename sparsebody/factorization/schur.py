"""The Schur complement A D^-1 A' of the dual rows: its layout, its values, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ShapeError
from sparsebody.factorization.scatter import Columns, block_columns, positions
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix

MOST_CONTRIBUTIONS = 50_000_000  # block products; a body with d joints has d (d + 1) / 2 of them


@dataclass(frozen=True, eq=False)
class SchurLayout:
    """The block products A_p D_i^-1 A_q' that make up the permuted Schur complement."""

    pattern: BlockPattern
    order: IntArray  # (n_dual_rows,) of the scalar dual rows, counted from 0
    contributions: IntArray  # (k, 6) dual p, its side, dual q, its side, base, stride
    columns: Columns  # the lower triangle; diagonal blocks are whole


def schur_layout(pattern: BlockPattern, order: IntArray) -> SchurLayout:
    """Lay out the lower triangle in the order of the dual blocks.

    Raises
    ------
    ShapeError
        If a body carries so many joints that the Schur complement would not fit in memory.
    """
    dual_order = order[order >= pattern.n_primal] - pattern.n_primal
    sizes = pattern.block_sizes[pattern.n_primal :]
    place = positions(dual_order)
    products = _products(*_incidences(pattern), place)
    key = place[products[:, 2]] * pattern.n_dual + place[products[:, 0]]
    columns = block_columns(sizes[dual_order], place[products[:, 0]], place[products[:, 2]])
    k = np.searchsorted(columns.keys, key)
    contributions = np.column_stack([products, columns.base[k], columns.stride[k]])
    return SchurLayout(pattern, _scalar_order(sizes, dual_order), contributions, columns)


def _scalar_order(sizes: IntArray, order: IntArray) -> IntArray:
    """Expand an order of the dual blocks into one of their rows."""
    no_ends = np.full((len(sizes), 2), -1, dtype=np.intp)
    return BlockPattern(sizes, no_ends).scalar_order(order)


def _incidences(pattern: BlockPattern) -> tuple[IntArray, IntArray]:
    """Return indptr (n_primal + 1,) and (dual, side) of whatever touches each primal block."""
    touched = pattern.ends.ravel()
    by_end = np.argsort(touched, kind="stable")
    by_end = by_end[np.searchsorted(touched[by_end], 0) :]  # those with no end come first
    indptr = np.searchsorted(touched[by_end], np.arange(pattern.n_primal + 1))
    degree = np.diff(indptr).astype(float)
    if degree @ (degree + 1) / 2 > MOST_CONTRIBUTIONS:
        raise ShapeError(
            f"one primal block carries {int(degree.max())} dual ones: their Schur complement would "
            "be dense; use a factorization of the whole matrix such as superlu"
        )
    return indptr.astype(np.intp), np.column_stack(np.divmod(by_end, 2)).astype(np.intp)


@njit(cache=True)
def _products(indptr: IntArray, incidence: IntArray, place: IntArray) -> IntArray:
    """Return (p, side of p, q, side of q) of all block products in the lower triangle."""
    n = 0
    for i in range(len(indptr) - 1):
        degree = indptr[i + 1] - indptr[i]
        n += degree * degree
    products = np.empty((n, 4), dtype=np.intp)
    n = 0
    for i in range(len(indptr) - 1):
        for a in range(indptr[i], indptr[i + 1]):
            for b in range(indptr[i], indptr[i + 1]):
                if place[incidence[a, 0]] >= place[incidence[b, 0]]:
                    products[n, :2] = incidence[a]
                    products[n, 2:] = incidence[b]
                    n += 1
    return products[:n].copy()


def fill_schur(
    layout: SchurLayout, matrix: SaddleMatrix, scale: FloatArray, data: FloatArray
) -> None:
    """Fill `data` with A D^-1 A', rows and columns scaled by `scale` (n_rows,)."""
    pattern = layout.pattern
    _fill_schur(
        pattern.block_sizes,
        pattern.offsets,
        pattern.ends,
        matrix.inverse,
        matrix.rows,
        scale,
        layout.contributions,
        data,
    )


@njit(cache=True)
def _fill_schur(
    sizes: IntArray,
    offsets: IntArray,
    ends: IntArray,
    inverse: FloatArray,
    rows: FloatArray,
    scale: FloatArray,
    contributions: IntArray,
    data: FloatArray,
) -> None:
    """Fill `data`; first A D^-1 for every row and end, then the products."""
    n_primal = inverse.shape[0]
    first = offsets[n_primal]
    half = np.zeros(rows.shape)
    for j in range(ends.shape[0]):
        for side in range(2):
            i = ends[j, side]
            if i < 0:
                continue
            for row in range(offsets[n_primal + j], offsets[n_primal + j + 1]):
                for a in range(sizes[i]):
                    total = 0.0
                    for b in range(sizes[i]):
                        total += inverse[i, a, b] * rows[row - first, side, b]
                    half[row - first, side, a] = total * scale[row]
    data[:] = 0.0
    for k in range(contributions.shape[0]):
        p, side_p, q, side_q, base, stride = contributions[k]
        start_p, start_q = offsets[n_primal + p], offsets[n_primal + q]
        size = sizes[ends[q, side_q]]
        for c in range(sizes[n_primal + q]):
            for r in range(sizes[n_primal + p]):
                total = 0.0
                for a in range(size):
                    product = half[start_p - first + r, side_p, a]
                    total += product * rows[start_q - first + c, side_q, a]
                data[base + c * stride + r] += total * scale[start_q + c]


def dual_rhs(matrix: SaddleMatrix, rhs: FloatArray) -> FloatArray:
    """Return A D^-1 f - g (n_dual_rows, k) for rhs = [f; g] (n_rows, k)."""
    pattern = matrix.pattern
    reduced = np.empty((pattern.n_rows - pattern.n_primal_rows, rhs.shape[1]))
    free = np.empty((pattern.n_primal_rows, rhs.shape[1]))
    _apply_inverse(pattern.block_sizes, pattern.offsets, matrix.inverse, rhs, free)
    _constraint_residual(pattern.offsets, pattern.ends, matrix.rows, free, rhs, reduced)
    return reduced


def primal_solution(matrix: SaddleMatrix, rhs: FloatArray, y: FloatArray) -> FloatArray:
    """Return [D^-1 (f - A' y); y] for rhs = [f; g] (n_rows, k) and y (n_dual_rows, k)."""
    pattern = matrix.pattern
    x = np.empty(rhs.shape)
    x[pattern.n_primal_rows :] = y
    force = rhs[: pattern.n_primal_rows].copy()
    _subtract_transpose(pattern.block_sizes, pattern.offsets, pattern.ends, matrix.rows, y, force)
    _apply_inverse(pattern.block_sizes, pattern.offsets, matrix.inverse, force, x)
    return x


@njit(cache=True)
def _apply_inverse(
    sizes: IntArray, offsets: IntArray, inverse: FloatArray, f: FloatArray, x: FloatArray
) -> None:
    """Set the primal rows of x to D^-1 f."""
    for i in range(inverse.shape[0]):
        for a in range(sizes[i]):
            for k in range(f.shape[1]):
                total = 0.0
                for b in range(sizes[i]):
                    total += inverse[i, a, b] * f[offsets[i] + b, k]
                x[offsets[i] + a, k] = total


@njit(cache=True)
def _constraint_residual(
    offsets: IntArray,
    ends: IntArray,
    rows: FloatArray,
    x: FloatArray,
    rhs: FloatArray,
    residual: FloatArray,
) -> None:
    """Set `residual` to A x - g."""
    n_primal = len(offsets) - 1 - ends.shape[0]
    first = offsets[n_primal]
    for j in range(ends.shape[0]):
        for row in range(offsets[n_primal + j], offsets[n_primal + j + 1]):
            for k in range(x.shape[1]):
                total = -rhs[row, k]
                for side in range(2):
                    i = ends[j, side]
                    if i >= 0:
                        for b in range(offsets[i + 1] - offsets[i]):
                            total += rows[row - first, side, b] * x[offsets[i] + b, k]
                residual[row - first, k] = total


@njit(cache=True)
def _subtract_transpose(
    sizes: IntArray,
    offsets: IntArray,
    ends: IntArray,
    rows: FloatArray,
    y: FloatArray,
    force: FloatArray,
) -> None:
    """Subtract A' y from `force`."""
    n_primal = len(offsets) - 1 - ends.shape[0]
    first = offsets[n_primal]
    for j in range(ends.shape[0]):
        for row in range(offsets[n_primal + j] - first, offsets[n_primal + j + 1] - first):
            for side in range(2):
                i = ends[j, side]
                if i >= 0:
                    for b in range(sizes[i]):
                        for k in range(y.shape[1]):
                            force[offsets[i] + b, k] -= rows[row, side, b] * y[row, k]
