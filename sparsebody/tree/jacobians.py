"""Jacobians of bodies and their velocity-product accelerations: operational-space quantities."""

from __future__ import annotations

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.tree.motion import TreeMotion
from sparsebody.tree.spanning_tree import SpanningTree


def body_jacobian(tree: SpanningTree, motion: TreeMotion, body: int) -> FloatArray:
    """Return J (6, n_velocities): v = J qd of a body of the system, in body coordinates.

    Featherstone (2008), eq. (4.27); the columns beyond the body's support are zero.
    """
    return native.body_jacobian(tree.links, motion, int(tree.index[body])).T


def velocity_product_accelerations(tree: SpanningTree, motion: TreeMotion) -> FloatArray:
    """Return (dJ/dt) qd of every body of the system (n_bodies, 6), in body coordinates.

    The accelerations that the bodies have where qdd = 0.
    """
    of_links, result = np.empty((tree.n_bodies, 6)), np.empty((tree.n_bodies, 6))
    native.link_accelerations(tree.links, motion, np.zeros(tree.n_velocities), of_links)
    native.body_accelerations(tree.links, motion, of_links, result)
    return result
