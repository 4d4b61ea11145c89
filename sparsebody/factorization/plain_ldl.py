"""LDL' of the quasi-definite [D A'; A -eps] in any order, with every operation counted.

An instrument, not a backend: no order is repaired, nothing is pivoted or refined, and blocks are
taken as dense, so that counts and errors depend on the order alone. With eps > 0 every order has
factors (Vanderbei 1995); joints that come before their bodies have pivots of -eps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody._core import factorization
from sparsebody.arrays import FloatArray, IntArray, offsets
from sparsebody.errors import ShapeError, SingularSystemError
from sparsebody.factorization import backend, layouts
from sparsebody.sparse import BlockPattern, SaddleMatrix, elimination_tree

plain_ldl = factorization.plain_ldl
MOST_VALUES = 2**27  # of L: 1 GB


@dataclass(frozen=True, eq=False)
class PlainLDLNumeric:
    """The factors of one matrix, and what they cost."""

    symbolic: PlainLDLSymbolic
    scale: FloatArray  # (n_rows,) in natural order
    values: FloatArray  # of L and D, column by column
    flops: int  # multiplications, divisions, additions, as they were done

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,), both in natural order."""
        symbolic, order = self.symbolic, self.symbolic.row_order
        backend.check_rhs(rhs, symbolic.pattern)
        if rhs.ndim != 1:
            raise ShapeError(f"right-hand side {rhs.shape}: solve for one at a time")
        y = (self.scale * rhs)[order]
        plain_ldl.solve(symbolic.sizes, symbolic.base, symbolic.indices, self.values, y)
        x = np.empty_like(y)
        x[order] = y
        return self.scale * x


@dataclass(frozen=True, eq=False)
class PlainLDLSymbolic:
    """Offsets of the blocks of L: one column of dense blocks after the other."""

    pattern: BlockPattern
    order: IntArray  # (n_blocks,)
    row_order: IntArray  # (n_rows,) of the scalar rows
    layout: layouts.SaddleLayout
    sizes: IntArray  # (n_blocks,) by position
    base: IntArray  # (n_blocks + 1,) where the columns of each block begin
    start: IntArray  # (n_blocks + 1,) into `below`
    below: IntArray  # positions below the pivot of each block column
    indices: IntArray  # scalar row of every value

    def factorize(self, matrix: SaddleMatrix, eps: float = 0.0) -> PlainLDLNumeric:
        """Factorize with rows a of A scaled to a D^-1 a' = 1, so that eps has no unit.

        Raises SingularSystemError at a zero pivot, ShapeError if eps is negative or not finite.
        """
        backend.check_pattern(matrix, self.pattern)
        if not 0.0 <= eps < np.inf:
            raise ShapeError(f"eps is {eps}; give zero or a small positive number, such as 1e-8")
        scale, values = layouts.scales(matrix), np.empty(self.layout.n_values)
        self.layout.fill(matrix, scale, -eps, values)
        bad, flops = plain_ldl.factorize(self.sizes, self.base, self.start, self.below, values)
        if bad >= 0:
            block, n_primal = int(self.order[bad]), self.pattern.n_primal
            name = f"body {block}" if block < n_primal else f"joint {block - n_primal}"
            raise SingularSystemError(
                f"a pivot of {name} is zero in this order with eps = {eps:g}: give a larger eps, "
                "or an order with the joint after its bodies"
            )
        return PlainLDLNumeric(self, scale, values, flops)


def analyze(pattern: BlockPattern, order: IntArray) -> PlainLDLSymbolic:
    """Lay L out in the given order, whatever it is; raise ShapeError if it is too large."""
    start, below = elimination_tree.column_structures(pattern, order)
    sizes = np.ascontiguousarray(pattern.block_sizes[order], dtype=np.intp)
    rows_before = offsets(sizes[below])
    height = sizes + np.diff(rows_before[start])
    base = offsets(sizes * height)
    if base[-1] > MOST_VALUES:
        raise ShapeError(f"L has {base[-1]:.2g} entries in this order, more than {MOST_VALUES:.2g}")
    position = np.arange(len(sizes), dtype=np.intp)
    column = np.concatenate([position, np.repeat(position, np.diff(start))])
    columns = layouts.block_columns(sizes, np.concatenate([position, below]), column)
    return PlainLDLSymbolic(
        pattern,
        np.ascontiguousarray(order, dtype=np.intp),
        pattern.scalar_order(order),
        layouts.column_layout(pattern, order, columns),
        sizes,
        base,
        start,
        below,
        columns.indices.astype(np.intp),
    )
