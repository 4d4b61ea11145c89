"""Simplicial LDL' of the quasi-definite matrix [D A'; A -delta] by CHOLMOD, refined.

Quasi-definite matrices have an LDL' in every order (Vanderbei 1995), so joints may come before
their bodies; what delta does to the solution is taken away again with the true matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import SingularSystemError
from sparsebody.factorization.backend import REMEDY, check_pattern, check_rhs
from sparsebody.factorization.cholmod import CholmodFactor, analyzed_factor
from sparsebody.factorization.layouts import SaddleLayout, fill_saddle, saddle_columns, scales
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix, saddle_product
from sparsebody.tolerances import ACCEPTED_RESIDUAL, BACKWARD_ERROR, STALLED_BACKWARD_ERROR

DELTA = 1e-10  # of the unit diagonal that scaling gives to the Schur complement
MOST_STEPS = 10  # of stationary refinement
KRYLOV_DIMENSION = 40
KRYLOV_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class CholmodLDLNumeric:
    """The factors of one regularized matrix, until the next one is factorized."""

    matrix: SaddleMatrix
    order: IntArray
    scale: FloatArray  # (n_rows,) in natural order
    factor: CholmodFactor
    number: int

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k); raise SingularSystemError if none is found."""
        check_rhs(rhs, self.matrix.pattern)
        self.factor.check_newest(self.number)
        columns = rhs.reshape(len(rhs), -1)
        x = np.column_stack([self._solve_scaled(b) for b in (self.scale * columns.T)])
        return (self.scale[:, None] * x).reshape(rhs.shape)

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
        x, rest = self._refine(rhs, self.precondition(rhs))
        for _ in range(KRYLOV_ROUNDS):
            if _backward_error(rest, rhs, x) <= STALLED_BACKWARD_ERROR:
                break
            trial, better = self._refine(rhs, x + self._krylov(rest))
            if not _largest(better) < 0.5 * _largest(rest):
                break
            x, rest = trial, better
        stalled = not _backward_error(rest, rhs, x) <= STALLED_BACKWARD_ERROR
        if stalled and not _largest(rest) <= ACCEPTED_RESIDUAL * _largest(rhs):
            size = _largest(rest) / _largest(rhs)
            raise SingularSystemError(f"no solution (residual {size:.0e}): {REMEDY}")
        return x

    def _refine(self, rhs: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Correct x while every step halves the residual; return both."""
        rest = rhs - self.product(x)
        for _ in range(MOST_STEPS):
            if _backward_error(rest, rhs, x) <= BACKWARD_ERROR:
                break
            trial = x + self.precondition(rest)
            better = rhs - self.product(trial)
            if not _largest(better) < 0.5 * _largest(rest):
                break
            x, rest = trial, better
        return x, rest

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
    layout: SaddleLayout
    factor: CholmodFactor

    def factorize(self, matrix: SaddleMatrix) -> CholmodLDLNumeric:
        """Factorize, overwriting earlier factors; a singular matrix shows only in `solve`."""
        check_pattern(matrix, self.pattern)
        scale = scales(matrix)
        fill_saddle(self.layout, matrix, scale, -DELTA, self.factor.permuted.data)
        number = self.factor.refactorize()
        return CholmodLDLNumeric(matrix, self.order, scale, self.factor, number)


def analyze(pattern: BlockPattern, order: IntArray) -> CholmodLDLSymbolic:
    """Lay out the lower triangle of the permuted matrix.

    The mode is simplicial, because the supernodal one cannot do LDL' and "auto" may choose it.
    """
    check_order(pattern, order)
    layout, columns = saddle_columns(pattern, order, lower=True)
    factor = analyzed_factor(columns, "simplicial")
    return CholmodLDLSymbolic(pattern, pattern.scalar_order(order), layout, factor)
