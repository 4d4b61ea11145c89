"""The tables of block LDL': offsets of the blocks of L, and what every pivot updates.

The *panel* of a pivot of s rows holds its own block and those below it, one after the other. Each
is stored in s columns of 4 or 8 rows, as many as hold it and a spare row, so that the kernels work
on whole vectors. A primal block that receives no update has a constant pivot and no panel: it is
one, and what is below it are rows of A; a panel with nothing below ends with an empty block.
Entries have 32 bits, which halves what has to come from memory; core/factorization/block_ldl.hpp
names the columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsebody._core import factorization
from sparsebody.arrays import FloatArray, IntArray, large_zeros
from sparsebody.errors import ShapeError
from sparsebody.sparse.etree import column_structures, positions
from sparsebody.sparse.pattern import BlockPattern

block_ldl = factorization.block_ldl
Table = NDArray[np.uint32]

TILE = 4  # rows of storage of a block come in fours
LARGEST_BLOCK = 6  # rows; larger joints are cut in several
CONSTANT_SIZES = (3, 6)  # rows of primal blocks that may be constant pivots
MOST_UPDATES = 250_000_000  # pairs of blocks; 4 bytes each
MOST_VALUES = 2**32 - 1  # that the tables can count

# Columns of the table of pivots.
SIZE, START, OWN = 0, 1, 2  # rows, offsets of the blocks below and of its own block
FIRST_BELOW, FIRST_UPDATE, FIRST_FILL, FIRST_OPENED = 3, 4, 5, 6  # up to those of the next pivot
NATURAL, PADDED, KIND = 7, 8, 9  # its first row in natural and in padded order
CONSTANT, PRIMAL, DUAL = 0, 1, 2  # kinds: a constant pivot is a block of D

ROW, ROWS = 0, 1  # columns of the table of blocks below pivots


@dataclass(frozen=True, eq=False)
class Layout:
    """The tables of one pattern in one order."""

    pivots: Table  # (n_blocks + 1, 10) by position; the last line ends the ranges
    below: Table  # (n_below, 2) first row in padded order, and rows
    updates: Table  # (n_updates,) offset that each pair of blocks below a pivot updates
    fills: Table  # (n_fills + 1, 6) the blocks of A, by the panel that holds them; the last is none
    opened: Table  # (n_blocks,) panels, by the pivot that writes into them first
    n_values: int
    n_padded: int  # rows in padded order, and an empty block
    largest_panel: int
    window: int  # a power of 2, from the rows of a pivot to the last ones open at a time

    @property
    def n_pivots(self) -> int:
        """Blocks of the pattern, large ones cut in several."""
        return len(self.opened)


def native_tables(layout: Layout) -> block_ldl.Tables:
    """Return views of the tables for the kernels."""
    return block_ldl.Tables(
        layout.pivots, layout.below, layout.updates, layout.fills, layout.opened
    )


class Storage(block_ldl.Storage):
    """The factors and the work space of one layout."""

    values: FloatArray  # (n_values,) the factors

    def __init__(self, layout: Layout) -> None:
        self.values = large_zeros(layout.n_values)
        x, right = large_zeros(layout.n_padded), large_zeros(layout.largest_panel)
        window, reference = (large_zeros(layout.window + 8) for _ in range(2))
        super().__init__(self.values, x, window, reference, right)


def make_layout(pattern: BlockPattern, order: IntArray) -> Layout:
    """Lay out L for an admissible order of blocks of at most LARGEST_BLOCK rows.

    Raises
    ------
    ShapeError
        If L has too many blocks, or values, for the tables.
    """
    indptr, rows = column_structures(pattern, order)
    size = pattern.block_sizes[order]
    lanes = np.where(size < 4, 4, 8)
    _check_sizes(size, lanes, indptr, rows)
    opener = block_ldl.openers(indptr, rows)
    pivots = _pivot_table(pattern, order, lanes, _sums(lanes[rows], indptr), indptr, opener)
    below, updates = _below_tables(indptr, rows, pivots, lanes)
    fills = block_ldl.fill_table(
        indptr, rows, pivots, lanes, pattern.ends, positions(order), pattern.offsets
    )
    opened = np.argsort(opener, kind="stable").astype(np.uint32)
    n_values, n_padded = pivots[-1, [START, PADDED]]
    largest = int(np.max(size * np.maximum(_sums(lanes[rows], indptr), 4), initial=0))
    sizes = int(n_values), int(n_padded) + 4, largest, _window(pivots, opened)
    return Layout(pivots, below, updates, fills, opened, *sizes)


def _check_sizes(size: IntArray, lanes: IntArray, indptr: IntArray, rows: IntArray) -> None:
    """Raise ShapeError if the tables would have to count too far."""
    n_below = np.diff(indptr).astype(float)
    n_updates = n_below @ (n_below + 1) / 2
    if n_updates > MOST_UPDATES:
        raise ShapeError(
            f"block-ldl would update {n_updates:.0f} pairs of blocks in this order: fronts are too "
            "large for small blocks; use another ordering, or the factorization cholmod"
        )
    if size.astype(float) @ (lanes + _sums(lanes[rows], indptr) + 4) > MOST_VALUES:
        raise ShapeError(
            f"block-ldl would store more than {MOST_VALUES} values in this order: use another "
            "ordering, or the factorization cholmod"
        )


def _pivot_table(
    pattern: BlockPattern,
    order: IntArray,
    lanes: IntArray,
    lanes_below: IntArray,
    indptr: IntArray,
    opener: IntArray,
) -> Table:
    """Return the table of pivots, but for FIRST_FILL."""
    n = pattern.n_blocks
    size = pattern.block_sizes[order]
    is_constant = (opener == np.arange(n)) & np.isin(size, CONSTANT_SIZES)
    is_constant &= np.bincount(_doubled(pattern), minlength=n)[order] == 0
    kind = np.where(order >= pattern.n_primal, DUAL, np.where(is_constant, CONSTANT, PRIMAL))
    own = _starts(np.where(kind == CONSTANT, 0, lanes) * size)
    n_below = np.maximum(np.diff(indptr), 1)
    height = np.where(kind == CONSTANT, 0, np.where(lanes_below > 0, lanes_below, 4))
    pivots = large_zeros((n + 1, 10), np.uint32)
    pivots[:-1, SIZE] = size
    pivots[:, START] = own[-1] + _starts(height * size)
    pivots[:, OWN] = own
    pivots[:, FIRST_BELOW] = _starts(n_below)
    pivots[:, FIRST_UPDATE] = _starts(n_below * (n_below + 1) // 2)
    pivots[:, FIRST_OPENED] = _starts(np.bincount(opener, minlength=n))
    pivots[:-1, NATURAL] = pattern.offsets[order]
    pivots[:, PADDED] = _starts(lanes)
    pivots[:-1, KIND] = kind
    return pivots


def _window(pivots: Table, opened: Table) -> int:
    """Return a number of padded rows that holds those of all panels that are open at a time."""
    padded = pivots[:, PADDED].astype(np.intp)
    last = np.maximum.accumulate(padded[opened.astype(np.intp) + 1])
    n_opened = pivots[1:, FIRST_OPENED].astype(np.intp)
    is_used = n_opened > 0
    held = np.max(last[n_opened[is_used] - 1] - padded[:-1][is_used], initial=8)
    return 1 << int(held - 1).bit_length()


def _doubled(pattern: BlockPattern) -> IntArray:
    """Return the primal blocks that are both ends of a dual one."""
    first, second = pattern.ends.T
    return first[(first == second) & (first >= 0)]


def _starts(counts: IntArray) -> IntArray:
    """Return where each range starts, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)


