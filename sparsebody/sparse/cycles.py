"""Short independent cycles of the graph of primal and dual blocks: its loops, one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody._core import graph as kernels
from sparsebody.arrays import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Cycles:
    """A cycle basis; edges are dual blocks, nodes primal ones and the world."""

    start: IntArray  # (n_cycles + 1,)
    edge: IntArray  # edges of cycle c at start[c] .. start[c+1]-1, one after the other around it
    sign: IntArray  # +1 where an edge is passed from its first end to its second

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, c: int) -> IntArray:
        if not 0 <= c < len(self):
            raise IndexError(c)
        return self.edge[self.start[c] : self.start[c + 1]]

    @property
    def cycle(self) -> IntArray:
        """The cycle of each entry of `edge`."""
        return np.repeat(np.arange(len(self), dtype=np.intp), np.diff(self.start))


def short_cycles(n_nodes: int, ends: IntArray) -> Cycles:
    """Return a basis of short cycles, in linear time where shortest cycles are short.

    A breadth-first tree from the world comes first. Every other edge, the nearest first, closes the
    shortest cycle with edges that came before it, so that no cycle depends on others. Each cycle
    starts with an edge that is in no earlier one.

    Parameters
    ----------
    n_nodes : int
        Number of nodes without the world.
    ends : (n_edges, 2) int array
        The nodes of each edge; -1 is the world.

    References
    ----------
    Pohl (1971), Bi-directional search, Machine Intelligence 6:127.
    """
    depth, is_tree = kernels.breadth_first_forest(n_nodes, ends)
    chords = np.flatnonzero(~is_tree)
    # depth[-1] is that of the world
    chords = chords[np.argsort(depth[ends[chords]].max(axis=1), kind="stable")]
    return Cycles(*kernels.closed_cycles(n_nodes, ends, is_tree, chords, True))


def fundamental_cycles(n_nodes: int, ends: IntArray, is_tree: BoolArray) -> Cycles:
    """Return the cycle that every edge outside of a spanning forest closes with it.

    Each cycle starts with its edge outside of the forest, passed from its first end to its second.

    Parameters
    ----------
    n_nodes, ends
        As of `short_cycles`.
    is_tree : (n_edges,) bool array
        Which edges are in the forest; it must span every connected part.
    """
    chords = np.flatnonzero(~is_tree)
    return Cycles(*kernels.closed_cycles(n_nodes, ends, is_tree, chords, False))
