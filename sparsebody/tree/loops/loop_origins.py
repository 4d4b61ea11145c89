"""K and k about one origin for all loops, as in table 8.4. Featherstone (2008), sec. 8.7.

In base coordinates all vectors are about the world's origin, in floating-base coordinates about
that of the body that the tree of the loop begins with. Far from its origin a vector loses digits:
moments there are differences of large numbers. The rows about the links' own origins of
loop_constraints lose none; these are the book's algorithm, and show what it costs.
"""

from __future__ import annotations

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.equations.system_motion import padded
from sparsebody.spatial import motion_cross
from sparsebody.tree.loops.loop_clusters import BlockLayout
from sparsebody.tree.loops.loop_constraints import LoopRows
from sparsebody.tree.motion import link_accelerations
from sparsebody.tree.problem import TreeProblem
from sparsebody.tree.spanning_tree import SpanningTree


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
