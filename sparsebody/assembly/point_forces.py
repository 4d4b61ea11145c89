"""Springs, dampers and efforts along the lines between points of two bodies."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.model.system import State, System

_COINCIDENT = 1e-12  # [m] distance of two points below which they have no direction


def add_point_forces(
    system: System, state: State, rotation: FloatArray, effort: FloatArray, force: FloatArray
) -> None:
    """Add the point forces at a state to `force` (n_bodies, 6) in body coordinates.

    `effort` (n_point_forces,) pushes the points apart [N].

    Raises
    ------
    ModelError
        If two points coincide.
    """
    springs = system.point_forces
    bad = _add_point_forces(
        springs.first,
        springs.second,
        springs.first_point,
        springs.second_point,
        springs.stiffness,
        springs.rest_length,
        springs.damping,
        effort,
        state.position,
        rotation,
        state.velocity,
        force,
    )
    if bad >= 0:
        name = springs.names[bad]
        raise ModelError(f"point force {name!r}: its points coincide, so it has no direction")


@njit(cache=True)
def _add_point_forces(
    first: IntArray,
    second: IntArray,
    first_point: FloatArray,
    second_point: FloatArray,
    stiffness: FloatArray,
    rest_length: FloatArray,
    damping: FloatArray,
    effort: FloatArray,
    position: FloatArray,
    rotation: FloatArray,
    velocity: FloatArray,
    force: FloatArray,
) -> int:
    """Return -1, or the first force whose points coincide."""
    line, speed = np.empty(3), np.empty(3)
    for k in range(first.size):
        line[:] = 0.0
        speed[:] = 0.0
        _add_point_motion(first[k], first_point[k], -1.0, position, rotation, velocity, line, speed)
        _add_point_motion(
            second[k], second_point[k], 1.0, position, rotation, velocity, line, speed
        )
        length = math.sqrt(line[0] ** 2 + line[1] ** 2 + line[2] ** 2)
        if length < _COINCIDENT:
            return k
        rate = (line[0] * speed[0] + line[1] * speed[1] + line[2] * speed[2]) / length
        pull = stiffness[k] * (length - rest_length[k]) + damping[k] * rate - effort[k]
        _add_push(first[k], first_point[k], pull / length, line, rotation, force)
        _add_push(second[k], second_point[k], -pull / length, line, rotation, force)
    return -1


@njit(cache=True, inline="always")
def _add_point_motion(
    body: int,
    point: FloatArray,
    sign: float,
    position: FloatArray,
    rotation: FloatArray,
    velocity: FloatArray,
    place: FloatArray,
    speed: FloatArray,
) -> None:
    """Add world place and velocity of a body point, times sign; the world's points stand still."""
    if body < 0:
        for a in range(3):
            place[a] += sign * point[a]
        return
    w, u, R = velocity[body, :3], velocity[body, 3:], rotation[body]
    for a in range(3):
        place[a] += sign * position[body, a]
        for b in range(3):
            c, d = (b + 1) % 3, (b + 2) % 3
            place[a] += sign * R[a, b] * point[b]
            speed[a] += sign * R[a, b] * (u[b] + w[c] * point[d] - w[d] * point[c])


@njit(cache=True, inline="always")
def _add_push(
    body: int,
    point: FloatArray,
    scale: float,
    line: FloatArray,
    rotation: FloatArray,
    force: FloatArray,
) -> None:
    """Add the force scale * line (world axes) at a body point, in body coordinates."""
    if body < 0:
        return
    R = rotation[body]
    f = (
        scale * (R[0, 0] * line[0] + R[1, 0] * line[1] + R[2, 0] * line[2]),
        scale * (R[0, 1] * line[0] + R[1, 1] * line[1] + R[2, 1] * line[2]),
        scale * (R[0, 2] * line[0] + R[1, 2] * line[1] + R[2, 2] * line[2]),
    )
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        force[body, a] += point[b] * f[c] - point[c] * f[b]
        force[body, a + 3] += f[a]
