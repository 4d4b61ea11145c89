"""Vectors of links (world axes, joint's origin) from those of bodies (body axes, com), and back."""

from __future__ import annotations

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.tree.motion import TreeMotion
from sparsebody.tree.spanning_tree import SpanningTree


def link_forces(tree: SpanningTree, motion: TreeMotion, body_force: FloatArray) -> FloatArray:
    """Return wrenches on the links (n, 6) in the tree's order, from those on the system's bodies.

    In: body axes about the centers of mass; out: world axes about the links' origins.
    """
    force = np.empty((tree.n_bodies, 6))
    native.link_forces(tree.links, motion, body_force, force)
    return force


def body_accelerations(
    tree: SpanningTree, motion: TreeMotion, acceleration: FloatArray
) -> FloatArray:
    """Return spatial accelerations (n, 6) of the system's bodies in body axes, from the links'."""
    result = np.empty((tree.n_bodies, 6))
    native.body_accelerations(tree.links, motion, acceleration, result)
    return result


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
    qdd = np.empty(tree.n_velocities)
    native.joint_accelerations(tree.links, motion, acceleration, qdd)
    return qdd
