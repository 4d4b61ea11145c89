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

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.equations.system_motion import SystemMotion, joint_ends, padded
from sparsebody.model.system import State
from sparsebody.simulation.implicit.generalized_alpha import AlphaCoefficients, AlphaState
from sparsebody.simulation.implicit.newton import NewtonMatrix
from sparsebody.simulation.implicit.step_equations import StepEquations

_PART = 0.1  # of a step, over which dv/dt is differenced


class StartingValues:
    """Starting values of the generalized-alpha method.

    Parameters
    ----------
    equations : StepEquations
        Of the mechanism.
    matrix : NewtonMatrix
        On the same arrays.
    coefficients : AlphaCoefficients
        Of the method.
    """

    def __init__(
        self, equations: StepEquations, matrix: NewtonMatrix, coefficients: AlphaCoefficients
    ) -> None:
        self._equations, self._matrix, self._method = equations, matrix, coefficients

    def at(self, state: State, h: float) -> AlphaState:
        """Return the values for steps of `h` [s] from a consistent state."""
        method, system = self._method, self._equations.system
        b = method.of_newton(h)[0]
        motion = SystemMotion(system, state)
        rate_of_error = motion.velocity_error
        acceleration, multiplier = self._accelerations(motion, b, motion.position_error)
        across = self._product(motion, acceleration) - motion.constraint.acceleration
        rate = np.zeros_like(acceleration)
        for t in (_PART * h, -_PART * h):
            there = SystemMotion(system, self._moved(state, acceleration, t))
            error = motion.position_error + t * rate_of_error + 0.5 * t * t * across
            rate += self._accelerations(there, b, error)[0] / (2.0 * t)
        error = (1.0 / 6.0 - method.beta - 0.5 * method.shift) * rate
        error += cross_products(state.velocity, acceleration) / 12.0
        correction = self._least(motion, b, h * h * self._product(motion, error))
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
        self, motion: SystemMotion, b: float, position_error: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return dv/dt and lambda.

        M dv/dt + A' lambda = f, A dv/dt - b C lambda = gamma - b delta.
        """
        self._evaluate_at_rest(motion.state)
        self._equations.row_residual[:] = position_error - motion.constraint.acceleration / b
        self._solve(b)
        return b * self._matrix.twist, self._matrix.multiplier.copy()

    def _least(self, motion: SystemMotion, b: float, change: FloatArray) -> FloatArray:
        """Return the least change of velocities, in the metric of M, that changes A v so."""
        self._evaluate_at_rest(motion.state)
        self._equations.force_residual[:] = 0.0
        self._equations.row_residual[:] = -change
        self._solve(b)
        return self._matrix.twist.copy()

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

    def _product(self, motion: SystemMotion, twist: FloatArray) -> FloatArray:
        """Return A twist."""
        system, rows = motion.system, motion.constraint.rows
        ends = joint_ends(system, system.row_joint)
        return np.asarray(np.einsum("rsa,rsa->r", rows, padded(twist)[ends]))


def cross_products(v: FloatArray, m: FloatArray) -> FloatArray:
    """Return v x m of motions (n, 6). Featherstone (2008), eq. (2.33)."""
    angular = np.cross(v[:, :3], m[:, :3])
    linear = np.cross(v[:, :3], m[:, 3:]) + np.cross(v[:, 3:], m[:, :3])
    return np.concatenate([angular, linear], axis=1)
