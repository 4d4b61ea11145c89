"""Factorizations by CHOLMOD (scikit-sparse): Cholesky of A D^-1 A', and LDL' of [D A'; A -delta].

The latter is simplicial. Quasi-definite matrices have an LDL' in every order (Vanderbei 1995), so
joints may come before their bodies; what delta does to the solution is taken away again with the
true matrix.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import LinearOperator, gmres

from sparsebody._core import factorization
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import SingularSystemError
from sparsebody.factorization import backend, layouts
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix, saddle_product
from sparsebody.tolerances import ACCEPTED_RESIDUAL, BACKWARD_ERROR, STALLED_BACKWARD_ERROR

DELTA = 1e-10  # of the unit diagonal that scaling gives to the Schur complement
MOST_STEPS = 10  # of stationary refinement
KRYLOV_DIMENSION = 40
KRYLOV_ROUNDS = 3


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
    """Let CHOLMOD analyze a lower triangle in the order that it has."""
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
        """Factorize, overwriting earlier factors; raise SingularSystemError at a lost pivot."""
        pattern = self.layout.pattern
        backend.check_pattern(matrix, pattern)
        scale = layouts.scales(matrix)
        serial = 0
        if pattern.n_dual:
            self.layout.fill(matrix, scale, self.factor.permuted.data)
            serial = self.factor.refactorize()
            backend.check_regular(self.factor.solve, len(self.layout.order))
        order = self.layout.order
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


class CholmodLDLNumeric(CholmodNumeric):
    """The factors of one regularized matrix; the scale is that of all rows in natural order."""

    def _solve_columns(self, columns: FloatArray) -> FloatArray:
        """Return x (n_rows, k); raise SingularSystemError if none is found."""
        x = np.column_stack([self._solve_scaled(b) for b in (self.scale * columns.T)])
        return np.asarray(self.scale[:, None] * x)

    def product(self, x: FloatArray) -> FloatArray:
        """Return the true matrix, scaled, times x."""
        return self.scale * saddle_product(self.matrix, self.scale * x)

    def precondition(self, rhs: FloatArray) -> FloatArray:
        """Solve with the regularized matrix, scaled."""
        x = np.empty_like(rhs)
        x[self.order] = self.factor.solve(rhs[self.order])
        return x

    def _solve_scaled(self, rhs: FloatArray) -> FloatArray:
        """Refine until it stops improving; where that stalls, let GMRES find the correction."""
        x, residual = self._refine(rhs, self.precondition(rhs))
        for _ in range(KRYLOV_ROUNDS):
            if _backward_error(residual, rhs, x) <= STALLED_BACKWARD_ERROR:
                break
            trial, better = self._refine(rhs, x + self._krylov(residual))
            if not _largest(better) < 0.5 * _largest(residual):
                break
            x, residual = trial, better
        stalled = not _backward_error(residual, rhs, x) <= STALLED_BACKWARD_ERROR
        if stalled and not _largest(residual) <= ACCEPTED_RESIDUAL * _largest(rhs):
            size = _largest(residual) / _largest(rhs)
            raise SingularSystemError(f"no solution (residual {size:.0e}): {backend.REMEDY}")
        return x

    def _refine(self, rhs: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Correct x while every step halves the residual; return both."""
        residual = rhs - self.product(x)
        for _ in range(MOST_STEPS):
            if _backward_error(residual, rhs, x) <= BACKWARD_ERROR:
                break
            trial = x + self.precondition(residual)
            better = rhs - self.product(trial)
            if not _largest(better) < 0.5 * _largest(residual):
                break
            x, residual = trial, better
        return x, residual

    def _krylov(self, rhs: FloatArray) -> FloatArray:
        """Few singular values of A lie below sqrt(delta), so few steps are enough."""
        shape = (len(rhs), len(rhs))
        operator = LinearOperator(shape, matvec=self.product, dtype=float)
        inverse = LinearOperator(shape, matvec=self.precondition, dtype=float)
        size = min(KRYLOV_DIMENSION, len(rhs))
        x, _ = gmres(operator, rhs, M=inverse, rtol=1e-14, atol=0.0, restart=size, maxiter=1)
        return np.asarray(x)


def _largest(x: FloatArray) -> float:
    """Return max |x|."""
    return float(np.abs(x).max(initial=0.0))


def _backward_error(residual: FloatArray, rhs: FloatArray, x: FloatArray) -> float:
    """Return |r| / (|b| + |x|), the relative change of the scaled matrix that explains r."""
    size = _largest(rhs) + _largest(x)
    return _largest(residual) / size if size > 0.0 else 0.0


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
