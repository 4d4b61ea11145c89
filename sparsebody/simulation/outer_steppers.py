"""Steppers that take the steps of others: explicit or implicit ones, as long as errors allow.

Hairer, Norsett, Wanner (1993), sec. II.4 on step sizes and II.6 on dense output.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.assembly.body_forces import elastic_motion
from sparsebody.assembly.constraint import rows_on_bodies
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.system_motion import SystemMotion, constraint_errors, padded
from sparsebody.errors import SimulationError, SingularSystemError, SparsebodyError
from sparsebody.kinematics.joint_motion import coordinate_motion, joint_motion
from sparsebody.model.system import State, States, System
from sparsebody.simulation import stabilization, stepping
from sparsebody.simulation.implicit.collocation import CollocationStepper
from sparsebody.simulation.implicit.implicit_stepper import ImplicitStepper, implicit_memory
from sparsebody.simulation.implicit.step_equations import Newest
from sparsebody.simulation.integrators import LocalError, interpolated
from sparsebody.simulation.stabilization import largest_turn
from sparsebody.simulation.stepper import EXCHANGE, LONG_STEP, Stepper, carried, moved_on
from sparsebody.simulation.stepping import Checkpoint, Problem, RankWatch
from sparsebody.simulation.trajectory import Ends, Event, cause_of
from sparsebody.tolerances import WORST_RESIDUAL

SINGULAR_START = (
    "rows depend on others at this pose that do not in general; where several branches of the "
    "motion leave it, the compliance and the step decide which one is taken"
)
_LOOKAHEAD_DISTANCE = 1e-4  # [rad, m] ahead, where redundant rows may be independent
# Steps to get there: slower motions, as of a slow crank, are not looked at
_MOST_STEPS_AHEAD = 100
_STIFF_RATE = 2.0  # rate of a spring times the step, above which explicit steps are unstable
_SLOW_EVENTS = ("step in parts", "re-analysis")  # events of expensive steps
# Slow events above which implicit steps begin, and the factor of their count per step
_MOST_SLOW_EVENTS, _EVENT_DECAY = 1.5, 0.99
# Implicit steps between searches for regular poses, each of which takes the time of a hundred
_CHECK_INTERVAL = 2048
_REGULAR_PIVOT = 0.05  # smallest pivot there
# Steps by errors:
_SAFETY_FACTOR, _LEAST_FACTOR, _LARGEST_FACTOR = 0.9, 0.2, 5.0  # factors from one step to the next
_UNCHANGED_FACTOR = 1.2  # smaller factors >= 1 leave the step unchanged
_SINGULAR_STEP_FACTOR = 1.3  # factor of a step that ended at a singular pose
_MOST_FUTILE_TRIALS = 2  # shorter steps without smaller errors
_LEAST_STEP = 1e-13  # of a step, relative to the time
_FIRST_STEP_SHARE = 0.1  # of the time of a motion by a radian, or by the size of the mechanism


class OuterStepper:
    """A stepper that delegates to another one."""

    _inner: Stepper | ImplicitStepper | CollocationStepper | AutoStepper

    @property
    def state(self) -> State:
        """The state that the next step starts from."""
        return self._inner.state

    @property
    def acceleration(self) -> FloatArray:
        """Its accelerations (n_bodies, 6)."""
        return self._inner.acceleration

    def multiplier_at(self, time: float) -> FloatArray | None:
        """Return those of compliant joints (n_rows,) in the newest step; None of rigid ones."""
        return self._inner.multiplier_at(time)

    @property
    def row_compliance(self) -> FloatArray:
        """Compliances (n_rows,) of the joints, (0,) where they are rigid."""
        return self._inner.row_compliance

    @property
    def passed(self) -> Sequence[Newest]:
        """Where the parts of the newest step began, if it is implicit."""
        return self._inner.passed

    @property
    def undoes_exactly(self) -> bool:
        """Whether steps that are taken again after `restore` have the same bits."""
        return self._inner.undoes_exactly

    @property
    def has_reactions_of_all(self) -> bool:
        """Whether `joint_wrench` is known at any state, not only in the newest step."""
        return self._inner.has_reactions_of_all

    @property
    def rank(self) -> RankWatch:
        """The state of the rank of the constraint rows."""
        return self._inner.rank

    def joint_wrench(self, state: State) -> FloatArray:
        """Return the reactions (n_joints, 6)."""
        return self._inner.joint_wrench(state)

    def closed(self, state: State) -> State:
        """Return the nearest state that closes the joints, where these are rigid."""
        return self._inner.closed(state)

    def take_steps(self, times: FloatArray, out: States | None = None) -> Ends | None:
        """Take none of several steps at once."""
        return None

    def consistent(self, state: State) -> State:
        """Return the nearest state that steps can start from."""
        return self._inner.consistent(state)

    def acceleration_at(self, state: State) -> FloatArray | None:
        """Return the accelerations (n_bodies, 6) at a state, None where they are not known."""
        return self._inner.acceleration_at(state)


class AutoStepper(OuterStepper):
    """Runge-Kutta steps with projection, or implicit ones of joints with negligible compliance.

    Implicit steps are taken from the start where springs are stiff, or where rows are dependent
    that are not so in general; from a pose on that explicit steps cannot pass, or pass only in
    parts and with other rows time and again. Explicit ones are taken again where poses have been
    regular for long, and for longer each time.
    """

    def __init__(self, problem: Problem, dynamics: ForwardDynamics) -> None:
        self._problem, self.dynamics = problem, dynamics
        self._note, self._step = problem.note, problem.options.step
        self._slow_events = 0.0  # decayed count in explicit steps
        self._n_steps, self._n_regular, self._n_switches = 0, 0, 0  # implicit ones since; of all
        self._inner: Stepper | ImplicitStepper = self._explicit()

    @property
    def is_implicit(self) -> bool:
        """Whether the newest steps are implicit."""
        return isinstance(self._inner, ImplicitStepper)

    @property
    def memory_size(self) -> int:
        """The length of `memory`: implicit steps need more than explicit ones."""
        problem = self._problem
        return implicit_memory(problem.system, problem.control is not None) + 5

    @property
    def memory(self) -> FloatArray:
        """Numbers that the next step depends on, beside the state."""
        is_implicit = isinstance(self._inner, ImplicitStepper)
        others = np.zeros(self.memory_size - 5)
        others[: self._inner.memory_size] = self._inner.memory
        own = [self._slow_events, self._n_steps, self._n_regular, self._n_switches, is_implicit]
        return np.concatenate([others, np.array(own, dtype=float)])

    @property
    def nominal(self) -> float:
        """The length that steps are meant to have [s]."""
        return self._inner.nominal

    @nominal.setter
    def nominal(self, h: float) -> None:
        self._inner.nominal = self._step = h

    @property
    def error_order(self) -> int:
        """The order of local errors."""
        return self._inner.error_order

    def saved(self) -> tuple[Any, ...]:
        """Return what `restore` needs to undo steps."""
        own = self._slow_events, self._n_steps, self._n_regular, self._n_switches
        return self._inner, self._inner.saved(), *own

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Undo the steps since then."""
        self._inner, inner, *own = saved
        self._inner.restore(inner)
        self._slow_events, self._n_steps, self._n_regular, self._n_switches = own

    def local_error(self) -> LocalError | None:
        """Return the errors of the newest step; None where they are not known."""
        return self._inner.local_error()

    def restart(self, state: State) -> None:
        """Go on from another state."""
        self._inner.restart(state)

    def start(self, state: State) -> None:
        """Start from a consistent state."""
        rate = fastest_spring(self.dynamics.system, state)
        if rate * self._step > _STIFF_RATE:
            self._switch(state, f"a spring or damper with a rate of {rate:.1e}/s is stiff")
        elif is_singular(self.dynamics, state, self._step):
            self._switch(state, SINGULAR_START)
        else:
            self._inner.start(state)

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        others, own = np.split(checkpoint.memory, [-5])
        self._slow_events, *counts, is_implicit = own.tolist()
        self._n_steps, self._n_regular, self._n_switches = map(int, counts)
        if is_implicit:
            self._inner = ImplicitStepper(self._problem)
        self._inner.resume(replace(checkpoint, memory=others))

    def advance(self, time: float) -> State:
        """Return the state at `time`.

        Raises SingularSystemError or SimulationError if implicit steps cannot be taken, either.
        """
        if isinstance(self._inner, ImplicitStepper):
            self._look_for_regular_poses()
            return self._inner.advance(time)
        self._slow_events *= _EVENT_DECAY
        try:
            if self._slow_events <= _MOST_SLOW_EVENTS:
                return self._inner.advance(time)
            self._switch(self._inner.state, "singular poses follow on each other")
        except (SingularSystemError, SimulationError) as error:
            self._switch(self._inner.state, cause_of(error))
        return self._inner.advance(time)

    def take_steps(self, times: FloatArray, out: States | None = None) -> Ends | None:
        """Take steps to these times as far as nothing is to be decided, states in `out` if any."""
        if isinstance(self._inner, ImplicitStepper):
            n_to_look = _CHECK_INTERVAL - 1 - self._n_steps % _CHECK_INTERVAL
            ends = self._inner.take_steps(times[:n_to_look], out)
            self._n_steps += 0 if ends is None else ends.n_steps
            return ends
        if self._slow_events * _EVENT_DECAY > _MOST_SLOW_EVENTS:
            return None
        ends = self._inner.take_steps(times, out)
        for _ in range(0 if ends is None else ends.n_steps):
            self._slow_events *= _EVENT_DECAY
        return ends

    def last_events(self, time: float) -> list[Event]:
        """Return the events to report at the end of a run."""
        return self._inner.last_events(time)

    def _explicit(self) -> Stepper:
        def note(event: Event) -> None:
            is_slow = event.kind in _SLOW_EVENTS and LONG_STEP not in event.message
            self._slow_events += is_slow and not event.message.endswith(EXCHANGE)
            self._note(event)

        return Stepper(replace(self._problem, note=note), self.dynamics)

    def _look_for_regular_poses(self) -> None:
        """Take explicit steps again where poses have been regular for long."""
        self._n_steps += 1
        looks, early = divmod(self._n_steps, _CHECK_INTERVAL)
        if early or (self._n_regular == 0 and looks & (looks - 1)):  # a search costs many steps
            return
        regular = regular_near(self.dynamics, self._inner.state, self._step)
        self._n_regular = 0 if regular is None else self._n_regular + 1
        if regular is None or self._n_regular < 1 << self._n_switches:
            return
        dynamics, state = regular
        for event in self._inner.last_events(state.time):
            self._note(event)
        message = "rk4 with projection: poses have been regular for long"
        self._note(Event(state.time, "explicit steps", message))
        self._slow_events, self._inner = 0.0, self._explicit()
        self._inner.take_over(state, dynamics)

    def _switch(self, state: State, why: str) -> None:
        """Take implicit steps from a state on."""
        self._inner = ImplicitStepper(self._problem)
        self._inner.nominal = self._step
        self._n_steps, self._n_regular, self._n_switches = 0, 0, self._n_switches + 1
        self._inner.start(state)
        message = f"generalized-alpha, joints of {self._inner.compliance:.1e} m/N: {why}"
        self._note(Event(state.time, "implicit steps", message))


