"""Cholesky factorization of the Schur complement A D^-1 A' by CHOLMOD (scikit-sparse)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import SingularSystemError
from sparsebody.factorization.backend import (
    REMEDY,
    check_newest,
    check_pattern,
    check_regular,
    check_rhs,
    probe_vector,
)
from sparsebody.factorization.layouts import (
    Columns,
    SchurLayout,
    dual_rhs,
    fill_schur,
    primal_solution,
    scales,
    schur_layout,
)
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix


@dataclass(eq=False)
class CholmodFactor:
    """A CHOLMOD factor, which is overwritten in place: only the newest values can be used."""

    permuted: csc_matrix  # the lower triangle
    factor: Any
    newest: int = field(default=0)

    def refactorize(self) -> int:
        """Factorize the values in `permuted`; return the number of this factorization."""
        from sksparse.cholmod import CholmodNotPositiveDefiniteError

        self.newest += 1
        try:
            self.factor.cholesky_inplace(self.permuted)
        except CholmodNotPositiveDefiniteError as error:
            raise SingularSystemError(f"a pivot vanishes ({error}): {REMEDY}") from error
        return self.newest

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Solve with the newest factor."""
        return np.asarray(self.factor.solve_A(rhs))

    def check_newest(self, number: int) -> None:
        """Raise SparsebodyError if the factors were overwritten meanwhile."""
        check_newest(number, self.newest)


def analyzed_factor(columns: Columns, mode: str) -> CholmodFactor:
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
    number: int

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k) in natural order."""
        check_rhs(rhs, self.matrix.pattern)
        self.factor.check_newest(self.number)
        columns = np.ascontiguousarray(rhs.reshape(len(rhs), -1), dtype=float)
        reduced = dual_rhs(self.matrix, columns)
        y = np.empty_like(reduced)
        scale = self.scale[:, None]
        if len(y):
            y[self.order] = scale * self.factor.solve(scale * reduced[self.order])
        return primal_solution(self.matrix, columns, y).reshape(rhs.shape)


@dataclass(frozen=True, eq=False)
class CholmodSymbolic:
    """The permuted pattern of the Schur complement and CHOLMOD's analysis of it."""

    layout: SchurLayout
    factor: CholmodFactor
    probe: FloatArray

    def factorize(self, matrix: SaddleMatrix) -> CholmodNumeric:
        """Factorize, overwriting earlier factors; raise SingularSystemError at a lost pivot."""
        pattern = self.layout.pattern
        check_pattern(matrix, pattern)
        scale = scales(matrix)
        number = 0
        if pattern.n_dual:
            fill_schur(self.layout, matrix, scale, self.factor.permuted.data)
            number = self.factor.refactorize()
            check_regular(self.factor.solve, self.probe)
        order = self.layout.order
        dual_scale = scale[pattern.n_primal_rows :][order]
        return CholmodNumeric(matrix, order, dual_scale, self.factor, number)


def analyze(pattern: BlockPattern, order: IntArray) -> CholmodSymbolic:
    """Lay out the Schur complement; only the order of the dual blocks matters.

    The matrix is permuted first, because CHOLMOD takes no order from outside.
    """
    check_order(pattern, order)
    layout = schur_layout(pattern, order)
    factor = analyzed_factor(layout.columns, "auto")
    return CholmodSymbolic(layout, factor, probe_vector(len(layout.order)))
