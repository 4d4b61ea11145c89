"""Coordinates of the primal blocks in which D is one: with D = L L', those are L' x."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sparsebody._core import factorization
from sparsebody.arrays import FloatArray
from sparsebody.errors import SingularSystemError
from sparsebody.factorization.backend import (
    check_newest,
    check_pattern,
    check_rhs,
    is_dependent,
    lost_pivot,
    useless_row,
)
from sparsebody.factorization.layouts import scales, vanishing_row
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix

SOUND = -1
to_unit, from_unit = factorization.to_unit, factorization.from_unit


def unit_rows(matrix: SaddleMatrix, rows: FloatArray) -> tuple[int, FloatArray]:
    """Fill rows (n_dual_rows, 2, width) with A L'^-1; return L^-1 (n_primal, width, width) as well.

    The first result is SOUND or the number of a block of D that is not positive definite.
    """
    inverse_root = np.zeros(matrix.diagonal.shape)
    return factorization.unit_rows(matrix.blocks, rows, inverse_root), inverse_root


REGULAR = -1  # what an elimination returns if no pivot is doubtful
LONG = 10_000  # blocks from which on doubtful pivots are the rule


@dataclass(frozen=True, eq=False)
class UnitLDLNumeric:
    """The factors of one matrix, until the next one is factorized."""

    symbolic: UnitLDLSymbolic
    rows: FloatArray  # (n_dual_rows, 2, width) of A, in coordinates in which D is one
    inverse_root: FloatArray  # (n_primal, width, width) from these coordinates, see unit
    number: int

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k) in natural order."""
        symbolic, offsets = self.symbolic, self.symbolic.pattern.offsets
        check_rhs(rhs, symbolic.pattern)
        check_newest(self.number, symbolic.newest)
        columns = np.array(rhs.reshape(len(rhs), -1).T, dtype=np.float64, order="C")
        x = np.empty_like(columns)
        for column, solution in zip(columns, x, strict=True):
            to_unit(offsets, self.inverse_root, column)
            solution[:] = symbolic.unit_solution(self.rows, column)
            from_unit(offsets, self.inverse_root, solution)
        return np.ascontiguousarray(x.T).reshape(rhs.shape)


@dataclass(eq=False)
class UnitLDLSymbolic(ABC):
    """What depends only on the pattern, and the newest factors."""

    pattern: BlockPattern
    newest: int = field(init=False, default=0)
    independent: set[int] = field(init=False, default_factory=set)  # rows with doubtful pivots

    @abstractmethod
    def eliminate(self, rows: FloatArray) -> int:
        """Factorize [1 A'; A 0] for A (n_dual_rows, 2, width), overwriting earlier factors.

        Returns
        -------
        int
            REGULAR, or the first pivot that may be nothing but rounding, as `first_row` takes it.
            All dual pivots were then shifted away from zero.
        """

    @abstractmethod
    def first_row(self, status: int) -> int:
        """Return the row in natural order of the doubtful pivot that an elimination returned."""

    @abstractmethod
    def unit_solution(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        """Return x by the newest factors, both (n_rows,) in coordinates in which D is one."""

    @abstractmethod
    def smallest_pivot(self, rows: FloatArray) -> tuple[float, int]:
        """Return the root of the smallest dual pivot relative to the norm of its row, and that row.

        It is the sine of the angle between the row of A and those eliminated before it.
        """

    def factorize(self, matrix: SaddleMatrix) -> UnitLDLNumeric:
        """Factorize, overwriting earlier factors; raise SingularSystemError at a lost pivot."""
        numeric = self.in_unit(matrix)
        self.check(self.eliminate(numeric.rows), numeric.rows)
        return numeric

    def in_unit(self, matrix: SaddleMatrix) -> UnitLDLNumeric:
        """Return the matrix in coordinates in which D is one, before it is factorized.

        Raises
        ------
        SingularSystemError
            If a block of D is not positive definite.
        """
        check_pattern(matrix, self.pattern)
        self.newest += 1
        rows = np.empty(matrix.rows.shape)
        bad, inverse_root = unit_rows(matrix, rows)
        if bad != SOUND:
            scales(matrix)
            raise lost_pivot(self.pattern, int(self.pattern.offsets[bad]))
        return UnitLDLNumeric(self, rows, inverse_root, self.newest)

    def check(self, status: int, rows: FloatArray) -> None:
        """Raise SingularSystemError if the doubtful pivot is that of a dependent row.

        In long mechanisms, where rounding makes pivots doubtful at every state, a row that was
        found independent once is not examined again: in another state only the residual tells.

        Parameters
        ----------
        status : int
            What the newest elimination returned.
        rows : (n_dual_rows, 2, width) float array
            What it was done to: A, where D is one.
        """
        if status == REGULAR:
            return
        row, pattern, n = self.first_row(status), self.pattern, self.pattern.n_primal_rows
        if row in self.independent:
            return
        bad = useless_row(pattern, rows)
        if bad >= 0:
            raise SingularSystemError(vanishing_row(pattern, n + bad))
        if row < n or is_dependent(pattern, rows, partial(self.unit_solution, rows), row - n):
            raise lost_pivot(pattern, row)
        if pattern.n_blocks >= LONG:
            self.independent.add(row)
