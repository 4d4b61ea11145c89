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
    below = _tiles_below(indptr, rows, n_tiles)
    _check_sizes(size, n_tiles, below)
    opener = _openers(indptr, rows)
    pivots = np.zeros((pattern.n_blocks + 1, 12), dtype=np.intp)
    _fill_pivots(order, size, pattern.offsets, pattern.n_primal, below, opener, pivots)
    tiles = np.empty((pivots[-1, FIRST_TILE], 3), dtype=np.uint32)
    updates = np.empty(pivots[-1, FIRST_UPDATE], dtype=np.uint32)
    _fill_tiles(indptr, rows, pivots, tiles, updates)
    place, ends = positions(order), np.ascontiguousarray(pattern.ends, dtype=np.intp)
    fills = np.empty((_count_ends(ends, place, pivots), 7), dtype=np.uint32)
    _fill_fills(indptr, rows, pivots, ends, place, pattern.offsets, fills)
    opened = _sorted_by_opener(opener, pivots)
    n_values, n_padded = pivots[-1, [START, PADDED]]
    largest = int(np.max(pivots[:-1, STRIDE] * size, initial=0))
    table = pivots.astype(np.uint32)
    return Layout(table, tiles, updates, fills, opened, int(n_values), int(n_padded), largest)


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


@njit(cache=True)
def _tiles_below(indptr: IntArray, rows: IntArray, n_tiles: IntArray) -> IntArray:
    """Return the tiles below each pivot."""
    below = np.zeros(len(n_tiles), dtype=np.intp)
    for j in range(len(n_tiles)):
        for entry in range(indptr[j], indptr[j + 1]):
            below[j] += n_tiles[rows[entry]]
    return below


@njit(cache=True)
def _fill_pivots(
    order: IntArray,
    size: IntArray,
    offsets: IntArray,
    n_primal: int,
    below: IntArray,
    opener: IntArray,
    pivots: IntArray,
) -> None:
    """Fill the table of pivots, zero at first, but for FIRST_FILL."""
    for i in range(len(order)):
        pivots[opener[i] + 1, FIRST_OPENED] += 1
    for i in range(len(order)):
        pivot, following = pivots[i], pivots[i + 1]
        tile_rows = TILE * ((size[i] + TILE - 1) // TILE)
        touched = opener[i] < i
        kind = DUAL if order[i] >= n_primal else (PRIMAL if touched else UNTOUCHED)
        own = 0 if kind == UNTOUCHED else tile_rows
        pivot[SIZE], pivot[STRIDE], pivot[OWN], pivot[KIND] = (
            size[i],
            own + TILE * below[i],
            own,
            kind,
        )
        pivot[BLOCK], pivot[NATURAL] = order[i], offsets[order[i]]
        following[START] = pivot[START] + pivot[STRIDE] * size[i]
        following[FIRST_TILE] = pivot[FIRST_TILE] + below[i]
        following[FIRST_UPDATE] = pivot[FIRST_UPDATE] + below[i] * (below[i] + 1) // 2
        following[FIRST_OPENED] += pivot[FIRST_OPENED]
        following[PADDED] = pivot[PADDED] + tile_rows


@njit(cache=True)
def _sorted_by_opener(opener: IntArray, pivots: IntArray) -> Table:
    """Return the panels by the pivot that opens them."""
    opened = np.empty(len(opener), dtype=np.uint32)
    following = pivots[:, FIRST_OPENED].copy()
    for panel in range(len(opener)):
        opened[following[opener[panel]]] = panel
        following[opener[panel]] += 1
    return opened


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


@njit(cache=True)
def _count_ends(ends: IntArray, place: IntArray, pivots: IntArray) -> int:
    """Fill FIRST_FILL, by the panels that hold the blocks of A; return their number."""
    n_primal = len(place) - len(ends)
    for dual in range(len(ends)):
        for side in range(2):
            if ends[dual, side] >= 0:
                holder = min(place[ends[dual, side]], place[n_primal + dual])
                pivots[holder + 1, FIRST_FILL] += 1
    for i in range(len(place)):
        pivots[i + 1, FIRST_FILL] += pivots[i, FIRST_FILL]
    return int(pivots[-1, FIRST_FILL])


@njit(cache=True)
def _fill_fills(
    indptr: IntArray,
    rows: IntArray,
    pivots: IntArray,
    ends: IntArray,
    place: IntArray,
    offsets: IntArray,
    fills: Table,
) -> None:
    """Fill the table of the blocks of A, sorted by panel."""
    n_primal = len(place) - len(ends)
    following = pivots[:, FIRST_FILL].copy()
    for dual in range(len(ends)):
        joint = place[n_primal + dual]
        for side in range(2):
            if ends[dual, side] < 0:
                continue
            body = place[ends[dual, side]]
            holder, other = min(body, joint), max(body, joint)
            row, entry = pivots[holder, OWN], indptr[holder]
            while rows[entry] != other:
                row += pivots[rows[entry], OWN]
                entry += 1
            fill = fills[following[holder]]
            following[holder] += 1
            stride = pivots[holder, STRIDE]
            by_row = body < joint  # rows of A are rows of the panel, not columns
            fill[A_ROW], fill[SIDE] = offsets[n_primal + dual] - offsets[n_primal], side
            fill[PLACE] = pivots[holder, START] + row
            fill[ROW_STRIDE], fill[COLUMN_STRIDE] = (1, stride) if by_row else (stride, 1)
            fill[N_ROWS], fill[N_COLUMNS] = pivots[joint, SIZE], pivots[body, SIZE]
