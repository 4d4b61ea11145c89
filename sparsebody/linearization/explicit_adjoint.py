"""The adjoint of explicit steps, as `simulate` takes them, stage by stage.

A stage is a point (q_o, v_o) of a curve that the start and the accelerations of the stages before
make, closed where the step closes it, with its acceleration:

    q = q_o exp(x),  M x + A' mu = 0,  delta(q) = 0,    v = v_o + d,  M d + A' nu = 0,  A v = k.

A' is that of the factors: of the open pose, or of the closed one of the stage before at the same
time, by which a stage is closed too; `Adjoint.closing` turns gradients in x and d into weights p,
and those of the changes of these equations are p nu' and p mu'. Left out are factors that are made
anew before a pose is closed, where it is far.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sparsebody._core import linearization as native
from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import SimulationError
from sparsebody.linearization import state_gradients as gradients
from sparsebody.linearization.checkpoints import CheckpointedSteps
from sparsebody.linearization.state_gradients import Adjoint, LinearDynamics, StateGradient
from sparsebody.model.system import State, System
from sparsebody.simulation import explicit_steps, integrators, stepper
from sparsebody.simulation.integrators import Composition, Tableau
from sparsebody.simulation.stabilization import Solved, largest
from sparsebody.simulation.stepping import Problem

_ROUNDED_TILT = 1e-10  # relative change of a correction by rows of a neighbouring pose: rounding
_ROUNDED_CORRECTION = 1e-12  # of a velocity, or [rad, m]: hardly more than rounding


# ---- steps that are stored ----------------------------------------------------------------------


class Stages(NamedTuple):
    """The stages of a step."""

    values: FloatArray  # (s, n_bodies, 19) x, q, v and a, the last of them at the end
    multiplier: FloatArray  # (s, n_rows)
    attempt: int  # of open stages, or of closed ones


class StepPlan(NamedTuple):
    """What a step needs besides its start."""

    time: float  # at its end [s]
    dynamics: ForwardDynamics
    attempt: int = 0  # which it was, of open and closed stages


class Step(NamedTuple):
    """One step, or a part of one, that the motion goes on from."""

    start: Solved
    plan: StepPlan
    stages: Stages | None  # of compiled steps


class Tape(stepper.Stepper):
    """A stepper that keeps the steps that its motion consists of, or makes them again."""

    def __init__(self, problem: Problem, dynamics: ForwardDynamics, interval: int) -> None:
        super().__init__(problem, dynamics)
        self.problem = problem
        self.steps = CheckpointedSteps[Solved, StepPlan, Step](interval, self._repeated)
        self._made: dict[int, Step] = {}  # by the states at their ends

    def start(self, state: State) -> None:
        """Start from a consistent state; SimulationError at a singular pose, which has branches."""
        super().start(state)
        if self.state is not state or self.rank.left_at > -np.inf:
            raise _singular(state.time)

    def advance(self, time: float) -> State:
        """Return the state at `time`, and keep the steps to it."""
        self._made.clear()
        before, after = self.state, super().advance(time)
        state, chain = self.state, list[Step]()
        while state is not before and id(state) in self._made:
            chain.append(self._made[id(state)])
            state = chain[-1].start.state
        if after is not self.state or state is not before or any(s.stages is None for s in chain):
            raise _singular(time)
        for step in reversed(chain):
            self.steps.append(step, step.plan, step.start)
        return after

    def _repeated(self, start: Solved, plans: list[StepPlan]) -> list[Step]:
        compiled, steps = self._compiled, list[Step]()
        assert compiled is not None
        for plan in plans:
            compiled.starts_closed = plan.attempt > 0
            made = compiled(plan.dynamics, start.state, start.acceleration, plan.time)
            if made is None or compiled.stages is None:
                raise _singular(plan.time)
            steps.append(Step(start, plan, Stages(*compiled.stages, compiled.attempt)))
            start = made[0]
        return steps

    @property
    def scheme(self) -> integrators.ExplicitScheme:
        """The method of its steps."""
        assert self._integrator.scheme is not None
        return self._integrator.scheme

    def _set_scales(self) -> None:
        super()._set_scales()
        of = self._rows.dynamics.system, self.scheme, self._small, self._control
        self._compiled = explicit_steps.ExplicitSteps(*of, False, True)

    def _step(self, start: stepper._Reached, time: float) -> stepper._Reached:
        assert self._compiled is not None
        self._compiled.stages = None
        reached, compiled = super()._step(start, time), self._compiled.stages
        stages = None if compiled is None else Stages(*compiled, self._compiled.attempt)
        plan = StepPlan(time, self._rows.dynamics, self._compiled.attempt)
        step = Step(start.end, plan, stages)
        self._made[id(reached.end.state)] = step
        return reached


def _singular(time: float) -> SimulationError:
    return SimulationError(
        f"at t = {time:.6g} s the motion passes a singular pose, or its factorization has no "
        "compiled steps: there is no gradient; begin elsewhere, end before, take smaller steps, or "
        'leave ordering and factorization "auto"'
    )


# ---- reverse sweeps -----------------------------------------------------------------------------


class _EulerCurve:
    """A step of semi-implicit Euler from its start to its end, and the gradients."""

    node = np.ones(1)

    def __init__(self, start: Solved, h: float) -> None:
        first, self._h = start.state, h
        self._first = first.with_(velocity=first.velocity + h * start.acceleration)  # with v_1
        self._rate, self._no_curvature = integrators.pose_derivatives(
            self._first, 0.0 * start.acceleration
        )
        self._no_curvature[:] = 0.0

    def end(self, k: int, time: float) -> State:
        """Return the end before its joints were closed."""
        del k
        end = integrators.moved(
            self._first, self._rate, self._no_curvature, self._no_curvature, self._h
        )
        return replace(end, velocity=self._first.velocity, time=time)

    def move_back(self, k: int, g: StateGradient) -> None:
        """Turn the gradient in the state at the open end into that at the start."""
        del k
        none, of_rate = self._no_curvature, np.zeros_like(self._rate)
        self._of_start = start_bar = StateGradient.zero(len(none))
        curve = self._first.position, self._first.orientation, self._rate, none, none
        outputs = start_bar.twist, of_rate, np.empty_like(none), np.empty_like(none)
        native.moved_gradients(curve, self._h, g.twist, start_bar.acceleration, outputs)
        at = self._first.orientation, self._first.velocity, start_bar.acceleration
        native.add_pose_derivative_gradients(*at, of_rate, none, start_bar)
        start_bar.velocity[:] += g.velocity
        start_bar.acceleration[:] = self._h * start_bar.velocity

    def gradient_by_start(self) -> StateGradient:
        """Return the gradient in the state at the start."""
        return self._of_start


class _Curves:
    """The curves from the start of a step to its stages, and gradients in what they depend on."""

    def __init__(self, start: Solved, h: float, method: Tableau, values: FloatArray) -> None:
        self._start, self._h, self._method, (s, n, _) = start, h, method, values.shape
        self.node = method.node
        parts = np.split(values[:-1].reshape(-1, 19), [3, 7, 13], axis=1)[1:]
        self._stages = [np.ascontiguousarray(part).reshape(s - 1, n, -1) for part in parts]
        state = start.state
        self._rate, first = integrators.pose_derivatives(state, start.acceleration)
        flat = (part.reshape(-1, part.shape[2]) for part in self._stages)
        others = simulation.pose_derivatives(*flat)[1].reshape(s - 1, n, 7)
        curvatures = np.concatenate([first[None], others])
        self._pose_mean = np.tensordot(method.pose, curvatures, 1)
        self._rate_mean = np.tensordot(method.rate, curvatures, 1)
        self._of_curvature, self._of_rate = np.zeros_like(curvatures), np.zeros_like(first)
        self._of_start = StateGradient.zero(n)

    def end(self, k: int, time: float) -> State:
        """Return the state of a stage before its joints were closed."""
        state, h = self._start.state, self._method.node[k] * self._h
        curve = self._rate, self._pose_mean[k], self._rate_mean[k]
        moved = simulation.moved(state.position, state.orientation, *curve, h)
        return State(*moved, state.coordinate, time)

    def gradient_by_stage(self, k: int) -> StateGradient:
        """Return the gradient in the state of a stage from that in its y''."""
        g = StateGradient.zero(len(self._of_rate))
        q, v, a = (part[k] for part in self._stages)
        of_rate = np.zeros_like(self._of_rate)
        native.add_pose_derivative_gradients(q, v, a, of_rate, self._of_curvature[k + 1], g)
        return g

    def move_back(self, k: int, g: StateGradient) -> None:
        """Turn the gradient in an open stage into those in the start and in all y'' before."""
        of_pose, of_mean = np.empty_like(self._of_rate), np.empty_like(self._of_rate)
        outputs = self._of_start.twist, self._of_rate, of_pose, of_mean
        state, method = self._start.state, self._method
        curve = self._rate, self._pose_mean[k], self._rate_mean[k]
        native.moved_gradients(
            (state.position, state.orientation, *curve),
            *(method.node[k] * self._h, g.twist, g.velocity, outputs),
        )
        for j in range(k + 1):
            for weight, of in ((method.pose[k, j], of_pose), (method.rate[k, j], of_mean)):
                if weight != 0.0:
                    self._of_curvature[j] += weight * of

    def gradient_by_start(self) -> StateGradient:
        """Return the gradient in the state at the start."""
        state, of = self._start.state, (self._of_rate, self._of_curvature[0])
        at = state.orientation, state.velocity, self._start.acceleration
        native.add_pose_derivative_gradients(*at, *of, self._of_start)
        return self._of_start


class ExplicitAdjoint(Adjoint):
    """A reverse sweep over the steps of a tape."""

    def __init__(self, tape: Tape, with_geometry: bool = False) -> None:
        super().__init__(tape.problem, with_geometry)
        self._tape, self._length = tape, min(1.0, self.system.typical_length)
        self._linear: dict[int, tuple[LinearDynamics, System]] = {}

    def run(self, gradient_at: Callable[[float], StateGradient | None]) -> StateGradient:
        """Return the gradient in the first state, given those in the states at all times."""
        g = StateGradient.zero(self.system.n_bodies)
        self.add(g, gradient_at(self._tape.state.time))
        for part in self._tape.steps.intervals():
            for step in reversed(part):
                g = self._step(step, g)
                self.add(g, gradient_at(step.start.state.time))
        state, at = step.start.state, self._at(step.plan.dynamics)
        at.move_to(state)
        self.accelerated(at, state, g, at.accelerations(self.force(state)))
        self.consistent(at, state, g)
        return g

    def _at(self, dynamics: ForwardDynamics) -> LinearDynamics:
        """Go on with dynamics, and with what these know of the inertias."""
        if id(dynamics) not in self._linear:
            linear = self.linear(dynamics)
            system = replace(dynamics.system, inertia=linear.dynamics.rotational_inertia)
            self._linear[id(dynamics)] = linear, system
        linear, self.system = self._linear[id(dynamics)]
        return linear

    def _step(self, step: Step, g: StateGradient) -> StateGradient:
        """Return the gradient at the start of a step from that at its end."""
        scheme = self._tape.scheme
        if isinstance(scheme, Composition):
            return self._composition(step, scheme, g)
        start, (time, dynamics, _), stages = step
        assert stages is not None
        first, at, h = start.state, self._at(dynamics), time - start.state.time
        curves: _EulerCurve | _Curves
        if isinstance(scheme, Tableau):
            method = scheme if stages.attempt else scheme.open_stages
            assert method is not None
            curves = _Curves(start, h, method, stages.values)
        else:
            curves = _EulerCurve(start, h)
        node, n_stages = curves.node, len(curves.node)
        times = [*(first.time + node[:-1] * h).tolist(), time]
        states = [_state(*stage, first) for stage in zip(stages.values, times, strict=True)]
        before_bar = np.zeros_like(first.velocity)
        for k in reversed(range(n_stages)):
            is_end = k + 1 == n_stages
            if not is_end:
                assert isinstance(curves, _Curves)
                g = curves.gradient_by_stage(k)
            g.twist[:] += before_bar
            before_bar[:] = 0.0
            motion = np.ascontiguousarray(stages.values[k, :, 13:]), stages.multiplier[k]
            at.move_to(states[k])
            self.accelerated(at, states[k], g, motion)
            if is_end or stages.attempt:
                is_near = k > 0 and node[k] == node[k - 1]  # as native steps do
                before = states[k - 1] if is_near else None
                before_bar = self._close(at, curves.end(k, times[k]), states[k], before, g)
            curves.move_back(k, g)
        return curves.gradient_by_start()

    def _composition(self, step: Step, scheme: Composition, g: StateGradient) -> StateGradient:
        """Return the gradient at the start of a composition of RATTLE steps from that at its end.

        Two stages a part: with its velocities v and v_1 of `rattle_adjoint`.
        """
        start, (time, dynamics, _), stages = step
        assert stages is not None
        first, at, h = start.state, self._at(dynamics), time - start.state.time
        nodes = np.cumsum(scheme.parts)[:-1]
        times = np.repeat([*(first.time + nodes * h).tolist(), time], 2).tolist()
        motions = [Motion(first, start.acceleration, stages.multiplier[0])]
        for values, multiplier, at_time in zip(
            stages.values, stages.multiplier, times, strict=True
        ):
            acceleration = np.ascontiguousarray(values[:, 13:])
            motions.append(Motion(_state(values, at_time, first), acceleration, multiplier))
        at.move_to(motions[-1].state)
        self.accelerated(
            at, motions[-1].state, g, (motions[-1].acceleration, motions[-1].multiplier)
        )
        wrench_bar = np.zeros_like(g.twist)
        for k in reversed(range(len(scheme.parts))):
            pair = motions[max(2 * k - 1, 0)], motions[2 * k].state
            ends = motions[2 * k + 1], motions[2 * k + 2].state
            g, wrench_bar = rattle_adjoint(
                self, at, *pair, *ends, h * scheme.parts[k], g, wrench_bar
            )
        self.add_wrench(first.velocity, start.acceleration, wrench_bar, g)
        return g

    def _close(
        self, at: LinearDynamics, opened: State, closed: State, last: State | None, g: StateGradient
    ) -> FloatArray:
        """Turn the gradient in a closed state into that in the open one, in place.

        Returns that in the pose of the stage before, whose factors closed this one if it is given.
        """
        last_bar = np.zeros_like(g.twist)
        change = closed.velocity - opened.velocity
        moved = gradients.Displacement.between(opened, closed)
        factors, speed = opened if last is None else last, largest(closed.velocity) or 1.0
        distance = largest(moved.twist) / self._length
        tilt = largest(gradients.Displacement.between(factors, closed).twist) / self._length
        if tilt * max(largest(change) / speed, distance) <= _ROUNDED_TILT:
            factors = closed
            velocity_bar, pose_bar = self.consistent(at, closed, g)
        else:
            inverse, none = self.system.inverse_inertia, np.zeros_like(g.twist)
            rows = self.rows_at(closed, closed.velocity)
            across = at, factors, rows, none
            velocity_bar, g.velocity[:], pi = self.closing(*across, inverse, g.velocity, 1.0)
            g.twist[:] += self.rows_vjp(rows, -pi)
            back = inverse @ moved.transposed_jacobian
            pose_bar, g.twist[:], pi = self.closing(*across, back, g.twist, 1.0)
            self.errors_vjp(rows, -pi)
        is_moved = distance > _ROUNDED_CORRECTION
        if is_moved:
            g.twist[:] = gradients.transported(opened, closed, g.twist)
        factors_bar = last_bar if factors is last else g.twist
        at.move_to(factors)
        if is_moved:
            factors_bar += self.of_factors(at, factors, moved.twist, pose_bar)
        if largest(change) > _ROUNDED_CORRECTION * speed:
            factors_bar += self.of_factors(at, factors, change, velocity_bar)
        return last_bar


def _state(stage: FloatArray, time: float, start: State) -> State:
    """Return the state of a stage; its coordinates continue those of the start."""
    x, q, v = (np.ascontiguousarray(stage[:, a:b]) for a, b in ((0, 3), (3, 7), (7, 13)))
    return State(x, q, v, start.coordinate, time)


# ---- parts of RATTLE's steps ---------------------------------------------------------------------

# Of a part h of a step, from (q_0, v_0) with the wrenches W_0 there to (q_1, v_1),
#
#     p = M v_0 + h W_0 / 2 + A_0' mu,  q_1 = q_0 exp(t),  G(t) = h p,  delta(q_1) = 0,
#     M v = p + h W_0 / 2,  W_1 = M a(q_1, v) + v x* M v,      all in the axes of the end,
#     M v_1 = p + h W_1 / 2 + A_1' nu,  A_1 v_1 = k,
#
# where W_0 of the first part is of the accelerations at the start, and that of others is W_1 of the
# part before; G(t) are the momenta, times h, of a body that is displaced by t in h. Hairer, Lubich,
# Wanner (2006), sec. VII.1.4. With x_bar for the gradient in x, and its variables in reverse,
#
#     M w + A_1' pi = v_1_bar,  A_1 w = 0,  W_1_bar = (from the next part) + h w / 2,
#     q_1_bar += (w' A_1' nu - pi' (A_1 v_1 - k) + W_1_bar' W_1)_q,  v_bar += (W_1_bar' W_1)_v,
#     p_bar = w + M^-1 v_bar,  W_0_bar = (h / 2) M^-1 v_bar,
#     y = q_1_bar - A_1' kappa,  u = R p_bar + h G'^-T B' (y + e),  A_0 u = 0,
#     v_0_bar = M u,  W_0_bar := R W_0_bar + h u / 2,
#     q_0_bar = y as a gradient in q_0 + (u' A_0' mu)_q.
#
# R turns the axes of the end into those of the start, B is the Jacobian of q_1 in t, and
# e = p_bar x* p + W_0_bar x* W_0, moments only, is due to turning axes. u and kappa are by
# `Adjoint.closing`.


@dataclass(frozen=True, eq=False)
class Motion:
    """A state of a step, with its accelerations and multipliers."""

    state: State
    acceleration: FloatArray
    multiplier: FloatArray


def wrenches(adjoint: Adjoint, at: Motion) -> FloatArray:
    """Return W = M a + v x* M v (n_bodies, 6)."""
    velocity = at.state.velocity
    momentum = adjoint.momenta(velocity)
    return adjoint.momenta(at.acceleration) + gradients.force_cross(velocity, momentum)


def rattle_adjoint(
    adjoint: Adjoint,
    at: LinearDynamics,
    before: Motion,
    first: State,
    predicted: Motion,
    end: State,
    h: float,
    g: StateGradient,
    wrench_bar: FloatArray,
) -> tuple[StateGradient, FloatArray]:
    """Return the gradients in (q_0, v_0) and W_0, from g in (q_1, v_1) and `wrench_bar` in W_1.

    The part h [s] begins at `first`, with W_0 of `before`; `predicted` has the velocity v, `end`
    v_1. The equations are above: `weight` is w, then u, `end_bar` y, `turn` e.
    """
    system, here = adjoint.system, predicted.state
    moved = gradients.Displacement.between(first, here)
    slopes = native.discrete_rotation_slopes(np.ascontiguousarray(system.inertia), moved.twist)
    wrench, next_wrench = wrenches(adjoint, before), wrenches(adjoint, predicted)
    p = np.hstack([slopes[0], system.mass[:, None] * moved.twist[:, 3:]]) / h
    p_end, wrench_end = moved.to_end(p), moved.to_end(wrench)

    at.move_to(here)
    weight, pi = at.solve(g.velocity, adjoint.size)  # w
    remaining = adjoint.momenta(end.velocity) - p_end - 0.5 * h * next_wrench
    nu = at.solve(remaining, largest(remaining))[1]
    rows = adjoint.rows_at(here, end.velocity)
    g.twist[:] += adjoint.of_rows(here, nu, weight)
    g.twist[:] += adjoint.rows_vjp(rows, -pi)
    adjoint.add_inertial(weight, end.velocity)

    next_wrench_bar = wrench_bar + 0.5 * h * weight
    predicted_bar = StateGradient(g.twist, *np.zeros((2, *weight.shape)))
    adjoint.add_wrench(
        predicted.state.velocity, predicted.acceleration, next_wrench_bar, predicted_bar
    )
    adjoint.accelerated(at, here, predicted_bar, (predicted.acceleration, predicted.multiplier))
    at.put_in_plane(predicted_bar.twist)
    at.put_in_plane(predicted_bar.velocity)
    change = gradients.product(system.inverse_inertia, predicted_bar.velocity)
    adjoint.add_inertial(change, here.velocity)

    p_bar, first_wrench_bar = weight + change, 0.5 * h * change
    turn = gradients.force_cross(p_bar, p_end)
    turn += gradients.force_cross(first_wrench_bar, wrench_end)
    turn[:, 3:] = 0.0
    back = moved.transposed_jacobian.copy()
    back[:, :3, :3] = slopes[1] @ back[:, :3, :3]
    back[:, 3:, 3:] /= system.mass[:, None, None]
    constant = moved.to_start(p_bar) + h * gradients.product(back, turn)
    weight, end_bar, kappa = adjoint.closing(at, first, rows, constant, h * back, g.twist, h)  # u
    adjoint.errors_vjp(rows, -kappa)
    displacement_bar = gradients.product(back, turn + end_bar)
    displacement_bar[:, :3] = (slopes[2] @ displacement_bar[:, :3, None])[:, :, 0]
    adjoint.add_inertial(displacement_bar, moved.twist)

    at.move_to(first)
    impulse = p - adjoint.momenta(first.velocity) - 0.5 * h * wrench
    mu = at.solve(impulse, largest(impulse))[1]
    adjoint.add_inertial(-weight, first.velocity)
    twist = gradients.transported(first, here, end_bar) + adjoint.of_rows(first, mu, weight)
    start = StateGradient(twist, adjoint.momenta(weight), np.zeros_like(weight))
    return start, moved.to_start(first_wrench_bar) + 0.5 * h * weight
