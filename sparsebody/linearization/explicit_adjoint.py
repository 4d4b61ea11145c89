"""The adjoint of explicit steps, as `simulate` takes them, stage by stage.

A stage is a point (q_o, v_o) of a curve that the start and the accelerations of the stages before
make, closed where the step closes it, with its acceleration:

    q = q_o exp(x),  M x + A' mu = 0,  delta(q) = 0,    v = v_o + d,  M d + A' nu = 0,  A v = k,
    M a + v x* M v - f - A' lambda = 0,  A a = gamma.

Of gradients g by q, v and a, [M A'; A 0] [p; pi] = [g; 0] make the gradients by what is on the
left: M p by the open state, and p and pi weight the changes of M, A and f. Changes of the factors
by x and d count to first order in these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sparsebody._core import linearization as native
from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators import KrylovEvaluator
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import SimulationError, SingularSystemError
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.linearization.derivatives import Residuals, shapes_of
from sparsebody.model.system import State, System
from sparsebody.simulation.callbacks import Control
from sparsebody.simulation.explicit_steps import ExplicitSteps
from sparsebody.simulation.integrators import RK4, Tableau, pose_derivatives
from sparsebody.simulation.stabilization import Solved, largest
from sparsebody.simulation.stepper import Stepper, _Reached
from sparsebody.simulation.stepping import Problem

_NOTHING = np.zeros(0)
_ROUNDING = 1e-9  # of gradients, relative to the largest of all
_ROUNDED_CORRECTION = 1e-12  # of a velocity, or [rad, m]: hardly more than rounding
_DIAGONAL, _FIRST, _SECOND = [0, 1, 2], [0, 0, 1], [1, 2, 2]  # xx yy zz, then xy xz yz


class StateGradient(NamedTuple):
    """Gradients (n_bodies, 6) by twists, velocities and accelerations; sums, in place."""

    twist: FloatArray
    velocity: FloatArray
    acceleration: FloatArray

    @classmethod
    def zero(cls, n_bodies: int) -> StateGradient:
        """Return that of nothing."""
        return cls(*np.zeros((3, n_bodies, 6)))


# ---- steps that are kept ------------------------------------------------------------------------


class Stages(NamedTuple):
    """The stages of a step."""

    values: FloatArray  # (s, n_bodies, 19) x, q, v and a, the last of them at the end
    attempt: int  # of open stages, or of closed ones


@dataclass(frozen=True, eq=False)
class Step:
    """One step, or a part of one, that the motion goes on from."""

    time: float  # at its end [s]
    dynamics: ForwardDynamics
    start: Solved | None  # where it is kept
    stages: Stages | None


class Tape(Stepper):
    """A stepper that keeps the steps that its motion consists of.

    With an interval of 1 these are kept with their stages, else only where they start, once in an
    interval, and steps between are made again.
    """

    def __init__(self, problem: Problem, dynamics: ForwardDynamics, interval: int) -> None:
        super().__init__(problem, dynamics)
        self.interval, self.steps = interval, list[Step]()
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
            assert chain[-1].start is not None
            state = chain[-1].start.state
        if after is not self.state or state is not before or any(s.stages is None for s in chain):
            raise _singular(time)
        for step in reversed(chain):
            if self.interval > 1:
                is_first = len(self.steps) % self.interval == 0
                step = replace(step, start=step.start if is_first else None, stages=None)
            self.steps.append(step)
        return after

    def segments(self) -> Iterator[list[tuple[Solved, Step, Stages]]]:
        """Return the steps with their starts and stages in parts, the last part first."""
        end = len(self.steps)
        for first in reversed(range(end)):
            start, part = self.steps[first].start, []
            if start is None:
                continue
            for step in self.steps[first:end]:
                solved, stages = start, step.stages
                if stages is None:
                    start, stages = self._repeated(start, step)
                part.append((solved, step, stages))
            yield part
            end = first

    def _repeated(self, start: Solved, step: Step) -> tuple[Solved, Stages]:
        assert self._compiled is not None
        made = self._compiled(step.dynamics, start.state, start.acceleration, step.time)
        if made is None or self._compiled.stages is None:
            raise _singular(step.time)
        return made[0], Stages(self._compiled.stages, self._compiled.attempt)

    def _set_scales(self) -> None:
        super()._set_scales()
        system = self._rows.dynamics.system
        self._compiled = ExplicitSteps(system, RK4, self._small, self._control, False, True)

    def _step(self, start: _Reached, time: float) -> _Reached:
        assert self._compiled is not None
        self._compiled.stages = None
        reached, values = super()._step(start, time), self._compiled.stages
        stages = None if values is None else Stages(values, self._compiled.attempt)
        step = Step(time, self._rows.dynamics, start.end, stages)
        self._made[id(reached.end.state)] = step
        return reached


def _singular(time: float) -> SimulationError:
    return SimulationError(
        f"at t = {time:.6g} s the motion passes a singular pose, or its factorization has no "
        "compiled steps: there is no gradient; begin elsewhere, end before, or leave ordering and "
        'factorization "auto"'
    )


# ---- reverse sweeps -----------------------------------------------------------------------------


class LinearDynamics:
    """[M A'; A 0] with the factors of a ForwardDynamics, at the state evaluated last."""

    def __init__(self, dynamics: ForwardDynamics) -> None:
        self.dynamics, n = dynamics, dynamics.system.n_bodies
        self._shape, self._n_rows = (n, 6), dynamics.system.n_rows
        self._assembler: object = None
        self._axes, self._time = np.zeros((0, 0, 0)), 0.0

    def evaluate(self, state: State, force: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Return accelerations and multipliers at a state, and keep the factors there."""
        if isinstance(self.dynamics.evaluator, KrylovEvaluator):
            raise SimulationError(
                f"at t = {state.time:.6g} s it is in doubt which constraint rows are dependent, "
                "and there are no factors for a gradient; begin at another pose"
            )
        self._time = state.time
        acceleration, multiplier = np.empty(self._shape), np.zeros(self._n_rows)
        self.dynamics.run(
            lambda solver: solver.accelerate(state, force, _NOTHING, acceleration, multiplier)
        )
        return acceleration, multiplier

    def solve(self, force: FloatArray, size: float) -> tuple[FloatArray, FloatArray]:
        """Return p (n_bodies, 6) and pi (n_rows,) of [M A'; A 0] [p; pi] = [force; 0].

        Zeros where there is no solution of a force that is rounding, relative to `size`.
        """
        twist, dual = np.zeros(self._shape), np.zeros(self._n_rows)
        assembler = self.dynamics.evaluator.assembler
        if assembler is not self._assembler:
            self._assembler, self._axes = assembler, assembler.unit_axes()
        right = np.zeros(len(assembler.right))
        free = right[: right.size - len(assembler.rows)].reshape(len(force), assembler.width)
        np.einsum("nia,na->ni", self._axes, force[assembler.bodies], out=free)
        try:
            self.dynamics.run(lambda solver: solver.solve(right, self._time))
        except SingularSystemError:
            if largest(force) > _ROUNDING * size:
                raise  # else rounding, of which a mechanism without freedoms leaves nothing
            return twist, dual
        assembler.native.to_user_order(twist, dual)
        return twist, np.negative(dual, out=dual)


class _Curves:
    """The curves from the start of a step to its stages, and the gradients by what makes them."""

    def __init__(self, start: Solved, h: float, method: Tableau, values: FloatArray) -> None:
        self._start, self._h, self._method, (s, n, _) = start, h, method, values.shape
        parts = np.split(values[:-1].reshape(-1, 19), [3, 7, 13], axis=1)[1:]
        self._stages = [np.ascontiguousarray(part).reshape(s - 1, n, -1) for part in parts]
        state = start.state
        self._rate, first = pose_derivatives(state, start.acceleration)
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
        """Return the gradient by a stage of those by its y''."""
        g = StateGradient.zero(len(self._of_rate))
        q, v, a = (part[k] for part in self._stages)
        of_rate = np.zeros_like(self._of_rate)
        native.add_pose_derivative_gradients(q, v, a, of_rate, self._of_curvature[k + 1], g)
        return g

    def move_back(self, k: int, g: StateGradient) -> None:
        """Turn the gradient by an open stage into those by the start and by all y'' before."""
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
        """Return the gradient by the start."""
        state, of = self._start.state, (self._of_rate, self._of_curvature[0])
        at = state.orientation, state.velocity, self._start.acceleration
        native.add_pose_derivative_gradients(*at, *of, self._of_start)
        return self._of_start


class ExplicitAdjoint:
    """A reverse sweep over the steps of a tape."""

    def __init__(self, tape: Tape, system: System, control: Control | None) -> None:
        self._tape, self._system, self._control = tape, system, control
        self.add_force_gradient: Callable[[float, FloatArray], None] = lambda time, gradient: None
        shapes = shapes_of(system)
        for name in ("position", "velocity", "prescribed_acceleration"):
            del shapes[name]
        self.by_parameters = {name: np.zeros(shape) for name, shape in shapes.items()}
        self._linear: dict[int, LinearDynamics] = {}
        self._size = 0.0  # of the largest gradient by a state
        self._length = min(1.0, system.typical_length)
        self._momentum_size = float(system.mass.max()) * system.typical_length  # of twists

    def run(self, gradient_at: Callable[[float], StateGradient | None]) -> StateGradient:
        """Return the gradient by the first state, of those by states at times."""
        g, tape = StateGradient.zero(self._system.n_bodies), self._tape
        self._add(g, gradient_at(tape.steps[-1].time))
        for part in tape.segments():
            for start, step, stages in reversed(part):
                g = self._step(start, step, stages, g)
                self._add(g, gradient_at(start.state.time))
        state, at = start.state, self._at(step.dynamics)
        self._accelerated(at, state, g)
        self._consistent(at, state, g)
        return g

    def _add(self, g: StateGradient, other: StateGradient | None) -> None:
        if other is not None:
            for part, added in zip(g, other, strict=True):
                part += added
        self._size = max(self._size, *map(largest, g))

    def _at(self, dynamics: ForwardDynamics) -> LinearDynamics:
        return self._linear.setdefault(id(dynamics), LinearDynamics(dynamics))

    def _step(self, start: Solved, step: Step, stages: Stages, g: StateGradient) -> StateGradient:
        """Return the gradient by the start of a step of that by its end."""
        assert RK4.open_stages is not None
        method = (RK4.open_stages, RK4)[stages.attempt]
        first, n_stages, at = start.state, len(method.node), self._at(step.dynamics)
        h = step.time - first.time
        times = [*(first.time + method.node[:-1] * h).tolist(), step.time]
        states = [_state(*stage, first) for stage in zip(stages.values, times, strict=True)]
        curves = _Curves(start, h, method, stages.values)
        for k in reversed(range(n_stages)):
            is_end = k + 1 == n_stages
            if not is_end:
                g = curves.gradient_by_stage(k)
            self._accelerated(at, states[k], g)
            if is_end or method is RK4:
                self._close(at, curves.end(k, times[k]), states[k], g)
            if not at.dynamics.is_planar:
                _unretract(at.dynamics, curves.end(k, times[k]), g)
            curves.move_back(k, g)
        return curves.gradient_by_start()

    def _accelerated(self, at: LinearDynamics, state: State, g: StateGradient) -> None:
        """Add gradients by the accelerations at a state to those by the state and parameters."""
        force = None if self._control is None else self._control(state.time, state)
        motion = at.evaluate(state, force)
        y, z = at.solve(g.acceleration, self._size)
        by = Residuals(self._system, state, *motion).vjp(-y, -z)
        g.twist[:] += by["position"]
        g.velocity[:] += by["velocity"]
        for name, total in self.by_parameters.items():
            total += by[name]
        self.add_force_gradient(state.time, y)

    def _close(self, at: LinearDynamics, opened: State, closed: State, g: StateGradient) -> None:
        """Turn the gradient by a closed state into that by the open one, in place."""
        opened = at.dynamics.retracted(opened)
        by_velocity, by_pose = self._consistent(at, closed, g)
        change, way = closed.velocity - opened.velocity, _twists(opened, closed)
        if largest(way) > _ROUNDED_CORRECTION * self._length:
            g.twist[:] += _force_cross(way, g.twist) + self._of_factors(at, closed, way, by_pose)
        if largest(change) > _ROUNDED_CORRECTION * largest(closed.velocity):
            g.twist[:] += self._of_factors(at, closed, change, by_velocity)

    def _consistent(
        self, at: LinearDynamics, state: State, g: StateGradient
    ) -> tuple[FloatArray, FloatArray]:
        """Turn the gradient by a state into that by changes made consistent by the least motion.

        Returns p of the velocity and of the pose.
        """
        by_velocity, pi = at.solve(g.velocity, self._size)
        g.twist[:] += self._of_rows(state, -pi, state.velocity)
        by_pose = at.solve(g.twist, self._size)[0]
        g.velocity[:] = _momenta(self._system, by_velocity)
        g.twist[:] = _momenta(self._system, by_pose)
        return by_velocity, by_pose

    def _of_factors(
        self, at: LinearDynamics, state: State, change: FloatArray, p: FloatArray
    ) -> FloatArray:
        """Add gradients by inertias, and return that by the pose, of -p' (M change + A' nu)."""
        nu = at.solve(-_momenta(self._system, change), self._momentum_size)[1]
        both, parameters = p[:, :3, None] * change[:, None, :3], self.by_parameters
        parameters["mass"] -= np.einsum("ni,ni->n", p[:, 3:], change[:, 3:])
        parameters["inertia"][:, :3] -= both[:, _DIAGONAL, _DIAGONAL]
        parameters["inertia"][:, 3:] -= both[:, _FIRST, _SECOND] + both[:, _SECOND, _FIRST]
        return self._of_rows(state, -nu, p)

    def _of_rows(self, state: State, multiplier: FloatArray, motion: FloatArray) -> FloatArray:
        """Return the gradient (n_bodies, 6) of multiplier' A motion by twists."""
        still = np.zeros_like(motion)
        at = state.with_(velocity=still), motion, np.zeros(self._system.n_rows)
        return Residuals(self._system, *at).vjp(still, multiplier)["position"]


def _momenta(system: System, velocity: FloatArray) -> FloatArray:
    """Return M velocity (n_bodies, 6)."""
    turning = np.einsum("nij,nj->ni", system.inertia, velocity[:, :3])
    return np.hstack([turning, system.mass[:, None] * velocity[:, 3:]])


def _twists(start: State, end: State) -> FloatArray:
    """Return the small twists (n_bodies, 6) that lead from poses to others."""
    still = np.zeros((len(start.position), 7))
    way = np.hstack([end.position - start.position, end.orientation - start.orientation])
    return simulation.moved(start.position, start.orientation, way, still, still, 0.0)[2]


def _force_cross(v: FloatArray, f: FloatArray) -> FloatArray:
    """Return v x* f (n, 6). Featherstone (2008), eq. (2.34)."""
    (w, u), (moment, force) = np.hsplit(v, 2), np.hsplit(f, 2)
    return np.hstack([np.cross(w, moment) + np.cross(u, force), np.cross(w, force)])


def _unretract(dynamics: ForwardDynamics, opened: State, g: StateGradient) -> None:
    """Turn gradients by states within subgroups into those by the states they come from."""
    fixed, projection = dynamics.evaluator.assembler.retraction
    if len(fixed) == 0:
        return
    g.velocity[:] = np.einsum("nji,nj->ni", projection, g.velocity)
    R, point, across = body_rotations(opened), fixed[:, 12:15], fixed[:, 18:27].reshape(-1, 3, 3)
    world = np.einsum("nij,nj->ni", R, g.twist[:, 3:])
    in_body = np.einsum("nji,nkj,nk->ni", R, across, world)
    g.twist[:, 3:] -= in_body
    g.twist[:, :3] -= np.cross(point, in_body)


def _state(stage: FloatArray, time: float, start: State) -> State:
    """Return the state of a stage; its coordinates continue those of the start."""
    x, q, v = (np.ascontiguousarray(stage[:, a:b]) for a, b in ((0, 3), (3, 7), (7, 13)))
    return State(x, q, v, start.coordinate, time)
