"""LDL' of the whole matrix, by small blocks or by wide dense fronts.

core/factorization/layout.hpp describes the tables of small blocks. In mechanisms that are wide in
several directions, blocks of nearly the same structure are supernodes, which are eliminated
together in a dense front.

Duff and Reid (1983), ACM TOMS 9:302; Liu (1992), SIAM Review 34:82, on fronts and contributions;
Ashcraft and Grimes (1989), ACM TOMS 15:291, on supernodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparsebody._core import factorization
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ShapeError
from sparsebody.factorization.unit_factors import REGULAR, UnitSymbolic
from sparsebody.sparse.elimination_tree import (
    column_structures,
    is_admissible,
    postordered,
    repair,
)
from sparsebody.sparse.pattern import BlockPattern, check_order

block_ldl = factorization.block_ldl
FEWEST_BLOCKS = factorization.FEWEST_BLOCKS  # that are worth parts
TILE = 4  # rows of storage of a block come in fours
LARGEST_BLOCK = 6  # rows; larger joints are cut in several
MOST_UPDATES = 250_000_000  # pairs of blocks; 4 bytes each
DOUBTFUL = -2  # what a factorization returns: see block_ldl.hpp


def in_parts(
    pattern: BlockPattern, order: IntArray, fewest: int = FEWEST_BLOCKS
) -> tuple[IntArray, IntArray]:
    """Return an order in parts that can be eliminated at the same time, and their beginnings.

    Each subtree of the elimination tree is in one piece. Patterns of `fewest` blocks and more come
    in parts, then their common ancestors, at the last beginning. Admissible orders stay so.
    """
    return factorization.partition(pattern.adjacency, pattern.block_sizes, order, fewest)


def make_layout(
    pattern: BlockPattern, order: IntArray, part_starts: IntArray | None = None
) -> block_ldl.Layout:
    """Lay L out for an admissible order of small blocks; raise ShapeError if it is too large."""
    columns = column_structures(pattern, order)
    n_below = np.diff(columns[0]).astype(float)
    n_updates = n_below @ (n_below + 1) / 2
    if n_updates > MOST_UPDATES:
        raise ShapeError(
            f"block-ldl would update {n_updates:.0f} pairs of blocks in this order: fronts are too "
            "large for small blocks; use another ordering, or the factorization cholmod"
        )
    if part_starts is None:
        part_starts = np.zeros(1, dtype=np.intp)
    try:
        return block_ldl.Layout(columns, pattern.block_sizes, pattern.ends, order, part_starts)
    except ValueError as error:  # tables of more than 32 bits
        raise ShapeError(str(error)) from error


def split(pattern: BlockPattern, order: IntArray) -> tuple[BlockPattern, IntArray]:
    """Return pattern and order with large dual blocks cut; ShapeError for large primal blocks."""
    n, sizes = pattern.n_primal, pattern.block_sizes
    if np.max(sizes[:n], initial=0) > LARGEST_BLOCK:
        raise ShapeError(f"block-ldl takes primal blocks of at most {LARGEST_BLOCK} rows")
    n_parts = np.maximum(-(-sizes // LARGEST_BLOCK), 1)
    if np.all(n_parts == 1):
        return pattern, order
    first = np.cumsum(n_parts) - n_parts
    part = np.arange(n_parts.sum()) - np.repeat(first, n_parts)
    remaining = np.repeat(sizes, n_parts) - LARGEST_BLOCK * part
    pieces = BlockPattern(
        np.minimum(remaining, LARGEST_BLOCK), np.repeat(pattern.ends, n_parts[n:], axis=0)
    )
    count = n_parts[order]
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return pieces, np.repeat(first[order], count) + within


@dataclass(eq=False)
class BlockLDLSymbolic(UnitSymbolic):
    """The layout of L, and the storage of the newest factors; see UnitSymbolic."""

    order: IntArray  # (n_blocks,) the one in use
    layout: block_ldl.Layout
    factors: block_ldl.Factors = field(init=False)

    def __post_init__(self) -> None:
        self.factors = block_ldl.Factors(self.layout)

    def eliminate(self, rows: FloatArray, delta: float = 0.0) -> int:
        """Factorize; a doubtful pivot is returned as DOUBTFUL less its position."""
        nothing = np.zeros(self.pattern.n_rows)
        if delta == 0.0:
            return self.factors.factorize(rows, nothing)
        self.factors.eliminate(rows, nothing, -delta)
        return REGULAR

    def first_row(self, status: int) -> int:
        """Return the row of a pivot."""
        return self.layout.first_row(DOUBTFUL - status)

    def unit_solution(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        """Solve by small blocks; without forces there is nothing to do for constant bodies."""
        x = np.empty(len(rhs))
        has_forces = rhs[: self.pattern.n_primal_rows].any()
        self.factors.solve(rows, rhs, float(has_forces), False, x)
        return x

    def smallest_pivot(self, rows: FloatArray) -> tuple[float, int]:
        """Return a sine and its row."""
        return self.factors.smallest_pivot(rows, self.pattern.n_primal_rows)


def safe_order(pattern: BlockPattern, order: IntArray) -> IntArray:
    """Return `order` if it is admissible, so that no pivot is zero, else the repaired one."""
    return order if is_admissible(pattern, order) else repair(pattern, order)


def analyze(
    pattern: BlockPattern, order: IntArray, part_starts: IntArray | None = None
) -> BlockLDLSymbolic:
    """Lay L out in the given order, or in a repaired one if the given one is not admissible.

    With `part_starts` the order is one of `in_parts`. Raises ShapeError if L would be too large.
    """
    check_order(pattern, order)
    if part_starts is None:
        order, part_starts = in_parts(pattern, safe_order(pattern, order))
    pieces, cut = split(pattern, order)
    if pieces is not pattern:
        part_starts = None
    return BlockLDLSymbolic(pattern, order, make_layout(pieces, cut, part_starts))


@dataclass(eq=False)
class MultifrontalSymbolic(UnitSymbolic):
    """The supernodes of L, and the newest factors; see UnitSymbolic."""

    order: IntArray  # (n_blocks,) the one in use
    factors: factorization.Multifrontal = field(init=False)

    def __post_init__(self) -> None:
        try:
            self.factors = factorization.Multifrontal(
                self.pattern.offsets, self.pattern.ends, self.order
            )
        except MemoryError as error:
            raise ShapeError(
                "multifrontal would store more than there is memory for in this order: use "
                "another ordering"
            ) from error

    def eliminate(self, rows: FloatArray, delta: float = 0.0) -> int:
        """Factorize; a doubtful pivot is returned as its row."""
        if delta == 0.0:
            return self.factors.factorize(rows)
        self.factors.factorize_shifted(rows, delta)
        return REGULAR

    def unit_solution(self, rows: FloatArray, rhs: FloatArray) -> FloatArray:
        """Solve in dense fronts."""
        x = np.empty(len(rhs))
        self.factors.solve(rows, rhs, x)
        return x

    def smallest_pivot(self, rows: FloatArray) -> tuple[float, int]:
        """See UnitSymbolic."""
        return self.factors.smallest_pivot(rows)


def analyze_multifrontal(pattern: BlockPattern, order: IntArray) -> MultifrontalSymbolic:
    """Find supernodes in the given order, repaired if need be; ShapeError if L is too large."""
    check_order(pattern, order)
    return MultifrontalSymbolic(pattern, postordered(pattern, safe_order(pattern, order)))
