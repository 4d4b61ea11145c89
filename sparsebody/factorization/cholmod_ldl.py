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
from sparsebody.factorization.base import REMEDY, check_pattern, check_rhs
from sparsebody.factorization.cholmod import CholmodFactor, analyzed_factor
from sparsebody.factorization.refinement import relative_size
from sparsebody.factorization.scatter import SaddleLayout, fill_saddle, saddle_columns, scales
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix, saddle_product

DELTA = 1e-8  # of the unit diagonal that scaling gives to the Schur complement
MOST_STEPS = 10  # of stationary refinement
GOOD = 1e-13  # residual at which nothing more is gained
ACCEPTED = 1e-10  # residual above which the Krylov method takes over, and then gives up
KRYLOV_DIMENSION = 40


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
        """Refine until it stops improving; if that stalls, use GMRES."""
        x, residual = self._refine(rhs, self.precondition(rhs))
        if residual > ACCEPTED:
            x, residual = self._refine(rhs, self._krylov(rhs, x))
        if not residual <= ACCEPTED:
            raise SingularSystemError(f"no solution (residual {residual:.0e}): {REMEDY}")
        return x

    def _refine(self, rhs: FloatArray, x: FloatArray) -> tuple[FloatArray, float]:
        """Correct x while every step halves the residual; return it with the residual."""
        rest = rhs - self.product(x)
        best = relative_size(rest, rhs)
        for _ in range(MOST_STEPS):
            if best <= GOOD:
                break
            trial = x + self.precondition(rest)
            rest = rhs - self.product(trial)
            size = relative_size(rest, rhs)
            if size < best:
                x = trial
            if not size < 0.5 * best:
                best = min(size, best)
                break
            best = size
        return x, best

    def _krylov(self, rhs: FloatArray, x: FloatArray) -> FloatArray:
        """Few singular values of A lie below sqrt(delta), so few steps are enough."""
        shape = (len(rhs), len(rhs))
        operator = LinearOperator(shape, matvec=self.product, dtype=float)
        inverse = LinearOperator(shape, matvec=self.precondition, dtype=float)
        size = min(KRYLOV_DIMENSION, len(rhs))
        better, _ = gmres(
            operator, rhs, x0=x, M=inverse, rtol=1e-14, atol=0.0, restart=size, maxiter=2
        )
        return np.asarray(better)


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
