"""LDL' of the whole matrix by small dense blocks, on the graph of bodies and joints."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sparsebody._core import factorization
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import SingularSystemError
from sparsebody.factorization.base import REMEDY, check_newest, check_pattern, check_rhs
from sparsebody.factorization.block_ldl.dependence import is_dependent, useless_row
from sparsebody.factorization.block_ldl.layout import Layout, in_parts, make_layout, split
from sparsebody.factorization.scatter import scales, vanishing_row
from sparsebody.factorization.unit import SOUND, from_unit, to_unit, unit_rows
from sparsebody.sparse.admissibility import is_admissible, repair
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix

block_ldl = factorization.block_ldl
REGULAR, DOUBTFUL = -1, -2  # what a factorization returns: see block_ldl.hpp
LONG = 10_000  # blocks from which on doubtful pivots are the rule

__all__ = ["REGULAR", "BlockLDLNumeric", "BlockLDLSymbolic", "analyze", "in_parts", "safe_order"]


@dataclass(frozen=True, eq=False)
class BlockLDLNumeric:
    """The factors of one matrix, until the next one is factorized."""

    symbolic: BlockLDLSymbolic
    rows: FloatArray  # (n_dual_rows, 2, width) of A, in coordinates in which D is one
    inverse_root: FloatArray  # (n_primal, width, width) from these coordinates, see unit
    number: int

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k) in natural order."""
        symbolic = self.symbolic
        check_rhs(rhs, symbolic.pattern)
        check_newest(self.number, symbolic.newest)
        columns = np.array(rhs.reshape(len(rhs), -1).T, dtype=np.float64, order="C")
        x = np.empty_like(columns)
        for column, solution in zip(columns, x, strict=True):
            to_unit(symbolic.pattern.offsets, self.inverse_root, column)
            solution[:] = symbolic._solve(self.rows, column)
            from_unit(symbolic.pattern.offsets, self.inverse_root, solution)
        return np.ascontiguousarray(x.T).reshape(rhs.shape)


@dataclass(eq=False)
class BlockLDLSymbolic:
    """The layout of L, and the storage of the newest factors.

    An order that is not admissible is repaired first, each joint moved to right after the later of
    its bodies: without pivoting it could meet a zero pivot. Then it is put in parts, which changes
    nothing but the use of caches and threads.
    """

    pattern: BlockPattern
    order: IntArray  # (n_blocks,) the one in use
    layout: Layout
    factors: block_ldl.Factors = field(init=False)
    newest: int = field(init=False, default=0)
    independent: set[int] = field(init=False, default_factory=set)  # rows with doubtful pivots

    def __post_init__(self) -> None:
        self.factors = block_ldl.Factors(self.layout)

    def factorize(self, matrix: SaddleMatrix) -> BlockLDLNumeric:
        """Factorize, overwriting earlier factors; raise SingularSystemError at a lost pivot."""
        return self._factorize(matrix, np.zeros(self.pattern.n_rows))

    def factorize_and_solve(
        self, matrix: SaddleMatrix, rhs: FloatArray
    ) -> tuple[BlockLDLNumeric, FloatArray]:
        """Do both for one rhs (n_rows,), faster than one after the other."""
        check_rhs(rhs, self.pattern)
        rhs = np.array(rhs, dtype=np.float64)
        numeric = self._factorize(matrix, rhs)
        x = np.empty(len(rhs))
        self.factors.substitute(numeric.rows, rhs, x)
        from_unit(self.pattern.offsets, numeric.inverse_root, x)
        return numeric, x

    def _factorize(self, matrix: SaddleMatrix, rhs: FloatArray) -> BlockLDLNumeric:
        """Factorize, and put a right-hand side into the coordinates in which D is one."""
        check_pattern(matrix, self.pattern)
        self.newest += 1
        rows = np.empty(matrix.rows.shape)
        bad, inverse_root = unit_rows(matrix, rows)
        if bad != SOUND:
            scales(matrix)
            raise SingularSystemError(self._lost_pivot(int(self.pattern.offsets[bad])))
        to_unit(self.pattern.offsets, inverse_root, rhs)
        numeric = BlockLDLNumeric(self, rows, inverse_root, self.newest)
        status = self.factors.factorize(rows, rhs)
        if status != REGULAR:
            self.check(status, rows)
        return numeric

    def check(self, status: int, rows: FloatArray) -> None:
        """Raise SingularSystemError if the doubtful pivot is that of a dependent row.

        In long mechanisms, where rounding makes pivots doubtful at every state, a row that was
        found independent once is not examined again: in another state only the residual tells.

        Parameters
        ----------
        status : int
            What the newest factorization returned.
        rows : (n_dual_rows, 2, width) float array
            What it was done to: A, where D is one.
        """
        row, pattern, n = self._row(status), self.pattern, self.pattern.n_primal_rows
        if row in self.independent:
            return
        bad = useless_row(pattern, rows)
        if bad >= 0:
            raise SingularSystemError(vanishing_row(pattern, n + bad))
        if row < n or is_dependent(pattern, rows, partial(self._solve, rows), row - n):
            raise SingularSystemError(self._lost_pivot(row))
        if pattern.n_blocks >= LONG:
            self.independent.add(row)

    def smallest_pivot(self, rows: FloatArray) -> tuple[float, int]:
        """Return the root of the smallest dual pivot relative to the norm of its row, and that row.

        It is the sine of the angle between the row of A and those eliminated before it.
        """
        return self.factors.smallest_pivot(rows, self.pattern.n_primal_rows)

    def _solve(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,), both in coordinates in which D is one."""
        x = np.empty(len(rhs))
        self.factors.solve(rows, rhs, 1.0, False, x)
        return x

    def _row(self, status: int) -> int:
        """Return the first row of the doubtful pivot in natural order."""
        return self.layout.first_row(DOUBTFUL - status)

    def _lost_pivot(self, row: int) -> str:
        """Name the block whose pivot vanishes."""
        block = int(np.searchsorted(self.pattern.offsets, row, side="right")) - 1
        n_primal = self.pattern.n_primal
        is_dual = block >= n_primal
        name = f"dual block {block - n_primal}" if is_dual else f"primal block {block}"
        return f"a pivot of {name} vanishes: {REMEDY}"


def safe_order(pattern: BlockPattern, order: IntArray) -> IntArray:
    """Return `order` if it is admissible, else with each joint after the later of its bodies."""
    return order if is_admissible(pattern, order) else repair(pattern, order)


def analyze(
    pattern: BlockPattern, order: IntArray, part_starts: IntArray | None = None
) -> BlockLDLSymbolic:
    """Lay L out in the given order, or in a repaired one if the given one is not admissible.

    With `part_starts` the order is one of `in_parts`, which is taken as it is.

    Raises
    ------
    ShapeError
        If `order` does not list every block once, or L would be too large for small blocks.
    """
    check_order(pattern, order)
    if part_starts is None:
        order, part_starts = in_parts(pattern, safe_order(pattern, order))
    pieces, cut = split(pattern, order)
    if pieces is not pattern:
        part_starts = None
    return BlockLDLSymbolic(pattern, order, make_layout(pieces, cut, part_starts))
