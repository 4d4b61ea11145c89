"""The interface of an integrator, and poses as curves in R^7, on which all of them work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.model.system import State

Stage = Callable[[State], tuple[State, FloatArray]]
"""From a state to the nearest state at which accelerations are taken, and these (n_bodies, 6)."""

Step = Callable[[Stage, State, FloatArray, float], State]
"""step(stage, state, acceleration, h): the state a time h [s] later.

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


def pose_derivatives(state: State, acceleration: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return y' and y'' (n_bodies, 7) of the poses y = (x, q).

    The center of mass moves with x' = R u, the unit quaternion with q' = q (0, w) / 2.
    """
    return simulation.pose_derivatives(state.orientation, state.velocity, acceleration)


def moved(
    state: State, rate: FloatArray, pose_curvature: FloatArray, rate_curvature: FloatArray, h: float
) -> State:
    """Return the state at y + h y' + h^2 C / 2 and y' + h c, quaternions normalized.

    With rate y', pose_curvature C and rate_curvature c (n_bodies, 7).
    """
    moved = simulation.moved(
        state.position, state.orientation, rate, pose_curvature, rate_curvature, h
    )
    return State(*moved, state.coordinate, state.time + h)


def at_time(state: State, time: float) -> State:
    """Return the state at a time [s]."""
    return State(state.position, state.orientation, state.velocity, state.coordinate, time)
