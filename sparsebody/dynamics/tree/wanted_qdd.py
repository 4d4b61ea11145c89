"""From accelerations of the bodies to those of the joint coordinates."""

from __future__ import annotations

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.tree.motion import TreeMotion
from sparsebody.dynamics.tree.spanning_tree import SpanningTree


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
