"""G and g of x = G y + g, cluster by cluster: the blocks on the diagonal, and products with them.

y is numbered in the order of LoopClusters.joint_order, in which G is block diagonal: a dense block
for each cluster, and ones for the coordinates of no loop. Featherstone (2008), secs. 8.8 and 8.9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.dynamics.tree.branch_sparsity import BranchPattern, symmetric
from sparsebody.dynamics.tree.elimination import TOLERANCE, eliminate, transposed_solve
from sparsebody.dynamics.tree.explicit_products import (
    GBlocks,
    expand,
    project,
    project_rows,
    times_inertia,
    unpack_g,
)
from sparsebody.dynamics.tree.loop_clusters import LoopClusters
from sparsebody.dynamics.tree.loop_equations import LoopEquations
from sparsebody.errors import ModelError

SPARSE_SHARE = 10  # one in so many entries of H may be nonzero for sparse products to be faster


@dataclass(frozen=True, eq=False)
class ExplicitBlocks:
    """G, g, and the factors of K_11 that they were made with."""

    clusters: LoopClusters
    matrix: FloatArray  # K, packed
    blocks: GBlocks
    rank: IntArray  # (n_clusters,) of the blocks of K
    row_order: IntArray  # (m,) rows of each cluster, pivots first, numbers within the cluster
    column_order: IntArray  # columns of each cluster, pivots first
    row_size: FloatArray  # (m,) of the rows
    weight: FloatArray  # (n,) of the columns
    independent: IntArray  # (n - r,) velocity coordinate of each number of y

    @property
    def g(self) -> FloatArray:
        """(n,)."""
        return self.blocks.g

    @property
    def G(self) -> FloatArray:
        """(n, n - r), dense."""
        G = np.zeros((len(self.g), len(self.independent)))
        unpack_g(self.blocks, G)
        return G

    @property
    def dependent_rows(self) -> IntArray:
        """Rows of K, in the order of LoopClusters.row, that depend on the others."""
        clusters = self.clusters
        place = np.arange(clusters.n_rows) - np.repeat(
            clusters.first_row[:-1], np.diff(clusters.first_row)
        )
        left = place >= np.repeat(self.rank, np.diff(clusters.first_row))
        first = np.repeat(clusters.first_row[:-1], np.diff(clusters.first_row))
        return np.sort((first + self.row_order)[left])

    def accelerations(self, y: FloatArray) -> FloatArray:
        """Return x = G y + g."""
        x = np.empty_like(self.g)
        expand(self.blocks, y, x)
        return x

    def projected(self, force: FloatArray) -> FloatArray:
        """Return u = G' force (n - r,). Featherstone (2008), eq. (8.45)."""
        u = np.zeros(len(self.independent))
        project(self.blocks, force, u)
        return u

    def projected_inertia(self, pattern: BranchPattern, H: FloatArray) -> FloatArray:
        """Return G' H G (n - r, n - r) from the packed H; only the upper triangle is right."""
        n_free = len(self.independent)
        if SPARSE_SHARE * len(H) > len(self.g) ** 2:
            G = self.G
            return np.asarray(G.T @ (symmetric(pattern, H) @ G))
        HG, product = np.zeros((len(self.g), n_free)), np.zeros((n_free, n_free))
        times_inertia(pattern, H, self.blocks, HG)
        project_rows(self.blocks, HG, product)
        return product

    def multipliers(self, force: FloatArray) -> FloatArray:
        """Return lambda (m,) with K' lambda = force, zero at dependent rows.

        Only the dependent coordinates of `force` (n,) are looked at, which determine the rest.
        """
        clusters, result = self.clusters, np.zeros(self.clusters.n_rows)
        orders = self.rank, self.row_order, self.column_order
        tables = clusters.start, clusters.first_row, clusters.places.first_column
        weighted = self.weight * force
        _multipliers(self.blocks.values, *tables, *orders, self.row_size, weighted, result)
        return result


