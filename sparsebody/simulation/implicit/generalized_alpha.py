"""The generalized-alpha method on SE(3), constraints of index 3 with compliance.

    q_1 = q_0 exp(y),  y   = h v_0 + h^2 ((1/2 - beta) a_0 + beta a_1),
                       v_1 = v_0 + h ((1 - gamma) a_0 + gamma a_1),
    (1 - alpha_m) a_1 + alpha_m a_0 = (1 - alpha_f) dv_1/dt + alpha_f dv_0/dt.

Of order 2 in poses, velocities and multipliers if a_0 approximates dv/dt at the time
(alpha_m - alpha_f) h to order 2.

Starting values keep it at that order from the first step on: a_0 = dv/dt + (alpha_m - alpha_f) h
d2v/dt2, and velocities moved by h^2 across the constraints, or else the local error of the poses,
which the constraints suppress, makes multipliers oscillate:

    Delta_0 = h^2 M^-1 A' (A M^-1 A')^-1 A l,  l = (1/6 - beta - (alpha_m - alpha_f) / 2) d2v/dt2
                                                   + v x dv/dt / 12.

References
----------
Chung and Hulbert (1993), J. Appl. Mech. 60:371, on the coefficients; Brüls, Cardona and Arnold
(2012), Mech. Mach. Theory 48:121, on Lie groups; Arnold, Brüls and Cardona (2015), Numer. Math.
129:149, on order and starting values; Arnold and Hante (2017), J. Comput. Nonlinear Dynam.
12:021002, sec. 4.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparsebody._core import simulation as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.body_forces import elastic_motion
from sparsebody.equations.system_motion import SystemMotion, padded
from sparsebody.errors import SimulationError
from sparsebody.kinematics.joint_motion import displaced
from sparsebody.model.system import State, States, System
from sparsebody.simulation.implicit.newton import NewtonMatrix
from sparsebody.simulation.implicit.step_equations import Newest, StepEquations
from sparsebody.simulation.trajectory import EndMemory, Ends

# Errors at which Newton's method ends: relative to the predictor's, and, where corrections decrease
# slowly, relative to h^2 dv/dt
_PREDICTOR_TOLERANCE, _NEWTON_TOLERANCE = 1e-4, 1e-6
_DIFFERENCE_TIME = 1e-5  # [s], over which rows are differenced; their rates count by h^2 only
DIFFERENCE_SHARE = 0.1  # of a step, over which dv/dt is differenced


class AlphaCoefficients(NamedTuple):
    """The coefficients for a spectral radius at infinite frequency, from 0 to 1."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float

    @classmethod
    def of(cls, spectral_radius: float) -> AlphaCoefficients:
        """Return those of second order with the least dissipation of low frequencies."""
        alpha_m = (2.0 * spectral_radius - 1.0) / (spectral_radius + 1.0)
        alpha_f = spectral_radius / (spectral_radius + 1.0)
        gamma = 0.5 + alpha_f - alpha_m
        return cls(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma)

    @property
    def shift(self) -> float:
        """The time, in steps, at which a approximates dv/dt."""
        return self.alpha_m - self.alpha_f

    def of_newton(self, h: float) -> tuple[float, float]:
        """Return b and c: d(dv/dt) = b dy and dv = c dy."""
        b = (1.0 - self.alpha_m) / ((1.0 - self.alpha_f) * self.beta * h * h)
        return b, self.gamma / (self.beta * h)


@dataclass(frozen=True, eq=False)
class AlphaState(Newest):
    """All that the method carries from one step to the next."""

    a: FloatArray  # (n_bodies, 6) a_n, the algorithmic acceleration


class AlphaSteps(NamedTuple):
    """Steps of one length."""

    ends: Ends  # with multipliers of all rows
    newest: AlphaState | None  # None if no step was taken
    began: tuple[float, FloatArray]  # time [s] and multipliers where the last one began
    largest_error: float  # C lambda of the joints [m, rad]
    failure: BaseException | None  # of a further step


