"""The constants of the links of a tree: one row of numbers a body.

A link is a body in the axes of its own frame on its tree joint, with the origin there: S on the
successor, or P on the predecessor where the tree runs the other way. The other frame of the joint,
on the parent, is called near.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sparsebody.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from sparsebody.tree.spanning_tree import SpanningTree

# Columns of `constants`
NEAR, NEAR_POINT = 0, 9  # near frame to the parent link's axes, and its origin there
FRAME, FRAME_POINT = 12, 21  # the link's axes to body axes, and its origin from the com there
COM, INERTIA, MASS = 24, 27, 33  # com and lower triangle of the inertia about it in link axes
PARAMETER = 34  # pitch or length
WIDTH = 35


class Links(NamedTuple):
    """Constants of a tree; the last row of `indices` ends the offsets."""

    indices: IntArray  # (n + 1, 6) parent, kind, direction, body, first velocity and position
    constants: FloatArray  # (n, WIDTH)
    gravity: FloatArray  # (3,) in the world [m/s^2]


def links_of(tree: SpanningTree) -> Links:
    """Return the constants of a tree; SpanningTree.links keeps them."""
    system, n = tree.system, tree.n_bodies

    def of_joints(values: FloatArray, virtual: object) -> FloatArray:
        """Rows of the tree joints; a virtual free joint (-1) has the last."""
        return np.concatenate([values, [virtual]])[tree.joint]

    one, zero = np.eye(3), np.zeros(3)
    P = of_joints(system.predecessor_rotation, one), of_joints(system.predecessor_point, zero)
    S = of_joints(system.successor_rotation, one), of_joints(system.successor_point, zero)
    is_forward = (tree.direction > 0)[:, None]
    far, near = (np.where(is_forward[..., None], *pair) for pair in ((S[0], P[0]), (P[0], S[0])))
    far_point, near_point = (np.where(is_forward, *pair) for pair in ((S[1], P[1]), (P[1], S[1])))
    parent_frame = np.concatenate([far, [one]])[tree.parent]
    parent_point = np.concatenate([far_point, [zero]])[tree.parent]
    constants = np.empty((n, WIDTH))
    constants[:, NEAR:NEAR_POINT] = (np.swapaxes(parent_frame, 1, 2) @ near).reshape(n, 9)
    constants[:, NEAR_POINT:FRAME] = np.einsum(
        "nij,ni->nj", parent_frame, near_point - parent_point
    )
    constants[:, FRAME:FRAME_POINT] = far.reshape(n, 9)
    constants[:, FRAME_POINT:COM] = far_point
    constants[:, COM:INERTIA] = -np.einsum("nij,ni->nj", far, far_point)
    turned = np.swapaxes(far, 1, 2) @ system.inertia[tree.body] @ far
    constants[:, INERTIA:MASS] = turned[:, *np.tril_indices(3)]
    constants[:, MASS] = system.mass[tree.body]
    constants[:, PARAMETER] = of_joints(system.parameter, 0.0)
    indices = np.zeros((n + 1, 6), dtype=np.intp)
    indices[:n, :4] = np.stack([tree.parent, tree.kind, tree.direction, tree.body], axis=1)
    indices[:, 4], indices[:, 5] = tree.first_velocity, tree.first_position
    return Links(indices, constants, np.array(system.gravity, dtype=float))
