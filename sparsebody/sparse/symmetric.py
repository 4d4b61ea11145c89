"""The pattern of any symmetric matrix, in blocks of any sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from sparsebody.arrays import BoolArray, IntArray
from sparsebody.errors import ShapeError
from sparsebody.sparse.etree import positions
from sparsebody.sparse.pattern import BlockPattern, Blocks, check_order, is_permutation


@dataclass(frozen=True, eq=False)
class SymmetricPattern:
    """Which blocks of a symmetric matrix couple; a block is a run of scalar rows."""

    block_sizes: IntArray  # (n_blocks,) scalar rows of each block, all positive
    adjacency: tuple[IntArray, IntArray]  # (indptr, indices) of neighbours, sorted, no diagonal
    has_pivot: BoolArray  # (n_blocks,) whether the diagonal block has any entry
    names: tuple[str, ...] = ()  # (n_blocks,) of the blocks, if known
    is_dual: BoolArray | None = None  # (n_blocks,) blocks said to be constraints

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.block_sizes)

    @property
    def n_rows(self) -> int:
        """Scalar size of the whole matrix."""
        return int(self.block_sizes.sum())


@dataclass(frozen=True, eq=False)
class SaddleBlocks:
    """A symmetric pattern as that of a matrix [D A'; A 0], whose orders are then known."""

    pattern: BlockPattern  # primal blocks first
    block: IntArray  # (n_blocks,) the block of the symmetric pattern that each one is


def symmetric_pattern(
    row: IntArray,
    column: IntArray,
    block_sizes: IntArray,
    names: tuple[str, ...] = (),
    is_dual: BoolArray | None = None,
) -> SymmetricPattern:
    """Return the pattern of the entries at `row` and `column`, of one triangle or of both.

    Raises
    ------
    ShapeError
        If there is no block, or one without rows, or an entry lies outside of them.
    """
    sizes = np.asarray(block_sizes, dtype=np.intp)
    if len(sizes) == 0:
        raise ShapeError("a matrix without rows; give one that has some")
    if np.any(sizes < 1):
        bad = int(np.argmin(sizes))
        raise ShapeError(f"block {bad} has {sizes[bad]} rows; every block needs at least one")
    n_rows, n = int(sizes.sum()), len(sizes)
    if len(row) and max(row.max(), column.max()) >= n_rows:
        raise ShapeError(
            f"the blocks have {n_rows} rows in all, but there is an entry in row or column "
            f"{max(row.max(), column.max()) + 1}; give sizes of all blocks"
        )
    block = np.repeat(np.arange(n), sizes)
    i, j = block[row], block[column]
    off = i != j
    ones = np.ones(2 * np.count_nonzero(off), dtype=np.int8)
    at = np.concatenate([i[off], j[off]]), np.concatenate([j[off], i[off]])
    coupled = csr_array(coo_array((ones, at), shape=(n, n)))
    coupled.sum_duplicates()
    has_pivot = np.zeros(n, dtype=np.bool_)
    has_pivot[i[~off]] = True
    adjacency = coupled.indptr.astype(np.intp), coupled.indices.astype(np.intp)
    return SymmetricPattern(sizes, adjacency, has_pivot, names, is_dual)


def saddle_blocks(pattern: SymmetricPattern) -> SaddleBlocks | None:
    """Return the pattern as that of bodies and joints; None if it is no such pattern.

    Dual are the blocks that are said to be, or else those with nothing on the diagonal; each must
    couple to one or two primal blocks and to nothing else, and primal ones to nothing but these.
    """
    dual = ~pattern.has_pivot if pattern.is_dual is None else pattern.is_dual
    indptr, indices = pattern.adjacency
    block = np.repeat(np.arange(pattern.n_blocks), np.diff(indptr))
    degree = np.diff(indptr)[dual]
    if not dual.any() or np.any(dual[block] == dual[indices]):
        return None
    if degree.min() < 1 or degree.max() > 2:
        return None
    primal_first = np.argsort(dual, kind="stable").astype(np.intp)
    position = positions(primal_first)
    start = indptr[:-1][dual]
    ends = np.full((len(start), 2), -1, dtype=np.intp)
    ends[:, 0] = position[indices[start]]
    ends[degree == 2, 1] = position[indices[start[degree == 2] + 1]]
    return SaddleBlocks(BlockPattern(pattern.block_sizes[primal_first], ends), primal_first)


def block_order(pattern: Blocks, order: IntArray) -> tuple[IntArray, bool]:
    """Return the order of blocks that an order of blocks or of scalar rows stands for.

    Of scalar rows, a block takes the position of its last one: what it waits for is done by then.

    Returns
    -------
    order : (n_blocks,) int array
        Blocks.
    whole : bool
        Whether the rows of each block stood together.

    Raises
    ------
    ShapeError
        If `order` lists neither every block once nor every scalar row once.
    """
    rows = np.ascontiguousarray(order, dtype=np.intp)
    if len(rows) == pattern.n_blocks:
        check_order(pattern, rows)
        return rows, True
    if len(rows) != pattern.n_rows or not is_permutation(rows):
        raise ShapeError(
            f"an order of {len(rows)} entries fits neither the {pattern.n_blocks} blocks nor the "
            f"{pattern.n_rows} scalar rows of this matrix; give one of these"
        )
    block = np.repeat(np.arange(pattern.n_blocks), pattern.block_sizes)[rows]
    last = np.zeros(pattern.n_blocks, dtype=np.intp)
    np.maximum.at(last, block, np.arange(len(block)))
    n_runs = 1 + np.count_nonzero(np.diff(block))
    return np.argsort(last).astype(np.intp), n_runs == pattern.n_blocks
