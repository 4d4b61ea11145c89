"""The values of a saddle-point matrix [D A'; A 0] on a BlockPattern, and products with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.sparse import coo_array, csc_array

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ShapeError
from sparsebody.sparse.pattern import BlockPattern


@dataclass(frozen=True, eq=False)
class SaddleMatrix:
    """D as blocks and A as scalar rows, each row with its part on either primal end.

    `width` is the largest primal block; a smaller block uses the leading part of its storage.
    """

    pattern: BlockPattern
    diagonal: FloatArray  # (n_primal, width, width) symmetric positive definite blocks of D
    inverse: FloatArray  # (n_primal, width, width) their inverses
    rows: FloatArray  # (n_dual_rows, 2, width) rows of A on first and second end; 0 where none

    @property
    def row_block(self) -> IntArray:
        """(n_dual_rows,) the dual block, counted from 0, that each row of A belongs to."""
        sizes = self.pattern.block_sizes[self.pattern.n_primal :]
        return np.repeat(np.arange(self.pattern.n_dual, dtype=np.intp), sizes)


def saddle_product(matrix: SaddleMatrix, x: FloatArray) -> FloatArray:
    """Return [D A'; A 0] x for x (n_rows,) or (n_rows, k) in natural order, primal part first."""
    return -saddle_residual(matrix, x, np.zeros(x.shape))


def saddle_residual(matrix: SaddleMatrix, x: FloatArray, rhs: FloatArray) -> FloatArray:
    """Return rhs - [D A'; A 0] x, for one or several right-hand sides.

    Raises
    ------
    ShapeError
        If x is not shaped like rhs, or does not fit the matrix.
    """
    pattern = matrix.pattern
    if x.shape[0] != pattern.n_rows:
        raise ShapeError(f"x has {x.shape[0]} rows, the matrix {pattern.n_rows}")
    if x.shape != rhs.shape:
        raise ShapeError(f"x is {x.shape}, the right-hand side {rhs.shape}")
    columns = np.ascontiguousarray(x, dtype=float).reshape(len(x), -1)
    rest = np.array(rhs, dtype=float).reshape(columns.shape)
    sizes, offsets = pattern.block_sizes, pattern.offsets
    for k in range(columns.shape[1]):
        kernel = _residual_6 if pattern.has_full_blocks else _residual
        kernel(
            sizes, offsets, pattern.ends, matrix.diagonal, matrix.rows, columns[:, k], rest[:, k]
        )
    return rest.reshape(x.shape)


def residual_scales(matrix: SaddleMatrix, x: FloatArray, rhs: FloatArray) -> FloatArray:
    """Return (k, 2): what primal and dual residuals are measured against, for each of k columns.

    The two halves have different units. Primal rows are measured against the largest entry of f
    and D x; dual ones against that of g and of A D^-1 f, what x would be without them.
    """
    columns = np.ascontiguousarray(x, dtype=float).reshape(len(x), -1)
    right = np.ascontiguousarray(rhs, dtype=float).reshape(columns.shape)
    scales = np.zeros((columns.shape[1], 2))
    pattern = matrix.pattern
    for k in range(columns.shape[1]):
        _scales(
            pattern.block_sizes,
            pattern.offsets,
            pattern.ends,
            matrix.diagonal,
            matrix.inverse,
            matrix.rows,
            columns[:, k],
            right[:, k],
            scales[k],
        )
    return scales


def residual_size(matrix: SaddleMatrix, rest: FloatArray, scales: FloatArray) -> float:
    """Return the largest entry of a residual relative to its scales; NaN if one is not a number."""
    return float(_size(rest.reshape(len(rest), -1), matrix.pattern.n_primal_rows, scales))


@njit(cache=True)
def _size(rest: FloatArray, n_primal_rows: int, scales: FloatArray) -> float:
    worst = 0.0
    for row in range(rest.shape[0]):
        half = 0 if row < n_primal_rows else 1
        for k in range(rest.shape[1]):
            scale = scales[k, half]
            relative = abs(rest[row, k]) / (scale if scale > 0.0 else 1.0)
            if not relative <= worst:  # NaN, too
                worst = relative
    return worst


@njit(cache=True, fastmath={"contract"})
def _residual(
    sizes: IntArray,
    offsets: IntArray,
    ends: IntArray,
    diagonal: FloatArray,
    rows: FloatArray,
    x: FloatArray,
    rest: FloatArray,
) -> None:
    """Subtract the product from `rest`, which starts as the right-hand side."""
    n_primal = diagonal.shape[0]
    first_dual_row = offsets[n_primal]
    for i in range(n_primal):
        start = offsets[i]
        for a in range(sizes[i]):
            for b in range(sizes[i]):
                rest[start + a] -= diagonal[i, a, b] * x[start + b]
    for j in range(ends.shape[0]):
        for row in range(offsets[n_primal + j], offsets[n_primal + j + 1]):
            for side in range(2):
                i = ends[j, side]
                if i >= 0:
                    for b in range(sizes[i]):
                        value = rows[row - first_dual_row, side, b]
                        rest[row] -= value * x[offsets[i] + b]
                        rest[offsets[i] + b] -= value * x[row]


@njit(cache=True, fastmath={"contract", "reassoc"})
def _residual_6(
    sizes: IntArray,
    offsets: IntArray,
    ends: IntArray,
    diagonal: FloatArray,
    rows: FloatArray,
    x: FloatArray,
    rest: FloatArray,
) -> None:
    """Do the same where every primal block has six rows, with loops of known length."""
    n_primal = diagonal.shape[0]
    first_dual_row = offsets[n_primal]
    for i in range(n_primal):
        for a in range(6):
            total = 0.0
            for b in range(6):
                total += diagonal[i, a, b] * x[6 * i + b]
            rest[6 * i + a] -= total
    part = np.empty(6)
    for j in range(ends.shape[0]):
        start, stop = offsets[n_primal + j], offsets[n_primal + j + 1]
        for side in range(2):
            body = 6 * ends[j, side]
            if body < 0:
                continue
            for b in range(6):
                part[b] = 0.0
            for row in range(start, stop):
                values, multiplier, total = rows[row - first_dual_row, side], x[row], 0.0
                for b in range(6):
                    total += values[b] * x[body + b]
                    part[b] += values[b] * multiplier
                rest[row] -= total
            for b in range(6):
                rest[body + b] -= part[b]


@njit(cache=True)
def _scales(
    sizes: IntArray,
    offsets: IntArray,
    ends: IntArray,
    diagonal: FloatArray,
    inverse: FloatArray,
    rows: FloatArray,
    x: FloatArray,
    rhs: FloatArray,
    scales: FloatArray,
) -> None:
    """Fill the two scales; see `residual_scales`."""
    n_primal = diagonal.shape[0]
    first_dual_row = offsets[n_primal]
    free = np.empty(first_dual_row)  # D^-1 f
    for i in range(n_primal):
        start = offsets[i]
        for a in range(sizes[i]):
            total, unbound = 0.0, 0.0
            for b in range(sizes[i]):
                total += diagonal[i, a, b] * x[start + b]
                unbound += inverse[i, a, b] * rhs[start + b]
            free[start + a] = unbound
            scales[0] = max(scales[0], abs(rhs[start + a]), abs(total))
    for j in range(ends.shape[0]):
        for row in range(offsets[n_primal + j], offsets[n_primal + j + 1]):
            scales[1] = max(scales[1], abs(rhs[row]))
            for side in range(2):
                i = ends[j, side]
                if i >= 0:
                    unbound = 0.0
                    for b in range(sizes[i]):
                        unbound += rows[row - first_dual_row, side, b] * free[offsets[i] + b]
                    scales[1] = max(scales[1], abs(unbound))


def constraint_matrix(matrix: SaddleMatrix) -> csc_array:
    """Return A alone, (n_dual_rows, n_primal_rows), as a SciPy sparse matrix."""
    pattern = matrix.pattern
    width = matrix.rows.shape[2]
    ends = pattern.ends[matrix.row_block]  # (n_dual_rows, 2)
    row = np.broadcast_to(np.arange(len(ends))[:, None, None], matrix.rows.shape)
    local = np.broadcast_to(np.arange(width), matrix.rows.shape)
    column = pattern.offsets[ends][:, :, None] + local
    used = (ends >= 0)[:, :, None] & (local < pattern.block_sizes[ends][:, :, None])
    shape = (len(ends), pattern.n_primal_rows)
    return coo_array((matrix.rows[used], (row[used], column[used])), shape=shape).tocsc()


def saddle_csc(matrix: SaddleMatrix) -> csc_array:
    """Return the whole of [D A'; A 0] in natural order as a SciPy sparse matrix (slow, clear)."""
    pattern = matrix.pattern
    width = matrix.diagonal.shape[1]
    local = np.arange(width)
    size = pattern.block_sizes[: pattern.n_primal]
    used = (local < size[:, None])[:, :, None] & (local < size[:, None])[:, None, :]
    start = pattern.offsets[: pattern.n_primal, None, None]
    row = np.broadcast_to(start + local[:, None], used.shape)[used]
    column = np.broadcast_to(start + local, used.shape)[used]
    constraint = constraint_matrix(matrix).tocoo()
    lower = constraint.row + pattern.n_primal_rows
    entries = np.concatenate([matrix.diagonal[used], constraint.data, constraint.data])
    rows = np.concatenate([row, lower, constraint.col])
    columns = np.concatenate([column, constraint.col, lower])
    return coo_array((entries, (rows, columns)), shape=(pattern.n_rows, pattern.n_rows)).tocsc()
