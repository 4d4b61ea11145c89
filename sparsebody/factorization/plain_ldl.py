"""LDL' of the quasi-definite [D A'; A -eps] in any order, with every operation counted.

An instrument, not a backend: no order is repaired, nothing is pivoted or refined, and blocks are
taken as dense, so that orders differ by nothing but themselves. With eps > 0 every order has
factors (Vanderbei 1995); joints that come before their bodies have pivots of -eps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ShapeError, SingularSystemError
from sparsebody.factorization.base import check_pattern, check_rhs
from sparsebody.factorization.scatter import (
    SaddleLayout,
    block_columns,
    column_layout,
    fill_saddle,
    scales,
)
from sparsebody.sparse.etree import column_structures
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix

MOST_VALUES = 2**27  # of L: 1 GB


@dataclass(frozen=True, eq=False)
class PlainLDLNumeric:
    """The factors of one matrix, and what they took."""

    symbolic: PlainLDLSymbolic
    scale: FloatArray  # (n_rows,) in natural order
    values: FloatArray  # of L and D, column by column
    flops: int  # multiplications, divisions, additions, as they were done

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x for rhs (n_rows,), both in natural order."""
        symbolic, order = self.symbolic, self.symbolic.row_order
        check_rhs(rhs, symbolic.pattern)
        if rhs.ndim != 1:
            raise ShapeError(f"right-hand side {rhs.shape}: solve for one at a time")
        y = (self.scale * rhs)[order]
        _solve(symbolic.sizes, symbolic.base, symbolic.indices, self.values, y)
        x = np.empty_like(y)
        x[order] = y
        return self.scale * x

    def pivot_block(self, block: int) -> FloatArray:
        """Return the Schur complement that a block was eliminated with, as L_1 D_1 L_1', unscaled.

        What is left of its diagonal block when all before it are gone: an articulated-body inertia,
        say.
        """
        symbolic = self.symbolic
        position = int(np.flatnonzero(symbolic.order == block)[0])
        size, base = int(symbolic.sizes[position]), int(symbolic.base[position])
        height = (int(symbolic.base[position + 1]) - base) // size
        stored = self.values[base : base + size * height].reshape(size, height)[:, :size].T
        L = np.tril(stored, -1) + np.eye(size)
        offset = int(symbolic.pattern.offsets[block])
        scale = self.scale[offset : offset + size]
        return (L * np.diag(stored)) @ L.T / np.outer(scale, scale)


@dataclass(frozen=True, eq=False)
class PlainLDLSymbolic:
    """Where the blocks of L lie: one column of dense blocks after the other."""

    pattern: BlockPattern
    order: IntArray  # (n_blocks,)
    row_order: IntArray  # (n_rows,) of the scalar rows
    layout: SaddleLayout
    sizes: IntArray  # (n_blocks,) by position
    base: IntArray  # (n_blocks + 1,) where the columns of each block begin
    start: IntArray  # (n_blocks + 1,) into `below`
    below: IntArray  # positions below the pivot of each block column
    indices: IntArray  # scalar row of every value

    def factorize(self, matrix: SaddleMatrix, eps: float = 0.0) -> PlainLDLNumeric:
        """Factorize with rows of A scaled to one in the metric of D^-1, so that eps is a number.

        Raises
        ------
        SingularSystemError
            If a pivot is zero, as that of a joint before its bodies is where eps is.
        ShapeError
            If eps is negative or not finite.
        """
        check_pattern(matrix, self.pattern)
        if not 0.0 <= eps < np.inf:
            raise ShapeError(f"eps is {eps}; give zero or a small positive number, such as 1e-8")
        scale, values = scales(matrix), np.empty(self.layout.n_values)
        fill_saddle(self.layout, matrix, scale, -eps, values)
        bad, flops = _factorize(self.sizes, self.base, self.start, self.below, values)
        if bad >= 0:
            raise SingularSystemError(self._lost_pivot(int(self.order[bad]), eps))
        return PlainLDLNumeric(self, scale, values, int(flops))

    def _lost_pivot(self, block: int, eps: float) -> str:
        """Name the block whose pivot vanishes."""
        n_primal = self.pattern.n_primal
        name = f"body {block}" if block < n_primal else f"joint {block - n_primal}"
        return (
            f"a pivot of {name} is zero in this order with eps = {eps:g}: give a larger eps, or an "
            "order with the joint after its bodies"
        )


