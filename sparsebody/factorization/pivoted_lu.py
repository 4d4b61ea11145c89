"""LU with partial pivoting of the whole matrix: dense and banded by LAPACK, sparse by SuperLU."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg.lapack import dgbtrf, dgbtrs, dgetrf, dgetrs
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ShapeError, SingularSystemError
from sparsebody.factorization.backend import (
    REMEDY,
    check_pattern,
    check_regular,
    check_rhs,
    probe_vector,
)
from sparsebody.factorization.layouts import (
    SaddleLayout,
    band_layout,
    fill_saddle,
    saddle_columns,
    scales,
)
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix

MOST_ROWS = 16_000  # of a dense matrix: 2 GB
LARGEST_BAND = 2e9  # bytes
# SuperLU keeps the given order unless a diagonal pivot is smaller than PIVOT_THRESHOLD times its
# column: any threshold from 1e-3 to 1 is accurate even where joints come before their bodies; 0 is
# not.
PIVOT_THRESHOLD = 0.01
# Blocks have few rows: relaxed supernodes and wide panels only cost (up to a factor of two).
NARROW = {"relax": 1, "panel_size": 1}

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
        check_rhs(rhs, self.pattern)
        scale = self.scale if rhs.ndim == 1 else self.scale[:, None]
        x = np.empty(rhs.shape)
        x[self.order] = scale * self.solve_scaled(scale * rhs[self.order])
        return x


@dataclass(frozen=True, eq=False)
class LUSymbolic(ABC):
    """Where the blocks of the permuted matrix lie in an array of values."""

    pattern: BlockPattern
    order: IntArray  # of the scalar rows
    layout: SaddleLayout
    probe: FloatArray

    def factorize(self, matrix: SaddleMatrix) -> LUNumeric:
        """Factorize; raise SingularSystemError at a zero pivot or a vanishing one."""
        check_pattern(matrix, self.pattern)
        scale = scales(matrix)
        solve = self.factors(matrix, scale)
        check_regular(solve, self.probe)
        return LUNumeric(self.pattern, self.order, scale[self.order], solve)

    @abstractmethod
    def factors(self, matrix: SaddleMatrix, scale: FloatArray) -> Solve:
        """Return what solves with the scaled matrix in elimination order."""

    def check_pivot(self, info: int) -> None:
        """Raise SingularSystemError where LAPACK has met a zero pivot."""
        if info > 0:
            raise SingularSystemError(f"pivot {info} of {self.pattern.n_rows} is zero: {REMEDY}")


class DenseSymbolic(LUSymbolic):
    """In natural order: partial pivoting chooses its own anyway."""

    def factors(self, matrix: SaddleMatrix, scale: FloatArray) -> Solve:
        """See LUSymbolic."""
        n = self.pattern.n_rows
        whole = np.empty((n, n))
        fill_saddle(self.layout, matrix, scale, 0.0, whole.reshape(-1))
        factors, pivots, info = dgetrf(whole.T, overwrite_a=True)
        self.check_pivot(info)
        return lambda rhs: np.asarray(dgetrs(factors, pivots, rhs)[0])


@dataclass(frozen=True, eq=False)
class BandedSymbolic(LUSymbolic):
    """In LAPACK's band storage."""

    bandwidth: int  # below and above the diagonal

    def factors(self, matrix: SaddleMatrix, scale: FloatArray) -> Solve:
        """See LUSymbolic."""
        width = self.bandwidth
        storage = np.empty((self.pattern.n_rows, 3 * width + 1))
        fill_saddle(self.layout, matrix, scale, 0.0, storage.reshape(-1))
        band, pivots, info = dgbtrf(storage.T, width, width, overwrite_ab=True)
        self.check_pivot(info)
        return lambda rhs: np.asarray(dgbtrs(band, width, width, rhs, pivots)[0])


@dataclass(frozen=True, eq=False)
class SuperLUSymbolic(LUSymbolic):
    """In compressed columns, whose values are refilled for every matrix."""

    permuted: csc_matrix

    def factors(self, matrix: SaddleMatrix, scale: FloatArray) -> Solve:
        """See LUSymbolic."""
        fill_saddle(self.layout, matrix, scale, 0.0, self.permuted.data)
        symmetric = {"SymmetricMode": True}
        lu = partial(splu, permc_spec="NATURAL", options=symmetric, **NARROW)
        try:
            return lu(self.permuted, diag_pivot_thresh=PIVOT_THRESHOLD).solve
        except RuntimeError as error:  # the only signal that SuperLU gives
            raise SingularSystemError(f"a pivot is zero: {REMEDY}") from error


def analyze_dense(pattern: BlockPattern, order: IntArray) -> DenseSymbolic:
    """Lay out the matrix; raise ShapeError if it would take more than 2 GB."""
    check_order(pattern, order)
    n = pattern.n_rows
    if n > MOST_ROWS:
        raise ShapeError(f"{n} rows are too many for dense ({MOST_ROWS}): use superlu or cholmod")
    layout = band_layout(pattern, np.arange(pattern.n_blocks), n, 0, n * n)
    return DenseSymbolic(pattern, np.arange(n), layout, probe_vector(n))


def analyze_banded(pattern: BlockPattern, order: IntArray) -> BandedSymbolic:
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
    layout = band_layout(pattern, order, 3 * width, 2 * width, stored)
    return BandedSymbolic(pattern, pattern.scalar_order(order), layout, probe_vector(n), width)


def analyze_superlu(pattern: BlockPattern, order: IntArray) -> SuperLUSymbolic:
    """Lay out the permuted matrix; any order is safe, an admissible one is kept as it is."""
    check_order(pattern, order)
    layout, columns = saddle_columns(pattern, order)
    permuted = columns.matrix(np.zeros(layout.n_values))
    rows, probe = pattern.scalar_order(order), probe_vector(pattern.n_rows)
    return SuperLUSymbolic(pattern, rows, layout, probe, permuted)