Inner = Stepper | ImplicitStepper | CollocationStepper | AutoStepper


class AdaptiveStepper(OuterStepper):
    """Steps of another stepper with local errors of at most atol + rtol * size.

    The size of poses is 1 rad and the typical length, that of velocities the largest ones.
    """

    _inner: Inner
    undoes_exactly = False

    def __init__(self, problem: Problem, make_inner: Callable[[Problem], Inner]) -> None:
        options, system = problem.options, problem.system
        self._system = system
        assert options.rtol is not None
        assert options.atol is not None
        self._size, self._rtol, self._atol = system.typical_length, options.rtol, options.atol
        sizes = stabilization.row_sizes(system, problem.state)
        self._tolerance = self._atol + self._rtol * sizes  # of joints
        self._note, self._n_noted = problem.note, 0
        self._inner = make_inner(replace(problem, note=self._take_note))
        self._h, self._n_steps = 0.0, [0, 0]  # taken, and rejected
        self._before: tuple[State, FloatArray] | None = None
        forces = system.joint_forces.item, system.point_forces.first
        self._has_springs = len(system.elastic) + sum(map(len, forces)) > 0

    def _take_note(self, event: Event) -> None:
        self._n_noted += 1
        self._note(event)

    @property
    def memory_size(self) -> int:
        """The length of `memory`."""
        own = stepping.state_size(self._system) + 6 * self._system.n_bodies + 3
        return self._inner.memory_size + own

    @property
    def memory(self) -> FloatArray:
        """Numbers that the next step and the next record depend on, beside the state."""
        before = self._before or (self.state, self.acceleration)
        return stepping.packed(self._inner.memory, *before, self._h, *self._n_steps)

    def start(self, state: State) -> None:
        """Start from a consistent state."""
        self._inner.start(state)
        self._h = self._first_step()

    def restart(self, state: State) -> None:
        """Go on from another state."""
        self._inner.restart(state)
        self._before, self._h = None, min(self._h, self._first_step())

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        n = self._inner.memory_size
        self._inner.resume(replace(checkpoint, memory=checkpoint.memory[:n]))
        likes = checkpoint.state, checkpoint.acceleration, 0.0, 0.0, 0.0
        *before, self._h, taken, rejected, _ = stepping.unpacked(checkpoint.memory[n:], *likes)
        self._before, self._n_steps = (before[0], before[1]), [int(taken), int(rejected)]

    def last_events(self, time: float) -> list[Event]:
        """Return the events to report at the end of a run."""
        message = "{} steps, and {} with errors too large".format(*self._n_steps)
        return [*self._inner.last_events(time), Event(time, "adaptive steps", message)]

    def advance(self, time: float) -> State:
        """Return the state at `time`, interpolated in the step that reaches or passes it.

        Raises SingularSystemError or SimulationError if the motion does not go on however short the
        step is.
        """
        while self.state.time < time:
            self._step()
        if self.state.time == time or self._before is None:
            return self.state
        return self._between(*self._before, time)

    def advance_once(self, here: float, time: float) -> State:
        """Return the state at `time`, or at the end of the step that goes on `here` if earlier."""
        if self.state.time <= here:
            self._step()
        return self.advance(min(time, self.state.time))

    def _between(self, before: State, acceleration: FloatArray, time: float) -> State:
        """Return the state at a time since that before the newest step."""
        if isinstance(self._inner, CollocationStepper) and self._has_springs:
            return self._inner.between(time)  # accelerations of stiff ones are mostly rounding
        between = interpolated(before, self.state, (acceleration, self.acceleration), time)
        between = self._inner.closed(between)
        if len(between.coordinate):
            motion = coordinate_motion(self._system, between, joint_motion(self._system, between))
            between = between.with_(coordinate=motion.value)
        return between

    def _step(self) -> None:
        """Take a step with an error below the tolerance, after shorter trials if need be."""
        inner, h, factor = self._inner, self._h, 1.0
        inner.nominal = h
        last_norm, n_in_vain = math.inf, 0
        while True:
            before, saved, n_noted = (inner.state, inner.acceleration), inner.saved(), self._n_noted
            is_last_resort = h < _LEAST_STEP * max(abs(before[0].time), 1.0)
            try:
                inner.advance(before[0].time + h)
            except (SingularSystemError, SimulationError):
                if is_last_resort:
                    raise
                factor = _LEAST_FACTOR
            else:
                if inner.state.time <= before[0].time:  # a singular pose, to be passed
                    h *= _SINGULAR_STEP_FACTOR
                    continue
                error = inner.local_error()
                norm = 0.0 if error is None else self._norm(error)
                norm = max(norm, self._joint_error(*before))
                factor = self._factor(norm)
                if norm <= 1.0 or is_last_resort or self._n_noted > n_noted:
                    break
                n_in_vain += norm >= last_norm
                if (
                    n_in_vain == _MOST_FUTILE_TRIALS
                ):  # rounding errors, which grow as steps become shorter
                    factor = self._h / h
                    break
                last_norm = norm
            inner.restore(saved)
            self._n_steps[1] += 1
            h *= min(factor, _SAFETY_FACTOR)
            inner.nominal = h
        self._before = before
        self._n_steps[0] += 1
        self._h = h if 1.0 <= factor < _UNCHANGED_FACTOR else h * factor

    def _factor(self, norm: float) -> float:
        """Return the ratio of the next step to this one."""
        if not norm < math.inf:
            return _LEAST_FACTOR
        if norm == 0.0:
            return _LARGEST_FACTOR
        best = _SAFETY_FACTOR * norm ** (-1.0 / self._inner.error_order)
        return min(max(best, _LEAST_FACTOR), _LARGEST_FACTOR)

    def _norm(self, error: LocalError) -> float:
        velocity = np.abs(self.state.velocity)
        sizes = 1.0, self._size, velocity[:, :3].max(), velocity[:, 3:].max()
        shares = [e / (self._atol + self._rtol * s) for e, s in zip(error, sizes, strict=True)]
        return float(max(shares)) if all(map(math.isfinite, shares)) else math.inf

    def _joint_error(self, before: State, acceleration: FloatArray) -> float:
        """Return the errors of joints in the newest step, in tolerances.

        Those at the middle of a collocation step: joints close at its nodes only, and the local
        error contains no error of prescribed motions.
        """
        if not isinstance(self._inner, CollocationStepper):
            return 0.0
        time = 0.5 * (before.time + self.state.time)
        error = constraint_errors(self._system, self._between(before, acceleration, time))[0]
        return float(np.max(np.abs(error) / self._tolerance, initial=0.0))

    def _first_step(self) -> float:
        """Return a step that is short for any motion with these velocities and accelerations."""
        (turning, moving), (angular, linear) = (
            (np.abs(a[:, :3]).max(), np.abs(a[:, 3:]).max() / self._size)
            for a in (self.state.velocity, self.acceleration)
        )
        rate = float(max(turning, moving, np.sqrt(max(angular, linear))))
        return _FIRST_STEP_SHARE * self._rtol**0.25 / rate if rate > 0.0 else 1e-3


