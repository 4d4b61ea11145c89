"""Minimal loop clusters: loops that share joints, and the numbering that shows K as blocks.

Featherstone (2008), sec. 8.9. Loops are coupled if they have a tree joint in common; a minimal
cluster is what coupling connects. K holds one dense block for each, and G, of qdd = G ydd + g, one
for each and ones for the joints of no loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.tree.spanning_tree import SpanningTree


class BlockLayout(NamedTuple):
    """The blocks of K in its packed values; entry (r, k) is at row[r] + local[k]."""

    row: IntArray  # (m,) where each row begins, rows in the order of LoopClusters.row
    local: IntArray  # (n_velocities,) column in the block of its cluster, -1 for none
    row_cluster: IntArray  # (m,)
    column_cluster: IntArray  # (n_velocities,) -1 for none
    first_column: IntArray  # (n_clusters + 1,) into `column`
    column: IntArray  # velocity coordinates cluster by cluster, ascending


@dataclass(frozen=True, eq=False)
class LoopClusters:
    """The minimal loop clusters of a spanning tree, in the order of their first tree joints.

    Loop joints that constrain nothing close no loop.
    """

    tree: SpanningTree
    loop: IntArray  # loops, numbers into tree.loop_joint, cluster by cluster
    first_loop: IntArray  # (n_clusters + 1,)
    joint_cluster: IntArray  # (n_bodies,) cluster of each tree joint, -1 for none
    joint_order: IntArray  # (n_bodies,) a regular numbering in which clusters are consecutive
    row: IntArray  # (m,) the system's rows of the loop joints, cluster by cluster
    first_row: IntArray  # (n_clusters + 1,)
    layout: BlockLayout

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.first_loop) - 1

    @property
    def n_rows(self) -> int:
        """Number of rows of K, n^c."""
        return len(self.row)

    def loops(self, cluster: int) -> IntArray:
        """Return the loops of a cluster, numbers into tree.loop_joint."""
        return self.loop[self.first_loop[cluster] : self.first_loop[cluster + 1]]

    def joints(self, cluster: int) -> IntArray:
        """Return the tree joints of a cluster."""
        return np.flatnonzero(self.joint_cluster == cluster)

    def rows(self, cluster: int) -> slice:
        """Return where the rows of a cluster are in `row`."""
        return slice(int(self.first_row[cluster]), int(self.first_row[cluster + 1]))

    def columns(self, cluster: int) -> IntArray:
        """Return the velocity coordinates of a cluster, ascending."""
        first = self.layout.first_column
        return self.layout.column[first[cluster] : first[cluster + 1]]

    @cached_property
    def start(self) -> IntArray:
        """(n_clusters + 1,) where each block begins in the packed values of K."""
        return offsets(np.diff(self.first_row) * self.n_columns)

    @cached_property
    def n_columns(self) -> IntArray:
        """(n_clusters,) velocity coordinates of each cluster."""
        return np.diff(self.layout.first_column)

    @cached_property
    def numbered_columns(self) -> tuple[IntArray, IntArray]:
        """The cluster of each entry of layout.column, and its number within the cluster."""
        cluster = np.repeat(np.arange(self.n_clusters), self.n_columns)
        return cluster, np.arange(len(cluster)) - self.layout.first_column[cluster]

    @cached_property
    def velocity_order(self) -> IntArray:
        """(n_velocities,) velocity coordinates in the order of `joint_order`."""
        first, sizes = self.tree.first_velocity[self.joint_order], self.tree.freedoms
        return _ranges(first, sizes[self.joint_order])

    def blocks(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the blocks (n_rows, n_columns) of packed values, cluster by cluster; views."""
        for c in range(self.n_clusters):
            shape = self.first_row[c + 1] - self.first_row[c], len(self.columns(c))
            yield values[self.start[c] : self.start[c + 1]].reshape(shape)

    def dense(self, values: FloatArray) -> FloatArray:
        """Return K (m, n_velocities): rows as in `row`, columns as the tree numbers them."""
        K = np.zeros((self.n_rows, self.tree.n_velocities))
        for c, block in enumerate(self.blocks(values)):
            K[self.rows(c), self.columns(c)] = block
        return K


def loop_clusters(tree: SpanningTree) -> LoopClusters:
    """Return the minimal loop clusters of a tree."""
    system = tree.system
    n_rows = np.diff(system.first_row)[tree.loop_joint]
    loop = np.flatnonzero(n_rows > 0)
    ends = tree.loop_ends[loop]
    label, loop_label = native.loop_labels(tree.parent, ends)
    known, cluster = np.unique(loop_label, return_inverse=True)
    order = np.lexsort((ends.max(axis=1), cluster))
    loop, cluster = loop[order], cluster[order]
    joint_cluster = np.full(tree.n_bodies, -1, dtype=np.intp)
    index = np.searchsorted(known, label)
    on_a_loop = (index < len(known)) & (np.append(known, -1)[index] == label)
    joint_cluster[on_a_loop] = index[on_a_loop]
    first_loop = np.searchsorted(cluster, np.arange(len(known) + 1))
    row = _ranges(system.first_row[tree.loop_joint[loop]], n_rows[loop])
    first_row = offsets(n_rows[loop])[first_loop]
    return LoopClusters(
        tree=tree,
        loop=loop,
        first_loop=first_loop,
        joint_cluster=joint_cluster,
        joint_order=np.argsort(label, kind="stable"),
        row=row,
        first_row=first_row,
        layout=_block_layout(tree, joint_cluster, first_row),
    )


def _block_layout(tree: SpanningTree, joint_cluster: IntArray, first_row: IntArray) -> BlockLayout:
    n_clusters = len(first_row) - 1
    velocity_cluster = np.repeat(joint_cluster, tree.freedoms)
    column = np.argsort(velocity_cluster, kind="stable")
    column = column[np.count_nonzero(velocity_cluster < 0) :]
    n_columns = np.bincount(velocity_cluster[column], minlength=n_clusters)[:n_clusters]
    first_column = offsets(n_columns)
    local = np.full(tree.n_velocities, -1, dtype=np.intp)
    local[column] = np.arange(len(column)) - np.repeat(first_column[:-1], n_columns)
    n_rows = np.diff(first_row)
    row_cluster = np.repeat(np.arange(n_clusters), n_rows)
    widths = n_columns[row_cluster]
    starts = offsets(widths)[:-1]
    return BlockLayout(starts, local, row_cluster, velocity_cluster, first_column, column)


def offsets(sizes: IntArray) -> IntArray:
    """Return the sums of the sizes before each one, and of all."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)


def _ranges(first: IntArray, sizes: IntArray) -> IntArray:
    """Return first[0], first[0] + 1, ..., and so on for each range."""
    before = offsets(sizes)
    return np.asarray(np.arange(before[-1]) + np.repeat(first - before[:-1], sizes), dtype=np.intp)
