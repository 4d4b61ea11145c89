"""The Delassus matrix A = K H^-1 K' = X' X through H = L' L, in groups of loops that it couples.

X = L'^-1 K' has entries from the joints of a loop down to the world, so that A couples clusters
that stand on a common joint, and no others. All loops are substituted at once; sorted by the
bodies that they end at, their columns fill a stretch of each row of X, and what is outside is not
touched. Featherstone (2008), sec. 8.5, method 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sparsebody._core import tree as native
from sparsebody.arrays import BoolArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.tree.loops.loop_clusters import LoopClusters, offsets
from sparsebody.tree.spanning_tree import SpanningTree

MOST_ENTRIES = 2**28  # of X, or of A: 2 GB


class Groups(NamedTuple):
    """The blocks of X and A, group by group."""

    row: IntArray  # rows of K in use, numbers into LoopClusters.row
    first_row: IntArray  # (n_groups + 1,) into `row`
    coordinate: IntArray  # velocity coordinates, ascending in each group
    first_coordinate: IntArray  # (n_groups + 1,)
    row_of_x: IntArray  # (n_velocities,) row of X in its group, -1 for those in none
    low: IntArray  # (n_velocities,) first row of the group that reaches each coordinate
    high: IntArray  # (n_velocities,) and the one after the last
    start: IntArray  # (n_groups + 1,) where X begins, (coordinates, rows)
    start_product: IntArray  # (n_groups + 1,) where A begins, (rows, rows), upper triangle

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.first_row) - 1


def coupled_groups(clusters: LoopClusters, keep: BoolArray) -> Groups:
    """Return the groups of the rows of K in `keep` (m,).

    Raises
    ------
    ModelError
        If X or A has more than MOST_ENTRIES entries.
    """
    tree = clusters.tree
    ends = tree.ends(tree.system.row_joint[clusters.row])
    last = tree.last_velocity[ends]
    group = _groups_of_rows(tree, last)
    row = np.flatnonzero(keep)
    row = row[np.lexsort((row, ends[row].max(axis=1), group[row]))]
    _, row_group = np.unique(group[row], return_inverse=True)
    n_groups = int(row_group.max(initial=-1)) + 1
    first_row = np.searchsorted(row_group, np.arange(n_groups + 1)).astype(np.intp)
    local = np.arange(len(row)) - first_row[row_group]
    owner, low, high = native.coordinate_groups(tree.expanded_parent, last[row], row_group, local)
    coordinate = np.argsort(owner, kind="stable")[np.count_nonzero(owner < 0) :]
    sizes = np.bincount(owner[coordinate], minlength=n_groups)[:n_groups]
    first_coordinate = offsets(sizes)
    row_of_x = np.full(tree.n_velocities, -1, dtype=np.intp)
    row_of_x[coordinate] = np.arange(len(coordinate)) - first_coordinate[owner[coordinate]]
    n_rows = np.diff(first_row)
    start, start_product = offsets(sizes * n_rows), offsets(n_rows**2)
    if max(start[-1], start_product[-1]) > MOST_ENTRIES:
        raise ModelError(
            f"K H^-1 K' of {tree.system.name!r} has {start_product[-1]:.2g} entries, its factor "
            f"{start[-1]:.2g}; use method 'sparse'"
        )
    return Groups(
        row, first_row, coordinate, first_coordinate, row_of_x, low, high, start, start_product
    )


def _groups_of_rows(tree: SpanningTree, last: IntArray) -> IntArray:
    """Return a number for each row (m,), the same for all that stand on common coordinates.

    `last` (m, 2) are the last velocity coordinates on the supports of both ends, -1 for none.
    """
    roots = np.flatnonzero(tree.expanded_parent < 0)  # each begins the coordinates that it supports
    below = np.searchsorted(roots, last, side="right") - 1
    first, second = below.max(axis=1), below.min(axis=1)
    second = np.where(second < 0, first, second)
    n = len(roots) + 1  # the last one, -1, is that of rows without coordinates
    joined = coo_array((np.ones(len(last)), (first % n, second % n)), shape=(n, n))
    return connected_components(joined, directed=False)[1][first]
