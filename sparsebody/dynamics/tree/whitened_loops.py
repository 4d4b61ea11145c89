"""A = K H^-1 K' = Y Y' through H = L' L, in groups of loop clusters that it couples.

Y = K L^-1 has entries from the joints of a loop down to the world, so that A couples clusters that
stand on a common joint, and no others. Its rows are kept as columns of X = Y', because then all
loops are substituted at once; sorted by the bodies that they end at, they fill a stretch of each
row of X, and what is outside is not touched. Featherstone (2008), sec. 8.5, method 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.dynamics.tree.branch_sparsity import BranchPattern
from sparsebody.dynamics.tree.loop_clusters import BlockPlaces, LoopClusters
from sparsebody.errors import ModelError

MOST_ENTRIES = 2**28  # of X, or of A: 2 GB
UNROLLED = 4  # rows of X whose products are added to A at once


class Groups(NamedTuple):
    """Where the numbers of X and A are, group by group."""

    row: IntArray  # rows of K in use, numbers into LoopClusters.row
    first_row: IntArray  # (n_groups + 1,) into `row`
    coordinate: IntArray  # velocity coordinates, ascending in each group
    first_coordinate: IntArray  # (n_groups + 1,)
    place: IntArray  # (n_velocities,) place of each in its group, -1 for those in none
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
    loop = np.searchsorted(tree.loop_joint, tree.system.row_joint[clusters.row])
    ends = np.stack([tree.loop_predecessor[loop], tree.loop_successor[loop]], axis=1)
    last = np.where(ends >= 0, tree.first_velocity[ends + 1] - 1, -1)
    _skip_fixed(tree.parent, tree.first_velocity, ends, last)
    group = _row_groups(tree.expanded_parent, last)
    row = np.flatnonzero(keep)
    row = row[np.lexsort((row, ends[row].max(axis=1), group[row]))]
    _, number = np.unique(group[row], return_inverse=True)
    n_groups = int(number.max(initial=-1)) + 1
    first_row = np.searchsorted(number, np.arange(n_groups + 1)).astype(np.intp)
    n = tree.n_velocities
    owner, low, high = np.full(n, -1, dtype=np.intp), *np.zeros((2, n), dtype=np.intp)
    local = np.arange(len(row)) - first_row[number]
    _reach(tree.expanded_parent, last[row], number, local, owner, low, high)
    coordinate = np.argsort(owner, kind="stable")[np.count_nonzero(owner < 0) :]
    sizes = np.bincount(owner[coordinate], minlength=n_groups)[:n_groups]
    first_coordinate = _sums(sizes)
    place = np.full(n, -1, dtype=np.intp)
    place[coordinate] = np.arange(len(coordinate)) - first_coordinate[owner[coordinate]]
    n_rows = np.diff(first_row)
    start, start_product = _sums(sizes * n_rows), _sums(n_rows**2)
    if max(start[-1], start_product[-1]) > MOST_ENTRIES:
        raise ModelError(
            f"K H^-1 K' of {tree.system.name!r} has {start_product[-1]:.2g} entries, its factor "
            f"{start[-1]:.2g}; use method 'sparse'"
        )
    return Groups(
        row, first_row, coordinate, first_coordinate, place, low, high, start, start_product
    )


def _sums(sizes: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)


@njit(cache=True)
def _skip_fixed(parent: IntArray, first_velocity: IntArray, ends: IntArray, last: IntArray) -> None:
    """Fill the last velocity coordinate on the support of each end, -1 for none."""
    for r in range(ends.shape[0]):
        for e in range(2):
            i = ends[r, e]
            while i >= 0 and first_velocity[i + 1] == first_velocity[i]:
                i = parent[i]
            last[r, e] = first_velocity[i + 1] - 1 if i >= 0 else -1


@njit(cache=True)
def _row_groups(parent: IntArray, last: IntArray) -> IntArray:
    """Return a number for each row, the same for all that stand on common coordinates."""
    root = np.arange(parent.size + 1)  # the last one is that of rows without coordinates
    for k in range(parent.size):
        if parent[k] >= 0:
            root[k] = root[parent[k]]
    label = np.arange(parent.size + 1)
    group = np.empty(last.shape[0], dtype=np.intp)
    for pass_ in range(2):
        for r in range(group.size):
            one, two = root[last[r, 0]], root[last[r, 1]]
            if last[r, 0] < 0 or last[r, 1] < 0:
                one = two = min(one, two)
            for e in range(2):
                k = one if e == 0 else two
                while label[k] != k:
                    label[k] = label[label[k]]
                    k = label[k]
                if e == 0:
                    one = k
                else:
                    two = k
            if pass_ == 0:
                label[max(one, two)] = min(one, two)
            group[r] = min(one, two)
    return group


@njit(cache=True)
def _reach(
    parent: IntArray,
    last: IntArray,
    group: IntArray,
    local: IntArray,
    owner: IntArray,
    low: IntArray,
    high: IntArray,
) -> None:
    """Fill the group of every coordinate below a loop, and the stretch of rows that reach it."""
    for r in range(local.size):
        for e in range(2):
            k = last[r, e]
            while k >= 0:
                if owner[k] < 0:
                    owner[k], low[k] = group[r], local[r]
                low[k], high[k] = min(low[k], local[r]), max(high[k], local[r] + 1)
                k = parent[k]


@njit(cache=True)
def fill_rows(places: BlockPlaces, groups: Groups, values: FloatArray, X: FloatArray) -> None:
    """Fill X with K'."""
    X[:] = 0.0
    for g in range(groups.first_row.size - 1):
        r0, start = groups.first_row[g], groups.start[g]
        m = groups.first_row[g + 1] - r0
        for l in range(m):
            r = groups.row[r0 + l]
            c = places.row_cluster[r]
            for e in range(places.first_column[c], places.first_column[c + 1]):
                k = places.column[e]
                value = values[places.row[r] + places.local[k]]
                if value != 0.0:  # others need not be in the group
                    X[start + groups.place[k] * m + l] = value


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def whiten(pattern: BranchPattern, L: FloatArray, groups: Groups, X: FloatArray) -> None:
    """Replace X = K' by L'^-1 K'."""
    start, depth, parent = pattern.start, pattern.depth, pattern.parent
    low, high, place = groups.low, groups.high, groups.place
    for g in range(groups.first_row.size - 1):
        m, begin = groups.first_row[g + 1] - groups.first_row[g], groups.start[g]
        for e in range(groups.first_coordinate[g + 1] - 1, groups.first_coordinate[g] - 1, -1):
            k = groups.coordinate[e]
            own = X[begin + place[k] * m + low[k] : begin + place[k] * m + high[k]]
            at = start[k] + depth[k]
            pivot = 1.0 / L[at]
            for j in range(own.size):
                own[j] *= pivot
            i = parent[k]
            while i >= 0:
                at -= 1
                first = begin + place[i] * m + low[k]
                factor, target = L[at], X[first : first + own.size]
                for j in range(own.size):
                    target[j] -= factor * own[j]
                i = parent[i]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def products(groups: Groups, g: int, X: FloatArray, A: FloatArray) -> None:
    """Fill the upper triangle of A = X' X (m, m) of a group."""
    m, e0, e1 = A.shape[0], groups.first_coordinate[g], groups.first_coordinate[g + 1]
    A[:] = 0.0
    e = e0
    while e < e1:
        some = min(UNROLLED, e1 - e)
        low, high = m, 0
        for d in range(some):
            low = min(low, groups.low[groups.coordinate[e + d]])
            high = max(high, groups.high[groups.coordinate[e + d]])
        first = groups.start[g] + (e - e0) * m
        if some == UNROLLED:
            _add_products(X[first : first + UNROLLED * m].reshape((UNROLLED, m)), low, high, A)
        else:
            for d in range(some):
                x = X[first + d * m : first + (d + 1) * m]
                for i in range(low, high):
                    target, source = A[i, i:high], x[i:high]
                    for j in range(source.size):
                        target[j] += x[i] * source[j]
        e += some


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _add_products(X: FloatArray, low: int, high: int, A: FloatArray) -> None:
    """Add X' X of four rows."""
    for i in range(low, high):
        a, b, c, d = X[0, i], X[1, i], X[2, i], X[3, i]
        target = A[i, i:high]
        p, q, r, s = X[0, i:high], X[1, i:high], X[2, i:high], X[3, i:high]
        for j in range(target.size):
            target[j] += (a * p[j] + b * q[j]) + (c * r[j] + d * s[j])