# ---- when explicit steps suffice ----------------------------------------------------------------


def is_singular(dynamics: ForwardDynamics, state: State, step: float) -> bool:
    """Return whether redundant rows are violated, or rows dependent, a short way ahead."""
    if len(dynamics.redundant_rows) == 0:
        return False
    speed, longest = largest_turn(dynamics.system, state.velocity), _MOST_STEPS_AHEAD * step
    try:
        if speed * longest > _LOOKAHEAD_DISTANCE:
            ahead = moved_on(state, _LOOKAHEAD_DISTANCE / speed)
        else:
            acceleration = dynamics.evaluate(state).acceleration()
            size = largest_turn(dynamics.system, acceleration)
            if size * longest**2 < 2.0 * _LOOKAHEAD_DISTANCE:
                return False
            ahead = carried(state, acceleration, (2.0 * _LOOKAHEAD_DISTANCE / size) ** 0.5)
        stabilization.projected(dynamics.evaluate, ahead).evaluation.acceleration()
    except SingularSystemError:
        return True
    return dynamics.evaluator.dropped_residual() > WORST_RESIDUAL


def regular_near(
    dynamics: ForwardDynamics, state: State, step: float
) -> tuple[ForwardDynamics, State] | None:
    """Return the nearest state that closes the joints, and dynamics there.

    None where explicit steps would be unstable, or the pose is singular or nearly so.
    """
    if fastest_spring(dynamics.system, state) * step > _STIFF_RATE:
        return None
    try:
        near = stabilization.closed_by_all_rows(dynamics, state)
        here = stabilization.analyzed_at(dynamics, near)
        closed = stabilization.projected(here.evaluate, state)
        closed.evaluation.acceleration()
        is_far = stabilization.smallest_pivot(closed.evaluation).sine > _REGULAR_PIVOT
        return (
            (here, closed.state) if is_far and not is_singular(here, closed.state, step) else None
        )
    except SparsebodyError:
        return None


