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
    return -saddle_residual(matrix, x, np.zeros(x.shape))[0]


def saddle_residual(
    matrix: SaddleMatrix, x: FloatArray, rhs: FloatArray
) -> tuple[FloatArray, float]:
    """Return rhs - [D A'; A 0] x, and how large it is in the worst column.

    The two halves have different units: primal rows are measured against the largest entry of f
    and D x, dual rows against that of g and of A D^-1 f, what x would be without them.

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
    relative = _saddle_residual(
        pattern.block_sizes,
        pattern.offsets,
        pattern.ends,
        matrix.diagonal,
        matrix.inverse,
        matrix.rows,
        columns,
        rest,
    )
    return rest.reshape(x.shape), relative


@njit(cache=True)
def _saddle_residual(
    sizes: IntArray,
    offsets: IntArray,
    ends: IntArray,
    diagonal: FloatArray,
    inverse: FloatArray,
    rows: FloatArray,
    x: FloatArray,
    rest: FloatArray,
) -> float:
    """Subtract the product from `rest`, which starts as the right-hand side."""
    n_primal = diagonal.shape[0]
    n_primal_rows = offsets[n_primal]
    free = np.empty(n_primal_rows)  # D^-1 f: the size of x, were it not for the dual rows
    worst = 0.0
    for k in range(x.shape[1]):
        primal_scale, dual_scale = 0.0, 0.0
        for i in range(n_primal):
            start = offsets[i]
            for a in range(sizes[i]):
                total, unbound = 0.0, 0.0
                for b in range(sizes[i]):
                    total += diagonal[i, a, b] * x[start + b, k]
                    unbound += inverse[i, a, b] * rest[start + b, k]
                free[start + a] = unbound
                primal_scale = max(primal_scale, abs(rest[start + a, k]), abs(total))
                rest[start + a, k] -= total
        for j in range(ends.shape[0]):
            for row in range(offsets[n_primal + j], offsets[n_primal + j + 1]):
                multiplier = x[row, k]
                total = 0.0
                dual_scale = max(dual_scale, abs(rest[row, k]))
                for side in range(2):
                    i = ends[j, side]
                    if i < 0:
                        continue
                    unbound = 0.0
                    for b in range(sizes[i]):
                        value = rows[row - n_primal_rows, side, b]
                        total += value * x[offsets[i] + b, k]
                        unbound += value * free[offsets[i] + b]
                        rest[offsets[i] + b, k] -= value * multiplier
                    dual_scale = max(dual_scale, abs(unbound))
                rest[row, k] -= total
        for row in range(rest.shape[0]):
            scale = primal_scale if row < n_primal_rows else dual_scale
            relative = abs(rest[row, k]) / (scale if scale > 0.0 else 1.0)
            if not relative <= worst:  # NaN, too
                worst = relative
    return worst


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