class GeneralizedAlpha:
    """Steps of the generalized-alpha method, by Newton's matrix on the same arrays.

    The spectral radius is that at infinite frequency, from 0 (all oscillations that steps do not
    resolve vanish in one of them) to 1 (none does).
    """

    closes_velocities = False

    def __init__(
        self,
        equations: StepEquations,
        matrix: NewtonMatrix,
        spectral_radius: float,
        openings: tuple[FloatArray, FloatArray, float, float, float, bool],
    ) -> None:
        self.coefficients = AlphaCoefficients.of(spectral_radius)
        self._equations, self._matrix = equations, matrix
        self._memory = EndMemory(equations.system, equations.n_rows)
        compliance = equations.compliance.diagonal
        self._native = native.GeneralizedAlpha(
            *(self.coefficients, self.closes_velocities, equations.native, matrix.native),
            *(equations.start, equations.end, equations.residual),
            *((compliance, equations.reference, equations.prescribed_rate), openings),
            *(matrix.length, _PREDICTOR_TOLERANCE, _NEWTON_TOLERANCE),
        )
        self.opening = self._native.opening

    def take_steps(
        self,
        start: AlphaState,
        h: float,
        times: FloatArray,
        limits: tuple[float, float],
        with_full_matrix: bool = False,
        out: States | None = None,
    ) -> AlphaSteps:
        """Take steps of `h` [s] to some times, up to one that fails; states in `out` if any.

        Also up to one after which joints are open beyond `limits`: of an error [m, rad], and of
        `opening`; and for 50 ms. Where Newton's method converges slowly by the factors, the full
        matrix is factorized instead if `with_full_matrix`, at a higher cost.
        """
        state, equations = start.state, self._equations
        times = self._memory.begin(times, out)
        n, status, a, time, before, largest_error = self._native.take_steps(
            (
                *(state.position, state.orientation, state.velocity, state.coordinate),
                *(start.acceleration, start.multiplier, start.a),
            ),
            *(state.time, (h, *self.coefficients.of_newton(h)), times),
            *(self._memory.arrays, limits),
            None if equations.has_constant_inputs else equations.set_inputs,
            self._matrix.solve_full if with_full_matrix else None,
        )
        ends = self._memory.ends(times[:n])
        newest = None
        if n > 0:
            others = ends.acceleration[-1].copy(), ends.multiplier[-1].copy()
            newest = AlphaState(ends.states.at(-1), *others, a)
        return AlphaSteps(ends, newest, (time, before), largest_error, self._failure(status))

    def _failure(self, status: int) -> BaseException | None:
        """Return the error of the newest step."""
        if status == self._native.CONVERGED:
            return None
        if status == self._native.UNDEFINED:
            try:
                self._equations.check()
            except BaseException as error:  # of a control, or a function of time
                return error
        newton = self._matrix.native
        return SimulationError(
            f"Newton's method does not converge (correction {newton.size:.1e} m after "
            f"{newton.n_iterations + 1} iterations); take smaller steps"
        )


