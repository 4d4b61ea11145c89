"""Bodies displaced by twists, and the motion of points and centers of mass in the world."""

from __future__ import annotations

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import FloatArray
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.model.system import State, System


def displaced(state: State, twist: FloatArray) -> State:
    """Return the state with every body moved by a small twist in body coordinates.

    x += R u and q <- q exp(w): the twist (n_bodies, 6), angular part first, acts for unit time
    while the axes of the body stay those of `state` for the translation.
    """
    position, orientation = model.displaced(state.position, state.orientation, twist)
    return State(position, orientation, state.velocity, state.coordinate, state.time)


def point_position(system: System, state: State, body: str, point: FloatArray) -> FloatArray:
    """Return the world position (3,) of a point given in the user's frame of a body [m]."""
    i = system.body(body)
    arm = np.asarray(point, dtype=float) - system.center_of_mass[i]
    return np.asarray(state.position[i] + body_rotations(state)[i] @ arm)


def point_velocity(system: System, state: State, body: str, point: FloatArray) -> FloatArray:
    """Return the world velocity (3,) of a point given in the user's frame of a body [m/s]."""
    i = system.body(body)
    arm = np.asarray(point, dtype=float) - system.center_of_mass[i]
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
