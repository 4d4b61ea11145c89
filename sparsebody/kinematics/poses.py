"""Moving bodies by twists, and what the world sees of them."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.kinematics.motion import body_rotations, rotation_matrix
from sparsebody.model.system import State, System


def displaced(state: State, twist: FloatArray) -> State:
    """Return the state with every body moved by a small twist in body coordinates.

    x += R u and q <- q exp(w): the twist (n_bodies, 6), angular part first, acts for unit time
    while the axes of the body stay those of `state` for the translation.
    """
    position, orientation = np.empty_like(state.position), np.empty_like(state.orientation)
    _displaced(state.position, state.orientation, twist, position, orientation)
    return State(position, orientation, state.velocity, state.coordinate, state.time)


@njit(cache=True)
def _displaced(
    position: FloatArray,
    orientation: FloatArray,
    twist: FloatArray,
    new_position: FloatArray,
    new_orientation: FloatArray,
) -> None:
    R = np.empty((3, 3))
    for i in range(position.shape[0]):
        rotation_matrix(orientation[i], R)
        for a in range(3):
            new_position[i, a] = position[i, a]
            for b in range(3):
                new_position[i, a] += R[a, b] * twist[i, 3 + b]
        w0, w1, w2 = twist[i, 0], twist[i, 1], twist[i, 2]
        angle = math.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
        half = math.cos(0.5 * angle)
        s = 0.5 if angle < 1e-8 else math.sin(0.5 * angle) / angle
        x, y, z = s * w0, s * w1, s * w2
        q0, q1, q2, q3 = orientation[i]
        p0 = q0 * half - q1 * x - q2 * y - q3 * z
        p1 = q0 * x + q1 * half + q2 * z - q3 * y
        p2 = q0 * y - q1 * z + q2 * half + q3 * x
        p3 = q0 * z + q1 * y - q2 * x + q3 * half
        norm = math.sqrt(p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
        new_orientation[i, 0] = p0 / norm
        new_orientation[i, 1] = p1 / norm
        new_orientation[i, 2] = p2 / norm
        new_orientation[i, 3] = p3 / norm


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