class StabilizedAlpha(GeneralizedAlpha):
    """Steps of index 2, stabilized: rigid joints close in positions and velocities.

    Both multipliers have a small compliance, so that rows may depend on each other:
    core/simulation/generalized_alpha.hpp.
    """

    closes_velocities = True

    def __init__(self, *arguments: Any, step: float) -> None:
        super().__init__(*arguments)
        self._first = copy.deepcopy(self._equations.compliance)
        self._first_b = self.coefficients.of_newton(step)[0]

    def scale_compliance(self, b: float) -> None:
        """Make it the same part of b^-1 M^-1 as in the first step."""
        self._equations.compliance.set_to(self._first, self._first_b / b)

    def take_steps(self, start: AlphaState, h: float, *arguments: Any) -> AlphaSteps:
        """Take steps of `h` [s], by a compliance for these."""
        self.scale_compliance(self.coefficients.of_newton(h)[0])
        return super().take_steps(start, h, *arguments)

    def corrections(self, force: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return twists and multipliers for residuals less their inconsistent part C lambda."""
        equations, matrix = self._equations, self._matrix
        n, C = len(equations.compliance.diagonal), equations.compliance.diagonal
        for _ in range(2):
            equations.force_residual[:], equations.row_residual[:] = force, rows
            matrix.solve()
            rows = np.concatenate([rows[:n] - C * matrix.multiplier[:n], rows[n:]])
        return matrix.twist.copy(), matrix.multiplier.copy()


# ---- the first step -----------------------------------------------------------------------------


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
        acceleration, multiplier = self.accelerations(rows, b, rows.error)
        across = rows.product(acceleration) - rows.acceleration
        rate = np.zeros_like(acceleration)
        for t in (DIFFERENCE_SHARE * h, -DIFFERENCE_SHARE * h):
            moved = row_motion(self._equations.system, self.moved(state, acceleration, t))
            error = rows.error + t * rows.velocity + 0.5 * t * t * across
            rate += self.accelerations(moved, b, error)[0] / (2.0 * t)
        error = (1.0 / 6.0 - method.beta - 0.5 * method.shift) * rate
        error += native.cross_products(state.velocity, acceleration) / 12.0
        correction = self._least(state, b, h * h * rows.product(error))
        return AlphaState(
            state.with_(velocity=state.velocity + correction),
            acceleration,
            multiplier,
            acceleration + method.shift * h * rate,
        )

    def moved(self, state: State, acceleration: FloatArray, t: float) -> State:
        """Return the state a short time t away, to second order."""
        equations = self._equations
        displacement = t * state.velocity + 0.5 * t * t * acceleration
        velocity = state.velocity + t * acceleration
        equations.begin(state, state.time + t, displacement=displacement, velocity=velocity)
        equations.evaluate()
        return equations.state()

    def accelerations(
        self, rows: RowMotion, b: float, error: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return dv/dt and lambda.

        M dv/dt + A' lambda = f, A dv/dt - b C lambda = gamma - b delta.
        """
        self._equations.begin(rows.state)
        self._equations.evaluate()
        self._equations.row_residual[:] = error - rows.acceleration / b
        self._matrix.factorize(b, 0.0)
        self._matrix.solve()
        return b * self._matrix.twist, self._matrix.multiplier.copy()

    def _least(self, state: State, b: float, change: FloatArray) -> FloatArray:
        """Return the least change of velocities in the metric of M that changes A v by `change`."""
        self._equations.begin(state)
        self._equations.evaluate()
        self._equations.force_residual[:] = 0.0
        self._equations.row_residual[:] = -change
        self._matrix.factorize(b, 0.0)
        self._matrix.solve()
        return self._matrix.twist.copy()

    def closed(self, state: State, h: float, reduction: FloatArray) -> State:
        """Return the nearest state with row errors reduced by `reduction` (n_rows,)."""
        return displaced(state, self._least(state, self._method.of_newton(h)[0], -reduction))


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

    def forces(self, multiplier: FloatArray) -> FloatArray:
        """Return A' multiplier (n_bodies, 6)."""
        forces = np.zeros((len(self.state.position) + 1, 6))  # the last one on the world
        np.add.at(forces, self.ends, multiplier[:, None, None] * self.rows)
        return forces[:-1]


def row_motion(system: System, state: State) -> RowMotion:
    """Return the motion of all rows, those of elastic elements after those of the joints."""
    motion, elastic = SystemMotion(system, state), system.elastic
    element, row = np.nonzero(np.arange(6) < elastic.n_rows[:, None])
    stretch = elastic_motion(system, state)
    drift = np.zeros(len(row))
    for t in (_DIFFERENCE_TIME, -_DIFFERENCE_TIME):  # d(A v)/dt at constant twists
        moved = displaced(state, t * state.velocity)
        drift += elastic_motion(system, moved).rate[element, row] / (2.0 * t)
    of_joints, constraint = system.ends[system.row_joint], motion.constraint
    of_elements = np.stack([elastic.predecessor, elastic.successor], axis=1)[element]
    return RowMotion(
        state,
        np.concatenate([of_joints, of_elements]),
        np.concatenate([constraint.rows, stretch.rows[element, row]]),
        np.concatenate([motion.position_error, stretch.force[element, row]]),
        np.concatenate([motion.velocity_error, stretch.rate[element, row]]),
        np.concatenate([constraint.acceleration, -drift]),
    )
