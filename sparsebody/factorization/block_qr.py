"""QR of the constraint columns: R' R = A D^-1 A' without forming the product.

LDL' of the whole matrix squares the condition number of A on its way; R does not, so that the
softest motions of long mechanisms survive. One correction makes the error that of pivoting codes.

Paige (1973), BIT 13:364, on R alone in least-norm problems; Davis (2011), ACM TOMS 38:8, on fronts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparsebody._core import factorization as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ShapeError
from sparsebody.factorization.unit_factors import UnitSymbolic
from sparsebody.sparse.pattern import BlockPattern, check_order

FEWEST_BLOCKS = native.FEWEST_BLOCKS  # that are worth parts


@dataclass(eq=False)
class BlockQRSymbolic(UnitSymbolic):
    """The layout of R, and the newest one; of an order only that of the dual blocks matters."""

    order: IntArray  # (n_blocks,)
    part_starts: IntArray  # (n_parts + 1,), see dual_parts
    qr: native.BlockQR = field(init=False)

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

    def eliminate(self, rows: FloatArray, delta: float = 0.0) -> int:
        """Factorize; a dual row that depends on others is returned, and no delta is taken."""
        assert delta == 0.0
        return self.qr.factorize(rows)

    def first_row(self, status: int) -> int:
        """Return the dual row among all rows."""
        return self.pattern.n_primal_rows + status

    def is_lost(self, rows: FloatArray, row: int) -> bool:
        """Every pivot that QR finds doubtful is lost."""
        return True

    def unit_solution(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        """Solve with one correction."""
        x = np.empty(len(rhs))
        self.qr.solve(rows, rhs, x, accurate=True, corrections=1)
        return x

    def smallest_pivot(self, rows: FloatArray) -> tuple[float, int]:
        """Return a sine and its row."""
        return self.qr.smallest_pivot(rows)


def analyze(
    pattern: BlockPattern, order: IntArray, part_starts: IntArray | None = None
) -> BlockQRSymbolic:
    """Lay R out in the order of the dual blocks; raise ShapeError if it would be too large.

    With `part_starts` they are numbered in an order of `dual_parts`.
    """
    check_order(pattern, order)
    if part_starts is None:
        part_starts = np.zeros(1, dtype=np.intp)
    return BlockQRSymbolic(pattern, np.asarray(order, dtype=np.intp), part_starts)


def dual_parts(
    pattern: BlockPattern, order: IntArray, fewest: int = FEWEST_BLOCKS
) -> tuple[IntArray, IntArray]:
    """Return an order of the dual blocks in independent parts, then ancestors, and their starts."""
    duals = order[order >= pattern.n_primal] - pattern.n_primal
    return native.dual_partition(pattern.block_sizes, pattern.ends, duals, fewest)
