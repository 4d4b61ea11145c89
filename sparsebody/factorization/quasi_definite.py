"""(A A' + delta)^-1, rows of A scaled to one: near enough to (A A')^-1 even where that is singular.

It is what elimination of the primal part leaves of the quasi-definite [1 A'; A -delta], which has
factors in every order (Vanderbei 1995).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.factorization.cholmod import CholmodSymbolic
from sparsebody.factorization.layouts import fill_schur
from sparsebody.factorization.unit_factors import UnitSymbolic
from sparsebody.sparse.saddle import SaddleMatrix

# Singular values of A below sqrt(DELTA) cost steps of an iteration each; rounding makes the factors
# wrong by some 1e-16 / DELTA, which costs digits that further passes bring back.
DELTA = 1e-12
QUASI_DEFINITE = ("block-ldl", "multifrontal", "cholmod")  # factorizations that can do it


class QuasiDefinite(Protocol):
    """The newest factors of A A' + delta."""

    def factorize(self, rows: FloatArray, delta: float = DELTA) -> None:
        """Factorize for A (n_dual_rows, 2, width), which must not change before the last solve."""
        ...

    def solve(self, gap: FloatArray) -> FloatArray:
        """Return (A A' + delta)^-1 gap, both (n_dual_rows,)."""
        ...


@dataclass(eq=False)
class ShiftedLDL:
    """LDL' of the whole matrix."""

    symbolic: UnitSymbolic

    def factorize(self, rows: FloatArray, delta: float = DELTA) -> None:
        """Factorize by small blocks or wide fronts."""
        self._rows = rows
        self.symbolic.eliminate(rows, delta)

    def solve(self, gap: FloatArray) -> FloatArray:
        """Solve without forces."""
        n = self.symbolic.pattern.n_primal_rows
        return self.symbolic.unit_solution(self._rows, np.concatenate([np.zeros(n), -gap]))[n:]


@dataclass(eq=False)
class ShiftedCholesky:
    """Cholesky factorization of A A' + delta by CHOLMOD."""

    symbolic: CholmodSymbolic

    def __post_init__(self) -> None:
        pattern, lower = self.symbolic.layout.pattern, self.symbolic.factor.permuted
        n, width = pattern.n_primal, int(pattern.block_sizes[: pattern.n_primal].max(initial=0))
        self._ones = np.tile(np.eye(width), (n, 1, 1))
        column = np.repeat(np.arange(lower.shape[1]), np.diff(lower.indptr))
        self._diagonal = np.flatnonzero(lower.indices == column)

    def factorize(self, rows: FloatArray, delta: float = DELTA) -> None:
        """Factorize the lower triangle."""
        layout, factor = self.symbolic.layout, self.symbolic.factor
        matrix = SaddleMatrix(layout.pattern, self._ones, self._ones, rows)
        fill_schur(layout, matrix, np.ones(layout.pattern.n_rows), factor.permuted.data)
        factor.permuted.data[self._diagonal] += delta
        factor.refactorize()

    def solve(self, gap: FloatArray) -> FloatArray:
        """Solve in elimination order."""
        order, y = self.symbolic.layout.order, np.empty_like(gap)
        y[order] = self.symbolic.factor.solve(gap[order])
        return y


def quasi_definite(symbolic: object) -> QuasiDefinite:
    """Return the factorization of A A' + delta that has this layout."""
    if isinstance(symbolic, CholmodSymbolic):
        return ShiftedCholesky(symbolic)
    assert isinstance(symbolic, UnitSymbolic)
    return ShiftedLDL(symbolic)
