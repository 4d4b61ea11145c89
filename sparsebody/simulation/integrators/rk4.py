"""The Runge-Kutta method of order 4 for second-order equations: four evaluations per step."""

from __future__ import annotations

from sparsebody.arrays import FloatArray
from sparsebody.model.system import State
from sparsebody.simulation.integrators.base import Stage, moved, pose_derivatives


def rk4_step(stage: Stage, state: State, acceleration: FloatArray, h: float) -> State:
    """Return the state after h. Nystrom (1925); Hairer, Norsett, Wanner (1993), sec. II.14.

    Of y'' = f(y, y'), poses y in R^7. Velocities are those of the classical method. Poses of
    stages use the accelerations as well: they are off the motion by h^3 and h^4 instead of h^2,
    and joints hardly open.
    """
    rate, c_1 = pose_derivatives(state, acceleration)
    c_2 = pose_derivatives(*stage(moved(state, rate, c_1, c_1, 0.5 * h)))[1]
    c_3 = pose_derivatives(*stage(moved(state, rate, (2.0 * c_1 + c_2) / 3.0, c_2, 0.5 * h)))[1]
    c_4 = pose_derivatives(*stage(moved(state, rate, (c_1 + 5.0 * c_3) / 6.0, c_3, h)))[1]
    inner = c_2 + c_3
    return moved(state, rate, (c_1 + inner) / 3.0, (c_1 + 2.0 * inner + c_4) / 6.0, h)
