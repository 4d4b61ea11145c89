"""The interface of an integrator, and the pose kinematics that all of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
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


@dataclass(frozen=True)
class ImplicitIntegrator:
    """A row of INTEGRATORS whose steps solve for the state at their end: simulation/implicit."""

    order: int


def pose_rates(state: State) -> tuple[FloatArray, FloatArray]:
    """Return dx/dt (n_bodies, 3) and dq/dt (n_bodies, 4) of a state.

    The center of mass moves with R u, the unit quaternion with q (0, w) / 2.
    """
    return simulation.pose_rates(state.orientation, state.velocity)


def moved(
    state: State,
    position_rate: FloatArray,
    orientation_rate: FloatArray,
    acceleration: FloatArray,
    h: float,
) -> State:
    """Return the state plus h times the rates, quaternions normalized."""
    orientation = state.orientation + h * orientation_rate
    simulation.normalize(orientation)
    return State(
        state.position + h * position_rate,
        orientation,
        state.velocity + h * acceleration,
        state.coordinate,
        state.time + h,
    )
