"""The adjoint of steps of a collocation method.

With the rates W = (h tableau)^-1, Newton's method solves at each node, q = q_0 exp(y),

    F(q_i, V_i, A_i, lambda_i) = 0,  delta(q_i) = 0,  A V_i = k,
    V_i = T(y_i) sum_j W_ij y_j + x_i,  A_i = sum_j W_ij (V_j - v_0),  J x_i + A_f' mu_i = 0,

J and A_f being those of its factors. The transposed Jacobian of all this by (y, lambda, x) turns
gradients by the last node into weights (w, u, s) of F, delta and A V. Transposed steps of Newton's
method, that is its factors, make it nearly 1; changes of J and A_f are left out, for x is as small
as the error of the step. Hairer and Wanner (1996), sec. IV.8.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.linearization.implicit_adjoint import StepTape, SweptSteps
from sparsebody.linearization.node_equations import NodeEquations, NodeGradients, Weights
from sparsebody.linearization.state_gradients import StateGradient, transported
from sparsebody.model.system import State
from sparsebody.simulation.callbacks import Control
from sparsebody.simulation.implicit.collocation import (
    CollocationState,
    CollocationStepper,
    each_node,
)
from sparsebody.simulation.stepping import Problem

Kernel = Callable[..., FloatArray]


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
