"""Adjoints of implicit steps: of the generalized-alpha method, and of those closed at nodes.

At the end of a step, F(q, v, dv/dt, lambda, p) = 0, with derivatives K, D and M in twists,
velocities and accelerations of the bodies, and

    dq_1 = Ad(exp y)^-1 dq_0 + T(y) dy,  dy = h dv_0 + h^2 ((1/2 - beta) da_0 + beta da_1),
    dv_1 = dv_0 + h ((1 - gamma) da_0 + gamma da_1),
    (1 - alpha_m) da_1 + alpha_m da_0 = (1 - alpha_f) d(dv_1/dt) + alpha_f d(dv_0/dt).

So J = K + (c D + b M) T^-1, Newton's matrix with nothing left out, turns changes of F into changes
of the end, and its transpose gradients at the end into weights of these: by Newton's factors, whose
solutions are refined with products by J'. Of starting values, changes of K / b by poses and
multipliers are left out, of the order h^2 where steps resolve springs and elements.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from scipy.sparse import block_diag, bsr_array, eye_array

from sparsebody._core import linearization, simulation
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.linearization import state_gradients as gradients
from sparsebody.linearization.checkpoints import CheckpointedSteps
from sparsebody.linearization.derivatives import Residuals
from sparsebody.linearization.state_gradients import Adjoint, StateGradient
from sparsebody.model.system import State, States
from sparsebody.simulation.implicit import collocation, implicit_stepper, newton, step_equations
from sparsebody.simulation.implicit import generalized_alpha as alpha
from sparsebody.simulation.implicit.collocation import CollocationState, CollocationStepper
from sparsebody.simulation.stepper import carried
from sparsebody.simulation.stepping import Checkpoint, Problem
from sparsebody.simulation.trajectory import Ends

Now = TypeVar("Now", bound=step_equations.Newest)
Part = TypeVar("Part", bound=Any)  # a step, which has an end


@dataclass(frozen=True, eq=False)
class ImplicitStep:
    """One step, or a part of one."""

    start: alpha.AlphaState
    end: alpha.AlphaState
    h: float  # [s]
    ratio: float  # of h to that of the step before, by which a - dv/dt of the start was changed
    compliance: float  # [m/N]


@dataclass(frozen=True, eq=False)
class Solution:
    """Accelerations of compliant joints, of starting values."""

    at: alpha.RowMotion
    acceleration: FloatArray
    multiplier: FloatArray


class StepTape(implicit_stepper.HalvedSteps[Now], Generic[Now, Part]):
    """Keeps steps with all their parts, or makes them again: of a stepper that comes next."""

    memory: FloatArray  # of that stepper
    first: State

    def __init__(self, problem: Problem, interval: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.steps = CheckpointedSteps[Checkpoint, float, list[Part]](interval, self._repeated)
        self._parts: list[Part] = []  # of the newest step

    def start(self, state: State) -> None:
        """Start from a consistent state."""
        if self._now is None:
            self.first = state
        super().start(state)

    def advance(self, time: float) -> State:
        """Return the state at `time`, and keep the step to it."""
        start = self._checkpoint() if self.steps.is_due else None
        self._parts = []
        state = super().advance(time)
        self.steps.append(self._parts, time, start)
        return state

    def take_steps(self, times: FloatArray, out: States | None = None) -> Ends | None:
        """Take none of several steps at once: each is kept."""
        return None

    def _checkpoint(self) -> Checkpoint:
        here = self.state, self.acceleration, 0, 0.0, self.rank
        return Checkpoint(0, *here, self.memory)

    def _repeated(self, start: Checkpoint, times: list[float]) -> list[list[Part]]:
        self.resume(start)
        self._note, steps = lambda event: None, []  # its events are in the trajectory
        for time in times:
            self._parts = []
            super().advance(time)
            steps.append(self._parts)
        return steps


class ImplicitTape(StepTape[alpha.AlphaState, ImplicitStep], implicit_stepper.ImplicitStepper):
    """A stepper of the generalized-alpha method that keeps its steps."""

    least_step = 0.0  # every record is the end of one
    first_compliance: float
    _reached: alpha.AlphaState | None = None  # the end of a step, before joints were made stiffer

    def start(self, state: State) -> None:
        """Start from a consistent state."""
        is_first = self._now is None
        super().start(state)
        if is_first:
            self.first_compliance = self.compliance

    def _step(self, time: float, h: float, halvings: int) -> None:
        start, before, compliance, self._reached = self.now, self._h, self.compliance, None
        super()._step(time, h, halvings)
        end = self._reached or self.now
        self._parts.append(ImplicitStep(start, end, h, h / before, compliance))

    def _stiffen(self) -> bool:
        self._reached = self.now
        return super()._stiffen()

    def corrections(self, force: FloatArray, row: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Newton's corrections by the newest factors, of index 2, for rows of joints."""
        assert isinstance(self.method, alpha.StabilizedAlpha)
        rows = np.zeros(self.equations.n_rows)
        rows[: len(row)] = row
        twist, multiplier = self.method.corrections(force, rows)
        return twist, multiplier[: len(row)]

    def accelerations(self, rows: alpha.RowMotion, b: float, error: FloatArray) -> Solution:
        """Return accelerations of starting values, from rows and the errors of these."""
        return Solution(rows, *self._starting.accelerations(rows, b, error))

    def factorize_start(self, state: State, b: float) -> None:
        """Factorize the matrix of starting values, [b M + K A'; A -C], the symmetric one."""
        self.equations.begin(state)
        self.equations.evaluate()
        self._matrix.factorize(b, 0.0)

    def factorize(self, end: alpha.AlphaState, b: float, c: float) -> None:
        """Factorize Newton's matrix at the end of a step."""
        equations = self.equations
        equations.begin(end.state, velocity=end.state.velocity, multiplier=end.multiplier)
        equations.acceleration[:] = end.acceleration
        equations.evaluate()
        self._matrix.factorize(b, c)
        equations.native.set_joint_rows()

    def solve(self, force: FloatArray, row: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return twists (n_bodies, 6) and multipliers by the newest factors.

        `row` are those of joints, or of elastic elements as well, which else are zero.
        """
        equations = self.equations
        equations.force_residual[:], equations.row_residual[:] = -force, 0.0
        equations.row_residual[: len(row)] = -row
        self._matrix.solve()
        return self._matrix.twist.copy(), self._matrix.multiplier.copy()


class TransposedStep:
    """[J' E'; A -C] at the end of a step, with the rows of its joints; elements are forces.

    Where Newton's factors leave out what decides, the whole matrix is factorized.
    """

    def __init__(self, tape: ImplicitTape, residuals: Callable[..., Residuals]) -> None:
        self._tape, self._residuals_of = tape, residuals
        system, equations = tape.problem.system, tape.equations
        self._n_rows = len(equations.compliance.diagonal)
        inertias = system.mass, system.inertia, system.gravity
        mass, inertia, gravity = map(np.ascontiguousarray, inertias)
        self._native = linearization.TransposedStep(
            tape.newton,
            equations.native,
            (equations.force_residual, equations.row_residual),
            (mass, inertia, gravity),
            *(equations.compliance.diagonal, system.typical_length),
        )
        self._effort = np.zeros(len(system.joint_forces.item))
        self._no_rows = np.zeros(self._n_rows)

    def begin(self, end: alpha.AlphaState, displacement: FloatArray, b: float, c: float) -> None:
        """Begin at the end of a step."""
        self._displacement, self._b, self._c = displacement, b, c
        at = end.state, end.acceleration, -end.multiplier[: self._n_rows]
        self._residuals = self._residuals_of(*at)
        self._tape.factorize(end, b, c)

    def gradients(self, w: FloatArray, u: FloatArray) -> tuple[dict[str, FloatArray], FloatArray]:
        """Return those of w . F in all variables, and that of w . F + u . delta in twists."""
        vjp = self._residuals.vjp(w, self._no_rows)
        twist_bar, frames = vjp["position"], self._residuals.no_frames()
        self._tape.equations.native.add_error_forces(u, twist_bar, *frames)
        if self._residuals.with_geometry:
            for name, gradient in self._residuals.error_vjp(u, frames).items():
                vjp[name] += gradient
        return vjp, twist_bar

    def solve(self, force: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return w (n_bodies, 6) and u (n_rows,) of [J' E'; A -C] [w; u] = [force; 0]."""
        w, u, end = np.empty_like(force), np.empty(self._n_rows), self._end
        native = self._residuals.native
        if self._native.solve(native, end, force, self._effort, w, u):
            return w, u
        return self._by_whole_matrix(force)

    @property
    def _end(self) -> tuple[FloatArray, float, float]:
        return self._displacement, self._b, self._c

    def _by_whole_matrix(self, force: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve by J' with nothing left out and elastic elements as rows, T(y)^-1 among it."""
        K, D, M = self._tape.equations.parts(exact_rows=True)
        (y, b, c), n, size = self._end, len(force), force.size
        units = np.broadcast_to(np.eye(6)[:, None], (6, *y.shape))
        columns = [simulation.inverse_tangent_products(y, np.ascontiguousarray(m)) for m in units]
        bodies = bsr_array((np.stack(columns, axis=2), np.arange(n), np.arange(n + 1)))
        n_rows = K.shape[0] - size
        J = K + (c * D + b * M) @ block_diag([bodies, eye_array(n_rows)])
        rhs = np.append(force.ravel(), np.zeros(n_rows))
        x = np.asarray(newton.scaled_lu(J.T.tocsc(), size)(rhs), dtype=float)
        return x[:size].reshape(force.shape), x[size : size + self._n_rows]


class SweptSteps(Adjoint, Generic[Part]):
    """A reverse sweep over the steps of a tape; `dynamics` is of rigid joints at the start."""

    def __init__(
        self, tape: StepTape[Any, Part], dynamics: ForwardDynamics, with_geometry: bool = False
    ) -> None:
        super().__init__(tape.problem, with_geometry)
        self._tape, self._linear = tape, self.linear(dynamics)

    def run(self, gradient_at: Callable[[float], StateGradient | None]) -> StateGradient:
        """Return the gradient in the first state, given those in the states at all times."""
        g = StateGradient.zero(self.system.n_bodies)
        for part in self._tape.steps.intervals():
            for step in (step for steps in reversed(part) for step in reversed(steps)):
                self.add(g, gradient_at(step.end.state.time))
                g = self.step_back(step, g)
        first = self._tape.first
        self.start_back(first, g)
        self.add(g, gradient_at(first.time))
        self._linear.move_to(first)
        self.consistent(self._linear, first, g)
        return g

    def step_back(self, step: Part, g: StateGradient) -> StateGradient:
        """Return the gradient at the start of a step from that at its end."""
        raise NotImplementedError

    def start_back(self, state: State, g: StateGradient) -> None:
        """Turn gradients in starting values into those in the state."""


class ImplicitAdjoint(SweptSteps[ImplicitStep]):
    """A reverse sweep over steps of the generalized-alpha method."""

    _tape: ImplicitTape
    _a_bar: FloatArray | float = 0.0  # the gradient in a at the start of a step

    @cached_property
    def _transposed(self) -> TransposedStep:
        return TransposedStep(self._tape, self.residuals)

    def start_back(self, state: State, g: StateGradient) -> None:
        """Turn gradients in starting values into those in the state.

        v_0 = v + d, [b M + K A'; A -C] [d; nu] = h^2 [0; A l], and a_0 = a + shift h j, with da/dt
        = j by a difference and l = (1/6 - beta - shift / 2) j + v x a / 12.
        """
        tape, a_bar = self._tape, self._a_bar
        tape.set_compliance(tape.first_compliance)
        method, h, t = tape.method.coefficients, tape.nominal, alpha.DIFFERENCE_SHARE * tape.nominal
        b, rows = method.of_newton(h)[0], alpha.row_motion(self.system, state)
        share = 1.0 / 6.0 - method.beta - 0.5 * method.shift
        here = tape.accelerations(rows, b, rows.error)
        across = rows.product(here.acceleration) - rows.acceleration
        near: list[tuple[float, Solution]] = []
        for dt in (t, -t):
            moved = alpha.row_motion(self.system, carried(state, here.acceleration, dt))
            error = rows.error + dt * rows.velocity + 0.5 * dt * dt * across
            near.append((dt, tape.accelerations(moved, b, error)))
        jerk = sum(solution.acceleration / (2.0 * dt) for dt, solution in near)
        change = share * jerk + simulation.cross_products(state.velocity, here.acceleration) / 12.0
        change_bar = np.zeros_like(change)
        if not tape.is_rigid:
            change_bar = self._start_velocity_back(rows, b, h * h * change, g) * h * h
        g.velocity[:] += gradients.force_cross(here.acceleration, change_bar) / 12.0
        g.acceleration[:] += a_bar - gradients.force_cross(state.velocity, change_bar) / 12.0
        jerk_bar = method.shift * h * a_bar + share * change_bar
        for dt, solution in near:
            moved_bar = StateGradient.zero(len(change))
            moved_bar.acceleration[:] = jerk_bar / (2.0 * dt)
            self._accelerated(solution, b, moved_bar)
            g.twist[:] += gradients.transported(state, solution.at.state, moved_bar.twist)
            g.velocity[:] += moved_bar.velocity + dt * moved_bar.twist
            g.acceleration[:] += dt * moved_bar.velocity + 0.5 * dt * dt * moved_bar.twist
        self._accelerated(here, b, g)

    def _start_velocity_back(
        self, rows: alpha.RowMotion, b: float, change: FloatArray, g: StateGradient
    ) -> FloatArray:
        """Add the gradients of d in the state, and return that in `change`, of A l = A change."""
        tape, state, n = self._tape, rows.state, self.system.n_rows
        tape.factorize_start(state, b)
        shift, nu = tape.solve(np.zeros_like(change), rows.product(change))
        w, w_row = tape.solve(g.velocity, np.zeros_like(nu))
        self.add_inertial(b * w, shift)
        for name, gradient in self._of_stiffness(state, -w, shift).items():
            self.by_parameters[name] += gradient
        g.twist[:] += self.of_rows(state, w_row[:n], change - shift)
        g.twist[:] += self.of_rows(state, -nu[:n], w)
        return rows.forces(w_row)

    def _accelerated(self, of: Solution, b: float, g: StateGradient) -> None:
        """Add gradients in accelerations of compliant joints to those in the state."""
        n, state = self.system.n_rows, of.at.state
        self._tape.factorize_start(state, b)
        p, pi = self._tape.solve(b * g.acceleration, np.zeros_like(of.multiplier))
        residuals = self.residuals(state, of.acceleration, -of.multiplier[:n])
        vjp = residuals.vjp(-p, -pi[:n] / b)
        for name, gradient in self._of_stiffness(state, -p, of.acceleration).items():
            vjp[name] += gradient / b
        g.twist[:] += vjp["position"]
        g.velocity[:] += vjp["velocity"]
        self.add_parameters(state.time, vjp)

    def _of_stiffness(self, state: State, y: FloatArray, u: FloatArray) -> dict[str, FloatArray]:
        """Return the gradients of y' K u in the springs' stiffness in K = W k W'."""
        at = state, np.zeros_like(u), np.zeros(self.system.n_rows)
        residuals = Residuals(self.system, *at)
        of_y, of_u = (residuals.vjp(x, at[2]) for x in (y, u))
        springs = {"": self.system.joint_forces, "point_": self.system.point_forces}
        return {
            f"{kind}stiffness": (of_y[f"{kind}effort"] * of_u[f"{kind}effort"])
            * (some.stiffness > 0.0)
            for kind, some in springs.items()
        }

    def step_back(self, step: ImplicitStep, g: StateGradient) -> StateGradient:
        """Return the gradient in the state at the start of a step; that in a is kept."""
        a_bar = self._a_bar
        alpha_m, alpha_f, beta, gamma = method = self._tape.method.coefficients
        start, end, h = step.start, step.end, step.h
        self._tape.set_compliance(step.compliance)
        a_0 = start.acceleration + step.ratio * (start.a - start.acceleration)
        y = h * start.state.velocity + h * h * ((0.5 - beta) * a_0 + beta * end.a)
        transposed = self._transposed
        transposed.begin(end, y, *method.of_newton(h))
        share = (1.0 - alpha_m) / (1.0 - alpha_f)
        end_bar = a_bar + h * gamma * g.velocity + share * g.acceleration
        carried = simulation.inverse_tangent_forces(y, end_bar)  # T^-1' of gradients
        w, u = transposed.solve(g.twist + carried / (h * h * beta))
        vjp, twist_bar = transposed.gradients(w, u)
        pose_bar, velocity_bar = g.twist - twist_bar, g.velocity - vjp["velocity"]
        rate_bar = g.acceleration - self.momenta(w)
        self.add_parameters(end.state.time, {name: -vjp[name] for name in self.by_parameters})
        end_bar = a_bar + h * gamma * velocity_bar + share * rate_bar
        start_bar = h * (1.0 - gamma) * velocity_bar - (0.5 - beta) / beta * end_bar
        start_bar += alpha_m / (1.0 - alpha_f) * rate_bar
        acceleration = (1.0 - step.ratio) * start_bar - alpha_f / (1.0 - alpha_f) * rate_bar
        velocity = velocity_bar - end_bar / (h * beta)
        twist = gradients.transported(start.state, end.state, pose_bar)
        self._a_bar = step.ratio * start_bar
        return StateGradient(twist, velocity, acceleration)


# ---- steps that close rigid joints in positions and velocities -----------------------------------

# At each of its nodes, such a step meets F(q, v, a, lambda) = 0, delta(q) = 0 and A v = k.
# Gradients turn into weights (w, u, s) of these, by the transposed Jacobian: transposed steps of
# Newton's method, that is its factors, make it nearly 1. Changes of J and A_f, those of its
# factors, are left out, for x below, by which velocities or poses are closed, is as small as the
# error of the step.
#
# Of a collocation method, with the rates W = (h tableau)^-1 and q = q_0 exp(y) at each node,
#
#     V_i = T(y_i) sum_j W_ij y_j + x_i,  A_i = sum_j W_ij (V_j - v_0),  J x_i + A_f' mu_i = 0,
#
# and the Jacobian is that in (y, lambda, x). Hairer and Wanner (1996), sec. IV.8.
#
# Of the generalized-alpha method of index 2, whose one node is the end of the step,
#
#     q_1 = q_0 exp(y),  y = h v_0 + h^2 ((1/2 - beta) a_0 + beta a_1) - x,  J x + A_f' mu = 0.
#
# With d a twist there, dv_1 = c d and d(dv_1/dt) = b d; x adds to twists alone. Arnold, Brüls and
# Cardona (2015), Numer. Math. 129:149.

Kernel = Callable[..., FloatArray]
Weights = tuple[FloatArray, FloatArray, FloatArray]
"""w (s, n_bodies, 6), u and s (s, n_rows) of F, delta and A v at s nodes."""
Gradients = tuple[FloatArray, FloatArray, FloatArray]
"""By twists, velocities and accelerations, all (s, n_bodies, 6)."""


class NodeGradients(NamedTuple):
    """Gradients (s, n_bodies, 6) and, in multipliers, (s, n_rows) at s nodes."""

    twist: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    multiplier: FloatArray


Correct = Callable[[NodeGradients], Weights]
"""Weights, nearly, of gradients."""


class NodeEquations:
    """The equations at nodes, by the states, accelerations and multipliers there."""

    def __init__(
        self, adjoint: Adjoint, states: Sequence[State], A: FloatArray, lam: FloatArray
    ) -> None:
        self._adjoint, self.states, n = adjoint, states, adjoint.system.n_rows
        self._no_rows, self._zero_twists = np.zeros(n), np.zeros((adjoint.system.n_bodies, 6))
        self._residuals = [
            adjoint.residuals(state, np.ascontiguousarray(a), -row[:n])
            for state, a, row in zip(states, A, lam, strict=True)
        ]
        self._rows = [adjoint.rows_at(state, state.velocity) for state in states]

    def weights(self, nodes_bar: Gradients, rate: float, corrected: Correct) -> Weights:
        """Return the weights of gradients (s, n_bodies, 6) in twists, velocities, accelerations.

        Velocities are about `rate` times twists.
        """
        twist_bar, mass = nodes_bar[0], float(self._adjoint.system.mass.mean())
        shape, s = twist_bar.shape, len(twist_bar)
        sizes = np.cumsum([twist_bar.size, s * len(self._no_rows)])
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
            multiplier_bar = np.zeros_like(u)
            for rows, weight, row in zip(self._rows, w, multiplier_bar, strict=True):
                rows.native.row_products(weight, row)
            return joined(corrected(NodeGradients(*self.gradients(w, u, v), multiplier_bar)))

        def effect(z: FloatArray) -> FloatArray:
            """Weights of rows by their forces, as those of dependent ones are not unique."""
            forces = np.zeros((2, *shape))
            for total, weights in zip(forces, split(z)[1:], strict=True):
                for rows, weight, force in zip(self._rows, weights, total, strict=True):
                    rows.native.add_row_forces(weight, force)
            forces[1] *= rate
            return np.append(z[: twist_bar.size], forces)

        none = np.zeros((s, len(self._no_rows)))
        right = joined(corrected(NodeGradients(*nodes_bar, none)))
        return split(gradients.solve_near_identity(product, right, effect))

    def gradients(self, w: FloatArray, u: FloatArray, v: FloatArray) -> Gradients:
        """Return those of w . F + u . delta + v . A v in twists, velocities and accelerations."""
        twist_bar, velocity_bar = np.empty_like(w), np.empty_like(w)
        for k, (of, rows) in enumerate(zip(self._residuals, self._rows, strict=True)):
            vjp = of.vjp(w[k], self._no_rows)
            velocity_bar[k] = vjp["velocity"]
            rows.native.add_row_forces(v[k], velocity_bar[k])
            twist_bar[k] = vjp["position"] + rows.vjp(self._zero_twists, v[k])["position"]
            rows.native.add_row_forces(u[k], twist_bar[k])
        return twist_bar, velocity_bar, np.array([self._adjoint.momenta(k) for k in w])

    def add_parameters(self, w: FloatArray, u: FloatArray, v: FloatArray) -> None:
        """Add gradients of -(w . F + u . delta + v . A v) in parameters."""
        adjoint = self._adjoint
        for state, of, weight in zip(self.states, self._residuals, w, strict=True):
            vjp = of.vjp(weight, self._no_rows)
            adjoint.add_parameters(state.time, {name: -vjp[name] for name in adjoint.by_parameters})
        for rows, of_pose, of_velocity in zip(self._rows, u, v, strict=True):
            adjoint.errors_vjp(rows, -of_pose)
            adjoint.rows_vjp(rows, -of_velocity)


@dataclass(frozen=True, eq=False)
class CollocationStep:
    """One step, or a part of one, and where its factors were made."""

    end: CollocationState
    point: CollocationState
    point_step: float  # [s]
    by_mode: bool


class CollocationTape(StepTape[CollocationState, CollocationStep], CollocationStepper):
    """A stepper of a collocation method that keeps its steps."""

    def _step(self, time: float, h: float, halvings: int) -> None:
        super()._step(time, h, halvings)
        method = self.method
        assert method.point is not None
        step = CollocationStep(self.now, method.point, method.point_step, method.by_mode)
        self._parts.append(step)


class CollocationAdjoint(SweptSteps[CollocationStep]):
    """A reverse sweep over steps of a collocation method."""

    @cached_property
    def _stepper(self) -> CollocationStepper:
        return CollocationStepper(self._tape.problem)

    def step_back(self, step: CollocationStep, g: StateGradient) -> StateGradient:
        """Return the gradient at the start of a step from that at its end."""
        polynomials = step.end.step
        assert polynomials is not None
        method, first, h = self._stepper.method, polynomials.start, polynomials.h
        rates, Y = method.scheme.rates / h, polynomials.displacement
        y_rate = collocation.each_node(rates, Y)
        A = collocation.each_node(rates, polynomials.velocity[1:] - first.velocity)
        states = method.node_states(polynomials, step.end.state.time)
        nodes = NodeEquations(self, states, A, polynomials.multiplier)
        method.factorize_at(step.point, step.point_step, step.by_mode)

        def apply(kernel: Kernel, *arrays: FloatArray) -> FloatArray:
            flat = (np.ascontiguousarray(array).reshape(-1, 6) for array in (Y, *arrays))
            return kernel(*flat).reshape(Y.shape)

        def corrected(node_bar: NodeGradients) -> Weights:
            velocity_bar = node_bar.velocity + collocation.each_node(rates.T, node_bar.acceleration)
            displacement_bar = apply(simulation.tangent_forces, node_bar.twist)
            displacement_bar += apply(simulation.tangent_gradients, y_rate, velocity_bar)
            of_rate = apply(simulation.tangent_forces, velocity_bar)
            displacement_bar += collocation.each_node(rates.T, of_rate)
            change = apply(simulation.inverse_tangent_forces, displacement_bar)
            return method.transposed_correction(change, node_bar.multiplier, velocity_bar)

        of_twist, of_velocity, none = np.zeros((3, *Y.shape))
        of_twist[-1], of_velocity[-1] = g.twist, g.velocity
        end_bar = of_twist, of_velocity, none
        weights = nodes.weights(end_bar, method.matrix.rate, corrected)
        nodes.add_parameters(*weights)
        twist_bar, _, momentum = nodes.gradients(*weights)
        start = StateGradient.zero(self.system.n_bodies)
        for state, of_node in zip(states, of_twist - twist_bar, strict=True):
            start.twist[:] += gradients.transported(first, state, of_node)
        start.velocity[:] = np.tensordot(rates.sum(axis=1), momentum, 1)
        return start


class StabilizedAdjoint(ImplicitAdjoint):
    """A reverse sweep over steps of index 2."""

    def step_back(self, step: ImplicitStep, g: StateGradient) -> StateGradient:
        """Return the gradient in the state at the start of a step; that in a is kept."""
        alpha_m, _, beta, gamma = method = self._tape.method.coefficients
        start, end, h = step.start, step.end, step.h
        b, c = method.of_newton(h)
        self._tape.factorize(end, b, c)
        g.velocity[:] += self._a_bar / (h * gamma)  # a_1 follows from v_1
        node = NodeEquations(self, [end.state], end.acceleration[None], end.multiplier[None])
        end_bar = g.twist[None], g.velocity[None], g.acceleration[None]

        def corrected(node_bar: NodeGradients) -> Weights:
            change = node_bar.twist + c * node_bar.velocity + b * node_bar.acceleration
            w, row = self._tape.corrections(change[0], node_bar.multiplier[0])
            u = self._tape.corrections(node_bar.twist[0], np.zeros_like(row))[1]
            return -w[None], -u[None], (u - row)[None] / c

        weights = node.weights(end_bar, c, corrected)
        node.add_parameters(*weights)
        of_rows = node.gradients(*weights)
        twist, velocity, rate = (of_end - of[0] for of_end, of in zip(g, of_rows, strict=True))
        a_0 = start.acceleration + step.ratio * (start.a - start.acceleration)
        y = h * start.state.velocity + h * h * ((0.5 - beta) * a_0 + beta * end.a)
        moved, share = simulation.tangent_forces(y, twist), 1.0 / (1.0 - alpha_m)
        # predicted: a_1 = share (dv_0/dt - alpha_m a_0), of which y, v_1 and dv_1/dt are changes
        next_bar = h * gamma * velocity + h * h * beta * moved
        start_bar = h * (1.0 - gamma) * velocity + h * h * (0.5 - beta) * moved
        start_bar -= alpha_m * share * next_bar + (1.0 - gamma) / gamma * self._a_bar
        acceleration = share * next_bar + rate + (1.0 - step.ratio) * start_bar
        velocity = velocity + h * moved - self._a_bar / (h * gamma)
        self._a_bar = step.ratio * start_bar
        return StateGradient(
            gradients.transported(start.state, end.state, twist), velocity, acceleration
        )
