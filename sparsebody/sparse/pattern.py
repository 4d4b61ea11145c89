"""Block patterns, of a saddle-point matrix [D A'; A 0] or any symmetric one, and searches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.sparse import coo_array, csr_array

from sparsebody._core import graph as kernels
from sparsebody.arrays import BoolArray, FloatArray, IntArray, offsets
from sparsebody.errors import ShapeError

MOST_ROWS = 2**62  # so that numbers of rows fit into 64 bits

Graph: TypeAlias = tuple[IntArray, IntArray]
"""Neighbours of every node in compressed form: (indptr, indices)."""


@dataclass(frozen=True, eq=False)
class BlockPattern:
    """Blocks 0 .. n_primal-1 are primal (D is positive definite), the others dual (zero diagonal).

    D couples no two primal blocks, and a dual block couples to one or two primal ones, so
    `ends` is the whole pattern. In a mechanism primal blocks are bodies and dual ones joints.
    """

    block_sizes: IntArray  # (n_blocks,) scalar rows of each block, all positive
    ends: IntArray  # (n_dual, 2) the primal blocks that a dual block couples to, -1 for none

    def __post_init__(self) -> None:
        if self.ends.ndim != 2 or self.ends.shape[1] != 2:
            raise ShapeError(f"ends must be (n_dual, 2), got {self.ends.shape}")
        if len(self.ends) > len(self.block_sizes):
            raise ShapeError(f"{len(self.ends)} dual blocks, {len(self.block_sizes)} blocks in all")
        fewest, least, largest = kernels.pattern_bounds(self.block_sizes, self.ends)
        if fewest < 1:
            raise ShapeError("every block needs at least one row")
        if least < -1 or largest >= self.n_primal:
            raise ShapeError(f"ends must lie in -1 .. {self.n_primal - 1}")

    @property
    def n_blocks(self) -> int:
        """Number of blocks, primal and dual."""
        return len(self.block_sizes)

    @property
    def n_dual(self) -> int:
        """Number of dual blocks (joints)."""
        return len(self.ends)

    @property
    def n_primal(self) -> int:
        """Number of primal blocks (bodies)."""
        return self.n_blocks - self.n_dual

    @cached_property
    def offsets(self) -> IntArray:
        """First scalar row of each block in natural order, and the total: (n_blocks + 1,)."""
        return offsets(self.block_sizes)

    @property
    def primal_sizes(self) -> IntArray:
        """Scalar rows of each primal block: (n_primal,)."""
        return self.block_sizes[: self.n_primal]

    @property
    def dual_offsets(self) -> IntArray:
        """First row of each dual block, counted from those, and the total: (n_dual + 1,)."""
        return self.offsets[self.n_primal :] - self.n_primal_rows

    @property
    def n_rows(self) -> int:
        """Scalar size of the whole matrix."""
        return int(self.offsets[-1])

    @property
    def n_primal_rows(self) -> int:
        """Scalar rows of D."""
        return int(self.offsets[self.n_primal])

    @cached_property
    def adjacency(self) -> Graph:
        """Neighbours of every block, sorted, no diagonal."""
        return kernels.quotient_graph(self.n_primal, self.ends)

    def is_like(self, other: BlockPattern) -> bool:
        """Return whether blocks and ends are the same."""
        return np.array_equal(self.block_sizes, other.block_sizes) and np.array_equal(
            self.ends, other.ends
        )

    def forget_adjacency(self) -> None:
        """Free the memory of `adjacency`; its next use computes it again."""
        self.__dict__.pop("adjacency", None)

    def neighbours(self, block: int) -> IntArray:
        """Return the blocks that couple to `block`, in increasing order."""
        indptr, indices = self.adjacency
        return indices[indptr[block] : indptr[block + 1]]

    def part(
        self, primal: IntArray, dual: IntArray | None = None, label: IntArray | None = None
    ) -> BlockPattern:
        """Return the pattern of some primal and some dual blocks, numbered anew in this order.

        By default of all dual blocks that couple to none of the other primal blocks. `label`
        (n_primal,): the new numbers, where they are known.
        """
        if label is None:
            label = np.full(self.n_primal + 1, -1, dtype=np.intp)  # the last one answers for -1
            label[primal] = np.arange(len(primal))
        if dual is None:
            dual = np.flatnonzero(((label[self.ends] >= 0) == (self.ends >= 0)).all(axis=1))
        sizes, ends = (
            self.block_sizes[np.concatenate([primal, self.n_primal + dual])],
            self.ends[dual],
        )
        return BlockPattern(sizes, np.where(ends >= 0, label[ends], -1))

    def scalar_order(self, order: IntArray) -> IntArray:
        """Expand an order of blocks into the order of their scalar rows."""
        sizes = self.block_sizes[order]
        start = np.repeat(self.offsets[order] - np.cumsum(sizes) + sizes, sizes)
        return (start + np.arange(self.n_rows)).astype(np.intp)


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


Blocks: TypeAlias = BlockPattern | SymmetricPattern
"""A pattern to elimination: sizes of its blocks, and which of them couple."""


def positions(order: IntArray) -> IntArray:
    """Return the position (n_blocks,) at which each block is eliminated: the inverse order."""
    return kernels.positions(np.ascontiguousarray(order, dtype=np.intp))


def is_permutation(order: IntArray) -> bool:
    """Return whether `order` lists 0 .. n - 1 once each."""
    n = len(order)
    fits = n == 0 or (order.min() >= 0 and order.max() < n)
    return bool(fits and (np.bincount(order, minlength=n) == 1).all())


def check_order(pattern: Blocks, order: IntArray) -> None:
    """Raise ShapeError unless `order` lists every block of the pattern once."""
    blocks = np.asarray(order)
    fits = blocks.shape == (pattern.n_blocks,) and np.issubdtype(blocks.dtype, np.integer)
    if not (fits and is_permutation(blocks)):
        raise ShapeError(f"an elimination order must list each of {pattern.n_blocks} blocks once")


def symmetric_pattern(
    row: IntArray,
    column: IntArray,
    block_sizes: IntArray,
    names: tuple[str, ...] = (),
    is_dual: BoolArray | None = None,
) -> SymmetricPattern:
    """Return the pattern of the entries at `row` and `column`, of one triangle or of both.

    Raises ShapeError if there is no block, or one without rows, or too many rows to count, or an
    entry lies outside of them.
    """
    sizes = np.asarray(block_sizes, dtype=np.intp)
    if len(sizes) == 0:
        raise ShapeError("a matrix without rows; give one that has some")
    if np.any(sizes < 1):
        bad = int(np.argmin(sizes))
        raise ShapeError(f"block {bad} has {sizes[bad]} rows; every block needs at least one")
    if sizes.sum(dtype=float) >= MOST_ROWS:
        raise ShapeError(f"blocks of {sizes.max()} rows; give sizes that add up to less than 2^62")
    n_rows, n = int(sizes.sum()), len(sizes)
    if len(row) and max(row.max(), column.max()) >= n_rows:
        raise ShapeError(
            f"the blocks have {n_rows} rows in all, but there is an entry in row or column "
            f"{max(row.max(), column.max()) + 1}; give sizes of all blocks"
        )
    end = np.cumsum(sizes)
    i, j = (np.searchsorted(end, index, side="right") for index in (row, column))
    is_off_diagonal = i != j
    i_off, j_off = i[is_off_diagonal], j[is_off_diagonal]
    ones = np.ones(2 * len(i_off), dtype=np.int8)
    entries = np.concatenate([i_off, j_off]), np.concatenate([j_off, i_off])
    coupled = csr_array(coo_array((ones, entries), shape=(n, n)))
    coupled.sum_duplicates()
    has_pivot = np.zeros(n, dtype=np.bool_)
    has_pivot[i[~is_off_diagonal]] = True
    adjacency = coupled.indptr.astype(np.intp), coupled.indices.astype(np.intp)
    return SymmetricPattern(sizes, adjacency, has_pivot, names, is_dual)


def saddle_blocks(pattern: SymmetricPattern) -> tuple[BlockPattern, IntArray] | None:
    """Return a pattern of bodies and joints, and the block that each of its blocks is; else None.

    Dual are the blocks said to be, or else those with nothing on the diagonal; each must couple to
    one or two primal blocks alone, and primal ones to dual ones alone.
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
    return BlockPattern(pattern.block_sizes[primal_first], ends), primal_first


