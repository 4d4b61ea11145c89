"""The Schur complement A D^-1 A' of the dual rows: its layout, its values, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody._core import factorization
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
    products = factorization.schur_products(*_incidences(pattern), place)
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


def fill_schur(
    layout: SchurLayout, matrix: SaddleMatrix, scale: FloatArray, data: FloatArray
) -> None:
    """Fill `data` with A D^-1 A', rows and columns scaled by `scale` (n_rows,)."""
    factorization.fill_schur(matrix.blocks, matrix.inverse, scale, layout.contributions, data)


def dual_rhs(matrix: SaddleMatrix, rhs: FloatArray) -> FloatArray:
    """Return A D^-1 f - g (n_dual_rows, k) for rhs = [f; g] (n_rows, k)."""
    return factorization.dual_rhs(matrix.blocks, matrix.inverse, rhs)


def primal_solution(matrix: SaddleMatrix, rhs: FloatArray, y: FloatArray) -> FloatArray:
    """Return [D^-1 (f - A' y); y] for rhs = [f; g] (n_rows, k) and y (n_dual_rows, k)."""
    return factorization.primal_solution(matrix.blocks, matrix.inverse, rhs, y)
