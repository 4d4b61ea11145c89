"""Loop constraints K qdd = k, one dense block a loop cluster. Featherstone (2008), sec. 8.2, 8.7.

A row of a loop joint is a wrench on each of its two bodies. Its row of K is the power of these
wrenches on the motion subspaces between the bodies and the body where their supports meet, as in
table 8.4, but about each link's own origin.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparsebody import errors
from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray, IntArray, offsets
from sparsebody.equations.system_motion import padded
from sparsebody.spatial import motion_cross
from sparsebody.tree.method import TreeProblem
from sparsebody.tree.recursions import link_accelerations
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
    """The minimal loop clusters of a tree, in the order of their first tree joints."""

    tree: SpanningTree
    loop: IntArray  # loops, indices into tree.loop_joint, cluster by cluster
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
        """Return the loops of a cluster, indices into tree.loop_joint."""
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
    column, first_column, local = members(velocity_cluster, n_clusters)
    row_cluster = np.repeat(np.arange(n_clusters), np.diff(first_row))
    starts = offsets(np.diff(first_column)[row_cluster])[:-1]
    return BlockLayout(starts, local, row_cluster, velocity_cluster, first_column, column)


def members(owner: IntArray, n_owners: int) -> tuple[IntArray, IntArray, IntArray]:
    """Group items by owner: items, where each owner's begin (n_owners + 1,), slot of each item.

    `owner` (n,) is -1 for items that have none; so is their slot.
    """
    item = np.argsort(owner, kind="stable")[np.count_nonzero(owner < 0) :]
    first = offsets(np.bincount(owner[item], minlength=n_owners)[:n_owners])
    slot = np.full(len(owner), -1, dtype=np.intp)
    slot[item] = np.arange(len(item)) - first[owner[item]]
    return item, first, slot


def _ranges(first: IntArray, sizes: IntArray) -> IntArray:
    """Return first[0], first[0] + 1, ..., and so on for each range."""
    before = offsets(sizes)
    return np.asarray(np.arange(before[-1]) + np.repeat(first - before[:-1], sizes), dtype=np.intp)


class LoopRows(NamedTuple):
    """The rows of loop joints, prescribed motions among them, on the links at their ends."""

    row: IntArray  # (m,) indices in the system
    link: IntArray  # (m, 2) the tree's indices of predecessor and successor, -1 for the world
    wrench: FloatArray  # (m, 2, 6) A on either link, in world axes about its origin
    gamma: FloatArray  # (m,) right-hand sides of A a = gamma, with Baumgarte's terms


def loop_rows(problem: TreeProblem, row: IntArray | None = None) -> LoopRows:
    """Return the rows of the loop joints at a state, in the order of `row` if it is given."""
    tree, row = problem.tree, problem.tree.loop_rows if row is None else row
    link, wrench = tree.ends(problem.system.row_joint[row]), problem.constraint.rows[row]
    native.rows_to_links(tree.links, problem.motion, link, wrench)
    return LoopRows(row, link, wrench, problem.gamma[row])


def _fill_about_one_origin(
    problem: TreeProblem, rows: LoopRows, is_floating: bool, layout: BlockLayout, values: FloatArray
) -> FloatArray:
    """Fill the packed K, return k (m,), about the origin of the floating base or the world."""
    tree, motion = problem.tree, problem.motion
    root, from_root = _origins(tree, motion.pose[:, 9:])
    root_origin = motion.pose[root, 9:]
    acceleration = link_accelerations(tree, motion, problem.prescribed_qdd)  # of velocity products
    k = problem.k_stab[rows.row] - problem.constraint.drift[rows.row]
    side = (rows.link[:, 1] >= 0).astype(np.intp)
    last = rows.link[np.arange(len(side)), side]
    base = root[last] if is_floating else np.full_like(last, -1)
    unshifted = motion.pose.copy()
    unshifted[:, 9:] = 0.0  # no shifts: all vectors are about one origin
    for b in np.unique(base):
        own = np.flatnonzero(base == b)
        origin = motion.pose[b, 9:] if is_floating else np.zeros(3)
        d = from_root + np.where((root == b)[:, None], 0.0, root_origin - origin)
        S = _about_origin(problem.free_motion.subspace, np.repeat(d, tree.freedoms, axis=0))
        T = (2.0 * side[own, None] - 1.0) * rows.wrench[own, side[own]]
        T[:, :3] += np.cross(d[last[own]], T[:, 3:])
        link, shifted = rows.link[own], motion._replace(pose=unshifted, subspace=S)
        wrench, target = np.stack([-T, T], axis=1), (layout.row[own], layout.local, values)
        native.fill_loop_blocks(tree.links, shifted, link, wrench, *target)
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
    """Return the root of each link's tree, and sums of `shift` from there, in log(depth) steps."""
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
    values: FloatArray  # of K, packed as clusters.layout says; prescribed columns are zero
    right: FloatArray  # (m,) k + k_stab, rows in the order of clusters.row
    size: FloatArray  # (m,) lengths that rows of K L^-1, H = L' L, would have were the bodies free

    @property
    def matrix(self) -> FloatArray:
        """K (m, n_velocities), dense."""
        return self.clusters.dense(self.values)

    def violation(self, x: FloatArray) -> FloatArray:
        """Return K x - k (m,) relative to k and K times the largest acceleration, by cluster."""
        clusters, gravity = self.clusters, self.clusters.tree.system.gravity
        largest = float(max(np.abs(x).max(initial=0.0), np.abs(gravity).max()))
        return native.loop_violation(
            clusters.layout, clusters.first_row, self.values, self.right, x, largest
        )


def loop_equations(
    problem: TreeProblem, clusters: LoopClusters | None = None, coordinates: str = "link"
) -> LoopEquations:
    """Return K and k at a state. Featherstone (2008), table 8.4.

    `coordinates`: "link", vectors about the origins of the links they belong to, which loses no
    digits; "base", about the world's origin, as in the book; or "floating-base", about that of the
    body where the tree of the loop begins, the book's remedy for bases far away (sec. 8.7). The
    equations are the same to rounding. `clusters`: of the tree, if they are known.

    Raises UnknownNameError if there are no such coordinates, ModelError if K is too large.
    """
    errors.check_name(coordinates, COORDINATES, "coordinates")
    clusters = loop_clusters(problem.tree) if clusters is None else clusters
    n_entries = int(clusters.start[-1])
    if n_entries > MOST_ENTRIES:
        raise errors.ModelError(
            f"K of {problem.system.name!r} has {n_entries:.2g} entries in "
            f"{clusters.n_clusters} loop clusters; use method 'sparse'"
        )
    values = np.zeros(n_entries)
    layout, rows = clusters.layout, loop_rows(problem, clusters.row)
    if coordinates == "link":
        acceleration = link_accelerations(problem.tree, problem.motion, problem.prescribed_qdd)
        a = padded(acceleration)[rows.link]  # of velocity products, (8.15)
        right = np.asarray(rows.gamma - np.einsum("mea,mea->m", rows.wrench, a))
        links, target = problem.tree.links, (layout.row, layout.local, values)
        native.fill_loop_blocks(links, problem.free_motion, rows.link, rows.wrench, *target)
    else:
        is_floating = coordinates == "floating-base"
        right = _fill_about_one_origin(problem, rows, is_floating, layout, values)
    system = problem.system
    ends = system.ends[system.row_joint[clusters.row]]
    size = native.row_norms(problem.constraint.rows, clusters.row, ends, system.inverse_inertia)
    return LoopEquations(clusters, values, right, size)