def _sums(values: IntArray, indptr: IntArray) -> IntArray:
    """Return the sum of the values of each range."""
    return np.diff(_starts(values)[indptr])


def _below_tables(
    indptr: IntArray, rows: IntArray, pivots: Table, lanes: IntArray
) -> tuple[Table, Table]:
    """Return the tables of blocks below pivots and of the offsets that pairs of them update."""
    below = large_zeros((int(pivots[-1, FIRST_BELOW]), 2), np.uint32)
    below[:, ROW] = pivots[-1, PADDED]  # an empty block, where nothing else comes
    updates = large_zeros(int(pivots[-1, FIRST_UPDATE]), np.uint32)
    block_ldl.fill_below(indptr, rows, pivots, lanes, below, updates)
    return below, updates


def split(pattern: BlockPattern, order: IntArray) -> tuple[BlockPattern, IntArray]:
    """Return pattern and order with dual blocks of more than LARGEST_BLOCK rows cut in several.

    Raises
    ------
    ShapeError
        If a primal block is too large.
    """
    n, sizes = pattern.n_primal, pattern.block_sizes
    if np.max(sizes[:n], initial=0) > LARGEST_BLOCK:
        raise ShapeError(f"block-ldl takes primal blocks of at most {LARGEST_BLOCK} rows")
    n_parts = np.maximum(-(-sizes // LARGEST_BLOCK), 1)
    if np.all(n_parts == 1):
        return pattern, order
    first = _starts(n_parts)
    part = np.arange(first[-1]) - np.repeat(first[:-1], n_parts)
    left = np.repeat(sizes, n_parts) - LARGEST_BLOCK * part
    pieces = BlockPattern(
        np.minimum(left, LARGEST_BLOCK), np.repeat(pattern.ends, n_parts[n:], axis=0)
    )
    count = n_parts[order]
    inside = np.arange(first[-1]) - np.repeat(_starts(count)[:-1], count)
    return pieces, np.repeat(first[order], count) + inside
