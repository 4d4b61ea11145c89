"""The adjoint of steps of RATTLE, as the native core takes them.

Of a part h of a step, from (q_0, v_0) with the wrenches W_0 there to (q_1, v_1),

    p = M v_0 + h W_0 / 2 + A_0' mu,  q_1 = q_0 exp(t),  G(t) = h p,  delta(q_1) = 0,
    M v = p + h W_0 / 2,  W_1 = M a(q_1, v) + v x* M v,      all in the axes of the end,
    M v_1 = p + h W_1 / 2 + A_1' nu,  A_1 v_1 = k,

where W_0 of the first part is of the accelerations at the start, and that of others is W_1 of the
part before. Gradients by p are those of `Adjoint.closing`. Hairer, Lubich, Wanner (2006), sec.
VII.1.4.
"""

from dataclasses import dataclass

import numpy as np

from sparsebody._core import linearization as native
from sparsebody.arrays import FloatArray
from sparsebody.linearization.state_gradients import (
    Adjoint,
    Displacement,
    LinearDynamics,
    StateGradient,
    force_cross,
    momenta,
    product,
    put_in_plane,
)
from sparsebody.model.system import State
from sparsebody.simulation.stabilization import largest


@dataclass(frozen=True, eq=False)
class Motion:
    """A state of a step, with its accelerations and multipliers."""

    state: State
    acceleration: FloatArray
    multiplier: FloatArray


def wrenches(adjoint: Adjoint, at: Motion) -> FloatArray:
    """Return W = M a + v x* M v (n_bodies, 6)."""
    velocity = at.state.velocity
    momentum = momenta(adjoint.system, velocity)
    return momenta(adjoint.system, at.acceleration) + force_cross(velocity, momentum)


def part_back(
    adjoint: Adjoint,
    at: LinearDynamics,
    before: Motion,
    first: State,
    predicted: Motion,
    end: State,
    h: float,
    g: StateGradient,
    by_wrench: FloatArray,
) -> tuple[StateGradient, FloatArray]:
    """Return the gradients by the start of a part, of its state and W_0, of those by its end.

    It begins at `first`, with W_0 of `before`; `predicted` has the velocity v, `end` v_1.
    """
    system, here = adjoint.system, predicted.state
    moved = Displacement.between(first, here)
    slopes = native.discrete_rotation_slopes(np.ascontiguousarray(system.inertia), moved.twist)
    wrench, next_wrench = wrenches(adjoint, before), wrenches(adjoint, predicted)
    p = np.hstack([slopes[0], system.mass[:, None] * moved.twist[:, 3:]]) / h
    p_end, wrench_end = moved.to_end(p), moved.to_end(wrench)

    at.move_to(here)
    weight, pi = at.solve(g.velocity, adjoint.size)
    remaining = momenta(system, end.velocity) - p_end - 0.5 * h * next_wrench
    nu = at.solve(remaining, largest(remaining))[1]
    rows = adjoint.rows_at(here, end.velocity)
    g.twist[:] += adjoint.of_rows(here, nu, weight)
    g.twist[:] += adjoint.rows_vjp(rows, -pi)
    adjoint.add_inertial(weight, end.velocity)

    by_next_wrench = by_wrench + 0.5 * h * weight
    by = StateGradient(g.twist, *np.zeros((2, *weight.shape)))
    adjoint.add_wrench(predicted.state.velocity, predicted.acceleration, by_next_wrench, by)
    adjoint.accelerated(at, here, by, (predicted.acceleration, predicted.multiplier))
    put_in_plane(at.dynamics, by.twist)
    put_in_plane(at.dynamics, by.velocity)
    change = product(system.inverse_inertia, by.velocity)
    adjoint.add_inertial(change, here.velocity)

    by_p, by_first_wrench = weight + change, 0.5 * h * change
    turn = force_cross(by_p, p_end) + force_cross(by_first_wrench, wrench_end)  # of axes
    turn[:, 3:] = 0.0
    back = moved.transposed_jacobian.copy()
    back[:, :3, :3] = slopes[1] @ back[:, :3, :3]
    back[:, 3:, 3:] /= system.mass[:, None, None]
    constant = moved.to_start(by_p) + h * product(back, turn)
    weight, by_end, kappa = adjoint.closing(at, first, rows, constant, h * back, g.twist, h)
    adjoint.errors_vjp(rows, -kappa)
    by_displacement = product(back, turn + by_end)
    by_displacement[:, :3] = (slopes[2] @ by_displacement[:, :3, None])[:, :, 0]
    adjoint.add_inertial(by_displacement, moved.twist)

    at.move_to(first)
    impulse = p - momenta(system, first.velocity) - 0.5 * h * wrench
    mu = at.solve(impulse, largest(impulse))[1]
    adjoint.add_inertial(-weight, first.velocity)
    twist = moved.of_start(by_end) + adjoint.of_rows(first, mu, weight)
    start = StateGradient(twist, momenta(system, weight), np.zeros_like(weight))
    return start, moved.to_start(by_first_wrench) + 0.5 * h * weight
