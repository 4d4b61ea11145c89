"""Layouts of the blocks of a permuted matrix, and of A D^-1 A', in flat arrays of values.

Elements (r, c) of a block lie at `base + c * stride + r`, whether the array is the data of a
compressed-column matrix, a band or a dense matrix. So a layout needs memory per block only, and
one kernel serves all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_matrix

from sparsebody._core import factorization
from sparsebody.arrays import FloatArray, Int32Array, IntArray
from sparsebody.errors import ShapeError
from sparsebody.factorization.backend import vanishing_row
from sparsebody.sparse.pattern import BlockPattern, positions
from sparsebody.sparse.saddle import SaddleMatrix

ABSENT = -1  # the base of a block that is not stored


@dataclass(frozen=True, eq=False)
class SaddleLayout:
    """Slots (base, stride) of the blocks of [D A'; A shift] in an array of `n_values`."""

    n_values: int
    diagonal: IntArray  # (n_blocks, 2), the shift of dual blocks included
    below: IntArray  # (n_dual, 2, 2) the blocks of A by dual block and side
    right: IntArray  # (n_dual, 2, 2) their transposes

    def fill(self, matrix: SaddleMatrix, scale: FloatArray, shift: float, data: FloatArray) -> None:
        """Fill `data` (n_values,) with the scaled [D A'; A shift]."""
        slots = self.diagonal, self.below, self.right
        factorization.fill_saddle(matrix.blocks, scale, shift, *slots, data)


@dataclass(frozen=True, eq=False)
class Columns:
    """A sparsity pattern in compressed columns, and where its blocks start."""

    indptr: Int32Array
    indices: Int32Array
    keys: IntArray  # (n_couples,) column * n + row of each stored block, increasing
    base: IntArray  # (n_couples,) offset of its first element
    stride: IntArray  # (n_couples,) distance of its columns

    def matrix(self, values: FloatArray) -> csc_matrix:
        """Return the matrix of these columns that has the array itself as its values."""
        n = len(self.indptr) - 1
        matrix = csc_matrix((values, self.indices, self.indptr), shape=(n, n))
        matrix.has_sorted_indices = matrix.has_canonical_format = True
        return matrix


def block_columns(sizes: IntArray, row: IntArray, column: IntArray) -> Columns:
    """Lay blocks of `sizes` (n,) at positions (row, column) out by columns, duplicates once."""
    n = len(sizes)
    keys = np.unique(column * n + row)
    column, row = np.divmod(keys, max(n, 1))
    first = np.searchsorted(column, np.arange(n + 1))
    below = np.concatenate([[0], np.cumsum(sizes[row])])  # rows of the blocks before this one
    height = below[first[1:]] - below[first[:-1]]
    start = np.concatenate([[0], np.cumsum(height * sizes)])
    base = start[column] + below[:-1] - below[first[column]]
    stride = height[column]
    indptr = np.concatenate([[0], np.cumsum(np.repeat(height, sizes))])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    indices = factorization.row_indices(offsets, row, column, base, stride, int(indptr[-1]))
    return Columns(indptr.astype(np.int32), indices, keys, base, stride)


def saddle_columns(
    pattern: BlockPattern, order: IntArray, lower: bool = False, part: tuple[int, int] | None = None
) -> tuple[SaddleLayout, Columns]:
    """Lay the permuted [D A'; A shift] out in compressed columns, or its `lower` block triangle.

    With a `part`, a range of the order, the columns of its blocks alone.
    """
    n = pattern.n_blocks
    position = positions(order)
    indptr, neighbour = pattern.adjacency
    block = np.repeat(np.arange(n), np.diff(indptr))
    column = np.concatenate([np.arange(n), position[block]])
    row = np.concatenate([np.arange(n), position[neighbour]])
    stored = row >= column if lower else np.ones(len(row), dtype=bool)
    if part is not None:
        stored &= (column >= part[0]) & (column < part[1])
    columns = block_columns(pattern.block_sizes[order], row[stored], column[stored])
    return column_layout(pattern, order, columns), columns


def column_layout(pattern: BlockPattern, order: IntArray, columns: Columns) -> SaddleLayout:
    """Return where the permuted [D A'; A shift] lies in columns that hold it, or half of it."""
    position, n = positions(order), pattern.n_blocks

    def slots(of_row: IntArray, of_column: IntArray) -> IntArray:
        """Look up (base, stride) of blocks given by their numbers; ABSENT where not stored."""
        key = np.where(
            (of_row < 0) | (of_column < 0), -1, position[of_column] * n + position[of_row]
        )
        if len(columns.keys) == 0:
            return np.full((*key.shape, 2), ABSENT, dtype=np.intp)
        k = np.minimum(np.searchsorted(columns.keys, key), len(columns.keys) - 1)
        is_present = columns.keys[k] == key
        return np.stack(
            [np.where(is_present, columns.base[k], ABSENT), columns.stride[k]], axis=-1
        ).astype(np.intp)

    return _layout(pattern, slots, len(columns.indices))


def band_layout(
    pattern: BlockPattern, order: IntArray, stride: int, first: int, n_values: int
) -> SaddleLayout:
    """Lay the permuted matrix out so that element (i, j) lies at first + j * stride + i."""
    sizes = pattern.block_sizes[order]
    start = (np.cumsum(sizes) - sizes)[positions(order)]  # first scalar row of each block

    def slots(of_row: IntArray, of_column: IntArray) -> IntArray:
        """Return (base, stride) of blocks given by their numbers."""
        base = first + start[of_column] * stride + start[of_row]
        base = np.where((of_row < 0) | (of_column < 0), ABSENT, base)
        return np.stack([base, np.full_like(base, stride)], axis=-1).astype(np.intp)

    return _layout(pattern, slots, n_values)


Slots = Callable[[IntArray, IntArray], IntArray]  # (base, stride) of blocks by number


def _layout(pattern: BlockPattern, slots: Slots, n_values: int) -> SaddleLayout:
    """Ask `slots` for the blocks of the matrix."""
    block = np.arange(pattern.n_blocks)
    dual = np.repeat(block[pattern.n_primal :, None], 2, axis=1)
    return SaddleLayout(
        n_values, slots(block, block), slots(dual, pattern.ends), slots(pattern.ends, dual)
    )


def scales(matrix: SaddleMatrix) -> FloatArray:
    """Return scales (n_rows,) to a unit diagonal; SingularSystemError where there are none."""
    pattern = matrix.pattern
    scale = np.empty(pattern.n_rows)
    bad = factorization.saddle_scales(matrix.blocks, matrix.inverse, scale)
    if bad >= 0:
        raise vanishing_row(pattern, bad)
    return scale


MOST_CONTRIBUTIONS = 50_000_000  # block products; a body with d joints has d (d + 1) / 2 of them


@dataclass(frozen=True, eq=False)
class SchurLayout:
    """The block products A_p D_i^-1 A_q' that make up the permuted Schur complement."""

    pattern: BlockPattern
    order: IntArray  # (n_dual_rows,) of the scalar dual rows, counted from 0
    contributions: IntArray  # (k, 6) dual p, its side, dual q, its side, base, stride
    columns: Columns  # the lower triangle; diagonal blocks are whole

    def fill(self, matrix: SaddleMatrix, scale: FloatArray, data: FloatArray) -> None:
        """Fill `data` with A D^-1 A', rows and columns scaled by `scale` (n_rows,)."""
        of_matrix = matrix.blocks, matrix.inverse
        factorization.fill_schur(*of_matrix, scale, self.contributions, data)


def schur_layout(pattern: BlockPattern, order: IntArray) -> SchurLayout:
    """Lay out the lower triangle in the order of the dual blocks; ShapeError if too large."""
    dual_order = order[order >= pattern.n_primal] - pattern.n_primal
    sizes = pattern.block_sizes[pattern.n_primal :]
    position = positions(dual_order)
    products = factorization.schur_products(*_incidences(pattern), position)
    key = position[products[:, 2]] * pattern.n_dual + position[products[:, 0]]
    columns = block_columns(sizes[dual_order], position[products[:, 0]], position[products[:, 2]])
    k = np.searchsorted(columns.keys, key)
    contributions = np.column_stack([products, columns.base[k], columns.stride[k]])
    alone = BlockPattern(sizes, np.full((len(sizes), 2), -1, dtype=np.intp))
    return SchurLayout(pattern, alone.scalar_order(dual_order), contributions, columns)


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
