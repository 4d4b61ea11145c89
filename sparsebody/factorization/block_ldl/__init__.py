"""LDL' of the whole matrix by small dense blocks, on the graph of bodies and joints."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import SingularSystemError
from sparsebody.factorization.base import REMEDY, check_newest, check_pattern, check_rhs
from sparsebody.factorization.block_ldl.kernels import factorize, solve
from sparsebody.factorization.block_ldl.layout import Layout, make_layout
from sparsebody.factorization.scatter import scales
from sparsebody.sparse.admissibility import is_admissible, repair
from sparsebody.sparse.etree import postordered
from sparsebody.sparse.pattern import BlockPattern, check_order
from sparsebody.sparse.saddle import SaddleMatrix

__all__ = ["BlockLDLNumeric", "BlockLDLSymbolic", "analyze", "safe_order"]


@dataclass(frozen=True, eq=False)
class BlockLDLNumeric:
    """The factors of one matrix, until the next one is factorized."""

    symbolic: BlockLDLSymbolic
    inverse: FloatArray  # of the pivots that no other one has changed
    number: int

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,) or (n_rows, k) in natural order."""
        symbolic = self.symbolic
        check_rhs(rhs, symbolic.pattern)
        check_newest(self.number, symbolic.newest)
        columns = np.ascontiguousarray(rhs.reshape(len(rhs), -1), dtype=np.float64)
        x = np.empty_like(columns)
        layout = symbolic.layout
        solve(
            layout.pivots,
            layout.tiles,
            self.inverse,
            symbolic.values,
            columns,
            x,
            symbolic.work,
            symbolic.block,
        )
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
    values: FloatArray = field(init=False)
    left: FloatArray = field(init=False)
    work: FloatArray = field(init=False)
    block: FloatArray = field(init=False)
    newest: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        layout = self.layout
        self.values = np.zeros(layout.n_values)
        self.left = np.zeros(layout.largest_panel)
        self.work = np.zeros(layout.n_padded)
        self.block = np.zeros(int(self.pattern.block_sizes.max(initial=1)) ** 2)

    def factorize(self, matrix: SaddleMatrix) -> BlockLDLNumeric:
        """Factorize, overwriting earlier factors; raise SingularSystemError at a lost pivot."""
        check_pattern(matrix, self.pattern)
        self.newest += 1
        layout = self.layout
        bad = factorize(
            layout.pivots,
            layout.tiles,
            layout.updates,
            layout.fills,
            layout.opened,
            matrix.diagonal,
            matrix.inverse,
            matrix.rows,
            self.values,
            self.left,
            self.work,
            self.block,
        )
        if bad >= 0:
            scales(matrix)  # names a row that is zero or not finite
            raise SingularSystemError(self._lost_pivot(bad))
        return BlockLDLNumeric(self, matrix.inverse, self.newest)

    def _lost_pivot(self, position: int) -> str:
        """Name the block whose pivot vanishes."""
        block, n_primal = int(self.order[position]), self.pattern.n_primal
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
    return BlockLDLSymbolic(pattern, safe, make_layout(pattern, safe))
