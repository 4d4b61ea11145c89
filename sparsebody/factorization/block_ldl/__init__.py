"""LDL' of the whole matrix by small dense blocks, on the graph of bodies and joints."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import SingularSystemError
from sparsebody.factorization.base import REMEDY, check_newest, check_pattern, check_rhs
from sparsebody.factorization.block_ldl.dependence import is_dependent
from sparsebody.factorization.block_ldl.kernels import (
    DOUBTFUL,
    REGULAR,
    Matrix,
    Storage,
    Tables,
    factorize_safely,
)
from sparsebody.factorization.block_ldl.layout import (
    LARGEST_BLOCK,
    NATURAL,
    Layout,
    make_layout,
    split,
)
from sparsebody.factorization.block_ldl.substitution import solve, substitute
from sparsebody.factorization.scatter import scales
from sparsebody.sparse.admissibility import is_admissible, repair
from sparsebody.sparse.etree import postordered
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix

__all__ = ["REGULAR", "BlockLDLNumeric", "BlockLDLSymbolic", "analyze", "safe_order"]


@dataclass(frozen=True, eq=False)
class BlockLDLNumeric:
    """The factors of one matrix, until the next one is factorized."""

    symbolic: BlockLDLSymbolic
    matrix: Matrix
    number: int

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k) in natural order."""
        symbolic = self.symbolic
        check_rhs(rhs, symbolic.pattern)
        check_newest(self.number, symbolic.newest)
        columns = np.ascontiguousarray(rhs.reshape(len(rhs), -1), dtype=np.float64)
        x = np.empty_like(columns)
        solve(symbolic.tables, self.matrix, symbolic.storage, columns, x)
        return x.reshape(rhs.shape)


@dataclass(eq=False)
class BlockLDLSymbolic:
    """The layout of L, and the storage of the newest factors.

    An order that is not admissible is repaired first, each joint moved to right after the later of
    its bodies: without pivoting it could meet a zero pivot. Then each subtree of the elimination
    tree is put in one piece, which changes nothing but the use of caches.
    """

    pattern: BlockPattern
    order: IntArray  # (n_blocks,) the one in use
    layout: Layout
    tables: Tables = field(init=False)
    storage: Storage = field(init=False)
    no_rhs: FloatArray = field(init=False)
    newest: int = field(init=False, default=0)
    independent: set[int] = field(init=False, default_factory=set)  # rows with doubtful pivots

    def __post_init__(self) -> None:
        layout = self.layout
        self.tables = Tables(
            layout.pivots, layout.below, layout.updates, layout.fills, layout.opened
        )
        sizes = (layout.n_values, layout.n_padded, layout.n_padded)
        panel = layout.largest_panel
        self.storage = Storage(*(np.zeros(n) for n in (*sizes, panel, panel, 4 * LARGEST_BLOCK)))
        self.no_rhs = np.zeros(self.pattern.n_rows)

    def factorize(self, matrix: SaddleMatrix) -> BlockLDLNumeric:
        """Factorize, overwriting earlier factors; raise SingularSystemError at a lost pivot."""
        return self._factorize(matrix, self.no_rhs)

    def factorize_and_solve(
        self, matrix: SaddleMatrix, rhs: FloatArray
    ) -> tuple[BlockLDLNumeric, FloatArray]:
        """Do both for one rhs (n_rows,), faster than one after the other."""
        check_rhs(rhs, self.pattern)
        numeric = self._factorize(matrix, np.ascontiguousarray(rhs, dtype=np.float64))
        x = np.empty(len(rhs))
        substitute(self.tables, self.storage, x)
        return numeric, x

    def _factorize(self, matrix: SaddleMatrix, rhs: FloatArray) -> BlockLDLNumeric:
        check_pattern(matrix, self.pattern)
        self.newest += 1
        values = Matrix(*map(np.ascontiguousarray, (matrix.diagonal, matrix.inverse, matrix.rows)))
        numeric = BlockLDLNumeric(self, values, self.newest)
        status = factorize_safely(self.tables, values, rhs, self.storage)
        if status != REGULAR:
            self.check(status, matrix, numeric)
        return numeric

    def check(self, status: int, matrix: SaddleMatrix, numeric: BlockLDLNumeric) -> None:
        """Raise SingularSystemError if a pivot is lost, or a doubtful one is of a dependent row.

        A row that was found independent once is not examined again: in another state only the
        residual tells.
        """
        if self.is_known(status):
            return
        scales(matrix)  # names a row that is zero or not finite
        is_lost = status >= 0
        row = self._row(status if is_lost else DOUBTFUL - status)
        n = self.pattern.n_primal_rows
        if is_lost or row < n or is_dependent(matrix, numeric.solve, row - n):
            raise SingularSystemError(self._lost_pivot(row))
        self.independent.add(row)

    def is_known(self, status: int) -> bool:
        """Tell whether the pivot is doubtful only, and that of a row found independent before."""
        return status < REGULAR and self._row(DOUBTFUL - status) in self.independent

    def _row(self, position: int) -> int:
        """Return the first row of a pivot in natural order."""
        return int(self.layout.pivots[position, NATURAL])

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


def analyze(pattern: BlockPattern, order: IntArray) -> BlockLDLSymbolic:
    """Lay L out in the given order, or in a repaired one if the given one is not admissible.

    Raises
    ------
    ShapeError
        If `order` does not list every block once, or L would be too large for small blocks.
    """
    check_order(pattern, order)
    safe = postordered(pattern, safe_order(pattern, order))
    return BlockLDLSymbolic(pattern, safe, make_layout(*split(pattern, safe)))
