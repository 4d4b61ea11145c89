"""Factorizations of [1 A'; A 0]: primal blocks in coordinates L' x in which D = L L' is one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sparsebody._core import factorization
from sparsebody.arrays import FloatArray
from sparsebody.factorization import backend
from sparsebody.factorization.layouts import scales
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix

REGULAR = -1  # what an elimination returns if no pivot is doubtful
LONG = 10_000  # blocks from which on doubtful pivots are the rule


@dataclass(frozen=True, eq=False)
class UnitNumeric:
    """The factors of one matrix, until the next one is factorized."""

    symbolic: UnitSymbolic
    rows: FloatArray  # (n_dual_rows, 2, width) of A, in coordinates in which D is one
    root: FloatArray  # (n_primal, width, width) L with D = L L', as kernels keep it
    number: int

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k) in natural order."""
        symbolic, offsets = self.symbolic, self.symbolic.pattern.offsets
        backend.check_rhs(rhs, symbolic.pattern)
        backend.check_newest(self.number, symbolic.newest)
        columns = np.array(rhs.reshape(len(rhs), -1).T, dtype=np.float64, order="C")
        x = np.empty_like(columns)
        for column, solution in zip(columns, x, strict=True):
            factorization.to_unit(offsets, self.root, column)
            solution[:] = symbolic.unit_solution(self.rows, column)
            factorization.from_unit(offsets, self.root, solution)
        return np.ascontiguousarray(x.T).reshape(rhs.shape)


@dataclass(eq=False)
class UnitSymbolic(ABC):
    """What depends only on the pattern, and the newest factors."""

    pattern: BlockPattern
    newest: int = field(init=False, default=0)
    independent: set[int] = field(init=False, default_factory=set)  # rows with doubtful pivots

    @abstractmethod
    def eliminate(self, rows: FloatArray, delta: float = 0.0) -> int:
        """Factorize [1 A'; A -delta] for A (n_dual_rows, 2, width), overwriting earlier factors.

        Return REGULAR, or the first doubtful pivot, as `first_row` takes it: dual ones were then
        shifted away from zero. A positive delta leaves none doubtful.
        """

    def first_row(self, status: int) -> int:
        """Return the row in natural order of the doubtful pivot that an elimination returned."""
        return status

    @abstractmethod
    def unit_solution(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        """Return x by the newest factors, both (n_rows,) in coordinates in which D is one."""

    @abstractmethod
    def smallest_pivot(self, rows: FloatArray) -> tuple[float, int]:
        """Return the least sine of the angle of a row of A to those before it, and the row."""

    def is_lost(self, rows: FloatArray, row: int) -> bool:
        """Tell whether the doubtful pivot of a row, in natural order, is zero but for rounding."""
        n = self.pattern.n_primal_rows
        solve = partial(self.unit_solution, rows)
        return row < n or backend.is_dependent(self.pattern, rows, solve, row - n)

    def factorize(self, matrix: SaddleMatrix) -> UnitNumeric:
        """Factorize; SingularSystemError at a lost pivot, or if D is not positive definite."""
        backend.check_pattern(matrix, self.pattern)
        self.newest += 1
        rows, root = np.empty(matrix.rows.shape), np.empty(matrix.diagonal.shape)
        bad = factorization.unit_rows(matrix.blocks, rows, root)
        if bad >= 0:
            scales(matrix)
            raise backend.vanishing_pivot(self.pattern, int(self.pattern.offsets[bad]))
        self.check(self.eliminate(rows), rows)
        return UnitNumeric(self, rows, root, self.newest)

    def check(self, status: int, rows: FloatArray) -> None:
        """Raise SingularSystemError if the pivot that `eliminate` has returned for A is lost.

        In long mechanisms a row that was found independent once is not examined again.
        """
        if status == REGULAR:
            return
        row, pattern = self.first_row(status), self.pattern
        if row in self.independent:
            return
        bad = factorization.vanishing_row((pattern.offsets, pattern.ends), rows)
        if bad >= 0:
            raise backend.vanishing_row(pattern, pattern.n_primal_rows + bad)
        if self.is_lost(rows, row):
            raise backend.vanishing_pivot(pattern, row)
        if pattern.n_blocks >= LONG:
            self.independent.add(row)
