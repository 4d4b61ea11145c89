"""QR of the constraint columns: R' R = A D^-1 A' without forming the product.

LDL' of the whole matrix squares the condition number of A on its way; R does not, so that the
softest motions of long mechanisms survive. One correction makes the error that of pivoting codes.

References
----------
Paige (1973), BIT 13:364, on R alone in least-norm problems; Davis (2011), ACM TOMS 38:8, on fronts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparsebody._core import factorization as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ShapeError
from sparsebody.factorization.backend import check_newest, check_pattern, check_rhs, lost_pivot
from sparsebody.factorization.layouts import scales
from sparsebody.factorization.unit_ldl import SOUND, from_unit, to_unit, unit_rows
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix

__all__ = ["REGULAR", "BlockQRNumeric", "BlockQRSymbolic", "analyze", "dual_parts"]

REGULAR = native.BlockQR.regular
FEWEST_BLOCKS = native.FEWEST_BLOCKS  # that are worth parts


@dataclass(frozen=True, eq=False)
class BlockQRNumeric:
    """The factor of one matrix, until the next one is factorized."""

    symbolic: BlockQRSymbolic
    rows: FloatArray  # (n_dual_rows, 2, width) of A, in coordinates in which D is one
    inverse_root: FloatArray  # (n_primal, width, width) from these coordinates, see unit
    number: int

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k) in natural order, corrected once."""
        symbolic, pattern = self.symbolic, self.symbolic.pattern
        check_rhs(rhs, pattern)
        check_newest(self.number, symbolic.newest)
        columns = np.array(rhs.reshape(len(rhs), -1).T, dtype=np.float64, order="C")
        solution = np.empty(columns.shape)
        for b, x in zip(columns, solution, strict=True):
            to_unit(pattern.offsets, self.inverse_root, b)
            symbolic.qr.solve(self.rows, b, x, accurate=True, corrections=1)
            from_unit(pattern.offsets, self.inverse_root, x)
        return np.ascontiguousarray(solution.T).reshape(rhs.shape)


@dataclass(eq=False)
class BlockQRSymbolic:
    """The layout of R, and the newest one.

    Of an order only that of the dual blocks matters, and any one will do: no pivot is lost that is
    not lost in all of them.
    """

    pattern: BlockPattern
    order: IntArray  # (n_blocks,)
    part_starts: IntArray  # (n_parts + 1,), see dual_parts
    qr: native.BlockQR = field(init=False)
    newest: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        pattern = self.pattern
        duals = self.order[self.order >= pattern.n_primal] - pattern.n_primal
        try:
            self.qr = native.BlockQR(pattern.block_sizes, pattern.ends, duals, self.part_starts)
        except MemoryError as error:
            raise ShapeError(
                "block-qr would store more than there is memory for in this order: use another "
                "ordering, or the factorization cholmod"
            ) from error

    def factorize(self, matrix: SaddleMatrix) -> BlockQRNumeric:
        """Factorize, overwriting an earlier factor; raise SingularSystemError at a lost pivot."""
        check_pattern(matrix, self.pattern)
        self.newest += 1
        rows = np.empty(matrix.rows.shape)
        bad, inverse_root = unit_rows(matrix, rows)
        if bad != SOUND:
            scales(matrix)
            raise lost_pivot(self.pattern, int(self.pattern.offsets[bad]))
        status = self.qr.factorize(rows)
        if status != REGULAR:
            scales(matrix)
            self.check(status)
        return BlockQRNumeric(self, rows, inverse_root, self.newest)

    def check(self, status: int) -> None:
        """Raise SingularSystemError for the dual row that a factorization has returned."""
        if status != REGULAR:
            raise lost_pivot(self.pattern, self.pattern.n_primal_rows + status)


def analyze(
    pattern: BlockPattern, order: IntArray, part_starts: IntArray | None = None
) -> BlockQRSymbolic:
    """Lay R out in the order of the dual blocks.

    With `part_starts` they are numbered in an order of `dual_parts`.

    Raises
    ------
    ShapeError
        If `order` does not list every block once, or R would be too large.
    """
    check_order(pattern, order)
    if part_starts is None:
        part_starts = np.zeros(1, dtype=np.intp)
    return BlockQRSymbolic(pattern, np.asarray(order, dtype=np.intp), part_starts)


def dual_parts(
    pattern: BlockPattern, order: IntArray, fewest: int = FEWEST_BLOCKS
) -> tuple[IntArray, IntArray]:
    """Return an order of the dual blocks in parts that can be factorized at the same time.

    And where each part begins; at the last beginning, their common ancestors do. Each subtree of
    the tree of fronts is in one piece.
    """
    duals = order[order >= pattern.n_primal] - pattern.n_primal
    return native.dual_partition(pattern.block_sizes, pattern.ends, duals, fewest)
