"""Loop constraints K qdd = k, a dense block a loop cluster. Featherstone (2008), sec. 8.2, 8.7.

A row of a loop joint is a wrench on each of its two bodies. Its row of K is the power of these
wrenches on the motion subspaces between the bodies and the body where their supports meet, as in
table 8.4, but about each link's own origin.

In base coordinates all vectors are about the world's origin, in floating-base coordinates about
that of the body that the tree of the loop begins with. Far from its origin a vector loses digits:
moments there are differences of large numbers. The rows about the links' own origins of
loop_constraints lose none; these are the book's algorithm, and show what it costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.equations.system_motion import joint_ends, padded
from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.spatial import motion_cross
from sparsebody.tree.loops.loop_clusters import BlockLayout, LoopClusters, loop_clusters
from sparsebody.tree.method import TreeProblem
from sparsebody.tree.spanning_tree import SpanningTree
from sparsebody.tree.tree_motion import link_accelerations, powers


@dataclass(frozen=True, eq=False)
class LoopRows:
    """The rows of the loop joints, drives among them, on the links at their ends."""

    row: IntArray  # (m,) numbers in the system
    link: IntArray  # (m, 2) the tree's numbers of predecessor and successor, -1 for the world
    wrench: FloatArray  # (m, 2, 6) A on either link, in world axes about its origin
    gamma: FloatArray  # (m,) right-hand sides of A a = gamma, with Baumgarte's terms

    @property
    def n_rows(self) -> int:
        """Number of rows, dependent ones included."""
        return len(self.row)


def loop_rows(problem: TreeProblem, row: IntArray | None = None) -> LoopRows:
    """Return the rows of the loop joints at a state, in the order of `row` if it is given."""
    tree, row = problem.tree, problem.loop_rows if row is None else row
    link, wrench = tree.ends(problem.system.row_joint[row]), problem.constraint.rows[row]
    native.rows_to_links(tree.links, problem.motion, link, wrench)
    return LoopRows(row, link, wrench, problem.gamma[row])


def loop_matrix(problem: TreeProblem, rows: LoopRows) -> FloatArray:
    """Return K (m, n_velocities); columns of driven coordinates are zero."""
    return powers(problem.tree, problem.free_motion, rows.link, rows.wrench)


def loop_right_hand_side(problem: TreeProblem, rows: LoopRows) -> FloatArray:
    """Return k + k_stab (m,), with qdd measured from problem.prescribed_qdd. (8.15), (8.22)."""
    velocity_product = link_accelerations(problem.tree, problem.motion, problem.prescribed_qdd)
    ends = padded(velocity_product)[rows.link]
    return np.asarray(rows.gamma - np.einsum("mea,mea->m", rows.wrench, ends))


def fill_about_one_origin(
    problem: TreeProblem, rows: LoopRows, is_floating: bool, layout: BlockLayout, values: FloatArray
) -> FloatArray:
    """Fill the values of K, packed as `layout` says, and return k (m,) with Baumgarte's terms.

    `is_floating`: whether the origin is that of the floating base, or the world's.
    """
    tree, motion = problem.tree, problem.motion
    root, from_root = _origins(tree, motion.pose[:, 9:])
    root_origin = motion.pose[root, 9:]
    acceleration = link_accelerations(tree, motion, problem.prescribed_qdd)  # of velocity products
    k = problem.shift[rows.row] - problem.constraint.drift[rows.row]
    side = (rows.link[:, 1] >= 0).astype(np.intp)
    last = rows.link[np.arange(rows.n_rows), side]
    base = root[last] if is_floating else np.full(rows.n_rows, -1)
    still = motion.pose.copy()
    still[:, 9:] = 0.0  # no shifts: all vectors are about one origin
    for b in np.unique(base):
        own = np.flatnonzero(base == b)
        origin = motion.pose[b, 9:] if is_floating else np.zeros(3)
        d = from_root + np.where((root == b)[:, None], 0.0, root_origin - origin)
        S = _about_origin(problem.free_motion.subspace, np.repeat(d, tree.freedoms, axis=0))
        T = (2.0 * side[own, None] - 1.0) * rows.wrench[own, side[own]]
        T[:, :3] += np.cross(d[last[own]], T[:, 3:])
        link, motion_there = rows.link[own], motion._replace(pose=still, subspace=S)
        wrench, target = np.stack([-T, T], axis=1), (layout.row[own], layout.local, values)
        native.fill_loop_blocks(problem.links, motion_there, link, wrench, *target)
        v_p, v_s = padded(_about_origin(motion.velocity, d))[link].swapaxes(0, 1)
        a_p, a_s = padded(_about_origin(acceleration, d))[link].swapaxes(0, 1)
        a = a_s - a_p + np.einsum("mab,mb->ma", motion_cross(v_s), v_p)
        k[own] -= np.einsum("ma,ma->m", T, a)  # k = k_stab - T' (a_s - a_p + v_s x v_p)
    return k


def _about_origin(motions: FloatArray, d: FloatArray) -> FloatArray:
    """Return motions (n, 6) about the origin from which their own lie at d (n, 3)."""
    moved = motions.copy()
    moved[:, 3:] -= np.cross(motions[:, :3], d)
    return moved


def _origins(tree: SpanningTree, shift: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the root of each link's tree, and where its origin is from that of the root (n, 3).

    Sums of `shift` (n, 3), from the parents' origins, in log(depth) steps.
    """
    root, sums = tree.parent.copy(), shift.copy()
    is_root = root < 0
    root[is_root], sums[is_root] = np.flatnonzero(is_root), 0.0
    while not is_root[root].all():
        sums, root = sums + sums[root], root[root]
    return root, sums


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