def analyze(pattern: BlockPattern, order: IntArray) -> PlainLDLSymbolic:
    """Lay L out in the given order, whatever it is.

    Raises
    ------
    ShapeError
        If `order` does not list every block once, or L has more than MOST_VALUES entries.
    """
    start, below = column_structures(pattern, order)
    sizes = np.ascontiguousarray(pattern.block_sizes[order], dtype=np.intp)
    rows_before = np.concatenate([[0], np.cumsum(sizes[below])])
    height = sizes + np.diff(rows_before[start])
    base = np.concatenate([[0], np.cumsum(sizes * height)]).astype(np.intp)
    if base[-1] > MOST_VALUES:
        raise ShapeError(f"L has {base[-1]:.2g} entries in this order, more than {MOST_VALUES:.2g}")
    position = np.arange(len(sizes), dtype=np.intp)
    column = np.concatenate([position, np.repeat(position, np.diff(start))])
    columns = block_columns(sizes, np.concatenate([position, below]), column)
    return PlainLDLSymbolic(
        pattern,
        np.ascontiguousarray(order, dtype=np.intp),
        pattern.scalar_order(order),
        column_layout(pattern, order, columns),
        sizes,
        base,
        start,
        below,
        columns.indices.astype(np.intp),
    )


@njit(cache=True)
def _factorize(
    sizes: IntArray, base: IntArray, start: IntArray, below: IntArray, values: FloatArray
) -> tuple[int, int]:
    """Overwrite the matrix by L and D; return the position of a bad pivot or -1, and the flops."""
    flops, largest = 0, 0
    for p in range(len(sizes)):
        largest = max(largest, base[p + 1] - base[p])
    undivided = np.empty(largest)  # L D of the newest block column
    for p in range(len(sizes)):
        size, first = sizes[p], base[p]
        height = (base[p + 1] - first) // size
        for k in range(size):
            column = first + k * height
            pivot = values[column + k]
            if not 0.0 < abs(pivot) < np.inf:
                return p, flops
            for i in range(k + 1, height):
                undivided[k * height + i] = values[column + i]
                values[column + i] /= pivot
                flops += 1
            for j in range(k + 1, size):
                factor, other = undivided[k * height + j], first + j * height
                for i in range(j, height):
                    values[other + i] -= values[column + i] * factor
                    flops += 2
        row = size
        for entry in range(start[p], start[p + 1]):
            flops += _update(p, entry, row, sizes, base, start, below, undivided, values)
            row += sizes[below[entry]]
    return -1, flops


@njit(cache=True)
def _update(
    p: int,
    entry: int,
    row: int,
    sizes: IntArray,
    base: IntArray,
    start: IntArray,
    below: IntArray,
    undivided: FloatArray,
    values: FloatArray,
) -> int:
    """Subtract what block column p is to that of below[entry], whose rows begin at `row` of p."""
    flops, target = 0, below[entry]
    size, first = sizes[p], base[p]
    height = (base[p + 1] - first) // size
    width, target_first = sizes[target], base[target]
    target_height = (base[target + 1] - target_first) // width
    there, to, here = start[target] - 1, 0, row  # the target's own block comes before start
    for e in range(entry, start[p + 1]):
        while (target if there < start[target] else below[there]) != below[e]:
            to += sizes[target if there < start[target] else below[there]]
            there += 1
        n_rows = sizes[below[e]]
        for c in range(width):
            above = c if e == entry else 0
            destination = target_first + c * target_height + to
            for k in range(size):
                factor, column = undivided[k * height + row + c], first + k * height + here
                for r in range(above, n_rows):
                    values[destination + r] -= values[column + r] * factor
                    flops += 2
        here += n_rows
    return flops


@njit(cache=True)
def _solve(
    sizes: IntArray, base: IntArray, indices: IntArray, values: FloatArray, x: FloatArray
) -> None:
    """Overwrite the right-hand side, in the order of elimination, by the solution."""
    for p in range(len(sizes)):
        height = (base[p + 1] - base[p]) // sizes[p]
        for k in range(sizes[p]):
            column = base[p] + k * height
            known = x[indices[column + k]]
            for i in range(k + 1, height):
                x[indices[column + i]] -= values[column + i] * known
    for p in range(len(sizes) - 1, -1, -1):
        height = (base[p + 1] - base[p]) // sizes[p]
        for k in range(sizes[p] - 1, -1, -1):
            column = base[p] + k * height
            total = x[indices[column + k]] / values[column + k]
            for i in range(k + 1, height):
                total -= values[column + i] * x[indices[column + i]]
            x[indices[column + k]] = total
