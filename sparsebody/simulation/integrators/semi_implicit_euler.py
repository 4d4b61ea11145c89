"""Semi-implicit Euler: one evaluation per step, order 1."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.model.system import State
from sparsebody.simulation.integrators.base import Stage, moved, pose_derivatives


def semi_implicit_euler_step(
    stage: Stage, state: State, acceleration: FloatArray, h: float
) -> State:
    """Return the state after h: first the velocity, then the pose with the new velocity.

    Keeps the energy of oscillations bounded, where the explicit method lets it grow.
    """
    faster = state.with_(velocity=state.velocity + h * acceleration)
    rate, _ = pose_derivatives(faster, acceleration)
    still = np.zeros_like(rate)
    return moved(state, rate, still, still, h).with_(velocity=faster.velocity)
