"""LU with partial pivoting of the whole matrix: dense and banded by LAPACK, sparse by SuperLU."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgbtrf, dgbtrs, dgetrf, dgetrs
from scipy.sparse.linalg import splu

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ShapeError, SingularSystemError
from sparsebody.factorization import backend, layouts
from sparsebody.sparse import BlockPattern, SaddleMatrix, ordering_metrics
from sparsebody.sparse.pattern import check_order

MOST_ROWS = 16_000  # of a dense matrix: 2 GB
LARGEST_BAND = 2e9  # bytes
# SuperLU keeps the given order unless a diagonal pivot is smaller than a share of its column: any
# from 1e-3 to 1 is accurate even where joints come before their bodies; 0 is not.
# Blocks have few rows: relaxed supernodes and wide panels only cost (up to a factor of two).
SUPERLU_OPTIONS: dict[str, Any] = {
    **{"permc_spec": "NATURAL", "options": {"SymmetricMode": True}, "diag_pivot_thresh": 0.01},
    **{"relax": 1, "panel_size": 1},
}

Solve = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class LUNumeric:
    """The factors of one matrix, scaled to a unit diagonal."""

    pattern: BlockPattern
    order: IntArray  # of the scalar rows
    scale: FloatArray  # in elimination order
    solve_scaled: Solve  # in elimination order

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k) in natural order."""
        backend.check_rhs(rhs, self.pattern)
        scale = self.scale if rhs.ndim == 1 else self.scale[:, None]
        x = np.empty(rhs.shape)
        x[self.order] = scale * self.solve_scaled(scale * rhs[self.order])
        return x


@dataclass(frozen=True, eq=False)
class LUSymbolic:
    """Layout of the permuted matrix in an array of values, and the function that factorizes it."""

    pattern: BlockPattern
    order: IntArray  # of the scalar rows
    layout: layouts.SaddleLayout
    factors: Callable[[FloatArray], Solve]  # what solves with the matrix of such values

    def factorize(self, matrix: SaddleMatrix) -> LUNumeric:
        """Factorize; raise SingularSystemError at a zero pivot or a vanishing one."""
        backend.check_pattern(matrix, self.pattern)
        scale, values = layouts.scales(matrix), np.empty(self.layout.n_values)
        self.layout.fill(matrix, scale, 0.0, values)
        solve = self.factors(values)
        backend.check_regular(solve, self.pattern.n_rows)
        return LUNumeric(self.pattern, self.order, scale[self.order], solve)


def _check_pivot(info: int, n: int) -> None:
    """Raise SingularSystemError where LAPACK has met a zero pivot."""
    if info > 0:
        raise SingularSystemError(f"pivot {info} of {n} is zero: {backend.REMEDY}")


def analyze_dense(pattern: BlockPattern, order: IntArray) -> LUSymbolic:
    """Lay out the matrix in natural order; raise ShapeError if it would take more than 2 GB."""
    check_order(pattern, order)
    n = pattern.n_rows
    if n > MOST_ROWS:
        raise ShapeError(f"{n} rows are too many for dense ({MOST_ROWS}): use superlu or cholmod")
    layout = layouts.band_layout(pattern, np.arange(pattern.n_blocks), n, 0, n * n)

    def factors(values: FloatArray) -> Solve:
        factors, pivots, info = dgetrf(values.reshape(n, n).T, overwrite_a=True)
        _check_pivot(info, n)
        return lambda rhs: np.asarray(dgetrs(factors, pivots, rhs)[0])

    return LUSymbolic(pattern, np.arange(n), layout, factors)


def analyze_banded(pattern: BlockPattern, order: IntArray) -> LUSymbolic:
    """Lay out the band of the permuted matrix; raise ShapeError if it would take more than 2 GB."""
    check_order(pattern, order)
    width = ordering_metrics(pattern, order).scalar_bandwidth
    n = pattern.n_rows
    stored = n * (3 * width + 1)
    if 8.0 * stored > LARGEST_BAND:
        raise ShapeError(
            f"the band would take {8e-9 * stored:.1f} GB ({n} rows, bandwidth {width}): choose an "
            "order with a small bandwidth, or another factorization such as superlu"
        )
    layout = layouts.band_layout(pattern, order, 3 * width, 2 * width, stored)

    def factors(values: FloatArray) -> Solve:
        band, pivots, info = dgbtrf(values.reshape(n, -1).T, width, width, overwrite_ab=True)
        _check_pivot(info, n)
        return lambda rhs: np.asarray(dgbtrs(band, width, width, rhs, pivots)[0])

    return LUSymbolic(pattern, pattern.scalar_order(order), layout, factors)


def analyze_superlu(pattern: BlockPattern, order: IntArray) -> LUSymbolic:
    """Lay out the permuted matrix; any order is safe, an admissible one is kept as it is."""
    check_order(pattern, order)
    layout, columns = layouts.saddle_columns(pattern, order)
    permuted = columns.matrix(np.zeros(layout.n_values))

    def factors(values: FloatArray) -> Solve:
        permuted.data = values
        try:
            return splu(permuted, **SUPERLU_OPTIONS).solve
        except RuntimeError as error:  # the only signal that SuperLU gives
            raise SingularSystemError(f"a pivot is zero: {backend.REMEDY}") from error

    return LUSymbolic(pattern, pattern.scalar_order(order), layout, factors)
