"""The quotient graph of a saddle-point matrix [D A'; A 0]: its blocks, and which of them couple."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np

from sparsebody._core import graph as kernels
from sparsebody.arrays import IntArray
from sparsebody.errors import ShapeError

Graph: TypeAlias = tuple[IntArray, IntArray]
"""Neighbours of every node in compressed form: (indptr, indices)."""


class Blocks(Protocol):
    """The interface of a pattern to elimination: sizes of its blocks, and which of them couple."""

    @property
    def block_sizes(self) -> IntArray:
        """(n_blocks,) scalar rows of each block."""

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""

    @property
    def n_rows(self) -> int:
        """Scalar size of the whole matrix."""

    @property
    def adjacency(self) -> Graph:
        """Neighbours of every block, no diagonal."""


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
        if np.any(self.block_sizes < 1):
            raise ShapeError("every block needs at least one row")
        if np.any(self.ends < -1) or np.any(self.ends >= self.n_primal):
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
        return np.concatenate([[0], np.cumsum(self.block_sizes)]).astype(np.intp)

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

    def forget_adjacency(self) -> None:
        """Free the memory of `adjacency`; its next use computes it again."""
        self.__dict__.pop("adjacency", None)

    def neighbours(self, block: int) -> IntArray:
        """Return the blocks that couple to `block`, in increasing order."""
        indptr, indices = self.adjacency
        return indices[indptr[block] : indptr[block + 1]]

    def scalar_order(self, order: IntArray) -> IntArray:
        """Expand an order of blocks into the order of their scalar rows."""
        sizes = self.block_sizes[order]
        start = np.repeat(self.offsets[order] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
        return (start + np.arange(self.n_rows)).astype(np.intp)


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
