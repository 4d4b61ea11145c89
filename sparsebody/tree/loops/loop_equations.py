"""K qdd = k of a mechanism, one dense block a loop cluster. Featherstone (2008), sec. 8.2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.equations.system_motion import joint_ends
from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.tree.loops.loop_clusters import LoopClusters, loop_clusters
from sparsebody.tree.loops.loop_constraints import loop_right_hand_side, loop_rows
from sparsebody.tree.loops.loop_origins import fill_about_one_origin
from sparsebody.tree.problem import TreeProblem

COORDINATES = ("link", "base", "floating-base")
MOST_ENTRIES = 2**28  # of K: 2 GB


@dataclass(frozen=True, eq=False)
class LoopEquations:
    """The loop constraints K x = k on x = qdd - prescribed_qdd, the accelerations of the tree."""

    clusters: LoopClusters
    values: FloatArray  # of K, packed as clusters.layout says; columns of drives are zero
    right: FloatArray  # (m,) k + k_stab, rows in the order of clusters.row
    size: FloatArray  # (m,) lengths that rows of K L^-1, H = L' L, would have were the bodies free

    @property
    def matrix(self) -> FloatArray:
        """K (m, n_velocities), dense."""
        return self.clusters.dense(self.values)

    def violation(self, x: FloatArray) -> FloatArray:
        """Return K x - k of every row (m,) relative to the largest terms of its cluster.

        These are k, and K times the largest acceleration, gravity's included.
        """
        clusters, gravity = self.clusters, self.clusters.tree.system.gravity
        largest = float(max(np.abs(x).max(initial=0.0), np.abs(gravity).max()))
        return native.loop_violation(
            clusters.layout, clusters.first_row, self.values, self.right, x, largest
        )


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
        If the coordinates are of no such name.
    ModelError
        If K has more than MOST_ENTRIES entries.
    """
    check_coordinates(coordinates)
    clusters = loop_clusters(problem.tree) if clusters is None else clusters
    values = np.zeros(_n_entries(problem, clusters))
    layout, rows = clusters.layout, loop_rows(problem, clusters.row)
    if coordinates == "link":
        right = loop_right_hand_side(problem, rows)
        target = layout.row, layout.local, values
        native.fill_loop_blocks(problem.links, problem.free_motion, rows.link, rows.wrench, *target)
    else:
        is_floating = coordinates == "floating-base"
        right = fill_about_one_origin(problem, rows, is_floating, layout, values)
    system = problem.system
    ends = joint_ends(system, system.row_joint[clusters.row])
    size = native.free_lengths(problem.constraint.rows, clusters.row, ends, system.inverse_inertia)
    return LoopEquations(clusters, values, right, size)


def check_coordinates(coordinates: str) -> None:
    """Raise UnknownNameError unless there are such coordinates."""
    if coordinates not in COORDINATES:
        raise UnknownNameError(
            f"coordinates is {coordinates!r}; give one of {', '.join(COORDINATES)}"
        )


def _n_entries(problem: TreeProblem, clusters: LoopClusters) -> int:
    n_entries = int(clusters.start[-1])
    if n_entries > MOST_ENTRIES:
        raise ModelError(
            f"K of {problem.system.name!r} has {n_entries:.2g} entries in "
            f"{clusters.n_clusters} loop clusters; use method 'sparse'"
        )
    return n_entries
