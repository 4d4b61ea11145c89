"""Joint coordinates q and qd of a state, and back; rates of q; dynamics as dx/dt = f(t, x).

Spherical and free joints have quaternions as positions and angular velocities as velocities, so
that qd is not dq/dt = Q(q) qd. Featherstone (2008), eqs. (3.6) and (3.7), sec. 4.6.
"""

from __future__ import annotations

import math

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import ModelError, ShapeError
from sparsebody.model.system import State, check_state
from sparsebody.tree.recursions import motion_at_coordinates, motion_at_state
from sparsebody.tree.spanning_tree import N_POSITIONS, N_SCALARS, N_VELOCITIES, SpanningTree


def joint_coordinates(tree: SpanningTree, state: State) -> tuple[FloatArray, FloatArray]:
    """Return q (n_positions,) and qd (n_velocities,) of the tree joints of a state.

    q is as JointType.coordinates of each joint [rad, m]: angles are as near as whole turns allow to
    the tracked ones of the state, and in (-pi, pi] where they are not tracked. qd is as the columns
    of JointType.motion_subspace [rad/s, m/s]. What does not fit the joints is ignored.
    """
    check_state(tree.system, state)
    motion, q = motion_at_state(tree, state), np.empty(tree.n_positions)
    native.positions_of_motion(tree.links, motion, q)
    items, index_in_q, is_angle = _tracked(tree)
    gap = (state.coordinate[items] - q[index_in_q])[is_angle]
    q[index_in_q[is_angle]] += 2.0 * math.pi * np.round(gap / (2.0 * math.pi))
    return q, motion.rate


def tree_state(tree: SpanningTree, q: FloatArray, qd: FloatArray, *, time: float = 0.0) -> State:
    """Return the state with the given tree coordinates; loops need not be closed.

    q (n_positions,) are joint positions, whose quaternions need not be of unit length, qd
    (n_velocities,) velocities; `time` [s]. Raises ShapeError or ModelError if there are too many or
    too few, or one is not finite.
    """
    q = checked_coordinates(tree, q, "q", tree.n_positions)
    qd = checked_coordinates(tree, qd, "qd", tree.n_velocities)
    n = tree.n_bodies
    position, orientation, velocity = np.empty((n, 3)), np.empty((n, 4)), np.empty((n, 6))
    motion = motion_at_coordinates(tree, q, qd)
    native.bodies_from_motion(tree.links, motion, position, orientation, velocity)
    tracked = np.zeros(len(tree.system.coordinates.joint))
    state = State(position, orientation, velocity, tracked, time)
    if len(tracked):
        tracked[:] = SystemMotion(tree.system, state).coordinates.value
        items, index_in_q, _ = _tracked(tree)
        tracked[items] = q[index_in_q]
    return state


def checked_coordinates(tree: SpanningTree, values: FloatArray, name: str, n: int) -> FloatArray:
    """Return (n,) coordinates as the kernels take them."""
    values = np.ascontiguousarray(values, dtype=float)
    if values.shape != (n,):
        raise ShapeError(f"{name} has shape {values.shape}, the tree needs ({n},)")
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        who = tree.velocity_name(bad) if n == tree.n_velocities else f"number {bad}"
        raise ModelError(f"{name} of {who} is {values[bad]}; it must be finite")
    return values


def position_rates(tree: SpanningTree, q: FloatArray, qd: FloatArray) -> FloatArray:
    """Return dq/dt (n_positions,) = Q(q) qd; quaternions keep their length."""
    q = checked_coordinates(tree, q, "q", tree.n_positions)
    qd = checked_coordinates(tree, qd, "qd", tree.n_velocities)
    rate = np.empty(tree.n_positions)
    native.position_rates(tree.links, q, qd, rate)
    return rate


def velocities_of_rates(
    tree: SpanningTree, q: FloatArray, rate: FloatArray, second: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return qd and qdd (n_velocities,) of q (n_positions,) and its derivatives in time."""
    qd, qdd = np.empty(tree.n_velocities), np.empty(tree.n_velocities)
    native.velocities_of_rates(tree.links, q, rate, second, qd, qdd)
    return qd, qdd


def _tracked(tree: SpanningTree) -> tuple[IntArray, IntArray, IntArray]:
    """Return tracked scalar coordinates of tree joints, their index in q, and which are angles."""
    coordinates, system = tree.system.coordinates, tree.system
    joint, index = coordinates.joint, coordinates.index
    kind, of_tree = system.joint_kind[joint], tree.tree_index[joint]
    is_declared = system.coordinate_types[0][joint] == kind  # no compliant rows
    is_scalar = index >= (N_VELOCITIES - N_SCALARS)[kind]
    items = np.flatnonzero((of_tree >= 0) & is_declared & is_scalar)
    before = (N_POSITIONS - N_VELOCITIES)[kind[items]]  # of a quaternion, if any
    index_in_q = tree.first_position[of_tree[items]] + before + index[items]
    return items, index_in_q, np.flatnonzero(coordinates.is_angle[items])
