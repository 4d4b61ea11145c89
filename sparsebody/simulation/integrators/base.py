"""What an integrator is, and the pose kinematics that all of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.kinematics.motion import rotation_matrix
from sparsebody.model.system import State

AccelerationOf = Callable[[State], FloatArray]
"""From a state to the accelerations (n_bodies, 6) of all bodies in body coordinates."""

Step = Callable[[AccelerationOf, State, FloatArray, float], State]
"""step(acceleration_of, state, acceleration, h): the state a time h [s] later.

`acceleration` is that of `state`, which the time loop already knows.
"""


@dataclass(frozen=True)
class Integrator:
    """One row of INTEGRATORS."""

    step: Step
    order: int  # the error at a fixed time falls with this power of the step


def pose_rates(state: State) -> tuple[FloatArray, FloatArray]:
    """Return dx/dt (n_bodies, 3) and dq/dt (n_bodies, 4) of a state.

    The center of mass moves with R u, the unit quaternion with q (0, w) / 2.
    """
    position_rate = np.empty_like(state.position)
    orientation_rate = np.empty_like(state.orientation)
    _pose_rates(state.orientation, state.velocity, position_rate, orientation_rate)
    return position_rate, orientation_rate


def moved(
    state: State,
    position_rate: FloatArray,
    orientation_rate: FloatArray,
    acceleration: FloatArray,
    h: float,
) -> State:
    """Return the state plus h times the given rates, quaternions normalized."""
    orientation = state.orientation + h * orientation_rate
    normalize(orientation)
    return State(
        state.position + h * position_rate,
        orientation,
        state.velocity + h * acceleration,
        state.coordinate,
        state.time + h,
    )


@njit(cache=True)
def _pose_rates(
    orientation: FloatArray,
    velocity: FloatArray,
    position_rate: FloatArray,
    orientation_rate: FloatArray,
) -> None:
    R = np.empty((3, 3))
    for i in range(orientation.shape[0]):
        rotation_matrix(orientation[i], R)
        u0, u1, u2 = velocity[i, 3], velocity[i, 4], velocity[i, 5]
        for a in range(3):
            position_rate[i, a] = R[a, 0] * u0 + R[a, 1] * u1 + R[a, 2] * u2
        w, x, y, z = orientation[i, 0], orientation[i, 1], orientation[i, 2], orientation[i, 3]
        w0, w1, w2 = 0.5 * velocity[i, 0], 0.5 * velocity[i, 1], 0.5 * velocity[i, 2]
        orientation_rate[i, 0] = -x * w0 - y * w1 - z * w2
        orientation_rate[i, 1] = w * w0 + y * w2 - z * w1
        orientation_rate[i, 2] = w * w1 + z * w0 - x * w2
        orientation_rate[i, 3] = w * w2 + x * w1 - y * w0


@njit(cache=True)
def normalize(orientation: FloatArray) -> None:
    """Give every quaternion (row) unit length, in place."""
    for i in range(orientation.shape[0]):
        q = orientation[i]
        scale = 1.0 / np.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
        for a in range(4):
            q[a] *= scale
