"""Multifrontal LDL' of the whole matrix: dense fronts of supernodes, for mechanisms wide in several directions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sparsebody._core import factorization as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ShapeError, SingularSystemError
from sparsebody.factorization.base import REMEDY, check_newest, check_pattern, check_rhs
from sparsebody.factorization.block_ldl import safe_order
from sparsebody.factorization.block_ldl.dependence import is_dependent, useless_row
from sparsebody.factorization.scatter import scales, vanishing_row
from sparsebody.factorization.unit import SOUND, from_unit, to_unit, unit_rows
from sparsebody.sparse.etree import postordered
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix

REGULAR = native.Multifrontal.regular


@dataclass(frozen=True, eq=False)
class MultifrontalNumeric:
    """The factors of one matrix, until the next one is factorized."""

    symbolic: MultifrontalSymbolic
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
            symbolic.fronts.solve(self.rows, column, solution)
            from_unit(offsets, self.inverse_root, solution)
        return np.ascontiguousarray(x.T).reshape(rhs.shape)


@dataclass(eq=False)
class MultifrontalSymbolic:
    """The supernodes of L, and the newest factors."""

    pattern: BlockPattern
    order: IntArray  # (n_blocks,) the one in use
    n_threads: int = 1  # any number gives the same bits
    fronts: native.Multifrontal = field(init=False)
    newest: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.fronts = native.Multifrontal(self.pattern.offsets, self.pattern.ends, self.order)

    def factorize(self, matrix: SaddleMatrix) -> MultifrontalNumeric:
        """Factorize, overwriting earlier factors; raise SingularSystemError at a lost pivot."""
        check_pattern(matrix, self.pattern)
        self.newest += 1
        rows = np.empty(matrix.rows.shape)
        bad, inverse_root = unit_rows(matrix, rows)
        if bad != SOUND:
            scales(matrix)
            raise SingularSystemError(self._lost_pivot(int(self.pattern.offsets[bad])))
        row = self.fronts.factorize(rows, self.n_threads)
        if row != REGULAR:
            self.check(row, rows)
        return MultifrontalNumeric(self, rows, inverse_root, self.newest)

    def check(self, row: int, rows: FloatArray) -> None:
        pattern, n = self.pattern, self.pattern.n_primal_rows
        bad = useless_row(pattern, rows)
        if bad >= 0:
            raise SingularSystemError(vanishing_row(pattern, n + bad))
        if row < n or is_dependent(pattern, rows, partial(self._solve, rows), row - n):
            raise SingularSystemError(self._lost_pivot(row))

    def _solve(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        x = np.empty(len(rhs))
        self.fronts.solve(rows, rhs, x)
        return x

    def _lost_pivot(self, row: int) -> str:
        """Name the block whose pivot vanishes."""
        block = int(np.searchsorted(self.pattern.offsets, row, side="right")) - 1
        n_primal = self.pattern.n_primal
        is_dual = block >= n_primal
        name = f"dual block {block - n_primal}" if is_dual else f"primal block {block}"
        return f"a pivot of {name} vanishes: {REMEDY}"


def analyze(pattern: BlockPattern, order: IntArray) -> MultifrontalSymbolic:
    check_order(pattern, order)
    return MultifrontalSymbolic(pattern, postordered(pattern, safe_order(pattern, order)))
