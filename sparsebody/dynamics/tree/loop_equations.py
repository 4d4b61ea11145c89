"""K qdd = k of a mechanism, one dense block a loop cluster. Featherstone (2008), sec. 8.2."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.dynamics.tree.loop_clusters import BlockPlaces, LoopClusters, loop_clusters
from sparsebody.dynamics.tree.loop_constraints import (
    fill_loop_blocks,
    loop_right_hand_side,
    loop_rows,
)
from sparsebody.dynamics.tree.loop_origins import fill_about_one_origin
from sparsebody.dynamics.tree.problem import TreeProblem
from sparsebody.errors import ModelError, UnknownNameError

COORDINATES = ("link", "base", "floating-base")
MOST_ENTRIES = 2**28  # of K: 2 GB


@dataclass(frozen=True, eq=False)
class LoopEquations:
    """What loop joints ask of the accelerations x = qdd - driven_qdd of the tree: K x = k."""

    clusters: LoopClusters
    values: FloatArray  # of K, packed as clusters.places tells; columns of drives are zero
    right: FloatArray  # (m,) k + k_stab, rows in the order of clusters.row
    size: FloatArray  # (m,) lengths that rows of K L^-1, H = L' L, would have were the bodies free

    @property
    def matrix(self) -> FloatArray:
        """K (m, n_velocities), dense."""
        return self.clusters.dense(self.values)

    def violation(self, x: FloatArray) -> FloatArray:
        """Return K x - k of every row (m,) relative to what rows of its cluster have to balance.

        That is the largest of k and of K times the largest acceleration, gravity's included.
        """
        excess, size = np.empty_like(self.right), np.empty_like(self.right)
        places, first_row = self.clusters.places, self.clusters.first_row
        largest = max(np.abs(x).max(initial=0.0), np.abs(self.clusters.tree.system.gravity).max())
        given = self.values, self.right, x, float(largest)
        _violation(places, first_row, *given, excess, size)
        return excess / size


def loop_equations(
    problem: TreeProblem, clusters: LoopClusters | None = None, coordinates: str = "link"
) -> LoopEquations:
    """Return K and k at a state. Featherstone (2008), table 8.4.

    Parameters
    ----------
    problem : TreeProblem
        The mechanism at a state.
    clusters : LoopClusters, optional
        Of its tree, if they are known.
    coordinates : {"link", "base", "floating-base"}
        Vectors about the origins of the links they belong to, which loses no digits; about the
        world's origin, as in the book; or about that of the body where the tree of the loop
        begins, the book's remedy for floating bases far away (sec. 8.7). The equations are the
        same, but for rounding.

    Raises
    ------
    UnknownNameError
        If there are no such coordinates.
    ModelError
        If K has more than MOST_ENTRIES entries.
    """
    if coordinates not in COORDINATES:
        raise UnknownNameError(
            f"coordinates is {coordinates!r}; give one of {', '.join(COORDINATES)}"
        )
    clusters = loop_clusters(problem.tree) if clusters is None else clusters
    values = np.zeros(_n_entries(problem, clusters))
    places, tree = clusters.places, problem.tree
    rows = loop_rows(problem, clusters.row)
    if coordinates == "link":
        right = loop_right_hand_side(problem, rows)
        fill_loop_blocks(
            tree.links, problem.motion, rows.link, rows.wrench, places.row, places.local, values
        )
    else:
        right = np.empty(clusters.n_rows)
        floating = coordinates == "floating-base"
        where = places.row, places.local, values, right
        fill_about_one_origin(problem, rows.row, rows.link, floating, *where)
    if len(problem.is_driven):
        _clear_columns(places, problem.is_driven, values)
    size = np.empty(clusters.n_rows)
    system, joint = problem.system, problem.system.row_joint[clusters.row]
    ends = np.stack([system.predecessor[joint], system.successor[joint]], axis=1)
    _free_lengths(problem.constraint.rows, clusters.row, ends, system.inverse_inertia, size)
    return LoopEquations(clusters, values, right, size)


def _n_entries(problem: TreeProblem, clusters: LoopClusters) -> int:
    n_entries = int(clusters.start[-1])
    if n_entries > MOST_ENTRIES:
        raise ModelError(
            f"K of {problem.system.name!r} has {n_entries:.2g} entries in "
            f"{clusters.n_clusters} loop clusters; use method 'sparse'"
        )
    return n_entries


@njit(cache=True)
def _free_lengths(
    rows: FloatArray, row: IntArray, ends: IntArray, inverse_inertia: FloatArray, size: FloatArray
) -> None:
    """Fill sqrt(a' I^-1 a) of each row; the tree can only make it shorter."""
    for r in range(row.size):
        total = 0.0
        for e in range(2):
            b, f = ends[r, e], rows[row[r], e]
            if b >= 0:
                for i in range(6):
                    for j in range(6):
                        total += f[i] * inverse_inertia[b, i, j] * f[j]
        size[r] = math.sqrt(total)


@njit(cache=True)
def _clear_columns(places: BlockPlaces, is_driven: BoolArray, values: FloatArray) -> None:
    for r in range(places.row.size):
        c = places.row_cluster[r]
        for e in range(places.first_column[c], places.first_column[c + 1]):
            k = places.column[e]
            if is_driven[k]:
                values[places.row[r] + places.local[k]] = 0.0


@njit(cache=True)
def _violation(
    places: BlockPlaces,
    first_row: IntArray,
    values: FloatArray,
    right: FloatArray,
    x: FloatArray,
    acceleration: float,
    excess: FloatArray,
    size: FloatArray,
) -> None:
    for c in range(first_row.size - 1):
        largest = max(acceleration, 1e-300)  # T has unit columns, where K has no entry
        for r in range(first_row[c], first_row[c + 1]):
            total = -right[r]
            largest = max(largest, abs(right[r]))
            for e in range(places.first_column[c], places.first_column[c + 1]):
                k = places.column[e]
                value = values[places.row[r] + places.local[k]]
                largest = max(largest, abs(value) * acceleration)
                total += value * x[k]
            excess[r] = total
        for r in range(first_row[c], first_row[c + 1]):
            size[r] = largest
