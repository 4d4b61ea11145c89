"""Where the blocks of L lie, and what every pivot updates: made once, read by the kernels.

Blocks are cut into *tiles* of four rows, the last one of a block filled up with zeros, so that the
kernels work on vectors of four without looking at sizes. The *panel* of a pivot holds its own
tiles and those of the blocks below it; element (row r, column k) lies at `start + k * stride + r`.
A primal block that receives no update has a constant pivot and no tiles of its own in its panel.
All tables are unsigned: a signed index costs a test for negative ones at every access. 32 bits
halve what has to come from memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sparsebody.arrays import IntArray
from sparsebody.errors import ShapeError
from sparsebody.sparse.etree import column_structures, positions
from sparsebody.sparse.pattern import BlockPattern

Table = NDArray[np.uint32]

TILE = 4  # rows of a tile
MOST_UPDATES = 50_000_000  # pairs of tiles; 4 bytes each
MOST_VALUES = 2**32 - 1  # that the tables can count

# Columns of the table of pivots.
SIZE, START, STRIDE, OWN = 0, 1, 2, 3  # rows, place and stride of the panel, own rows in it
FIRST_TILE, FIRST_UPDATE, FIRST_FILL, FIRST_OPENED = 4, 5, 6, 7  # up to those of the next pivot
BLOCK, NATURAL, PADDED, KIND = 8, 9, 10, 11  # its number, its rows in natural and in tiled order
UNTOUCHED, PRIMAL, DUAL = 0, 1, 2  # kinds: a primal block that receives no update has D as pivot

# Columns of the tables of tiles below pivots, and of the blocks of A.
ROW, COLUMNS, TARGET_STRIDE = 0, 1, 2
A_ROW, SIDE, PLACE, ROW_STRIDE, COLUMN_STRIDE, N_ROWS, N_COLUMNS = 0, 1, 2, 3, 4, 5, 6


@dataclass(frozen=True, eq=False)
class Layout:
    """The tables of one pattern in one order."""

    pivots: Table  # (n_blocks + 1, 12) by position; the last line ends the ranges
    tiles: Table  # (n_tiles, 3) first row in tiled order, columns as a target, stride there
    updates: Table  # (n_updates,) place of every pair of a pivot's tiles, column by column
    fills: Table  # (n_fills, 7) the blocks of A, by the panel that holds them
    opened: Table  # (n_blocks,) panels, by the pivot that writes into them first
    n_values: int
    n_padded: int  # rows in tiled order
    largest_panel: int


def make_layout(pattern: BlockPattern, order: IntArray) -> Layout:
    """Lay out L for an admissible order.

    Raises
    ------
    ShapeError
        If L has too many blocks, or values, for the tables.
    """
    indptr, rows = column_structures(pattern, order)
    size = pattern.block_sizes[order]
    n_tiles = -(-size // TILE)
    below = _sums(n_tiles[rows], indptr)
    _check_sizes(size, n_tiles, below)
    opener = _openers(indptr, rows)
    pivots = _pivot_table(pattern, order, n_tiles, below, opener)
    signed = pivots.astype(np.intp)
    tiles = np.empty((int(below.sum()), 3), dtype=np.uint32)
    updates = np.empty(int(signed[-1, FIRST_UPDATE]), dtype=np.uint32)
    _fill_tiles(indptr, rows, signed, tiles, updates)
    fills, holder = _fills(pattern, order, indptr, rows, signed)
    pivots[:, FIRST_FILL] = _starts(np.bincount(holder, minlength=pattern.n_blocks))
    opened = np.argsort(opener, kind="stable").astype(np.uint32)
    n_values, n_padded = signed[-1, [START, PADDED]]
    largest = int(np.max(signed[:-1, STRIDE] * size, initial=0))
    return Layout(pivots, tiles, updates, fills, opened, int(n_values), int(n_padded), largest)


def _check_sizes(size: IntArray, n_tiles: IntArray, below: IntArray) -> None:
    """Raise ShapeError if the tables would have to count too far."""
    n_updates = below.astype(float) @ (below + 1) / 2
    if n_updates > MOST_UPDATES:
        raise ShapeError(
            f"block-ldl would update {n_updates:.0f} pairs of tiles in this order: fronts are too "
            "large for small blocks; use another ordering, or the factorization cholmod"
        )
    if size.astype(float) @ (TILE * (n_tiles + below)) > MOST_VALUES:
        raise ShapeError(
            f"block-ldl would store more than {MOST_VALUES} values in this order: use another "
            "ordering, or the factorization cholmod"
        )


def _pivot_table(
    pattern: BlockPattern, order: IntArray, n_tiles: IntArray, below: IntArray, opener: IntArray
) -> Table:
    """Return the table of pivots, but for FIRST_FILL."""
    n = pattern.n_blocks
    size = pattern.block_sizes[order]
    touched = opener < np.arange(n)
    kind = np.where(order >= pattern.n_primal, DUAL, np.where(touched, PRIMAL, UNTOUCHED))
    own = np.where(kind == UNTOUCHED, 0, TILE * n_tiles)
    stride = own + TILE * below
    pivots = np.zeros((n + 1, 12), dtype=np.uint32)
    pivots[:-1, SIZE] = size
    pivots[:, START] = _starts(stride * size)
    pivots[:-1, STRIDE] = stride
    pivots[:-1, OWN] = own
    pivots[:, FIRST_TILE] = _starts(below)
    pivots[:, FIRST_UPDATE] = _starts(below * (below + 1) // 2)
    pivots[:, FIRST_OPENED] = _starts(np.bincount(opener, minlength=n))
    pivots[:-1, BLOCK] = order
    pivots[:-1, NATURAL] = pattern.offsets[order]
    pivots[:, PADDED] = _starts(TILE * n_tiles)
    pivots[:-1, KIND] = kind
    return pivots


def _starts(counts: IntArray) -> IntArray:
    """Return where each range starts, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)


