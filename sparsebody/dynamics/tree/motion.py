"""Where the links are and how they move, in world axes about each link's own origin.

World axes make every transform a shift between neighbouring origins, without rotations; no vector
is taken about the world's origin, which would lose digits on long mechanisms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.tree.joint_frames import (
    ball,
    far_pose,
    fill_relative_pose,
    frame_of_successor,
    general_motion,
    screw,
    store_ball,
    subspace_to_world,
    transposed,
    turned_about_z,
    vector_to_world,
)
from sparsebody.dynamics.tree.joint_kinds import (
    HELICAL,
    PRISMATIC,
    REVOLUTE,
    SPHERICAL,
    joint_drift,
    joint_pose,
    joint_rate,
    joint_subspace,
)
from sparsebody.dynamics.tree.links import (
    BODY,
    COM,
    DIRECTION,
    FIRST_POSITION,
    FIRST_VELOCITY,
    FRAME,
    FRAME_POINT,
    INERTIA,
    KIND,
    NEAR,
    NEAR_POINT,
    PARAMETER,
    PARENT,
    Links,
)
from sparsebody.dynamics.tree.registers import (
    load3,
    load_matrix,
    moved,
    plus_scaled,
    product,
    rotated,
    store3,
    store6,
    store_matrix,
    times,
)
from sparsebody.dynamics.tree.spanning_tree import SpanningTree
from sparsebody.model.system import State
from sparsebody.spatial.tuples import (
    INLINE,
    Rotation,
    Vector,
    add,
    between,
    cross,
    difference,
    load_triangle,
    rotation_of,
    scaled,
    turned_back,
)

ROTATION, OFFSET = 0, 9  # columns of TreeMotion.place
CENTER, TENSOR = 0, 3  # columns of TreeMotion.inertia


class TreeMotion(NamedTuple):
    """Poses, velocities and motion subspaces of the links of a tree, all in world axes.

    Spatial vectors are about the origin of their link, which is that of its joint frame.
    """

    place: FloatArray  # (n, 12) rotation of the link's axes to the world's; d, from the parent's
    #   origin to the link's (from the world's origin, if the world is the parent) [m]
    subspace: FloatArray  # (n_velocities, 6) S', with the sign of the tree's direction
    velocity: FloatArray  # (n, 6) v
    drift: FloatArray  # (n, 6) v x v_J + (dS/dt) qd: a_i = a_parent + drift + S qdd
    inertia: FloatArray  # (n, 9) com from the origin; inertia about it, lower triangle
    rate: FloatArray  # (n_velocities,) qd


def empty_motion(tree: SpanningTree) -> TreeMotion:
    """Return arrays of the right shapes."""
    n, n_v = tree.n_bodies, tree.n_velocities
    return TreeMotion(
        place=np.zeros((n, 12)),
        subspace=np.zeros((n_v, 6)),
        velocity=np.zeros((n, 6)),
        drift=np.zeros((n, 6)),
        inertia=np.zeros((n, 9)),
        rate=np.zeros(n_v),
    )


def motion_at_state(tree: SpanningTree, state: State) -> TreeMotion:
    """Return the motion of the links at a (consistent) state of the bodies."""
    motion = empty_motion(tree)
    fill_from_bodies(tree.links, state.position, state.orientation, state.velocity, motion)
    return motion


def motion_at_coordinates(tree: SpanningTree, q: FloatArray, qd: FloatArray) -> TreeMotion:
    """Return the motion of the links at joint coordinates. Featherstone (2008), table 5.1."""
    motion = empty_motion(tree)
    fill_from_coordinates(tree.links, q, qd, motion)
    return motion


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def fill_from_coordinates(links: Links, q: FloatArray, qd: FloatArray, motion: TreeMotion) -> None:
    """Fill the motion from joint coordinates q and qd."""
    table, constants = links.integers, links.constants
    place, subspace, velocity, drift = (
        motion.place,
        motion.subspace,
        motion.velocity,
        motion.drift,
    )
    n = constants.shape[0]
    E, r, c, v_J = np.empty((3, 3)), np.empty(3), np.empty(6), np.empty(6)
    for i in range(n):
        p, kind, first = table[i, PARENT], table[i, KIND], table[i, FIRST_VELOCITY]
        near = load_matrix(constants, i, NEAR)
        arm = load3(constants, i, NEAR_POINT)
        w, u = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if p >= 0:
            R = load_matrix(place, p, ROTATION)
            near, arm = product(R, near), times(R, arm)
            w, u = load3(velocity, p, 0), load3(velocity, p, 3)
        if kind <= HELICAL:
            sign = float(table[i, DIRECTION])
            z = near[2], near[5], near[8]
            q_i, rate = q[table[i, FIRST_POSITION]], qd[first]
            far = near if kind == PRISMATIC else turned_about_z(near, sign * q_i)
            s_w, s_u = screw(kind, sign, constants[i, PARAMETER], z)
            d = arm
            if kind != REVOLUTE:
                d = plus_scaled(arm, q_i, s_u)
            w_J, u_J = scaled(rate, s_w), scaled(rate, s_u)
            w, u = add(w, w_J), add(moved(w, u, d), u_J)
            c_w, c_u = cross(w, w_J), add(cross(w, u_J), cross(u, w_J))
            store3(subspace, first, 0, s_w)
            store3(subspace, first, 3, s_u)
        elif kind == SPHERICAL:
            sign, d, turn = float(table[i, DIRECTION]), arm, ball(q, table[i, FIRST_POSITION])
            far = product(near, turn) if sign > 0.0 else between(transposed(near), transposed(turn))
            axes = far if sign > 0.0 else near
            w_J = scaled(sign, times(axes, (qd[first], qd[first + 1], qd[first + 2])))
            u = moved(w, u, d)
            w = add(w, w_J)
            c_w, c_u = cross(w, w_J), cross(u, w_J)
            store_ball(subspace, first, sign, axes, (0.0, 0.0, 0.0))
        else:
            joint_pose(kind, q[table[i, FIRST_POSITION] :], constants[i, PARAMETER], E, r)
            forward = table[i, DIRECTION] > 0
            far, d = far_pose(near, arm, forward, E, r)
            last = table[i + 1, FIRST_VELOCITY]
            joint_subspace(kind, E, r, constants[i, PARAMETER], subspace[first:last])
            to_world, shift = frame_of_successor(near, far, arm, d, forward)
            w_J, u_J, c_w, c_u = general_motion(
                kind, E, r, qd, first, last, forward, to_world, shift, subspace, v_J, c
            )
            w, u = add(w, w_J), add(moved(w, u, d), u_J)
            c_w = add(c_w, cross(w, w_J))
            c_u = add(c_u, add(cross(w, u_J), cross(u, w_J)))
        store_matrix(place, i, ROTATION, far)
        store3(place, i, OFFSET, d)
        store3(velocity, i, 0, w)
        store3(velocity, i, 3, u)
        store3(drift, i, 0, c_w)
        store3(drift, i, 3, c_u)
        _store_inertia(constants, i, far, motion.inertia)
    motion.rate[:] = qd


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def fill_from_bodies(
    links: Links,
    position: FloatArray,
    orientation: FloatArray,
    body_velocity: FloatArray,
    motion: TreeMotion,
) -> None:
    """Fill the motion from the poses and velocities of the bodies, as in a State."""
    table, constants = links.integers, links.constants
    place, subspace, velocity, drift = (
        motion.place,
        motion.subspace,
        motion.velocity,
        motion.drift,
    )
    n = constants.shape[0]
    E, r, c, v_J = np.empty((3, 3)), np.empty(3), np.empty(6), np.empty(6)
    for i in range(n):
        p, b, kind = table[i, PARENT], table[i, BODY], table[i, KIND]
        first, last = table[i, FIRST_VELOCITY], table[i + 1, FIRST_VELOCITY]
        R = rotation_of(orientation[b, 0], orientation[b, 1], orientation[b, 2], orientation[b, 3])
        far = product(R, load_matrix(constants, i, FRAME))
        _store_inertia(constants, i, far, motion.inertia)
        store_matrix(place, i, ROTATION, far)
        d = difference(load3(position, b, 0), load3(motion.inertia, i, CENTER))
        w_b, u_b = load3(body_velocity, b, 0), load3(body_velocity, b, 3)
        w, u = times(R, w_b), times(R, moved(w_b, u_b, load3(constants, i, FRAME_POINT)))
        w_J, u_J = w, u
        near, arm = load_matrix(constants, i, NEAR), load3(constants, i, NEAR_POINT)
        if p >= 0:
            above = difference(load3(position, table[p, BODY], 0), load3(motion.inertia, p, CENTER))
            d = difference(d, above)
            w_p, u_p = load3(velocity, p, 0), load3(velocity, p, 3)
            w_J, u_J = difference(w, w_p), difference(u, moved(w_p, u_p, d))
            if kind > HELICAL and kind != SPHERICAL:
                R_p = load_matrix(place, p, ROTATION)
                near, arm = product(R_p, near), times(R_p, arm)
        store3(place, i, OFFSET, d)
        c_w, c_u = cross(w, w_J), add(cross(w, u_J), cross(u, w_J))
        if kind <= HELICAL:
            sign, z, way = float(table[i, DIRECTION]), (far[2], far[5], far[8]), (0.0, 0.0, 0.0)
            if sign < 0.0:  # S is on the parent
                to_world, way = successor_frame(links, place, i)
                z = to_world[2], to_world[5], to_world[8]
            s_w, s_u = screw(kind, sign, constants[i, PARAMETER], z)
            store3(subspace, first, 0, s_w)
            store3(subspace, first, 3, moved(s_w, s_u, way))
            along = w_J if kind != PRISMATIC else u_J
            motion.rate[first] = sign * (z[0] * along[0] + z[1] * along[1] + z[2] * along[2])
        elif kind == SPHERICAL:
            sign, axes, way = float(table[i, DIRECTION]), far, (0.0, 0.0, 0.0)
            if sign < 0.0:
                axes, way = successor_frame(links, place, i)
            store_ball(subspace, first, sign, axes, way)
            rate = scaled(sign, turned_back(axes, w_J))
            motion.rate[first], motion.rate[first + 1], motion.rate[first + 2] = rate
        else:
            forward = table[i, DIRECTION] > 0
            to_world, shift = frame_of_successor(near, far, arm, d, forward)
            fill_relative_pose(near, far, arm, d, forward, E, r)
            joint_subspace(kind, E, r, constants[i, PARAMETER], subspace[first:last])
            sign = 1.0 if forward else -1.0  # v_J of the joint itself, at S in S axes
            at_S = add(u_J, cross(shift, w_J))
            _store_vector(v_J, scaled(sign, turned_back(to_world, w_J)), 0)
            _store_vector(v_J, scaled(sign, turned_back(to_world, at_S)), 3)
            joint_rate(kind, E, r, v_J, motion.rate[first:last])
            joint_drift(kind, E, r, v_J, c)
            subspace_to_world(subspace, first, last, sign, to_world, shift)
            own_w, own_u = vector_to_world(c, sign, to_world, shift)
            c_w, c_u = add(c_w, own_w), add(c_u, own_u)
        store3(velocity, i, 0, w)
        store3(velocity, i, 3, u)
        store3(drift, i, 0, c_w)
        store3(drift, i, 3, c_u)


@njit(**INLINE)
def _store_inertia(constants: FloatArray, i: int, R: Rotation, inertia: FloatArray) -> None:
    store3(inertia, i, CENTER, times(R, load3(constants, i, COM)))
    store6(inertia, i, TENSOR, rotated(R, load_triangle(constants, i, INERTIA)))


@njit(cache=True)
def successor_frame(links: Links, place: FloatArray, i: int) -> tuple[Rotation, Vector]:
    """Return the axes of S of tree joint i in the world, and the way from S to link i's origin."""
    far, d = load_matrix(place, i, ROTATION), load3(place, i, OFFSET)
    near, arm = load_matrix(links.constants, i, NEAR), load3(links.constants, i, NEAR_POINT)
    p = links.integers[i, PARENT]
    if p >= 0:
        R = load_matrix(place, p, ROTATION)
        near, arm = product(R, near), times(R, arm)
    return frame_of_successor(near, far, arm, d, links.integers[i, DIRECTION] > 0)


@njit(**INLINE)
def _store_vector(array: FloatArray, a: Vector, first: int) -> None:
    array[first] = a[0]
    array[first + 1] = a[1]
    array[first + 2] = a[2]
