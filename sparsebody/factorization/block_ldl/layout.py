"""Where the blocks of L lie: tables that are made once for a pattern and an order.

core/factorization/layout.hpp describes them.
"""

from __future__ import annotations

import numpy as np

from sparsebody._core import factorization
from sparsebody.arrays import IntArray
from sparsebody.errors import ShapeError
from sparsebody.sparse.etree import column_structures
from sparsebody.sparse.pattern import BlockPattern

Layout = factorization.block_ldl.Layout
FEWEST_BLOCKS = factorization.FEWEST_BLOCKS  # that are worth parts

TILE = 4  # rows of storage of a block come in fours
LARGEST_BLOCK = 6  # rows; larger joints are cut in several
MOST_UPDATES = 250_000_000  # pairs of blocks; 4 bytes each


def in_parts(
    pattern: BlockPattern, order: IntArray, fewest: int = FEWEST_BLOCKS
) -> tuple[IntArray, IntArray]:
    """Return an order in parts that can be eliminated at the same time, and their beginnings.

    Each subtree of the elimination tree is in one piece, so that the factorization needs next what
    it has just computed. Patterns of `fewest` blocks and more come in parts, followed by
    their common ancestors, at the last beginning. Admissible orders stay so.
    """
    return factorization.partition(pattern.adjacency, pattern.block_sizes, order, fewest)


def make_layout(
    pattern: BlockPattern, order: IntArray, part_starts: IntArray | None = None
) -> Layout:
    """Lay L out for an admissible order of blocks of at most LARGEST_BLOCK rows.

    Raises
    ------
    ShapeError
        If L has too many blocks, or values, for the tables.
    """
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
        return Layout(columns, pattern.block_sizes, pattern.ends, order, part_starts)
    except ValueError as error:  # tables of more than 32 bits
        raise ShapeError(str(error)) from error


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


def _starts(counts: IntArray) -> IntArray:
    """Return where each range starts, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