def fastest_spring(system: System, state: State) -> float:
    """Return the largest rate [1/s] of a spring or damper between its two bodies, otherwise free.

    sqrt(k r M^-1 r') or d r M^-1 r' for the row r of the coordinate; springs
    between points count in the direction of largest mobility of each body, elastic elements by the
    largest eigenvalue.
    """
    springs, lines, elastic = system.joint_forces, system.point_forces, system.elastic
    if not (len(springs.item) or len(lines.first) or elastic.kind.size):
        return 0.0
    inverse = padded(system.inverse_inertia)
    rates = [np.zeros(1)]
    if len(springs.item):
        motion = SystemMotion(system, state)
        joint = system.coordinates.joint[springs.item]
        active_force = motion.coordinates.active_force[springs.item]
        rows, _, _ = rows_on_bodies(
            system, joint, motion.joints, active_force, np.zeros(len(joint))
        )
        mobility = np.einsum("nsi,nsij,nsj->n", rows, inverse[system.ends[joint]], rows)
        rates += _rates(springs.stiffness, springs.damping, mobility)
    if len(lines.first):
        ends = (lines.first, lines.first_point), (lines.second, lines.second_point)
        mobility = np.sum([_point_mobility(inverse[body], point) for body, point in ends], axis=0)
        rates += _rates(lines.stiffness, lines.damping, mobility)
    if elastic.kind.size:  # roots of the eigenvalues of z M^-1 z', and of D z M^-1 z', z the rows
        rows = elastic_motion(system, state).rows
        at_ends = inverse[np.stack([elastic.predecessor, elastic.successor], axis=1)]
        mobility = np.einsum("kisa,ksab,kjsb->kij", rows, at_ends, rows)
        rates += [np.sqrt(np.linalg.eigvalsh(mobility)[:, -1].clip(0.0))]
        rates += [np.abs(np.linalg.eigvals(elastic.damping @ mobility)).ravel()]
    return float(max(rate.max(initial=0.0) for rate in rates))


def _rates(stiffness: FloatArray, damping: FloatArray, mobility: FloatArray) -> list[FloatArray]:
    return [np.sqrt(np.maximum(stiffness, 0.0) * mobility), damping * mobility]


def _point_mobility(inverse: FloatArray, point: FloatArray) -> FloatArray:
    """Return 1 / m and the largest eigenvalue of r x I^-1 (r x)', the rotation by a force at r."""
    across = np.cross(np.eye(3), point[:, None, :])  # rows e x r
    turned = across @ inverse[:, :3, :3] @ np.swapaxes(across, 1, 2)
    return np.asarray(inverse[:, 5, 5] + np.linalg.eigvalsh(turned)[:, -1])
