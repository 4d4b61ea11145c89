"""From accelerations of the bodies to those of the joint coordinates."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.tree.frames import body_rotation
from sparsebody.dynamics.tree.links import BODY, FIRST_VELOCITY, PARENT, Links
from sparsebody.dynamics.tree.motion import CENTER, OFFSET, TreeMotion
from sparsebody.dynamics.tree.registers import load3, moved, store3
from sparsebody.dynamics.tree.small_solve import components
from sparsebody.dynamics.tree.spanning_tree import SpanningTree
from sparsebody.spatial.tuples import difference, scaled, turned


def joint_accelerations(
    tree: SpanningTree, motion: TreeMotion, acceleration: FloatArray
) -> FloatArray:
    """Return qdd (n_velocities,) of the tree joints, the inverse of `body_accelerations`.

    Parameters
    ----------
    tree : SpanningTree
        The tree.
    motion : TreeMotion
        Of its links.
    acceleration : (n_bodies, 6) float array
        Of the system's bodies, in body coordinates; what tree joints forbid is not looked at.
    """
    qdd, of_links = np.empty(tree.n_velocities), np.empty((tree.n_bodies, 6))
    _joint_accelerations(tree.links, motion, acceleration, of_links, qdd)
    return qdd


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _joint_accelerations(
    links: Links,
    motion: TreeMotion,
    acceleration: FloatArray,
    of_links: FloatArray,
    qdd: FloatArray,
) -> None:
    """S qdd = a_i - a_parent - drift, in the sense of least squares."""
    table = links.integers
    rest, L, step = np.empty(6), np.empty((6, 6)), np.empty(6)
    for i in range(of_links.shape[0]):
        b, R = table[i, BODY], body_rotation(links, motion, i)
        w = turned(R, load3(acceleration, b, 0))
        to_origin = scaled(-1.0, load3(motion.inertia, i, CENTER))
        u = moved(w, turned(R, load3(acceleration, b, 3)), to_origin)
        store3(of_links, i, 0, w)
        store3(of_links, i, 3, u)
        p = table[i, PARENT]
        if p >= 0:
            w_p = load3(of_links, p, 0)
            u = difference(u, moved(w_p, load3(of_links, p, 3), load3(motion.place, i, OFFSET)))
            w = difference(w, w_p)
        w = difference(w, load3(motion.drift, i, 0))
        u = difference(u, load3(motion.drift, i, 3))
        for a in range(3):
            rest[a], rest[3 + a] = w[a], u[a]
        first, last = table[i, FIRST_VELOCITY], table[i + 1, FIRST_VELOCITY]
        if last > first:
            components(motion.subspace[first:last], rest, L, step, qdd[first:last])
