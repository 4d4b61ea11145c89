"""The adjoint of steps of the generalized-alpha method.

At the end of a step, F(q, v, dv/dt, lambda, p) = 0, with rates K, D and M by twists, velocities and
accelerations of the bodies, and

    dq_1 = Ad(exp y)^-1 dq_0 + T(y) dy,  dy = h dv_0 + h^2 ((1/2 - beta) da_0 + beta da_1),
    dv_1 = dv_0 + h ((1 - gamma) da_0 + gamma da_1),
    (1 - alpha_m) da_1 + alpha_m da_0 = (1 - alpha_f) d(dv_1/dt) + alpha_f d(dv_0/dt).

So K + (c D + b M) T^-1, Newton's matrix with nothing left out, turns changes of F into changes of
the end, and its transpose gradients by the end into weights of these. Of starting values, changes
of K / b are left out, of the order h^2 where steps resolve springs and elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_diag, bsr_array, csc_array, eye_array

from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import SimulationError
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.linearization.derivatives import Residuals
from sparsebody.linearization.state_gradients import (
    Adjoint,
    LinearDynamics,
    StateGradient,
    force_cross,
)
from sparsebody.model.system import State
from sparsebody.simulation.callbacks import Control
from sparsebody.simulation.implicit.generalized_alpha import (
    DIFFERENCE_SHARE,
    AlphaCoefficients,
    AlphaState,
    RowMotion,
    cross_products,
    row_motion,
)
from sparsebody.simulation.implicit.implicit_stepper import ImplicitStepper
from sparsebody.simulation.implicit.newton import scaled_lu
from sparsebody.simulation.stepper import carried


@dataclass(frozen=True, eq=False)
class ImplicitStep:
    """One step, or a part of one."""

    start: AlphaState
    end: AlphaState
    h: float  # [s]
    ratio: float  # of h to that of the step before, by which a - dv/dt of the start was changed


@dataclass(frozen=True, eq=False)
class Solution:
    """Accelerations of compliant joints at a state, and [b M + K A'; A -C] there."""

    state: State
    acceleration: FloatArray
    multiplier: FloatArray
    b: float
    matrix: csc_array

    def solve(
        self, force: FloatArray, row: FloatArray, transposed: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return twists (n_bodies, 6) and multipliers of the matrix, or of its transpose."""
        matrix, size = self.matrix.T if transposed else self.matrix, force.size
        rhs = np.concatenate([force.ravel(), row])
        x = np.asarray(scaled_lu(matrix.tocsc(), size)(rhs), dtype=float)
        return x[:size].reshape(-1, 6), x[size:]


class ImplicitTape(ImplicitStepper):
    """A stepper that keeps its steps."""

    steps: list[ImplicitStep]
    first: State

    def start(self, state: State) -> None:
        """Start from a consistent state."""
        if self._now is not None:
            return
        super().start(state)
        self.steps, self.first, self._kept_compliance = [], state, self.compliance

    def advance(self, time: float) -> State:
        """Return the state at `time`; SimulationError if joints became stiffer on the way."""
        state = super().advance(time)
        if self.compliance != self._kept_compliance:
            raise SimulationError(
                f"at t = {time:.6g} s drives made joints stiffer, from {self._kept_compliance:.1e} "
                f"to {self.compliance:.1e} m/N, which has no gradient; give a compliance: "
                f'Method("generalized-alpha", compliance={self.compliance:.1e})'
            )
        return state

    def _step(self, time: float, h: float, halvings: int) -> None:
        start, before = self.now, self._h
        super()._step(time, h, halvings)
        self.steps.append(ImplicitStep(start, self.now, h, h / before))

    @property
    def coefficients(self) -> AlphaCoefficients:
        """Those of the method."""
        return self._method.coefficients

    def accelerations(self, rows: RowMotion, error: FloatArray) -> Solution:
        """Return those of starting values, at a state with rows that err so."""
        b, equations = self.coefficients.of_newton(self.nominal)[0], self._equations
        solution = self._starting.accelerations(rows, b, error)
        return Solution(rows.state, *solution, b, equations.matrix(1.0, 0.0, b))

    def matrices(self, end: AlphaState) -> tuple[csc_array, csc_array, csc_array]:
        """Return K, with all rows, D and M at the end of a step."""
        equations = self._equations
        equations.begin(end.state, velocity=end.state.velocity, multiplier=end.multiplier)
        equations.acceleration[:] = end.acceleration
        equations.evaluate()
        return equations.parts(exact_rows=True)


class ImplicitAdjoint(Adjoint):
    """A reverse sweep over the steps of a tape; `dynamics` is of rigid joints at the start."""

    def __init__(
        self, tape: ImplicitTape, dynamics: ForwardDynamics, control: Control | None
    ) -> None:
        super().__init__(dynamics.system, control)
        self._tape, self._linear = tape, LinearDynamics(dynamics)

    def run(self, gradient_at: Callable[[float], StateGradient | None]) -> StateGradient:
        """Return the gradient by the first state, of those by states at times."""
        g = StateGradient.zero(self.system.n_bodies)
        by_mean = np.zeros_like(g.velocity)
        for step in reversed(self._tape.steps):
            self.add(g, gradient_at(step.end.state.time))
            g, by_mean = self._step(step, g, by_mean)
        first = self._tape.first
        self._start_back(first, g, by_mean)
        self.add(g, gradient_at(first.time))
        self._linear.move_to(first)
        self.consistent(self._linear, first, g)
        return g

    def _start_back(self, state: State, g: StateGradient, by_mean: FloatArray) -> None:
        """Turn gradients by starting values into those by the state.

        v_0 = v + d, [b M + K A'; A -C] [d; nu] = h^2 [0; A l], and a_0 = a + shift h j, with da/dt
        = j by a difference and l = (1/6 - beta - shift / 2) j + v x a / 12.
        """
        tape = self._tape
        method, h, t = tape.coefficients, tape.nominal, DIFFERENCE_SHARE * tape.nominal
        share, rows = 1.0 / 6.0 - method.beta - 0.5 * method.shift, row_motion(self.system, state)
        here = tape.accelerations(rows, rows.error)
        across = rows.product(here.acceleration) - rows.acceleration
        near: list[tuple[float, Solution]] = []
        for dt in (t, -t):
            moved = row_motion(self.system, carried(state, here.acceleration, dt))
            error = rows.error + dt * rows.velocity + 0.5 * dt * dt * across
            near.append((dt, tape.accelerations(moved, error)))
        jerk = sum(there.acceleration / (2.0 * dt) for dt, there in near)
        change = share * jerk + cross_products(state.velocity, here.acceleration) / 12.0
        n, size = self.system.n_rows, change.size
        rows_of_bodies = here.matrix[size:, :size]
        shift, nu = here.solve(np.zeros(size), h * h * (rows_of_bodies @ change.ravel()))
        w, w_row = here.solve(g.velocity, np.zeros(len(nu)), transposed=True)
        by_change = h * h * (rows_of_bodies.T @ w_row).reshape(change.shape)
        self.add_inertial(here.b * w, shift)
        g.twist[:] += self.of_rows(state, w_row[:n], h * h * change - shift)
        g.twist[:] += self.of_rows(state, -nu[:n], w)
        g.velocity[:] += force_cross(here.acceleration, by_change) / 12.0
        g.acceleration[:] += by_mean - force_cross(state.velocity, by_change) / 12.0
        by_jerk = method.shift * h * by_mean + share * by_change
        for dt, there in near:
            by = StateGradient.zero(len(change))
            by.acceleration[:] = by_jerk / (2.0 * dt)
            self._accelerated(there, by)
            g.twist[:] += _transported(state, there.state, by.twist)
            g.velocity[:] += by.velocity + dt * by.twist
            g.acceleration[:] += dt * by.velocity + 0.5 * dt * dt * by.twist
        self._accelerated(here, g)

    def _accelerated(self, at: Solution, g: StateGradient) -> None:
        """Add gradients by accelerations of compliant joints to those by the state."""
        n = self.system.n_rows
        p, pi = at.solve(at.b * g.acceleration, np.zeros(len(at.multiplier)), transposed=True)
        residuals = Residuals(self.system, at.state, at.acceleration, -at.multiplier[:n])
        by = residuals.vjp(-p, -pi[:n] / at.b)
        g.twist[:] += by["position"]
        g.velocity[:] += by["velocity"]
        self.add_parameters(at.state.time, by)

    def _step(
        self, step: ImplicitStep, g: StateGradient, by_mean: FloatArray
    ) -> tuple[StateGradient, FloatArray]:
        """Return the gradients by the start of a step, of its state and of a."""
        alpha_m, alpha_f, beta, gamma = method = self._tape.coefficients
        start, end, h, shape = step.start, step.end, step.h, g.twist.shape
        mean = start.acceleration + step.ratio * (start.mean - start.acceleration)
        y = h * start.state.velocity + h * h * ((0.5 - beta) * mean + beta * end.mean)
        b, c = method.of_newton(h)
        K, D, M = self._tape.matrices(end)
        tangent = _inverse_tangents(y)
        n_rows, n = K.shape[0] - g.twist.size, len(g.twist)
        bodies = bsr_array((tangent, np.arange(n), np.arange(n + 1)))
        S = K + (c * D + b * M) @ block_diag([bodies, eye_array(n_rows)])
        share = (1.0 - alpha_m) / (1.0 - alpha_f)
        by_end = by_mean + h * gamma * g.velocity + share * g.acceleration
        known = g.twist + np.einsum("nji,nj->ni", tangent, by_end) / (h * h * beta)
        rhs = np.append(known.ravel(), np.zeros(n_rows))
        w = np.asarray(scaled_lu(S.T.tocsc(), g.twist.size)(rhs), dtype=float)
        by_pose, by_velocity, by_rate = (
            of - (matrix.T @ w)[: of.size].reshape(shape)
            for of, matrix in zip(g, (K, D, M), strict=True)
        )
        at = end.state, end.acceleration, np.zeros(self.system.n_rows)
        by = Residuals(self.system, *at).vjp(-w[: g.twist.size].reshape(shape), at[2])
        self.add_parameters(end.state.time, by)
        by_end = by_mean + h * gamma * by_velocity + share * by_rate
        by_start = h * (1.0 - gamma) * by_velocity - (0.5 - beta) / beta * by_end
        by_start += alpha_m / (1.0 - alpha_f) * by_rate
        acceleration = (1.0 - step.ratio) * by_start - alpha_f / (1.0 - alpha_f) * by_rate
        velocity = by_velocity - by_end / (h * beta)
        twist = _transported(start.state, end.state, by_pose)
        return StateGradient(twist, velocity, acceleration), step.ratio * by_start


def _inverse_tangents(y: FloatArray) -> FloatArray:
    """Return T(y)^-1 (n, 6, 6)."""
    units = np.broadcast_to(np.eye(6)[:, None], (6, *y.shape))
    columns = [simulation.inverse_tangent_products(y, np.ascontiguousarray(m)) for m in units]
    return np.stack(columns, axis=2)


def _transported(start: State, end: State, force: FloatArray) -> FloatArray:
    """Return forces (n, 6) in the coordinates of bodies at the end in those at the start."""
    back = np.swapaxes(body_rotations(start), 1, 2)
    turn = back @ body_rotations(end)
    way = np.einsum("nij,nj->ni", back, end.position - start.position)
    moment, linear = (np.einsum("nij,nj->ni", turn, part) for part in np.hsplit(force, 2))
    return np.hstack([moment + np.cross(way, linear), linear])
