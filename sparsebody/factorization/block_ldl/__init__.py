"""LDL' of the whole matrix by small dense blocks, on the graph of bodies and joints."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparsebody._core import factorization
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.factorization.base import check_rhs
from sparsebody.factorization.block_ldl.layout import Layout, in_parts, make_layout, split
from sparsebody.factorization.unit import from_unit, to_unit
from sparsebody.factorization.unit_ldl import REGULAR, UnitLDLNumeric, UnitLDLSymbolic
from sparsebody.sparse.admissibility import is_admissible, repair
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix

block_ldl = factorization.block_ldl
DOUBTFUL = -2  # what a factorization returns: see block_ldl.hpp

__all__ = ["REGULAR", "BlockLDLSymbolic", "analyze", "in_parts", "safe_order"]


@dataclass(eq=False)
class BlockLDLSymbolic(UnitLDLSymbolic):
    """The layout of L, and the storage of the newest factors.

    An order that is not admissible is repaired first, each joint moved to right after the later of
    its bodies: without pivoting it could meet a zero pivot. Then it is put in parts, which changes
    nothing but the use of caches and threads.
    """

    order: IntArray  # (n_blocks,) the one in use
    layout: Layout
    factors: block_ldl.Factors = field(init=False)

    def __post_init__(self) -> None:
        self.factors = block_ldl.Factors(self.layout)

    def factorize_and_solve(
        self, matrix: SaddleMatrix, rhs: FloatArray
    ) -> tuple[UnitLDLNumeric, FloatArray]:
        """Do both for one rhs (n_rows,), faster than one after the other."""
        check_rhs(rhs, self.pattern)
        rhs, x = np.array(rhs, dtype=np.float64), np.empty(len(rhs))
        numeric = self.in_unit(matrix)
        to_unit(self.pattern.offsets, numeric.inverse_root, rhs)
        self.check(self.factors.factorize(numeric.rows, rhs), numeric.rows)
        self.factors.substitute(numeric.rows, rhs, x)
        from_unit(self.pattern.offsets, numeric.inverse_root, x)
        return numeric, x

    def eliminate(self, rows: FloatArray) -> int:
        """See UnitLDLSymbolic."""
        return self.factors.factorize(rows, np.zeros(self.pattern.n_rows))

    def first_row(self, status: int) -> int:
        """See UnitLDLSymbolic."""
        return self.layout.first_row(DOUBTFUL - status)

    def unit_solution(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        """See UnitLDLSymbolic."""
        x = np.empty(len(rhs))
        self.factors.solve(rows, rhs, 1.0, False, x)
        return x

    def smallest_pivot(self, rows: FloatArray) -> tuple[float, int]:
        """See UnitLDLSymbolic."""
        return self.factors.smallest_pivot(rows, self.pattern.n_primal_rows)


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
