"""LU factorization with partial pivoting of a band, by LAPACK: for narrow mechanisms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgbtrf, dgbtrs

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ShapeError, SingularSystemError
from sparsebody.factorization.backend import (
    REMEDY,
    check_pattern,
    check_regular,
    check_rhs,
    probe_vector,
)
from sparsebody.factorization.layouts import SaddleLayout, band_layout, fill_saddle, scales
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix

LARGEST_BAND = 2e9  # bytes


@dataclass(frozen=True, eq=False)
class BandedNumeric:
    """The factors of one matrix."""

    symbolic: BandedSymbolic
    scale: FloatArray  # in elimination order
    band: FloatArray
    pivots: IntArray

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k) in natural order."""
        check_rhs(rhs, self.symbolic.pattern)
        order = self.symbolic.order
        scale = self.scale if rhs.ndim == 1 else self.scale[:, None]
        x = np.empty(rhs.shape)
        x[order] = scale * self.solve_scaled(scale * rhs[order])
        return x

    def solve_scaled(self, rhs: FloatArray) -> FloatArray:
        """Solve with the scaled matrix in elimination order."""
        width = self.symbolic.bandwidth
        x, _ = dgbtrs(self.band, width, width, rhs, self.pivots)
        return np.asarray(x)


@dataclass(frozen=True, eq=False)
class BandedSymbolic:
    """Where the blocks lie in LAPACK's band storage."""

    pattern: BlockPattern
    order: IntArray  # of the scalar rows
    bandwidth: int  # below and above the diagonal
    layout: SaddleLayout
    probe: FloatArray

    def factorize(self, matrix: SaddleMatrix) -> BandedNumeric:
        """Factorize; raise SingularSystemError at a zero pivot or a vanishing one."""
        check_pattern(matrix, self.pattern)
        scale = scales(matrix)
        storage = np.empty((self.pattern.n_rows, 3 * self.bandwidth + 1))
        fill_saddle(self.layout, matrix, scale, 0.0, storage.reshape(-1))
        band, pivots, info = dgbtrf(storage.T, self.bandwidth, self.bandwidth, overwrite_ab=True)
        if info > 0:
            raise SingularSystemError(f"pivot {info} of {self.pattern.n_rows} is zero: {REMEDY}")
        numeric = BandedNumeric(self, scale[self.order], band, pivots)
        check_regular(numeric.solve_scaled, self.probe)
        return numeric


def analyze(pattern: BlockPattern, order: IntArray) -> BandedSymbolic:
    """Lay out the band of the permuted matrix.

    Raises
    ------
    ShapeError
        If the band would take more than 2 GB: another order or backend is needed.
    """
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
    return BandedSymbolic(pattern, pattern.scalar_order(order), width, layout, probe_vector(n))
