"""The adjoint of steps of a collocation method.

With the rates W = (h tableau)^-1, Newton's method solves at each node, q = q_0 exp(y),

    F(q_i, V_i, A_i, lambda_i) = 0,  delta(q_i) = 0,  A V_i = k,
    V_i = T(y_i) sum_j W_ij y_j + x_i,  A_i = sum_j W_ij (V_j - v_0),  J x_i + A_f' mu_i = 0,

J and A_f being those of its factors. The transpose of the rates of all this by (y, lambda, x) turns
gradients by the last node into weights (w, u, s) of F, delta and A V. Transposed steps of Newton's
method, that is its factors, make it nearly 1; changes of J and A_f are left out, for x is as small
as the error of the step. Hairer and Wanner (1996), sec. IV.8.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.linearization.implicit_adjoint import StepTape, SweptSteps
from sparsebody.linearization.state_gradients import (
    Adjoint,
    StateGradient,
    momenta,
    solve_near_identity,
    transported,
)
from sparsebody.model.system import State
from sparsebody.simulation.callbacks import Control
from sparsebody.simulation.implicit.collocation import (
    CollocationState,
    CollocationStepper,
    each_node,
)
from sparsebody.simulation.stepping import Problem


@dataclass(frozen=True, eq=False)
class CollocationStep:
    """One step, or a part of one, and where its factors were made."""

    end: CollocationState
    point: CollocationState
    point_step: float  # [s]
    is_whole: bool


class CollocationTape(StepTape[CollocationState, CollocationStep], CollocationStepper):
    """A stepper of a collocation method that keeps its steps."""

    def _step(self, time: float, h: float, halvings: int) -> None:
        super()._step(time, h, halvings)
        method = self.method
        assert method.point is not None
        step = CollocationStep(self.now, method.point, method.point_step, method.is_whole)
        self._parts.append(step)


class CollocationAdjoint(SweptSteps[CollocationStep]):
    """A reverse sweep over steps of a collocation method."""

    def __init__(
        self,
        tape: CollocationTape,
        problem: Problem,
        dynamics: ForwardDynamics,
        control: Control | None,
        with_geometry: bool = False,
    ) -> None:
        super().__init__(tape, dynamics, control, with_geometry)
        self._stepper = CollocationStepper(problem)

    def end(self, step: CollocationStep) -> State:
        """Return the state at the end of a step."""
        return step.end.state

    def step_back(self, step: CollocationStep, g: StateGradient) -> StateGradient:
        """Return the gradient by the start of a step of that by its end."""
        nodes = _Nodes(self, self._stepper, step)
        weights = nodes.weights(g)
        start = StateGradient.zero(self.system.n_bodies)
        by_twist, _ = nodes.gradients(*weights)
        by_twist = -by_twist
        by_twist[-1] += g.twist
        for state, by in zip(nodes.states, by_twist, strict=True):
            start.twist[:] += transported(nodes.start, state, by)
        momentum = np.tensordot(nodes.rates.sum(axis=1), weights[0], 1)
        start.velocity[:] = momenta(self.system, momentum)
        for state, of, w in zip(nodes.states, nodes.residuals, weights[0], strict=True):
            by = of.vjp(w, nodes.no_rows)
            self.add_parameters(state.time, {name: -by[name] for name in self.by_parameters})
        for rows, u, v in zip(nodes.rows, *weights[1:], strict=True):
            self.errors_vjp(rows, -u)
            self.rows_vjp(rows, -v)
        return start


class _Nodes:
    """The transposed equations of a step at its nodes."""

    def __init__(
        self, adjoint: Adjoint, stepper: CollocationStepper, step: CollocationStep
    ) -> None:
        polynomials = step.end.step
        assert polynomials is not None
        self._method, self._polynomials = stepper.method, polynomials
        self.start, h, system = polynomials.start, polynomials.h, stepper.method.system
        self._system, n = system, system.n_rows
        self.rates = stepper.method.scheme.rates / h
        self.no_rows, self._still = np.zeros(n), np.zeros((system.n_bodies, 6))
        V, Y = polynomials.velocity[1:], polynomials.displacement
        A, self._rate = each_node(self.rates, V - self.start.velocity), each_node(self.rates, Y)
        self.states = stepper.method.node_states(polynomials, step.end.state.time)
        self.residuals = [
            adjoint.residuals(state, np.ascontiguousarray(a), -row[:n])
            for state, a, row in zip(self.states, A, polynomials.multiplier, strict=True)
        ]
        self.rows = [adjoint.rows_at(state, state.velocity) for state in self.states]
        stepper.method.factorize_at(step.point, step.point_step, step.is_whole)

    def weights(self, g: StateGradient) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return w (s, n_bodies, 6), u and s (s, n_rows) of gradients by the end of the step."""
        twist, velocity = np.zeros((2, *self._rate.shape))
        twist[-1], velocity[-1] = g.twist, g.velocity
        matrix, s = self._method.matrix, len(twist)
        sizes = np.cumsum([twist.size, s * len(self.no_rows)])
        units = matrix.rate**2 * float(self._system.mass.mean()), 1.0, matrix.rate

        def split(z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            w, u, v = np.split(z, sizes)
            shapes = twist.shape, (s, -1), (s, -1)
            parts = zip((w, u, v), units, shapes, strict=True)
            w, u, v = (np.ascontiguousarray(part / unit).reshape(to) for part, unit, to in parts)
            return w, u, v

        def corrected(
            by_twist: FloatArray, by_velocity: FloatArray, by_multiplier: FloatArray
        ) -> FloatArray:
            by_displacement = self._by_displacement(by_twist, by_velocity)
            change = self._apply(simulation.inverse_tangent_forces, by_displacement)
            parts = self._method.transposed_correction(change, by_multiplier, by_velocity)
            return np.concatenate([u * part.ravel() for u, part in zip(units, parts, strict=True)])

        def product(z: FloatArray) -> FloatArray:
            w, u, v = split(z)
            by_multiplier = np.zeros_like(u)
            for rows, weight, row in zip(self.rows, w, by_multiplier, strict=True):
                rows.native.row_products(weight, row)
            return corrected(*self.gradients(w, u, v), by_multiplier)

        def effect(z: FloatArray) -> FloatArray:
            """Weights of rows by their forces, as those of dependent ones are not unique."""
            forces = np.zeros((2, *twist.shape))
            for total, weights in zip(forces, split(z)[1:], strict=True):
                for rows, weight, force in zip(self.rows, weights, total, strict=True):
                    rows.native.add_row_forces(weight, force)
            forces[1] *= matrix.rate
            return np.append(z[: twist.size], forces)

        right = corrected(twist, velocity, np.zeros((s, len(self.no_rows))))
        return split(solve_near_identity(product, right, effect))

    def gradients(
        self, w: FloatArray, u: FloatArray, v: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return those of w . F + u . delta + v . A V by the nodes' twists and velocities."""
        momentum = np.array([momenta(self._system, of_node) for of_node in w])
        by_velocity, by_twist = each_node(self.rates.T, momentum), np.empty_like(w)
        for k, (of, rows) in enumerate(zip(self.residuals, self.rows, strict=True)):
            by = of.vjp(w[k], self.no_rows)
            by_velocity[k] += by["velocity"]
            rows.native.add_row_forces(v[k], by_velocity[k])
            by_twist[k] = by["position"] + rows.vjp(self._still, v[k])["position"]
            rows.native.add_row_forces(u[k], by_twist[k])
        return by_twist, by_velocity

    def _by_displacement(self, by_twist: FloatArray, by_velocity: FloatArray) -> FloatArray:
        """Return the gradients by y of those by twists and velocities."""
        rate = self._apply(simulation.tangent_gradients, self._rate, by_velocity)
        of_rate = self._apply(simulation.tangent_forces, by_velocity)
        twist = self._apply(simulation.tangent_forces, by_twist)
        return np.asarray(twist + rate + each_node(self.rates.T, of_rate))

    def _apply(self, kernel: object, *arrays: FloatArray) -> FloatArray:
        flat = (
            np.ascontiguousarray(array).reshape(-1, 6)
            for array in (self._polynomials.displacement, *arrays)
        )
        return kernel(*flat).reshape(self._rate.shape)  # type: ignore[operator]
