"""Poses and velocities of the links of a tree, in world axes about each link's own origin.

World axes make every transform a shift between neighbouring origins, without rotations; no vector
is taken about the world's origin, which would lose digits on long mechanisms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.model.system import State
from sparsebody.tree.spanning_tree import SpanningTree


class TreeMotion(NamedTuple):
    """Poses, velocities and motion subspaces of the links of a tree, all in world axes.

    Spatial vectors are about the origin of their link, which is that of its joint frame.
    """

    pose: FloatArray  # (n, 12) rotation of the link's axes to the world's; d, from the parent's
    #   origin to the link's (from the world's origin, if the world is the parent) [m]
    subspace: FloatArray  # (n_velocities, 6) S', with the sign of the tree's direction
    velocity: FloatArray  # (n, 6) v
    drift: FloatArray  # (n, 6) v x v_J + (dS/dt) qd: a_i = X a_parent + drift + S qdd
    inertia: FloatArray  # (n, 9) com from the origin; inertia about it, lower triangle
    rate: FloatArray  # (n_velocities,) qd


def empty_motion(tree: SpanningTree) -> TreeMotion:
    """Return arrays of the right shapes."""
    n, n_v = tree.n_bodies, tree.n_velocities
    return TreeMotion(
        pose=np.zeros((n, 12)),
        subspace=np.zeros((n_v, 6)),
        velocity=np.zeros((n, 6)),
        drift=np.zeros((n, 6)),
        inertia=np.zeros((n, 9)),
        rate=np.zeros(n_v),
    )


def motion_at_state(tree: SpanningTree, state: State) -> TreeMotion:
    """Return the motion of the links at a (consistent) state of the bodies."""
    motion = empty_motion(tree)
    native.motion_from_bodies(tree.links, state.position, state.orientation, state.velocity, motion)
    return motion


def motion_at_coordinates(tree: SpanningTree, q: FloatArray, qd: FloatArray) -> TreeMotion:
    """Return the motion of the links at joint coordinates. Featherstone (2008), table 5.1."""
    motion = empty_motion(tree)
    native.motion_from_coordinates(tree.links, q, qd, motion)
    return motion
