"""Factorizations by CHOLMOD (scikit-sparse): Cholesky of A D^-1 A', and LDL' of [D A'; A -delta].

The latter is simplicial. Quasi-definite matrices have an LDL' in every order (Vanderbei 1995), so
joints may come before their bodies; corrections by residuals of [D A'; A 0] remove the error that
delta makes.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix

from sparsebody._core import factorization
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import SingularSystemError
from sparsebody.factorization import backend, layouts
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix, residual_scales, residual_size, saddle_residual
from sparsebody.tolerances import ACCEPTED_RESIDUAL

DELTA = 1e-10  # of the unit diagonal that scaling gives to the Schur complement


@dataclass(eq=False)
class CholmodFactor:
    """A CHOLMOD factor, which is overwritten in place: only the newest values can be used."""

    permuted: csc_matrix  # the lower triangle
    factor: Any
    newest: int = field(default=0)

    def refactorize(self) -> int:
        """Factorize the values in `permuted`; return the serial number of this factorization."""
        from sksparse.cholmod import CholmodNotPositiveDefiniteError

        self.newest += 1
        try:
            self.factor.cholesky_inplace(self.permuted)
        except CholmodNotPositiveDefiniteError as error:
            raise SingularSystemError(f"a pivot vanishes ({error}): {backend.REMEDY}") from error
        return self.newest

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Solve with the newest factor."""
        return np.asarray(self.factor.solve_A(rhs))


def analyzed_factor(columns: layouts.Columns, mode: str) -> CholmodFactor:
    """Return the factor that CHOLMOD has analyzed of a lower triangle, in its natural order."""
    from sksparse import cholmod

    permuted = columns.matrix(np.ones(len(columns.indices)))
    factor = cholmod.analyze(permuted, mode=mode, ordering_method="natural")
    return CholmodFactor(permuted, factor)


@dataclass(frozen=True, eq=False)
class CholmodNumeric:
    """The factors of one matrix, until the next one is factorized."""

    matrix: SaddleMatrix
    order: IntArray
    scale: FloatArray  # of the dual rows, in elimination order
    factor: CholmodFactor
    serial: int

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k) in natural order."""
        backend.check_rhs(rhs, self.matrix.pattern)
        backend.check_newest(self.serial, self.factor.newest)
        columns = np.ascontiguousarray(rhs.reshape(len(rhs), -1), dtype=float)
        return self._solve_columns(columns).reshape(rhs.shape)

    def _solve_columns(self, columns: FloatArray) -> FloatArray:
        """Return x (n_rows, k), by the Schur complement."""
        of_matrix = self.matrix.blocks, self.matrix.inverse
        reduced = factorization.dual_rhs(*of_matrix, columns)  # A D^-1 f - g
        y = np.empty_like(reduced)
        scale = self.scale[:, None]
        if len(y):
            y[self.order] = scale * self.factor.solve(scale * reduced[self.order])
        return factorization.primal_solution(*of_matrix, columns, y)


@dataclass(frozen=True, eq=False)
class CholmodSymbolic:
    """The permuted pattern of the Schur complement and CHOLMOD's analysis of it."""

    layout: layouts.SchurLayout
    factor: CholmodFactor

    def factorize(self, matrix: SaddleMatrix) -> CholmodNumeric:
        """Factorize, overwriting earlier factors; SingularSystemError at a pivot of rounding."""
        pattern, order = self.layout.pattern, self.layout.order
        backend.check_pattern(matrix, pattern)
        scale, serial = layouts.scales(matrix), 0
        if pattern.n_dual:
            self.layout.fill(matrix, scale, self.factor.permuted.data)
            serial = self.factor.refactorize()
            backend.check_regular(self.factor.solve, len(order))
        dual_scale = scale[pattern.n_primal_rows :][order]
        return CholmodNumeric(matrix, order, dual_scale, self.factor, serial)


def analyze(pattern: BlockPattern, order: IntArray) -> CholmodSymbolic:
    """Lay out the Schur complement; only the order of the dual blocks matters.

    The matrix is permuted first, because CHOLMOD takes no order from outside.
    """
    check_order(pattern, order)
    layout = layouts.schur_layout(pattern, order)
    factor = analyzed_factor(layout.columns, "auto")
    return CholmodSymbolic(layout, factor)


class RegularizedNumeric(CholmodNumeric):
    """The factors of one regularized matrix; the scale is that of all rows in natural order."""

    def _solve_columns(self, columns: FloatArray) -> FloatArray:
        """Return x (n_rows, k) of the regularized matrix."""
        scale, x = self.scale[:, None], np.empty_like(columns)
        x[self.order] = self.factor.solve((scale * columns)[self.order])
        return scale * x


class CholmodLDLNumeric(RegularizedNumeric):
    """Factors as of a RegularizedNumeric, and solutions of the true matrix."""

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k); SingularSystemError if none is found.

        Singular values of A below the root of delta need a step of conjugate gradients each.
        """
        backend.check_rhs(rhs, self.matrix.pattern)
        regularized, matrix, x = RegularizedNumeric(**vars(self)), self.matrix, np.zeros(rhs.shape)
        for _ in range(2):  # the second removes the rounding error of the first
            x += backend.corrections(regularized, matrix, saddle_residual(matrix, x, rhs))
        scales = residual_scales(matrix, x, rhs)
        size = residual_size(matrix, saddle_residual(matrix, x, rhs), scales)
        if not size <= ACCEPTED_RESIDUAL:
            raise SingularSystemError(f"no solution (residual {size:.0e}): {backend.REMEDY}")
        return x


@dataclass(frozen=True, eq=False)
class CholmodLDLSymbolic:
    """The permuted lower triangle and CHOLMOD's analysis of it."""

    pattern: BlockPattern
    order: IntArray  # of the scalar rows
    layout: layouts.SaddleLayout
    factor: CholmodFactor

    def factorize(self, matrix: SaddleMatrix) -> CholmodLDLNumeric:
        """Factorize, overwriting earlier factors; a singular matrix shows only in `solve`."""
        backend.check_pattern(matrix, self.pattern)
        scale = layouts.scales(matrix)
        self.layout.fill(matrix, scale, -DELTA, self.factor.permuted.data)
        serial = self.factor.refactorize()
        return CholmodLDLNumeric(matrix, self.order, scale, self.factor, serial)


def analyze_ldl(pattern: BlockPattern, order: IntArray) -> CholmodLDLSymbolic:
    """Lay out the permuted lower triangle; simplicial, as the supernodal mode cannot do LDL'."""
    check_order(pattern, order)
    layout, columns = layouts.saddle_columns(pattern, order, lower=True)
    factor = analyzed_factor(columns, "simplicial")
    return CholmodLDLSymbolic(pattern, pattern.scalar_order(order), layout, factor)
