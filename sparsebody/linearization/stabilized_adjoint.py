"""The adjoint of steps of the generalized-alpha method of index 2.

    q_1 = q_0 exp(y),  y = h v_0 + h^2 ((1/2 - beta) a_0 + beta a_1) - x,  J x + A_f' mu = 0,

and the rest as in `NodeEquations`, at the end of the step. With d a twist there, dv_1 = c d and
d(dv_1/dt) = b d; x, which is as small as the error of a step, adds to twists alone. Changes of J
and A_f are left out. Arnold, Brüls and Cardona (2015), Numer. Math. 129:149.
"""

import numpy as np

from sparsebody._core import simulation
from sparsebody.linearization.implicit_adjoint import ImplicitAdjoint, ImplicitStep
from sparsebody.linearization.node_equations import NodeEquations, NodeGradients, Weights
from sparsebody.linearization.state_gradients import StateGradient, transported


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
