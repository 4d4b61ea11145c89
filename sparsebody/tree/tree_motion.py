"""Links of a tree, their poses and velocities in world axes about each link's own origin.

A link is a body in the axes of its own frame on its tree joint, with the origin there: S on the
successor, or P on the predecessor where the tree runs the other way. The other frame of the joint,
on the parent, is called near.

World axes make every transform a shift between neighbouring origins, without rotations; no vector
is taken about the world's origin, which would lose digits on long mechanisms. Vectors of bodies are
in body axes about the centers of mass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.system import State

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
    native.motion_from_bodies(tree.links, body_states(state), motion)
    return motion


def body_states(state: State) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return poses and velocities of the bodies as kernels take them."""
    return state.position, state.orientation, state.velocity


def motion_at_coordinates(tree: SpanningTree, q: FloatArray, qd: FloatArray) -> TreeMotion:
    """Return the motion of the links at joint coordinates. Featherstone (2008), table 5.1."""
    motion = empty_motion(tree)
    native.motion_from_coordinates(tree.links, q, qd, motion)
    return motion


def link_forces(tree: SpanningTree, motion: TreeMotion, body_force: FloatArray) -> FloatArray:
    """Return wrenches on the links (n, 6) in the tree's order, from those on the bodies."""
    force = np.empty((tree.n_bodies, 6))
    native.link_forces(tree.links, motion, body_force, force)
    return force


def link_accelerations(tree: SpanningTree, motion: TreeMotion, qdd: FloatArray) -> FloatArray:
    """Return true accelerations of the links (n, 6) for qdd (n_velocities,)."""
    acceleration = np.empty((tree.n_bodies, 6))
    native.link_accelerations(tree.links, motion, qdd, acceleration)
    return acceleration


def body_accelerations(
    tree: SpanningTree, motion: TreeMotion, link_acceleration: FloatArray
) -> FloatArray:
    """Return spatial accelerations (n, 6) of the system's bodies, from those of the links."""
    acceleration = np.empty((tree.n_bodies, 6))
    native.body_accelerations(tree.links, motion, link_acceleration, acceleration)
    return acceleration


def joint_accelerations(
    tree: SpanningTree, motion: TreeMotion, acceleration: FloatArray
) -> FloatArray:
    """Return qdd (n_velocities,) of accelerations (n_bodies, 6) of the system's bodies.

    What tree joints forbid is not looked at.
    """
    qdd = np.empty(tree.n_velocities)
    native.joint_accelerations(tree.links, motion, acceleration, qdd)
    return qdd


def powers(
    tree: SpanningTree, motion: TreeMotion, link: IntArray, wrench: FloatArray
) -> FloatArray:
    """Return the powers (m, n_velocities) of rows of wrenches at unit velocities of the tree.

    `wrench` (m, 2, 6) on the links (m, 2), -1 for the world, as in loop_constraints. Table 8.4.
    """
    m, n = len(link), tree.n_velocities
    K = np.zeros(m * n)
    native.fill_loop_blocks(tree.links, motion, link, wrench, n * np.arange(m), np.arange(n), K)
    return K.reshape(m, n)


def body_jacobian(tree: SpanningTree, motion: TreeMotion, body: int) -> FloatArray:
    """Return J (6, n_velocities): v = J qd of a body of the system, in body coordinates.

    Featherstone (2008), eq. (4.27); the columns beyond the body's support are zero.
    """
    ends, unit = np.full((6, 2), -1), np.zeros((6, 2, 6))
    ends[:, 0], unit[:, 0] = tree.index[body], np.eye(6)
    native.rows_to_links(tree.links, motion, ends, unit)
    return powers(tree, motion, ends, unit)


def velocity_product_accelerations(tree: SpanningTree, motion: TreeMotion) -> FloatArray:
    """Return (dJ/dt) qd of every body of the system (n_bodies, 6), in body coordinates.

    The accelerations that the bodies have where qdd = 0.
    """
    of_links = link_accelerations(tree, motion, np.zeros(tree.n_velocities))
    return body_accelerations(tree, motion, of_links)


def add_tree_shift(
    tree: SpanningTree, motion: TreeMotion, subspace: FloatArray, shift: FloatArray
) -> None:
    """Add Baumgarte's terms of tree joints, `shift` (n_rows,), to the drift of the links. (8.22).

    T' (a_s - a_p) of tree joints becomes larger by `shift`: of all such accelerations the least in
    S coordinates that leaves prescribed coordinates alone. `subspace` (n_rows, 6) is T'.
    """
    system = tree.system
    of_joints = shift.copy()
    of_joints[system.coordinates.row[system.coordinates.prescribed]] = 0.0
    native.add_stabilization(tree.links, motion, tree.joint, system.first_row, subspace, of_joints)
