"""LU factorization of the whole indefinite matrix by SuperLU, which SciPy brings along."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import SuperLU, splu

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import SingularSystemError
from sparsebody.factorization.backend import (
    REMEDY,
    check_pattern,
    check_regular,
    check_rhs,
    probe_vector,
)
from sparsebody.factorization.layouts import SaddleLayout, fill_saddle, saddle_columns, scales
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix

# The given order is kept unless a diagonal pivot is smaller than PIVOT_THRESHOLD times its column:
# any threshold from 1e-3 to 1 is accurate even where joints come before their bodies; 0 is not.
PIVOT_THRESHOLD = 0.01
# Blocks have few rows: relaxed supernodes and wide panels only cost (up to a factor of two).
NARROW = {"relax": 1, "panel_size": 1}


@dataclass(frozen=True, eq=False)
class SuperLUNumeric:
    """The factors of one matrix."""

    pattern: BlockPattern
    order: IntArray
    scale: FloatArray  # in elimination order
    factors: SuperLU

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k) in natural order."""
        check_rhs(rhs, self.pattern)
        scale = self.scale if rhs.ndim == 1 else self.scale[:, None]
        x = np.empty(rhs.shape)
        x[self.order] = scale * self.factors.solve(scale * rhs[self.order])
        return x


@dataclass(frozen=True, eq=False)
class SuperLUSymbolic:
    """The permuted sparsity pattern, whose values are refilled for every matrix."""

    pattern: BlockPattern
    order: IntArray  # of the scalar rows
    layout: SaddleLayout
    permuted: csc_matrix
    probe: FloatArray

    def factorize(self, matrix: SaddleMatrix) -> SuperLUNumeric:
        """Factorize; raise SingularSystemError at a zero pivot or a vanishing one."""
        check_pattern(matrix, self.pattern)
        scale = scales(matrix)
        fill_saddle(self.layout, matrix, scale, 0.0, self.permuted.data)
        try:
            factors = splu(
                self.permuted,
                permc_spec="NATURAL",
                diag_pivot_thresh=PIVOT_THRESHOLD,
                options={"SymmetricMode": True},
                **NARROW,
            )
        except RuntimeError as error:  # the only signal that SuperLU gives
            raise SingularSystemError(f"a pivot is zero: {REMEDY}") from error
        check_regular(factors.solve, self.probe)
        return SuperLUNumeric(self.pattern, self.order, scale[self.order], factors)


def analyze(pattern: BlockPattern, order: IntArray) -> SuperLUSymbolic:
    """Lay out the permuted matrix; any order is safe, an admissible one is kept as it is."""
    check_order(pattern, order)
    layout, columns = saddle_columns(pattern, order)
    n = pattern.n_rows
    values = np.zeros(layout.n_values)
    permuted = csc_matrix((values, columns.indices, columns.indptr), shape=(n, n))
    permuted.has_sorted_indices = True
    permuted.has_canonical_format = True
    return SuperLUSymbolic(pattern, pattern.scalar_order(order), layout, permuted, probe_vector(n))
