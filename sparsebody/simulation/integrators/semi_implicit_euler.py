"""Semi-implicit Euler: one evaluation per step, order 1."""

from __future__ import annotations

from sparsebody.arrays import FloatArray
from sparsebody.model.system import State
from sparsebody.simulation.integrators.base import AccelerationOf, moved, pose_rates


def semi_implicit_euler_step(
    acceleration_of: AccelerationOf, state: State, acceleration: FloatArray, h: float
) -> State:
    """Return the state after h: first the velocity, then the pose with the new velocity.

    Keeps the energy of oscillations bounded, where the explicit method lets it grow.
    """
    faster = state.with_(velocity=state.velocity + h * acceleration)
    position_rate, orientation_rate = pose_rates(faster)
    return moved(state, position_rate, orientation_rate, acceleration, h)
