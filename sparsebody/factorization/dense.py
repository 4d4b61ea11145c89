"""LU factorization of the whole matrix as a dense one, by LAPACK: the oracle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ShapeError, SingularSystemError
from sparsebody.factorization.backend import (
    REMEDY,
    check_pattern,
    check_regular,
    check_rhs,
    probe_vector,
)
from sparsebody.factorization.layouts import SaddleLayout, dense_layout, fill_saddle, scales
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix

MOST_ROWS = 16_000  # 2 GB


@dataclass(frozen=True, eq=False)
class DenseNumeric:
    """The factors of one matrix."""

    pattern: BlockPattern
    scale: FloatArray
    factors: FloatArray
    pivots: IntArray

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k)."""
        check_rhs(rhs, self.pattern)
        scale = self.scale if rhs.ndim == 1 else self.scale[:, None]
        return scale * self.solve_scaled(scale * rhs)

    def solve_scaled(self, rhs: FloatArray) -> FloatArray:
        """Solve with the scaled matrix."""
        x, _ = dgetrs(self.factors, self.pivots, rhs)
        return np.asarray(x)


@dataclass(frozen=True, eq=False)
class DenseSymbolic:
    """Where the blocks lie in the dense matrix, in natural order."""

    pattern: BlockPattern
    layout: SaddleLayout
    probe: FloatArray

    def factorize(self, matrix: SaddleMatrix) -> DenseNumeric:
        """Factorize; raise SingularSystemError at a zero pivot or a vanishing one."""
        check_pattern(matrix, self.pattern)
        scale = scales(matrix)
        n = self.pattern.n_rows
        whole = np.empty((n, n))
        fill_saddle(self.layout, matrix, scale, 0.0, whole.reshape(-1))
        factors, pivots, info = dgetrf(whole.T, overwrite_a=True)
        if info > 0:
            raise SingularSystemError(f"pivot {info} of {n} is zero: {REMEDY}")
        numeric = DenseNumeric(self.pattern, scale, factors, pivots)
        check_regular(numeric.solve_scaled, self.probe)
        return numeric


def analyze(pattern: BlockPattern, order: IntArray) -> DenseSymbolic:
    """Lay out the matrix in natural order: partial pivoting chooses its own anyway.

    Raises
    ------
    ShapeError
        If the matrix would take more than 2 GB.
    """
    check_order(pattern, order)
    n = pattern.n_rows
    if n > MOST_ROWS:
        raise ShapeError(f"{n} rows are too many for dense ({MOST_ROWS}): use superlu or cholmod")
    layout = dense_layout(pattern, np.arange(pattern.n_blocks))
    return DenseSymbolic(pattern, layout, probe_vector(n))
