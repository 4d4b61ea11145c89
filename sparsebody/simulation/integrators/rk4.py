"""The classical Runge-Kutta method: four evaluations per step, order 4."""

from __future__ import annotations

from sparsebody.arrays import FloatArray
from sparsebody.model.system import State
from sparsebody.simulation.integrators.base import AccelerationOf, moved, pose_rates


def rk4_step(
    acceleration_of: AccelerationOf, state: State, acceleration: FloatArray, h: float
) -> State:
    """Return the state after h. Hairer, Norsett, Wanner (1993), table II.1.2.

    Stages use unit quaternions: this extends the rates smoothly off the unit sphere, so that the
    order stays.
    """
    x_1, q_1 = pose_rates(state)
    a_1 = acceleration
    stage = moved(state, x_1, q_1, a_1, 0.5 * h)
    x_2, q_2 = pose_rates(stage)
    a_2 = acceleration_of(stage)
    stage = moved(state, x_2, q_2, a_2, 0.5 * h)
    x_3, q_3 = pose_rates(stage)
    a_3 = acceleration_of(stage)
    stage = moved(state, x_3, q_3, a_3, h)
    x_4, q_4 = pose_rates(stage)
    a_4 = acceleration_of(stage)
    return moved(
        state,
        (x_1 + 2.0 * (x_2 + x_3) + x_4) / 6.0,
        (q_1 + 2.0 * (q_2 + q_3) + q_4) / 6.0,
        (a_1 + 2.0 * (a_2 + a_3) + a_4) / 6.0,
        h,
    )