def block_order(pattern: Blocks, order: IntArray) -> tuple[IntArray, bool]:
    """Return the order of blocks for one of blocks or scalar rows; whether rows stood together.

    A block takes the position of its last row. Raises ShapeError if `order` lists neither every
    block once nor every scalar row once.
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


# ---- searches of the graph of primal blocks: components, levels, distances, halves, pieces -------


def biconnected_components(pattern: BlockPattern) -> IntArray:
    """Return the component (n_dual,) of each dual block, numbered from 0, the world being a node.

    Two edges are in one if a simple cycle passes through both. Hopcroft and Tarjan (1973).
    """
    return kernels.biconnected_components(pattern.n_primal, pattern.ends)


def primal_graph(pattern: BlockPattern) -> Graph:
    """Return (indptr, indices): the block, or -1, at the other end of each dual block."""
    indptr, _, opposite = kernels.incidence(pattern.n_primal, pattern.ends)
    return indptr, opposite


def cuthill_mckee(pattern: BlockPattern, towards_world: bool = False) -> IntArray:
    """Return the primal blocks (n_primal,) breadth first, each part from a block at its periphery.

    With `towards_world` from the end that is farther from the dual blocks without a second primal
    one. Cuthill and McKee (1969); George and Liu (1979) for the search for the periphery.
    """
    return kernels.cuthill_mckee(primal_graph(pattern), towards_world)


def landmark_distances(pattern: BlockPattern, n_landmarks: int = 8) -> FloatArray:
    """Return the distances (n_primal, n_landmarks) in joints from the landmarks of each part.

    The first lies at its periphery, each next one as far as possible from those before.
    """
    return kernels.landmark_distances(primal_graph(pattern), cuthill_mckee(pattern), n_landmarks)


def bisected(pattern: BlockPattern, elsewhere: bool = False) -> IntArray:
    """Return the primal blocks in an order in which every half, quarter, ... is compact.

    A part is searched breadth first and cut in the middle, [a, b) at (a + b) // 2, down to single
    blocks. With `elsewhere` the search starts from another end. George (1973); George and Liu
    (1978).
    """
    return kernels.bisected(primal_graph(pattern), elsewhere)


def sampled(pattern: BlockPattern, n_pieces: int = 4, n_blocks: int = 250) -> BlockPattern:
    """Return the pattern of `n_blocks` primal blocks around each of a few random ones.

    With the joints among them: not those that lead out of a piece, so that trees stay trees.
    """
    seeds = np.random.default_rng(0).integers(0, pattern.n_primal, n_pieces)
    label = np.full(pattern.n_primal, -1, dtype=np.intp)
    return pattern.part(kernels.nodes_around(primal_graph(pattern), seeds, n_blocks, label))


def dual_graph(pattern: BlockPattern) -> Graph:
    """Return the sorted neighbours of every dual block, (indptr, indices), numbered from zero."""
    return kernels.dual_graph(pattern.adjacency, pattern.n_primal)


def with_primal_blocks(pattern: BlockPattern, duals: IntArray) -> IntArray:
    """Return the order (n_blocks,) of `duals` (n_dual,), primal blocks before their first one."""
    return kernels.with_primal_blocks(pattern.adjacency, duals)
