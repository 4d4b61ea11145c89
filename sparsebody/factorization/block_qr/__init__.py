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

from sparsebody.arrays import FloatArray, IntArray, large_zeros
from sparsebody.errors import SingularSystemError
from sparsebody.factorization.base import REMEDY, check_newest, check_pattern, check_rhs
from sparsebody.factorization.block_qr.kernels import (
    REGULAR,
    Storage,
    Tables,
    factorize,
    substitute,
)
from sparsebody.factorization.block_qr.layout import Layout, make_layout
from sparsebody.factorization.block_qr.pivots import smallest_pivot
from sparsebody.factorization.block_qr.products import fill_gaps, subtract_forces
from sparsebody.factorization.scatter import scales
from sparsebody.factorization.unit import SOUND, from_unit, to_unit, unit_rows
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix

NO_RIGHT = np.zeros(0)  # where no right-hand side goes through the factorization

__all__ = ["REGULAR", "BlockQRNumeric", "BlockQRSymbolic", "Storage", "Tables", "analyze"]


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
        for x in columns:
            to_unit(pattern.offsets, self.inverse_root, x)
            self._solve(x[: pattern.n_primal_rows], x[pattern.n_primal_rows :])
            from_unit(pattern.offsets, self.inverse_root, x)
        return np.ascontiguousarray(columns.T).reshape(rhs.shape)

    def _solve(self, x: FloatArray, y: FloatArray) -> None:
        """Replace forces by accelerations, and the accelerations asked for by multipliers."""
        symbolic, ends, offsets = self.symbolic, self.symbolic.pattern.ends, self.symbolic.offsets
        asked, gap = y.copy(), np.empty_like(y)
        y[:] = 0.0
        for _ in range(2):
            fill_gaps(ends, *offsets, self.rows, x, asked, gap)
            substitute(symbolic.tables, symbolic.storage, gap)
            subtract_forces(ends, *offsets, self.rows, gap, x)
            y += gap


@dataclass(eq=False)
class BlockQRSymbolic:
    """The layout of R, and the storage of the newest one.

    Of an order only that of the dual blocks matters, and any one will do: no pivot is lost that is
    not lost in all of them.
    """

    pattern: BlockPattern
    order: IntArray  # (n_blocks,)
    layout: Layout
    tables: Tables = field(init=False)
    storage: Storage = field(init=False)
    offsets: tuple[IntArray, IntArray] = field(init=False)  # rows of primal and of dual blocks
    newest: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        pattern, layout = self.pattern, self.layout
        n = pattern.n_primal
        self.tables = Tables(
            layout.fronts, layout.columns, layout.places, layout.children, layout.parts
        )
        sizes = layout.n_values, layout.largest_front, layout.n_stack
        self.storage = Storage(*map(large_zeros, sizes))
        self.offsets = pattern.offsets[: n + 1], pattern.offsets[n:] - pattern.n_primal_rows

    def factorize(self, matrix: SaddleMatrix) -> BlockQRNumeric:
        """Factorize, overwriting an earlier factor; raise SingularSystemError at a lost pivot."""
        check_pattern(matrix, self.pattern)
        self.newest += 1
        rows = np.empty(matrix.rows.shape)
        bad, inverse_root = unit_rows(matrix, rows)
        if bad != SOUND:
            scales(matrix)
            raise SingularSystemError(f"a pivot of primal block {bad} vanishes: {REMEDY}")
        status = factorize(self.tables, rows, NO_RIGHT, self.storage, NO_RIGHT)
        if status != REGULAR:
            scales(matrix)
            self.check(status)
        return BlockQRNumeric(self, rows, inverse_root, self.newest)

    def check(self, status: int) -> None:
        """Raise SingularSystemError for the dual row that a factorization has returned."""
        if status != REGULAR:
            block = int(np.searchsorted(self.offsets[1], status, side="right")) - 1
            raise SingularSystemError(f"a pivot of dual block {block} vanishes: {REMEDY}")

    def smallest_pivot(self, rows: FloatArray) -> tuple[float, int]:
        """Return the smallest pivot of the newest R, and its row; see `pivots`."""
        sine, row = smallest_pivot(
            self.tables.fronts, self.tables.columns, self.storage.values, rows
        )
        return float(sine), int(row)


def analyze(pattern: BlockPattern, order: IntArray) -> BlockQRSymbolic:
    """Lay R out in the order of the dual blocks.

    Raises
    ------
    ShapeError
        If `order` does not list every block once, or R would be too large.
    """
    check_order(pattern, order)
    return BlockQRSymbolic(pattern, order, make_layout(pattern, np.asarray(order, dtype=np.intp)))