def _sums(values: IntArray, indptr: IntArray) -> IntArray:
    """Return the sum of the values of each range."""
    return np.diff(_starts(values)[indptr])


@njit(cache=True)
def _openers(indptr: IntArray, rows: IntArray) -> IntArray:
    """Return for every panel the first pivot that writes into it: one before it, or itself."""
    opener = np.full(len(indptr) - 1, -1, dtype=np.intp)
    for j in range(len(opener)):
        if opener[j] < 0:
            opener[j] = j
        for entry in range(indptr[j], indptr[j + 1]):
            if opener[rows[entry]] < 0:
                opener[rows[entry]] = j
    return opener


@njit(cache=True)
def _fill_tiles(
    indptr: IntArray, rows: IntArray, pivots: IntArray, tiles: Table, updates: Table
) -> None:
    """Fill the tables of tiles and of the places that pairs of them update."""
    n_rows = np.empty(len(indptr), dtype=np.intp)  # of the panel of each block below
    for j in range(len(indptr) - 1):
        tile, update = pivots[j, FIRST_TILE], pivots[j, FIRST_UPDATE]
        for entry in range(indptr[j], indptr[j + 1]):
            p = rows[entry]
            _places_in_panel(indptr, rows, pivots, p, entry, indptr[j + 1], n_rows)
            for first in range(0, pivots[p, SIZE], TILE):
                tiles[tile, ROW] = pivots[p, PADDED] + first
                tiles[tile, COLUMNS] = min(TILE, pivots[p, SIZE] - first)
                tiles[tile, TARGET_STRIDE] = pivots[p, STRIDE]
                tile += 1
                column = pivots[p, START] + first * pivots[p, STRIDE]
                for below in range(entry, indptr[j + 1]):
                    skipped = first if below == entry else 0
                    for row in range(skipped, pivots[rows[below], OWN], TILE):
                        updates[update] = column + n_rows[below - entry] + row
                        update += 1


@njit(cache=True)
def _places_in_panel(
    indptr: IntArray,
    rows: IntArray,
    pivots: IntArray,
    p: int,
    begin: int,
    end: int,
    place: IntArray,
) -> None:
    """Fill `place` with the first row, in the panel of p, of the blocks rows[begin:end]."""
    place[0] = 0
    row, entry = pivots[p, OWN], indptr[p]
    for wanted in range(begin + 1, end):
        while rows[entry] != rows[wanted]:
            row += pivots[rows[entry], OWN]
            entry += 1
        place[wanted - begin] = row


def _fills(
    pattern: BlockPattern, order: IntArray, indptr: IntArray, rows: IntArray, pivots: IntArray
) -> tuple[Table, IntArray]:
    """Return the table of the blocks of A, sorted by panel, and the position of that panel."""
    dual, side = np.nonzero(pattern.ends >= 0)
    place = positions(order)
    body, joint = place[pattern.ends[dual, side]], place[pattern.n_primal + dual]
    holder, other = np.minimum(body, joint), np.maximum(body, joint)
    row = _row_in_panel(indptr, rows, pivots, holder, other)
    start, stride = pivots[holder, START] + row, pivots[holder, STRIDE]
    by_row = body < joint  # rows of A are rows of the panel, not columns
    fills = np.empty((len(dual), 7), dtype=np.uint32)
    fills[:, A_ROW] = pattern.offsets[pattern.n_primal + dual] - pattern.n_primal_rows
    fills[:, SIDE] = side
    fills[:, PLACE] = start
    fills[:, ROW_STRIDE] = np.where(by_row, 1, stride)
    fills[:, COLUMN_STRIDE] = np.where(by_row, stride, 1)
    fills[:, N_ROWS] = pivots[joint, SIZE]
    fills[:, N_COLUMNS] = pivots[body, SIZE]
    return fills[np.argsort(holder, kind="stable")], holder


@njit(cache=True)
def _row_in_panel(
    indptr: IntArray, rows: IntArray, pivots: IntArray, panel: IntArray, block: IntArray
) -> IntArray:
    """Return the first row of each block in its panel."""
    found = np.empty(len(panel), dtype=np.intp)
    for i in range(len(panel)):
        row, entry = pivots[panel[i], OWN], indptr[panel[i]]
        while rows[entry] != block[i]:
            row += pivots[rows[entry], OWN]
            entry += 1
        found[i] = row
    return found
