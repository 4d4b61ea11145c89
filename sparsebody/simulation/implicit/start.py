"""Starting values that keep the generalized-alpha method at order 2 from its first step on.

a_0 = dv/dt + (alpha_m - alpha_f) h d2v/dt2, and velocities moved by h^2 across the constraints, or
else the local error of the poses, which the constraints suppress, makes multipliers oscillate:

    Delta_0 = h^2 M^-1 A' (A M^-1 A')^-1 A l,  l = (1/6 - beta - (alpha_m - alpha_f) / 2) d2v/dt2
                                                   + v x dv/dt / 12.

Accelerations are those of [M A'; A -b C] with b of the first step: of rigid joints where C is
negligible, of given deformations where it is not. No rank is decided.

References
----------
Arnold, Brüls and Cardona (2015), Numer. Math. 129:149, sec. 4; Arnold and Hante (2017), J. Comput.
Nonlinear Dynam. 12:021002, sec. 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.body_forces import elastic_motion
from sparsebody.equations.system_motion import SystemMotion, joint_ends, padded
from sparsebody.kinematics.poses import displaced
from sparsebody.model.system import State, System
from sparsebody.simulation.implicit.generalized_alpha import AlphaCoefficients, AlphaState
from sparsebody.simulation.implicit.newton import NewtonMatrix
from sparsebody.simulation.implicit.step_equations import StepEquations

_SHORT = 1e-5  # [s], over which rows are differenced; their rates count by h^2 only
_PART = 0.1  # of a step, over which dv/dt is differenced


class StartingValues:
    """Starting values of the generalized-alpha method, by a matrix on the same arrays."""

    def __init__(
        self, equations: StepEquations, matrix: NewtonMatrix, coefficients: AlphaCoefficients
    ) -> None:
        self._equations, self._matrix, self._method = equations, matrix, coefficients

    def at(self, state: State, h: float) -> AlphaState:
        """Return the values for steps of `h` [s] from a consistent state."""
        method = self._method
        b = method.of_newton(h)[0]
        rows = row_motion(self._equations.system, state)
        acceleration, multiplier = self._accelerations(rows, b, rows.error)
        across = rows.product(acceleration) - rows.acceleration
        rate = np.zeros_like(acceleration)
        for t in (_PART * h, -_PART * h):
            there = row_motion(self._equations.system, self._moved(state, acceleration, t))
            error = rows.error + t * rows.velocity + 0.5 * t * t * across
            rate += self._accelerations(there, b, error)[0] / (2.0 * t)
        error = (1.0 / 6.0 - method.beta - 0.5 * method.shift) * rate
        error += cross_products(state.velocity, acceleration) / 12.0
        correction = self._least(state, b, h * h * rows.product(error))
        return AlphaState(
            state.with_(velocity=state.velocity + correction),
            acceleration,
            acceleration + method.shift * h * rate,
            multiplier,
        )

    def _moved(self, state: State, acceleration: FloatArray, t: float) -> State:
        """Return the state a short time t away, to second order."""
        equations = self._equations
        equations.start_from(state, state.time + t)
        equations.displacement[:] = t * state.velocity + 0.5 * t * t * acceleration
        equations.velocity[:] = state.velocity + t * acceleration
        equations.evaluate()
        return equations.state()

    def _accelerations(
        self, rows: RowMotion, b: float, error: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return dv/dt and lambda.

        M dv/dt + A' lambda = f, A dv/dt - b C lambda = gamma - b delta.
        """
        self._evaluate_at_rest(rows.state)
        self._equations.row_residual[:] = error - rows.acceleration / b
        self._solve(b)
        return b * self._matrix.twist, self._matrix.multiplier.copy()

    def _least(self, state: State, b: float, change: FloatArray) -> FloatArray:
        """Return the least change of velocities, in the metric of M, that changes A v so."""
        self._evaluate_at_rest(state)
        self._equations.force_residual[:] = 0.0
        self._equations.row_residual[:] = -change
        self._solve(b)
        return self._matrix.twist.copy()

    def closed(self, state: State, h: float, opening: FloatArray) -> State:
        """Return the state with joints closed by `opening` (n_rows,), bodies moved least."""
        return displaced(state, self._least(state, self._method.of_newton(h)[0], -opening))

    def _evaluate_at_rest(self, state: State) -> None:
        """Evaluate forces and rows at a state, without displacement, accelerations, multipliers."""
        equations = self._equations
        equations.start_from(state, state.time)
        equations.displacement[:] = equations.acceleration[:] = 0.0
        equations.velocity[:], equations.multiplier[:] = state.velocity, 0.0
        equations.evaluate()

    def _solve(self, b: float) -> None:
        self._matrix.factorize(b, 0.0)
        self._matrix.solve()


@dataclass(frozen=True, eq=False)
class RowMotion:
    """The rows of joints and elastic elements at a state, A v and A a = gamma."""

    state: State
    ends: IntArray  # (n_rows, 2) bodies, -1 for the world
    rows: FloatArray  # (n_rows, 2, 6)
    error: FloatArray  # (n_rows,) delta, or z + D dz/dt
    velocity: FloatArray  # (n_rows,) A v less what is prescribed
    acceleration: FloatArray  # (n_rows,) gamma

    def product(self, twist: FloatArray) -> FloatArray:
        """Return A twist (n_rows,)."""
        return np.asarray(np.einsum("rsa,rsa->r", self.rows, padded(twist)[self.ends]))


def row_motion(system: System, state: State) -> RowMotion:
    """Return the motion of all rows, those of elastic elements after those of the joints."""
    motion, elastic = SystemMotion(system, state), system.elastic
    element, row = np.nonzero(np.arange(6) < elastic.n_rows[:, None])
    stretch = elastic_motion(system, state)
    drift = np.zeros(len(row))
    for t in (_SHORT, -_SHORT):  # d(A v)/dt at constant twists
        moved = displaced(state, t * state.velocity)
        drift += elastic_motion(system, moved).rate[element, row] / (2.0 * t)
    of_joints, constraint = joint_ends(system, system.row_joint), motion.constraint
    of_elements = np.stack([elastic.predecessor, elastic.successor], axis=1)[element]
    return RowMotion(
        state,
        np.concatenate([of_joints, of_elements]),
        np.concatenate([constraint.rows, stretch.rows[element, row]]),
        np.concatenate([motion.position_error, stretch.force[element, row]]),
        np.concatenate([motion.velocity_error, elastic_motion(system, state).rate[element, row]]),
        np.concatenate([constraint.acceleration, -drift]),
    )


def cross_products(v: FloatArray, m: FloatArray) -> FloatArray:
    """Return v x m of motions (n, 6). Featherstone (2008), eq. (2.33)."""
    angular = np.cross(v[:, :3], m[:, :3])
    linear = np.cross(v[:, :3], m[:, 3:]) + np.cross(v[:, 3:], m[:, :3])
    return np.concatenate([angular, linear], axis=1)
