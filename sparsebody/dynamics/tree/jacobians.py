"""Jacobians of bodies and their velocity-product accelerations: operational-space quantities."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.tree.frames import body_rotation, fill_body_accelerations
from sparsebody.dynamics.tree.links import FIRST_VELOCITY, PARENT, Links
from sparsebody.dynamics.tree.motion import CENTER, OFFSET, TreeMotion
from sparsebody.dynamics.tree.recursive_newton_euler import accelerations
from sparsebody.dynamics.tree.registers import load3, moved
from sparsebody.dynamics.tree.spanning_tree import SpanningTree
from sparsebody.spatial.tuples import add, turned_back


def body_jacobian(tree: SpanningTree, motion: TreeMotion, body: int) -> FloatArray:
    """Return J (6, n_velocities): v = J qd of a body of the system, in body coordinates.

    Featherstone (2008), eq. (4.27); the columns beyond the body's support are zero.
    """
    J = np.zeros((tree.n_velocities, 6))
    _body_jacobian(tree.links, motion, int(tree.index[body]), J)
    return J.T


def velocity_product_accelerations(tree: SpanningTree, motion: TreeMotion) -> FloatArray:
    """Return (dJ/dt) qd of every body of the system (n_bodies, 6), in body coordinates.

    The accelerations that the bodies have where qdd = 0.
    """
    of_links, result = np.empty((tree.n_bodies, 6)), np.empty((tree.n_bodies, 6))
    accelerations(tree.links, motion, np.zeros(tree.n_velocities), of_links)
    fill_body_accelerations(tree.links, motion, of_links, result)
    return result


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _body_jacobian(links: Links, motion: TreeMotion, i: int, J: FloatArray) -> None:
    """Fill the rows of J' on the support of link i."""
    table, S = links.integers, motion.subspace
    R, arm = body_rotation(links, motion, i), load3(motion.inertia, i, CENTER)
    while i >= 0:
        for k in range(table[i, FIRST_VELOCITY], table[i + 1, FIRST_VELOCITY]):
            w = load3(S, k, 0)
            own_w, own_u = turned_back(R, w), turned_back(R, moved(w, load3(S, k, 3), arm))
            for a in range(3):
                J[k, a], J[k, 3 + a] = own_w[a], own_u[a]
        arm = add(arm, load3(motion.place, i, OFFSET))
        i = table[i, PARENT]
