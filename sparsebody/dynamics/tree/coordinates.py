"""From body poses and velocities to joint coordinates, and back."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.tree.joint_kinds import (
    joint_pose,
    joint_position,
    joint_rate,
    joint_subspace,
    quaternion_of,
)
from sparsebody.dynamics.tree.spanning_tree import SpanningTree
from sparsebody.dynamics.tree.tables import TreeTables
from sparsebody.errors import ModelError, ShapeError
from sparsebody.kinematics.coordinates import coordinate_motion
from sparsebody.kinematics.motion import body_rotations, fill_joint_motion, joint_motion
from sparsebody.model.system import State, check_state


def joint_coordinates(tree: SpanningTree, state: State) -> tuple[FloatArray, FloatArray]:
    """Return position and velocity coordinates of the tree joints of a state.

    Parameters
    ----------
    tree : SpanningTree
        A spanning tree of the state's system.
    state : State
        Poses and velocities; what does not fit the joints is not looked at.

    Returns
    -------
    q : (n_positions,) float array
        As JointType.coordinates of each joint [rad, m]; angles as near as whole turns allow to
        the tracked ones of the state, and in (-pi, pi] where they are not tracked.
    qd : (n_velocities,) float array
        As the columns of JointType.motion_subspace [rad/s, m/s].
    """
    check_state(tree.system, state)
    q, qd = np.empty(tree.n_positions), np.empty(tree.n_velocities)
    _joint_coordinates(tree.tables, state.position, body_rotations(state), state.velocity, q, qd)
    items, place, is_angle = _tracked(tree)
    gap = (state.coordinate[items] - q[place])[is_angle]
    q[place[is_angle]] += 2.0 * math.pi * np.round(gap / (2.0 * math.pi))
    return q, qd


def tree_state(tree: SpanningTree, q: FloatArray, qd: FloatArray, *, time: float = 0.0) -> State:
    """Return the state with the given tree coordinates; loops need not be closed.

    Parameters
    ----------
    tree : SpanningTree
        The spanning tree.
    q : (n_positions,) float array
        Joint positions; quaternions need not be of unit length.
    qd : (n_velocities,) float array
        Joint velocities.
    time : float
        Of the state [s].

    Raises
    ------
    ShapeError, ModelError
        If there are too many or too few coordinates, or one is not finite.
    """
    q = checked_coordinates(tree, q, "q", tree.n_positions)
    qd = checked_coordinates(tree, qd, "qd", tree.n_velocities)
    n = tree.n_bodies
    position, orientation, velocity = np.empty((n, 3)), np.empty((n, 4)), np.empty((n, 6))
    _tree_state(tree.tables, q, qd, position, orientation, velocity)
    tracked = np.zeros(len(tree.system.coordinates.joint))
    state = State(position, orientation, velocity, tracked, time)
    if len(tracked):
        motion = joint_motion(tree.system, state)
        tracked[:] = coordinate_motion(tree.system, state, motion).value
        items, place, _ = _tracked(tree)
        tracked[items] = q[place]
    return state


def checked_coordinates(tree: SpanningTree, values: FloatArray, name: str, n: int) -> FloatArray:
    """Return (n,) coordinates as compiled code takes them."""
    values = np.ascontiguousarray(values, dtype=float)
    if values.shape != (n,):
        raise ShapeError(f"{name} has shape {values.shape}, the tree needs ({n},)")
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        who = tree.velocity_name(bad) if n == tree.n_velocities else f"number {bad}"
        raise ModelError(f"{name} of {who} is {values[bad]}; it must be finite")
    return values


def _tracked(tree: SpanningTree) -> tuple[IntArray, IntArray, IntArray]:
    """Return tracked scalar coordinates of tree joints: items, their place in q, which are angles.

    The last is an index array into the other two.
    """
    coordinates, system = tree.system.coordinates, tree.system
    of_tree = tree.tree_index[coordinates.joint]
    items, place = [], []
    for item in np.flatnonzero(of_tree >= 0):
        joint_type = system.joint_types[int(coordinates.joint[item])]
        index = int(coordinates.index[item])
        if index in joint_type.scalar_positions:
            items.append(int(item))
            offset = joint_type.n_positions - joint_type.n_velocities  # after a quaternion, if any
            place.append(int(tree.first_position[of_tree[item]]) + index + offset)
    some = np.array(items, dtype=np.intp)
    return some, np.array(place, dtype=np.intp), np.flatnonzero(coordinates.is_angle[some])


@njit(cache=True)
def _joint_coordinates(
    tables: TreeTables,
    position: FloatArray,
    rotation: FloatArray,
    velocity: FloatArray,
    q: FloatArray,
    qd: FloatArray,
) -> None:
    n = tables.kind.size
    E, r, v = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((n, 6))
    to_successor, arm, v_P = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((n, 6))
    fill_joint_motion(
        tables.predecessor,
        tables.successor,
        tables.predecessor_rotation,
        tables.predecessor_point,
        tables.successor_rotation,
        tables.successor_point,
        position,
        rotation,
        velocity,
        E,
        r,
        to_successor,
        arm,
        v,
        v_P,
    )
    for i in range(n):
        first, last = tables.first_position[i], tables.first_position[i + 1]
        joint_position(tables.kind[i], E[i], r[i], tables.parameter[i], q[first:last])
        first, last = tables.first_velocity[i], tables.first_velocity[i + 1]
        joint_rate(tables.kind[i], E[i], r[i], v[i], qd[first:last])


@njit(cache=True)
def _tree_state(
    tables: TreeTables,
    q: FloatArray,
    qd: FloatArray,
    position: FloatArray,
    orientation: FloatArray,
    velocity: FloatArray,
) -> None:
    """World axes; w, u are angular velocity and that of the center of mass."""
    n = tables.kind.size
    R, w, u = np.zeros((n + 1, 3, 3)), np.zeros((n + 1, 3)), np.zeros((n + 1, 3))
    x = np.zeros((n + 1, 3))  # the world is the last body
    R[n] = np.eye(3)
    E, r, S, v = np.empty((3, 3)), np.empty(3), np.empty((6, 6)), np.empty(6)
    for i in range(n):
        kind, p = tables.kind[i], tables.parent[i]
        joint_pose(
            kind,
            q[tables.first_position[i] : tables.first_position[i + 1]],
            tables.parameter[i],
            E,
            r,
        )
        first, freedoms = tables.first_velocity[i], tables.first_velocity[i + 1]
        freedoms -= first
        joint_subspace(kind, E, r, tables.parameter[i], S[:freedoms])
        v[:] = 0.0
        for k in range(freedoms):
            v += S[k] * qd[first + k]
        F_P, F_S = tables.predecessor_rotation[i], tables.successor_rotation[i]
        a_P, a_S = tables.predecessor_point[i], tables.successor_point[i]
        if tables.direction[i] > 0:
            R_S = _product(_product(R[p], F_P), E.T)
            o_S = x[p] + _times(R[p], a_P + _times(F_P, r))
            R[i] = _product(R_S, F_S.T)
            x[i] = o_S - _times(R[i], a_S)
        else:
            R_S = _product(R[p], F_S)
            R_P = _product(R_S, E)
            o_S = x[p] + _times(R[p], a_S)
            R[i] = _product(R_P, F_P.T)
            x[i] = o_S - _times(R_P, r) - _times(R[i], a_P)
        sign = float(tables.direction[i])
        w[i] = w[p] + sign * _times(R_S, v[:3])
        u_S = u[p] + _cross(w[p], o_S - x[p]) + sign * _times(R_S, v[3:])
        u[i] = u_S + _cross(w[i], x[i] - o_S)
        body = tables.body[i]
        position[body] = x[i]
        quaternion_of(R[i].T, orientation[body])
        velocity[body, :3] = _times(R[i].T, w[i])
        velocity[body, 3:] = _times(R[i].T, u[i])


@njit(cache=True)
def _product(A: FloatArray, B: FloatArray) -> FloatArray:
    C = np.zeros((3, 3))
    for a in range(3):
        for b in range(3):
            C[a, b] = A[a, 0] * B[0, b] + A[a, 1] * B[1, b] + A[a, 2] * B[2, b]
    return C


@njit(cache=True)
def _times(A: FloatArray, b: FloatArray) -> FloatArray:
    c = np.empty(3)
    for a in range(3):
        c[a] = A[a, 0] * b[0] + A[a, 1] * b[1] + A[a, 2] * b[2]
    return c


@njit(cache=True)
def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    c = np.empty(3)
    c[0] = a[1] * b[2] - a[2] * b[1]
    c[1] = a[2] * b[0] - a[0] * b[2]
    c[2] = a[0] * b[1] - a[1] * b[0]
    return c
