"""The shape of L in one order: wavefronts, elimination tree, parallelism."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsebody._core import graph as kernels
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.sparse.etree import elimination, weighted_counts
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.treewidth import admissible_front_bound, front_bound, treewidth_bound


@dataclass(frozen=True, eq=False)
class FactorShape:
    """What `ordering_metrics` leaves out; the bounds are computed at their first use."""

    pattern: BlockPattern
    front: IntArray  # (n_blocks,) scalar rows in each block column of L, by position
    parent: IntArray  # (n_blocks,) of the elimination tree, by position; -1 for a root
    flops: FloatArray  # (n_blocks,) of each pivot block
    wavefront: IntArray  # (n_rows,) rows that each scalar row couples to or has coupled to so far

    @property
    def largest_wavefront(self) -> int:
        """Most scalar rows that an envelope method works on at a time, the pivot included."""
        return int(self.wavefront.max(initial=0))

    @property
    def rms_wavefront(self) -> float:
        """Root mean square of the wavefronts. Sloan (1989), Int. J. Numer. Methods Eng. 28, 11."""
        if len(self.wavefront) == 0:
            return 0.0
        return float(np.sqrt(np.mean(self.wavefront.astype(float) ** 2)))

    @cached_property
    def level_widths(self) -> IntArray:
        """Blocks at each distance from the roots of the elimination tree, roots first."""
        return np.bincount(kernels.depths(self.parent)).astype(np.intp)

    @property
    def tree_height(self) -> int:
        """Blocks on the longest way up the elimination tree."""
        return len(self.level_widths)

    @cached_property
    def critical_path(self) -> float:
        """Most flops on a way from a leaf to a root: the time on any number of processors."""
        return kernels.critical_path(self.parent, self.flops)

    @property
    def parallel_speed_up(self) -> float:
        """All flops over those of the critical path, each pivot block by one processor."""
        return float(self.flops.sum()) / self.critical_path if self.critical_path > 0.0 else 1.0

    @property
    def largest_front(self) -> int:
        """Most scalar rows in one block column of L, the pivot block included."""
        return int(self.front.max(initial=0))

    @cached_property
    def treewidth_bound(self) -> int:
        """Blocks that every order couples to some pivot."""
        return treewidth_bound(self.pattern)

    @cached_property
    def front_bound(self) -> int:
        """Scalar rows that the largest front has at least, whatever the order."""
        return front_bound(self.pattern)

    @cached_property
    def admissible_front_bound(self) -> int:
        """Scalar rows that the largest front has at least in admissible orders."""
        return admissible_front_bound(self.pattern)


def factor_shape(pattern: BlockPattern, order: IntArray) -> FactorShape:
    """Return the shape of L in `order`, blocks taken as dense.

    Raises
    ------
    ShapeError
        If `order` does not list every block once.
    """
    tree = elimination(pattern, order)
    size = pattern.block_sizes[order]
    front = weighted_counts(tree, size)
    begun = np.cumsum(np.bincount(kernels.first_coupled(tree.graph), size, len(size)))
    wavefront = np.repeat(begun.astype(np.intp), size) - np.arange(size.sum())
    return FactorShape(pattern, front, tree.parent, kernels.block_flops(front, size), wavefront)
