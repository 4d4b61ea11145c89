"""Bodies displaced by twists, and the motion of points and centers of mass in the world."""

from __future__ import annotations

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import FloatArray
from sparsebody.kinematics.joint_motion import body_rotations, joint_motion
from sparsebody.model.system import State, System


def displaced(state: State, twist: FloatArray) -> State:
    """Return the state with every body moved by a small twist in body coordinates.

    x += R u and q <- q exp(w): the twist (n_bodies, 6), angular part first, acts for unit time
    while the axes of the body stay those of `state` for the translation.
    """
    position, orientation = model.displaced(state.position, state.orientation, twist)
    return State(position, orientation, state.velocity, state.coordinate, state.time)


def joint_positions(system: System, state: State) -> dict[str, FloatArray]:
    """Return the position coordinates of every joint by name, as its type documents them.

    On tree and loop joints alike, angles in (-pi, pi]; where a joint has opened, those of the
    nearest closed pose.
    """
    motion = joint_motion(system, state)
    parts = system.joint_names, system.joint_types, motion.rotation, motion.translation
    return {name: kind.coordinates(E, r) for name, kind, E, r in zip(*parts, strict=True)}


def joint_velocities(system: System, state: State) -> dict[str, FloatArray]:
    """Return the velocity coordinates T_a' v_J of every joint by name [rad/s, m/s]."""
    q = joint_positions(system, state)
    parts = system.joint_names, system.joint_types, joint_motion(system, state).velocity
    return {
        name: kind.active_force_subspace(q[name]).T @ v
        for name, kind, v in zip(*parts, strict=True)
    }


def world_wrenches(system: System, state: State, joint_wrench: FloatArray) -> FloatArray:
    """Return joint wrenches (n_joints, 6) on the successors in world axes, moment first [N m, N].

    About the origins of the successors' joint frames; `joint_wrench` is that of `Accelerations`.
    """
    R = np.concatenate([body_rotations(state), np.eye(3)[None]])
    turn = R[system.successor] @ system.successor_rotation
    return np.einsum("nab,nkb->nka", turn, joint_wrench.reshape(-1, 2, 3)).reshape(-1, 6)


def point_position(system: System, state: State, body: str, point: FloatArray) -> FloatArray:
    """Return the world position (3,) of a point given in the user's frame of a body [m]."""
    i, arm = _arm(system, body, point)
    return np.asarray(state.position[i] + body_rotations(state)[i] @ arm)


def point_velocity(system: System, state: State, body: str, point: FloatArray) -> FloatArray:
    """Return the world velocity (3,) of a point given in the user's frame of a body [m/s]."""
    i, arm = _arm(system, body, point)
    w, u = state.velocity[i, :3], state.velocity[i, 3:]
    return np.asarray(body_rotations(state)[i] @ (u + np.cross(w, arm)))


def linear_accelerations(state: State, acceleration: FloatArray) -> FloatArray:
    """Return (n_bodies, 3) accelerations of the centers of mass in the world [m/s^2].

    The spatial acceleration holds du/dt as the turning body sees it; the classical one is
    R (du/dt + w x u). Featherstone (2008), sec. 2.11.
    """
    w, u = state.velocity[:, :3], state.velocity[:, 3:]
    local = acceleration[:, 3:] + np.cross(w, u)
    return np.asarray(np.einsum("nij,nj->ni", body_rotations(state), local))


def _arm(system: System, body: str, point: FloatArray) -> tuple[int, FloatArray]:
    """Return the index of a body, and a point of its user's frame from the center of mass."""
    i = system.body(body)
    return i, np.asarray(point, dtype=float) - system.center_of_mass[i]
