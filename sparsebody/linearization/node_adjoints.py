"""Adjoints of implicit steps whose rigid joints close in positions and velocities.

At each of its nodes, such a step meets F(q, v, a, lambda) = 0, delta(q) = 0 and A v = k. Gradients
turn into weights (w, u, s) of these, by the transposed Jacobian: transposed steps of Newton's
method, that is its factors, make it nearly 1. Changes of J and A_f, those of its factors, are left
out, for x below, by which velocities or poses are closed, is as small as the error of the step.

Of a collocation method, with the rates W = (h tableau)^-1 and q = q_0 exp(y) at each node,

    V_i = T(y_i) sum_j W_ij y_j + x_i,  A_i = sum_j W_ij (V_j - v_0),  J x_i + A_f' mu_i = 0,

and the Jacobian is by (y, lambda, x). Hairer and Wanner (1996), sec. IV.8.

Of the generalized-alpha method of index 2, whose one node is the end of the step,

    q_1 = q_0 exp(y),  y = h v_0 + h^2 ((1/2 - beta) a_0 + beta a_1) - x,  J x + A_f' mu = 0.

With d a twist there, dv_1 = c d and d(dv_1/dt) = b d; x adds to twists alone. Arnold, Brüls and
Cardona (2015), Numer. Math. 129:149.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.linearization.implicit_adjoint import (
    ImplicitAdjoint,
    ImplicitStep,
    StepTape,
    SweptSteps,
)
from sparsebody.linearization.state_gradients import (
    Adjoint,
    StateGradient,
    solve_near_identity,
    transported,
)
from sparsebody.model.system import State
from sparsebody.simulation.implicit.collocation import (
    CollocationState,
    CollocationStepper,
    each_node,
)

Kernel = Callable[..., FloatArray]
Weights = tuple[FloatArray, FloatArray, FloatArray]
"""w (s, n_bodies, 6), u and s (s, n_rows) of F, delta and A v at s nodes."""
Gradients = tuple[FloatArray, FloatArray, FloatArray]
"""By twists, velocities and accelerations, all (s, n_bodies, 6)."""


class NodeGradients(NamedTuple):
    """Gradients (s, n_bodies, 6) and, by multipliers, (s, n_rows) at s nodes."""

    twist: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    multiplier: FloatArray


Correct = Callable[[NodeGradients], Weights]
"""Weights, nearly, of gradients."""


class NodeEquations:
    """The equations at nodes, by the states, accelerations and multipliers there."""

    def __init__(
        self,
        adjoint: Adjoint,
        states: Sequence[State],
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> None:
        self._adjoint, self.states, n = adjoint, states, adjoint.system.n_rows
        self._no_rows, self._still = np.zeros(n), np.zeros((adjoint.system.n_bodies, 6))
        self._residuals = [
            adjoint.residuals(state, np.ascontiguousarray(a), -row[:n])
            for state, a, row in zip(states, acceleration, multiplier, strict=True)
        ]
        self._rows = [adjoint.rows_at(state, state.velocity) for state in states]

    def weights(self, by_nodes: Gradients, rate: float, corrected: Correct) -> Weights:
        """Return the weights of gradients (s, n_bodies, 6) by twists, velocities, accelerations.

        Velocities are about `rate` times twists.
        """
        by_twist, mass = by_nodes[0], float(self._adjoint.system.mass.mean())
        shape, s = by_twist.shape, len(by_twist)
        sizes = np.cumsum([by_twist.size, s * len(self._no_rows)])
        units = rate**2 * mass, 1.0, rate

        def split(z: FloatArray) -> Weights:
            parts = zip(np.split(z, sizes), units, (shape, (s, -1), (s, -1)), strict=True)
            w, u, v = (np.ascontiguousarray(part / unit).reshape(to) for part, unit, to in parts)
            return w, u, v

        def joined(weights: Weights) -> FloatArray:
            return np.concatenate(
                [k * part.ravel() for k, part in zip(units, weights, strict=True)]
            )

        def product(z: FloatArray) -> FloatArray:
            w, u, v = split(z)
            by_multiplier = np.zeros_like(u)
            for rows, weight, row in zip(self._rows, w, by_multiplier, strict=True):
                rows.native.row_products(weight, row)
            return joined(corrected(NodeGradients(*self.gradients(w, u, v), by_multiplier)))

        def effect(z: FloatArray) -> FloatArray:
            """Weights of rows by their forces, as those of dependent ones are not unique."""
            forces = np.zeros((2, *shape))
            for total, weights in zip(forces, split(z)[1:], strict=True):
                for rows, weight, force in zip(self._rows, weights, total, strict=True):
                    rows.native.add_row_forces(weight, force)
            forces[1] *= rate
            return np.append(z[: by_twist.size], forces)

        none = np.zeros((s, len(self._no_rows)))
        right = joined(corrected(NodeGradients(*by_nodes, none)))
        return split(solve_near_identity(product, right, effect))

    def gradients(self, w: FloatArray, u: FloatArray, v: FloatArray) -> Gradients:
        """Return those of w . F + u . delta + v . A v by twists, velocities and accelerations."""
        by_twist, by_velocity = np.empty_like(w), np.empty_like(w)
        for k, (of, rows) in enumerate(zip(self._residuals, self._rows, strict=True)):
            by = of.vjp(w[k], self._no_rows)
            by_velocity[k] = by["velocity"]
            rows.native.add_row_forces(v[k], by_velocity[k])
            by_twist[k] = by["position"] + rows.vjp(self._still, v[k])["position"]
            rows.native.add_row_forces(u[k], by_twist[k])
        return by_twist, by_velocity, np.array([self._adjoint.momenta(k) for k in w])

    def add_parameters(self, w: FloatArray, u: FloatArray, v: FloatArray) -> None:
        """Add gradients of -(w . F + u . delta + v . A v) by parameters."""
        adjoint = self._adjoint
        for state, of, weight in zip(self.states, self._residuals, w, strict=True):
            by = of.vjp(weight, self._no_rows)
            adjoint.add_parameters(state.time, {name: -by[name] for name in adjoint.by_parameters})
        for rows, of_pose, of_velocity in zip(self._rows, u, v, strict=True):
            adjoint.errors_vjp(rows, -of_pose)
            adjoint.rows_vjp(rows, -of_velocity)


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

    @cached_property
    def _stepper(self) -> CollocationStepper:
        return CollocationStepper(self._tape.problem)

    def step_back(self, step: CollocationStep, g: StateGradient) -> StateGradient:
        """Return the gradient by the start of a step of that by its end."""
        polynomials = step.end.step
        assert polynomials is not None
        method, first, h = self._stepper.method, polynomials.start, polynomials.h
        rates, Y = method.scheme.rates / h, polynomials.displacement
        y_rate = each_node(rates, Y)
        A = each_node(rates, polynomials.velocity[1:] - first.velocity)
        states = method.node_states(polynomials, step.end.state.time)
        nodes = NodeEquations(self, states, A, polynomials.multiplier)
        method.factorize_at(step.point, step.point_step, step.is_whole)

        def apply(kernel: Kernel, *arrays: FloatArray) -> FloatArray:
            flat = (np.ascontiguousarray(array).reshape(-1, 6) for array in (Y, *arrays))
            return kernel(*flat).reshape(Y.shape)

        def corrected(by: NodeGradients) -> Weights:
            by_velocity = by.velocity + each_node(rates.T, by.acceleration)
            by_displacement = apply(simulation.tangent_forces, by.twist)
            by_displacement += apply(simulation.tangent_gradients, y_rate, by_velocity)
            of_rate = apply(simulation.tangent_forces, by_velocity)
            by_displacement += each_node(rates.T, of_rate)
            change = apply(simulation.inverse_tangent_forces, by_displacement)
            return method.transposed_correction(change, by.multiplier, by_velocity)

        of_twist, of_velocity, none = np.zeros((3, *Y.shape))
        of_twist[-1], of_velocity[-1] = g.twist, g.velocity
        by_end = of_twist, of_velocity, none
        weights = nodes.weights(by_end, method.matrix.rate, corrected)
        nodes.add_parameters(*weights)
        by_twist, _, momentum = nodes.gradients(*weights)
        start = StateGradient.zero(self.system.n_bodies)
        for state, by in zip(states, of_twist - by_twist, strict=True):
            start.twist[:] += transported(first, state, by)
        start.velocity[:] = np.tensordot(rates.sum(axis=1), momentum, 1)
        return start


class StabilizedAdjoint(ImplicitAdjoint):
    """A reverse sweep over steps of index 2."""

    def step_back(self, step: ImplicitStep, g: StateGradient) -> StateGradient:
        """Return the gradient by the state at the start of a step; that by a is kept."""
        alpha_m, _, beta, gamma = method = self._tape.coefficients
        start, end, h = step.start, step.end, step.h
        b, c = method.of_newton(h)
        self._tape.factorize(end, b, c)
        g.velocity[:] += self._by_mean / (h * gamma)  # a_1 follows from v_1
        node = NodeEquations(self, [end.state], end.acceleration[None], end.multiplier[None])
        by_end = g.twist[None], g.velocity[None], g.acceleration[None]

        def corrected(by: NodeGradients) -> Weights:
            change = by.twist + c * by.velocity + b * by.acceleration
            w, row = self._tape.corrections(change[0], by.multiplier[0])
            u = self._tape.corrections(by.twist[0], np.zeros_like(row))[1]
            return -w[None], -u[None], (u - row)[None] / c

        weights = node.weights(by_end, c, corrected)
        node.add_parameters(*weights)
        of_rows = node.gradients(*weights)
        twist, velocity, rate = (of_end - of[0] for of_end, of in zip(g, of_rows, strict=True))
        mean = start.acceleration + step.ratio * (start.mean - start.acceleration)
        y = h * start.state.velocity + h * h * ((0.5 - beta) * mean + beta * end.mean)
        moved, share = simulation.tangent_forces(y, twist), 1.0 / (1.0 - alpha_m)
        # predicted: a_1 = share (dv_0/dt - alpha_m a_0), of which y, v_1 and dv_1/dt are changes
        by_next = h * gamma * velocity + h * h * beta * moved
        by_start = h * (1.0 - gamma) * velocity + h * h * (0.5 - beta) * moved
        by_start -= alpha_m * share * by_next + (1.0 - gamma) / gamma * self._by_mean
        acceleration = share * by_next + rate + (1.0 - step.ratio) * by_start
        velocity = velocity + h * moved - self._by_mean / (h * gamma)
        self._by_mean = step.ratio * by_start
        return StateGradient(transported(start.state, end.state, twist), velocity, acceleration)