def explicit_blocks(
    equations: LoopEquations,
    weight: FloatArray,
    is_given: BoolArray | None = None,
    tolerance: float = TOLERANCE,
) -> ExplicitBlocks:
    """Return G and g of K x = k; see explicit_form for the parameters.

    Raises
    ------
    ModelError
        If given coordinates are not independent; the message names those of the cluster.
    """
    clusters, n = equations.clusters, len(weight)
    given = np.zeros(n, dtype=bool) if is_given is None else is_given
    values, right = equations.values.copy(), equations.right.copy()
    places, first_row = clusters.places, clusters.first_row
    rank = np.zeros(clusters.n_clusters, dtype=np.intp)
    row_order, column_order = np.empty(len(right), dtype=np.intp), places.column.copy()
    failed = _eliminate_all(
        values,
        right,
        clusters.start,
        first_row,
        places.first_column,
        weight,
        given,
        tolerance,
        rank,
        equations.size,
        row_order,
        column_order,
    )
    if failed >= 0:
        own = [k for k in clusters.columns(failed) if given[k]]
        raise ModelError(
            f"the loops join coordinates that were given as independent: "
            f"{', '.join(clusters.tree.velocity_name(k) for k in own)}; leave some out"
        )
    entry, size = np.full(n, -1, dtype=np.intp), np.ones(n, dtype=np.intp)
    first, g = np.empty(n, dtype=np.intp), np.zeros(n)
    independent = np.empty(n, dtype=np.intp)
    n_free = _number(
        clusters.velocity_order,
        places.column_cluster,
        clusters.start,
        first_row,
        places.first_column,
        rank,
        column_order,
        right,
        weight,
        entry,
        first,
        size,
        g,
        independent,
    )
    blocks = GBlocks(values, entry, first, size, g)
    return ExplicitBlocks(
        clusters,
        equations.values,
        blocks,
        rank,
        row_order,
        column_order,
        equations.size,
        weight,
        independent[:n_free],
    )


@njit(cache=True)
def _eliminate_all(
    values: FloatArray,
    right: FloatArray,
    start: IntArray,
    first_row: IntArray,
    first_column: IntArray,
    weight: FloatArray,
    is_given: BoolArray,
    tolerance: float,
    rank: IntArray,
    row_size: FloatArray,
    row_order: IntArray,
    column_order: IntArray,
) -> int:
    """Eliminate in every cluster; return -1, or the cluster whose given columns depend."""
    for c in range(rank.size):
        r0, r1, c0, c1 = first_row[c], first_row[c + 1], first_column[c], first_column[c + 1]
        m, n = r1 - r0, c1 - c0
        K, k = values[start[c] : start[c + 1]].reshape((m, n)), right[r0:r1]
        columns = column_order[c0:c1]
        for i in range(m):
            row_order[r0 + i] = i
            k[i] /= row_size[r0 + i]
            for j in range(n):
                K[i, j] *= weight[columns[j]] / row_size[r0 + i]
        r = eliminate(K, k, is_given, tolerance, row_order[r0:r1], columns)
        if r < 0:
            return c
        rank[c] = r
        for s in range(r):
            for j in range(r, n):
                K[s, j] *= -weight[columns[s]] / weight[columns[j]]
    return -1


@njit(cache=True)
def _number(
    velocity_order: IntArray,
    column_cluster: IntArray,
    start: IntArray,
    first_row: IntArray,
    first_column: IntArray,
    rank: IntArray,
    column_order: IntArray,
    right: FloatArray,
    weight: FloatArray,
    entry: IntArray,
    first: IntArray,
    size: IntArray,
    g: FloatArray,
    independent: IntArray,
) -> int:
    """Number y, and say where the rows of G are; return how many numbers y has."""
    n_free, last = 0, -1
    for k in velocity_order:
        c = column_cluster[k]
        if c < 0:
            first[k], independent[n_free] = n_free, k
            n_free += 1
        elif c != last:  # the first coordinate of a cluster, which stands for all of them
            last, c0, r = c, first_column[c], rank[c]
            n = first_column[c + 1] - c0
            for s in range(r):
                own = column_order[c0 + s]
                entry[own], first[own], size[own] = start[c] + s * n + r, n_free, n - r
                g[own] = weight[own] * right[first_row[c] + s]
            for s in range(r, n):
                own = column_order[c0 + s]
                first[own], independent[n_free] = n_free, own
                n_free += 1
    return n_free


@njit(cache=True)
def _multipliers(
    values: FloatArray,
    start: IntArray,
    first_row: IntArray,
    first_column: IntArray,
    rank: IntArray,
    row_order: IntArray,
    column_order: IntArray,
    row_size: FloatArray,
    force: FloatArray,
    multiplier: FloatArray,
) -> None:
    for c in range(rank.size):
        r0, c0 = first_row[c], first_column[c]
        shape = first_row[c + 1] - r0, first_column[c + 1] - c0
        x = force[column_order[c0 : c0 + rank[c]]]
        transposed_solve(values[start[c] : start[c + 1]].reshape(shape), rank[c], x)
        for s in range(rank[c]):
            row = r0 + row_order[r0 + s]
            multiplier[row] = x[s] / row_size[row]
