"""Stepper: one step of time, also through poses where the constraint rows lose rank."""

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.forward import Evaluation, ForwardDynamics
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import SimulationError, SingularSystemError, SparsebodyError
from sparsebody.kinematics.joint_motion import coordinate_motion, displaced, joint_motion
from sparsebody.model.system import State, States
from sparsebody.simulation import integrators, stabilization
from sparsebody.simulation.callbacks import control_wrench
from sparsebody.simulation.explicit_steps import ExplicitSteps, variational_step
from sparsebody.simulation.integrators import Composition, Integrator, LocalError, Tableau
from sparsebody.simulation.stabilization import (
    Evaluate,
    OpenJointError,
    Pivot,
    Scales,
    Solved,
    largest,
    largest_turn,
)
from sparsebody.simulation.stepping import Checkpoint, Problem, RankWatch
from sparsebody.simulation.trajectory import Ends, Event, cause_of
from sparsebody.tolerances import WORST_RESIDUAL

_CUTS = ((0.382, 0.618), (0.618, 0.382), (0.146, 0.236, 0.236, 0.382))
"""Parts of a step that are tried in turn: uneven, so that no stage falls where one fell before."""

_NEAR_SHARES = 0.618, 1.382, 1.618, 0.5
"""Of a step that ends at a singular pose: where states are tried to interpolate from.

Those ahead are better, but users' functions may end with the run.
"""

LONG_STEP = (
    "the step is long"  # begins messages of steps that fail by their length, not by the pose
)
UNDETERMINED_BRANCH = "undetermined branch"  # kind of events
EXCHANGE = "the rows in use become dependent"  # ends messages of an exchange of one row

# Ratio of pivots at the end and start of a step below which it came near a singular pose
_PASSED_PIVOT_RATIO = 0.5
_SMALL_PIVOT = 0.2  # and the pivot must be smaller than this
# Pivots (sines of angles) below which a pose is singular, if the mechanism has larger ones:
_UNSOLVABLE_PIVOT = 2e-4  # errors grow as eps / pivot^2, 6e-9 here
_UNSOLVABLE_OPEN_PIVOT = 1e-3  # the same without projections
_ROUGH_PIVOT = 1e-5  # the same of accelerations that only one record depends on
_REACTION_PIVOT = 1e-3  # the same for reactions
# Part of the smallest pivot at the start of the run; larger pivots are regular in this mechanism
_USUAL_PIVOT_RATIO = 0.1
_SINGULAR_PIVOT = 1e-6  # smaller pivots are those of singular poses in any mechanism
_BRANCH_CORRECTION = 0.1  # of the velocity; a larger correction would change to another branch
_OPEN_TOLERANCE = 1e-5  # [rad, m] position errors that remain if no choice of rows corrects them
_LARGEST_VALUE = 1e30  # [m, m/s, rad/s]: no motion gets there
# After a pose was passed, in steps: the longest one that is tried undivided, ...
_LONGEST_WHOLE_STEP = 1.5
_LONGEST_LAG = 2.5  # ... and the longest one over which another pose may be passed
_FIRST_PART = 1e-3  # of a step, where a motion leaves a singular pose
_PART_GROWTH = 1.2  # ratio of successive parts: the motion has no time scale of its own there
_MOST_PARTS = 8  # of the steps after it
_LONGEST_WAIT = 1024  # steps between two attempts to find more independent rows
_BRANCH_PIVOT = 1e-5  # pivots of rows that become independent below which rounding decides
# [rad, m] where to look for the branch that leaves a singular pose, and in how many steps at most
_BRANCH_DISTANCE, _MOST_STEPS_TO_BRANCH = 1e-4, 10_000
_MOST_TRIALS, _MOST_STALLED_TRIALS = 60, 12  # of finding the way out of a singular pose
_SETTLED_CHANGE, _ACCEPTED_CHANGE = 1e-6, 1e-2  # changes of the acceleration by a trial, relative
_EXCHANGE_RATIO = 0.5  # of a pivot: worth looking for other rows
_EXCHANGE_GAIN = 2.0  # of a sine: worth taking another row
_MOST_EXCHANGES = 8  # at the start of a motion
_LIMITS = (  # of native steps, as StepLimits in core/simulation/explicit_step.hpp after the first
    _BRANCH_CORRECTION,
    _PASSED_PIVOT_RATIO,
    _SMALL_PIVOT,
    _EXCHANGE_RATIO,
    _EXCHANGE_GAIN,
    WORST_RESIDUAL,
)
_LONGEST_SINGULAR_DISTANCE = 0.5  # of the mechanism's size, at singular poses alone
_STAYS_SINGULAR = (
    "the motion stays at singular poses, where joints bear more than any load: only their "
    'compliance determines it; take method="auto" or "generalized-alpha"'
)
_MOST_NAMES = 3  # of joints in a message
_ROUNDED_BRANCH = (
    "rows that were left out are so nearly dependent here (pivot {:.1e}) that rounding decides on "
    'the branch of the motion; method="auto" takes implicit steps, which joints of a compliance '
    "determine"
)
_NO_BRANCH = (
    "the motion begins at rest at a singular pose, and no one way out of it was found: the branch "
    'that is taken may depend on the step; method="auto" takes implicit steps from there'
)


def moved_on(state: State, h: float) -> State:
    """Return the state after a time h [s], of either sign, at constant velocity."""
    return replace(displaced(state, h * state.velocity), time=state.time + h)


def carried(state: State, acceleration: FloatArray, t: float) -> State:
    """Return the state after a time t [s] at constant acceleration (n_bodies, 6)."""
    ahead = displaced(state, t * state.velocity + 0.5 * t**2 * acceleration)
    return replace(ahead, velocity=state.velocity + t * acceleration, time=state.time + t)


def growing_parts() -> list[float]:
    """Return the ends of geometrically growing parts of a step, relative to the step."""
    n = math.ceil(math.log1p((_PART_GROWTH - 1.0) / _FIRST_PART) / math.log(_PART_GROWTH))
    ends = [_PART_GROWTH**k - 1.0 for k in range(1, n + 1)]
    return [end / ends[-1] for end in ends]


def n_parts_after(age: float, step: float) -> int:
    """Return in how many parts to take a step `age` [s] after a singular pose was left."""
    if age <= 0.0:
        return _MOST_PARTS
    return max(1, min(_MOST_PARTS, math.ceil(step / ((_PART_GROWTH - 1.0) * age))))


class RowChoice:
    """The dynamics in use, with the rows that were independent where they were chosen last."""

    def __init__(
        self, dynamics: ForwardDynamics, note: Callable[[Event], None], step: float
    ) -> None:
        self.dynamics = dynamics
        self._longest = _MOST_STEPS_TO_BRANCH * step  # [s]
        self.watch = RankWatch(full_rank=dynamics.rank)
        self._note = note

    def warn_of_doubt(self, state: State) -> None:
        """Report if it is uncertain which rows are independent at the start."""
        decision = self.dynamics.rank_decision
        if decision is not None and not decision.certain:
            n, why = decision.n_dependent, decision.doubt or f"gap {decision.gap:.0e}"
            message = f"{n} constraint rows left out, but not for certain: {why}"
            self._note(Event(state.time, "rank in doubt", message))

    def resume(self, watch: RankWatch, rows: IntArray) -> None:
        """Go on from a checkpoint, with rows that may have been exchanged since their analysis."""
        self.watch = watch
        if watch.analysis_state is not None:
            self.dynamics = stabilization.analyzed_at(self.dynamics, watch.analysis_state)
        before = self.dynamics.structure.rows
        if len(rows) == len(before) and np.any(rows != before):
            self.dynamics = self.dynamics.with_rows(rows)

    def take_over(self, dynamics: ForwardDynamics, state: State) -> None:
        """Begin with dynamics analyzed at a state."""
        self.dynamics, self.watch = dynamics, RankWatch(state, dynamics.rank)

    def choose(self, state: State, reason: str) -> None:
        """Keep the rows that are independent at a state."""
        self.adopt(stabilization.analyzed_at(self.dynamics, state), state, reason)

    def adopt(self, dynamics: ForwardDynamics, state: State, reason: str) -> None:
        """Use dynamics that were analyzed at a singular pose, and report it.

        Rows that were left out, and are hardly independent yet, turn rounding into velocities.
        """
        has_more_rows = dynamics.rank > self.dynamics.rank
        self._use(dynamics, state, reason)
        self.watch = replace(self.watch, left_at=state.time)
        if has_more_rows and (sine := stabilization.pivot_at(dynamics, state)) < _BRANCH_PIVOT:
            message = _ROUNDED_BRANCH.format(sine)
            self._note(Event(state.time, UNDETERMINED_BRANCH, message))

    def _use(self, dynamics: ForwardDynamics, state: State, reason: str) -> None:
        changed = np.flatnonzero(dynamics.is_kept ^ self.dynamics.is_kept)
        self.dynamics = dynamics
        full_rank = max(dynamics.rank, self.watch.full_rank)
        self.watch = RankWatch(state, full_rank, left_at=self.watch.left_at)
        joints = list(dict.fromkeys(dynamics.system.row_joint[changed].tolist()))
        names = [repr(dynamics.system.joint_names[j]) for j in joints[:_MOST_NAMES]]
        more = ", ..." if len(joints) > _MOST_NAMES else ""
        where = f", others at joints {', '.join(names)}{more}" if names else ""
        message = f"{dynamics.rank} independent constraint rows from here on{where}: {reason}"
        self._note(Event(state.time, "re-analysis", message))

    def leave_by_velocity(self, state: State) -> FloatArray | None:
        """Return the acceleration (n_bodies, 6) of the branch that a velocity points along.

        At a singular pose it is not determined; so it is the mean of those just after and just
        before it, with the rows that are independent there. None if the pose is not singular.
        """
        if len(self.dynamics.redundant_rows) == 0 or not self._is_moving(state):
            return None
        h = _BRANCH_DISTANCE / largest_turn(self.dynamics.system, state.velocity)
        if self._holds(moved_on(state, h)):
            return None
        try:
            ahead, behind = (
                stabilization.closed_by_all_rows(self.dynamics, moved_on(state, dt))
                for dt in (h, -h)
            )
            dynamics = stabilization.analyzed_at(self.dynamics, ahead)
            if dynamics.rank <= self.dynamics.rank:
                return None
            pair = [dynamics.evaluate(near).acceleration() for near in (ahead, behind)]
        except SingularSystemError:
            return None
        self.adopt(dynamics, ahead, "the motion begins at a singular pose, and leaves it")
        return np.asarray(sum(pair) / 2.0)

    def leave_from_rest(self, state: State, acceleration: FloatArray) -> tuple[State, FloatArray]:
        """Return the first state of a motion from rest, and its acceleration (n_bodies, 6).

        At a singular pose A a = gamma leaves accelerations free that the constraints forbid to
        second order. So a is found by a fixed-point iteration: the acceleration of the closed state
        nearest to x = a t^2 / 2, v = a t, with a small t > 0, where the rows have full rank.
        """
        size = largest_turn(self.dynamics.system, acceleration)
        stays = size * self._longest**2 <= 2.0 * _BRANCH_DISTANCE
        if len(self.dynamics.redundant_rows) == 0 or stays or self._is_moving(state):
            return state, acceleration
        t = (2.0 * _BRANCH_DISTANCE / size) ** 0.5
        if self._holds(carried(state, acceleration, t)):
            return state, acceleration
        a, change = acceleration, 0.0  # 0 until the pose is seen to be singular
        try:
            for trial in range(_MOST_TRIALS):
                near = stabilization.closed_by_all_rows(self.dynamics, carried(state, a, t))
                dynamics = stabilization.analyzed_at(self.dynamics, near)
                if dynamics.rank <= self.dynamics.rank:
                    return state, acceleration
                before, a = a, dynamics.evaluate(near).acceleration()
                change = largest_turn(self.dynamics.system, a - before) / size
                if change <= _SETTLED_CHANGE or (
                    trial > _MOST_STALLED_TRIALS and change > _ACCEPTED_CHANGE
                ):
                    break
        except SingularSystemError:
            change = np.inf if change > 0.0 else 0.0
        if 0.0 < change <= _ACCEPTED_CHANGE:
            self.adopt(
                dynamics, near, "the motion begins at rest at a singular pose, and leaves it"
            )
            return near, a
        if change > _ACCEPTED_CHANGE:
            self._note(Event(state.time, UNDETERMINED_BRANCH, _NO_BRANCH))
        return state, acceleration

    def _is_moving(self, state: State) -> bool:
        """Return whether velocities lead far enough to look for a branch there."""
        speed = largest_turn(self.dynamics.system, state.velocity)
        return speed * self._longest > _BRANCH_DISTANCE

    def _holds(self, state: State) -> bool:
        """Return whether the rows in use imply the redundant ones at a nearby state."""
        try:
            evaluation = stabilization.projected(self.dynamics.evaluate, state).evaluation
            evaluation.acceleration()
        except SingularSystemError:
            return False
        return self.dynamics.evaluator.dropped_residual() <= WORST_RESIDUAL

    def follow(self, sine: float) -> None:
        """Store the smallest pivot after a step."""
        watch = self.watch
        watch.sine, watch.best_sine = sine, max(sine, watch.best_sine)

    def exchange(self, state: State) -> None:
        """Keep another row in place of one that becomes dependent where it is much better.

        Looked for as often as the smallest pivot of the rows in use has halved. Accelerations stay.
        """
        watch = self.watch
        if not watch.sine < _EXCHANGE_RATIO * watch.best_sine:
            return
        watch.best_sine = watch.sine
        dynamics = self.dynamics.with_better_rows(state, _EXCHANGE_GAIN)
        if dynamics is not self.dynamics:
            self.use_exchanged(dynamics, state)

    def use_exchanged(self, dynamics: ForwardDynamics, state: State) -> None:
        """Use dynamics after an exchange of rows."""
        analysis_state = self.watch.analysis_state
        self._use(dynamics, state, EXCHANGE)
        self.watch.analysis_state = analysis_state

    def begin(self, state: State) -> None:
        """Keep better rows from the start of a motion on, unless it begins at a singular pose."""
        with contextlib.suppress(SingularSystemError):
            exchanges = _EXCHANGE_GAIN, _MOST_EXCHANGES
            self.dynamics = self.dynamics.with_better_rows(state, *exchanges)

    def doubt(self, dropped: float) -> None:
        """Expect more independent rows where those left out are violated."""
        if dropped > WORST_RESIDUAL and self.watch.full_rank <= self.dynamics.rank:
            self.watch = replace(self.watch, full_rank=self.dynamics.rank + 1)

    def seek_full_rank(self, state: State) -> bool:
        """Look for more independent rows where all joints are closed, ever more rarely."""
        watch = self.watch
        if self.dynamics.rank >= watch.full_rank:
            return False
        if watch.countdown > 0:
            self.watch = replace(watch, countdown=watch.countdown - 1)
            return False
        try:
            closed = stabilization.closed_by_all_rows(self.dynamics, state)
        except SingularSystemError:
            closed = state
        dynamics = stabilization.analyzed_at(self.dynamics, closed)
        if dynamics.rank > self.dynamics.rank:
            self.adopt(dynamics, closed, "rows that were left out are independent here")
            return True
        wait = min(2 * watch.wait, _LONGEST_WAIT)
        self.watch = replace(watch, wait=wait, countdown=wait)
        return False


@dataclass(frozen=True, eq=False)
class _Reached:
    """The end of some steps, and what was worst on the way."""

    end: Solved
    worst_pivot: Pivot = stabilization.NO_PIVOT
    correction: float = 0.0  # largest of the velocity, relative
    dropped: float = 0.0  # violation of the rows left out, at the end


def _worst_sine(reached: _Reached) -> float:
    return reached.worst_pivot.sine


class Stepper:
    """Takes steps with a ForwardDynamics, also past poses where its rows lose rank.

    All stages of a step are projected onto the constraints, as its end is, so that accelerations
    are smooth up to a singular pose. Native steps leave stages open where that adds no error; see
    core/simulation/explicit_step.hpp.
    Where a pivot is so small that rounding errors matter, the step is divided unevenly, so that
    no stage falls on the singular pose.
    If the end of a step is near a singular pose, the state is recorded, and integration restarts
    from the last regular state with a longer step. Only if the rows stay dependent in all these
    attempts, independent ones are chosen at the pose itself, and again later, until the rank is
    as large as before.

    Rows that are dependent where a motion begins may not be so later: then those that were left
    out are violated, and rows are chosen anew at the nearest pose that closes all joints. Rows
    that become dependent where others are not are exchanged; see `RowChoice.exchange`.
    """

    def __init__(self, problem: Problem, dynamics: ForwardDynamics) -> None:
        options = problem.options
        integrator = integrators.INTEGRATORS["rk4" if options.method == "auto" else options.method]
        assert isinstance(integrator, Integrator)
        self._integrator = integrator
        self._stabilization = stabilization.STABILIZATIONS[options.stabilization]
        self._rows, self._first = RowChoice(dynamics, problem.note, options.step), problem.state
        self._control, self._note, self.nominal = problem.control, problem.note, options.step
        self._is_adaptive = options.is_adaptive  # local errors are asked for
        self._unsolvable, self._undetermined = 0.0, 0.0  # pivots
        self._error: FloatArray | None = None  # (n_bodies, 7) of y'' of the newest step
        self._small = Scales(np.zeros(0))
        self._compiled: ExplicitSteps | None = None
        self._n_others = 0  # steps that a composition could not do
        self._singular_distance = 0.0  # [m] of the motion since it was at a regular pose
        self._stages: list[Solved] = []  # of the newest step that is not compiled

    error_order = 4  # of local errors
    passed = ()  # parts of steps are not reported
    undoes_exactly = True  # steps that are taken again after `restore` have the same bits
    has_reactions_of_all = True  # `joint_wrench` is known at any state, not only in the newest step

    @property
    def memory_size(self) -> int:
        """The length of `memory`."""
        return 3 + self._rows.dynamics.system.n_rows

    @property
    def memory(self) -> FloatArray:
        """Other steps, closing of stages, distance at singular poses [m], and rows in use."""
        memory = np.zeros(self.memory_size)
        memory[0] = self._n_others
        memory[1] = self._compiled is not None and self._compiled.starts_closed
        memory[2] = self._singular_distance
        memory[3 + self._rows.dynamics.structure.rows] = 1.0
        return memory

    def last_events(self, time: float) -> list[Event]:
        """Return the events to report at the end of a run."""
        if self._n_others == 0:
            return []
        message = f"{self._n_others} steps near singular poses were those of rk4"
        return [Event(time, "other steps", message)]

    def multiplier_at(self, time: float) -> None:
        """Return the multipliers of compliant joints: these are rigid."""

    @property
    def row_compliance(self) -> FloatArray:
        """Compliances (n_rows,) of the joints, (0,) where they are rigid."""
        return np.zeros(0)

    @property
    def rank(self) -> RankWatch:
        """The state of the rank of the constraint rows."""
        return self._rows.watch

    def start(self, state: State) -> None:
        """Start from a consistent state."""
        self._set_scales()
        self._rows.warn_of_doubt(state)
        self._begin(state)
        if self._compiled is not None:
            self._compiled.native(self._rows.dynamics)  # laid out before the first step

    def restart(self, state: State) -> None:
        """Go on from another state."""
        try:
            evaluation = self.evaluate(state)
            self.state, self.acceleration = state, evaluation.acceleration()
            if stabilization.smallest_pivot(evaluation).sine >= self._unsolvable:
                return
        except SingularSystemError:
            pass
        self._rows.choose(state, "the motion goes on from a singular pose")
        self._begin(state)

    def _begin(self, state: State) -> None:
        """Begin with rows that are independent at a state, or just after it."""
        acceleration = self._rows.leave_by_velocity(state)
        if acceleration is None:
            acceleration = self.evaluate(state).acceleration()
            state, acceleration = self._rows.leave_from_rest(state, acceleration)
        self.state, self.acceleration = state, acceleration

    def saved(self) -> tuple[Any, ...]:
        """Return what `restore` needs to undo steps, several times if need be."""
        starts_closed = self._compiled is not None and self._compiled.starts_closed
        rows = self._rows.dynamics, replace(self.rank)
        return self.state, self.acceleration, *rows, self._singular_distance, starts_closed

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Undo the steps since then."""
        self.state, self.acceleration, dynamics, watch, distance, starts_closed = saved
        self._rows.dynamics, self._rows.watch = dynamics, replace(watch)  # which steps change
        self._singular_distance = distance
        if self._compiled is not None:
            self._compiled.starts_closed = starts_closed

    def local_error(self) -> LocalError | None:
        """Return the errors of the newest step; None where they are not known."""
        error, self._error = self._error, None
        return None if error is None else LocalError.of_curvature(error, self.nominal)

    def closed(self, state: State) -> State:
        """Return the nearest state that closes the joints, where these are kept closed.

        At a singular pose the state as it is: projections would multiply its errors.
        """
        if not self._stabilization.closes:
            return state
        try:
            closed = stabilization.projected(self.evaluate, state, self._small)
        except SingularSystemError:
            return state
        is_near = stabilization.smallest_pivot(closed.evaluation).sine < self._undetermined
        return state if is_near else closed.state

    def consistent(self, state: State) -> State:
        """Return the nearest state that closes every joint."""
        return consistent_state(self._rows.dynamics.system, state)

    def acceleration_at(self, state: State) -> FloatArray | None:
        """Return the accelerations (n_bodies, 6) at a state, None at a singular pose."""
        try:
            evaluation = self.evaluate(state)
            acceleration = evaluation.acceleration()
        except SingularSystemError:
            return None
        is_near = stabilization.smallest_pivot(evaluation).sine < self._undetermined
        return None if is_near else acceleration

    def take_over(self, state: State, dynamics: ForwardDynamics) -> None:
        """Go on with dynamics analyzed at a closed state."""
        self._set_scales()
        self._rows.take_over(dynamics, state)
        self.state, self.acceleration = state, self.evaluate(state).acceleration()

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        self._set_scales()
        self.state, self.acceleration = checkpoint.state, checkpoint.acceleration
        n_others, starts_closed, self._singular_distance = checkpoint.memory[:3].tolist()
        is_independent = checkpoint.memory[3 : self.memory_size] > 0.0
        self._rows.resume(checkpoint.rank, np.flatnonzero(is_independent))
        self._n_others = int(n_others)
        if self._compiled is not None:
            self._compiled.starts_closed = bool(starts_closed)

    def _set_scales(self) -> None:
        """Choose the best rows at the start of the run, and set tolerances and limits by it.

        Also prepares the native steps.
        """
        first = self._first
        self._rows.begin(first)
        system, scheme = self._rows.dynamics.system, self._integrator.scheme
        self._small = stabilization.scales(system, first, self.nominal)
        if scheme is not None and self._stabilization.closes:
            self._compiled = ExplicitSteps(
                system, scheme, self._small, self._control, self._is_adaptive
            )
        pivot = stabilization.pivot_at(self._rows.dynamics, first)
        largest_limit = max(_SINGULAR_PIVOT, _USUAL_PIVOT_RATIO * pivot)
        unsolvable = _UNSOLVABLE_PIVOT if self._stabilization.closes else _UNSOLVABLE_OPEN_PIVOT
        self._unsolvable = min(unsolvable, largest_limit)
        self._undetermined = min(_REACTION_PIVOT, largest_limit)

    def evaluate(self, state: State) -> Evaluation:
        """Return the evaluation of the dynamics, control included."""
        if self._control is None:
            return self._rows.dynamics.evaluate(state)
        dynamics = self._rows.dynamics
        wrench = control_wrench(self._control, dynamics.system, state)
        return dynamics.evaluate(state, body_force=wrench)

    def joint_wrench(self, state: State) -> FloatArray:
        """Return the reactions (n_joints, 6), NaN at a singular pose."""
        undetermined = np.full((self._rows.dynamics.system.n_joints, 6), np.nan)
        try:
            evaluation = self.evaluate(state)
            wrench = evaluation.accelerations().joint_wrench
        except SingularSystemError:
            return undetermined
        is_near = stabilization.smallest_pivot(evaluation).sine < self._undetermined
        return undetermined if is_near else wrench

    def advance(self, time: float) -> State:
        """Return the state at `time`.

        Raises
        ------
        SingularSystemError
            If no choice of rows leads on.
        SimulationError
            If numbers cease to be finite, or poses have been singular for long.
        """
        try:
            state = self._advance(time)
        except OpenJointError as failure:
            if self._singular_distance > 0.0:
                raise SimulationError(_STAYS_SINGULAR) from failure
            raise
        is_singular = self.rank.sine < _SINGULAR_PIVOT
        distance = self._singular_distance + self.nominal * largest(state.velocity[:, 3:])
        self._singular_distance = distance if is_singular else 0.0
        longest = _LONGEST_SINGULAR_DISTANCE * self._rows.dynamics.system.typical_length
        if self._singular_distance > longest:
            raise SimulationError(_STAYS_SINGULAR)
        return state

    def _advance(self, time: float) -> State:
        """Return the state at `time`: try a whole step, then parts; pass or leave singular poses.

        Of steps that reach `time`, but too near a singular pose, that with the largest pivot is
        taken if the pose cannot be passed.
        """
        if time < self.state.time:  # on the way out of a singular pose
            before = carried(self.state, self.acceleration, time - self.state.time)
            return stabilization.closed_by_all_rows(self._rows.dynamics, before)
        if self._rows.seek_full_rank(self.state):
            self.acceleration = self.evaluate(self.state).acceleration()
        else:
            self._rows.exchange(self.state)
        lag = (time - self.state.time) / self.nominal
        if self.rank.left_at == self.state.time:
            return self._adopt(self._left(time), 1, "")
        can_pass = lag < _LONGEST_LAG
        best, trouble, is_of_pose = None, "", True  # the last failure: of a singular pose
        failure: SparsebodyError | None = None
        n = n_parts_after(self.state.time - self.rank.left_at, self.nominal)
        whole = (1.0 / n,) * n  # in parts soon after a singular pose was left
        for parts in (whole, *_CUTS)[1 if lag > _LONGEST_WHOLE_STEP else 0 :]:
            try:
                reached = self._in_parts(parts, time, can_pass)
            except (SingularSystemError, SimulationError) as error:
                failure, trouble = error, cause_of(error)
                is_singular_system = isinstance(error, SingularSystemError)
                is_of_pose = is_singular_system and not isinstance(error, OpenJointError)
                continue
            doubt = self._doubt_about(reached)
            if not doubt:
                return self._adopt(reached, len(parts), trouble)
            if best is None or reached.worst_pivot > best.worst_pivot:
                best = reached
            trouble = doubt
            end, is_whole = reached.end, reached.end.state.time == time
            if can_pass and is_whole and end.pivot.sine < self._unsolvable:
                break  # other parts end there, too
        is_singular = best is None or best.worst_pivot.sine < self._unsolvable
        if can_pass and is_singular and (is_of_pose or best is not None):
            self._note(Event(time, "passed pose", trouble))
            return self._passed(time)
        if best is None:
            has_all_rows = len(self._rows.dynamics.redundant_rows) == 0
            if failure is not None and not is_of_pose and has_all_rows:
                raise failure  # no other choice of rows closes what all of them do not
            return self._adopt(self._left(time), 1, "")
        return self._adopt(best, len(_CUTS[-1]), trouble)

    def take_steps(self, times: FloatArray, out: States | None = None) -> Ends | None:
        """Take whole steps to these times, as far as nothing is to be decided; None if no step.

        Decided is in `_advance`: on rows of lost rank, and on steps that fail. States are in `out`
        if there is any.
        """
        rows, state, h = self._rows, self.state, self.nominal
        age = state.time - rows.watch.left_at
        is_whole = state.time < times[0] < state.time + _LONGEST_WHOLE_STEP * h
        is_long_ago = age > 0.0 and n_parts_after(age, h) == 1  # that a singular pose was left
        is_regular = is_long_ago and rows.dynamics.rank >= rows.watch.full_rank
        if self._compiled is None or not (is_whole and is_regular):
            return None
        with contextlib.suppress(SingularSystemError):  # of which `_advance` decides
            rows.exchange(state)
        watch = rows.watch
        start, pivots = (state, self.acceleration), (watch.sine, watch.best_sine)
        limits = self._unsolvable, *_LIMITS
        taken = self._compiled.take_steps(rows.dynamics, start, times, limits, pivots, out)
        if taken is None:
            return None
        ends, last = taken
        self._singular_distance, watch.sine, watch.best_sine = 0.0, last.pivot.sine, last.best_pivot
        self.state, self.acceleration = ends.states.at(-1), ends.acceleration[-1].copy()
        if last.is_newest:
            rows.dynamics.evaluator.accept_assembled(self.state)
        self._rows.doubt(last.dropped)
        self._note_if_passed(last.pivot_before, last.pivot)
        if last.exchange is not None:
            rows.use_exchanged(rows.dynamics.exchanged(last.exchange), self.state)
        return ends

    def _passed(self, time: float) -> State:
        """Return the state at a singular pose, by one before it and one where rows are independent.

        Projections there multiply rounding by the inverse square of the pivot.
        """
        h = time - self.state.time
        start = _Reached(Solved(self.state, self.acceleration))
        near: _Reached | None = None
        for share in _NEAR_SHARES:
            if share > 1.0 and self._control is not None:
                continue  # it may have memory, such as one that is sampled
            failures = (SingularSystemError, SimulationError) if share < 1.0 else (Exception,)
            with contextlib.suppress(*failures):
                reached = self._step(start, self.state.time + share * h)
                near = reached if near is None else max(near, reached, key=_worst_sine)
            if near is not None and _worst_sine(near) >= _ROUGH_PIVOT:
                break
        if near is not None:
            accelerations = self.acceleration, near.end.acceleration
            here = integrators.interpolated(self.state, near.end.state, accelerations, time)
        else:
            rate, curvature = integrators.pose_derivatives(self.state, self.acceleration)
            here = replace(integrators.moved(self.state, rate, curvature, curvature, h), time=time)
        return self._with_coordinates(here)

    def _doubt_about(self, reached: _Reached) -> str:
        """Return why a step is rejected; "" if it is accepted."""
        if reached.worst_pivot.sine < self._unsolvable:
            return self._near(reached.worst_pivot)
        is_moving = largest(self.state.velocity) > self._small.negligible_speed
        if is_moving and reached.correction > _BRANCH_CORRECTION:  # maybe onto another branch
            return f"{LONG_STEP}: joints change velocities by {reached.correction:.1e} of them"
        return ""

    def _near(self, pivot: Pivot) -> str:
        """Return a message that a singular pose is near, with its joint."""
        system = self._rows.dynamics.system
        joint = system.joint_names[system.row_joint[pivot.row]]
        return f"near a singular pose at joint {joint!r}, pivot {pivot.sine:.1e}"

    def _in_parts(self, parts: tuple[float, ...], time: float, can_pass: bool) -> _Reached:
        """Reach `time` in steps of these parts of it, or a singular pose that can be passed."""
        start, done = self.state.time, 0.0
        reached = _Reached(Solved(self.state, self.acceleration))
        for part in parts[:-1]:
            done += part
            reached = self._step(reached, start + done * (time - start))
            if can_pass and reached.worst_pivot.sine < self._unsolvable:
                return reached
        return self._step(reached, time)

    def _adopt(self, reached: _Reached, n_parts: int, trouble: str) -> State:
        before, end = self.rank.sine, reached.end
        self.state, self.acceleration = end.state, end.acceleration
        self._rows.doubt(reached.dropped)
        self._rows.follow(end.pivot.sine)
        if trouble and n_parts > 1:
            self._note(Event(end.state.time, "step in parts", f"{n_parts} parts: {trouble}"))
        else:
            self._note_if_passed(before, end.pivot)
        return end.state

    def _note_if_passed(self, before: float, pivot: Pivot) -> None:
        """Note that a step came near a singular pose, by the pivots at its start and end."""
        if pivot.sine < min(_PASSED_PIVOT_RATIO * before, _SMALL_PIVOT) and before < math.inf:
            self._note(Event(self.state.time, "passed pose", self._near(pivot)))

    def _step(self, start: _Reached, time: float) -> _Reached:
        state, acceleration = start.end.state, start.end.acceleration
        if self._compiled is not None:
            compiled = self._compiled(self._rows.dynamics, state, acceleration, time)
            if compiled is not None:
                self._error = self._compiled.error
                return self._reached(start, *compiled)
        scheme = self._integrator.scheme
        if isinstance(scheme, Composition):
            arguments = scheme, state, acceleration, time, self._small
            reached = variational_step(self._evaluate_finite, *arguments)
            if reached is not None:
                here, pivot = reached
                here = here._replace(state=self._with_coordinates(here.state))
                return self._reached(start, here, pivot)
            self._n_others += 1
        end = self._integrated(self.evaluate, start, time)
        try:
            solved_end = self._stabilized(self.evaluate, end)
            if self._is_adaptive and isinstance(scheme, Tableau):
                stages = start.end, *self._stages, solved_end
                y = [integrators.pose_derivatives(at.state, at.acceleration)[1] for at in stages]
                self._error = integrators.weighted(scheme.error, y)
            return self._reached_by_stages(start, solved_end)
        except SparsebodyError:
            self._check_finite(end)
            raise

    def _left(self, time: float) -> _Reached:
        """Leave a singular pose in geometrically growing parts of a step, rows chosen anew in each.

        Only in the first, short part can redundant rows that were left out be violated.
        """
        start = _Reached(Solved(self.state, self.acceleration))
        try:
            reached = start
            for share in growing_parts():
                part = self.state.time + share * (time - self.state.time)
                reached = self._step_anyhow(reached, part)
        except SingularSystemError:
            return self._step_anyhow(start, time)
        return reached

    def _step_anyhow(self, start: _Reached, time: float) -> _Reached:
        """Take one step; choose rows anew at stages where those in use are dependent."""
        end = self._integrated(self._evaluate_anyhow, start, time)
        try:
            return self._reached_by_stages(start, self._stabilized(self._evaluate_anyhow, end))
        except OpenJointError as error:
            return self._closed_anew(start, end, error)

    def _closed_anew(self, start: _Reached, end: State, error: OpenJointError) -> _Reached:
        """Close with the rows that are independent at the end, or leave joints a little open."""
        before, watch = self._rows.dynamics, self._rows.watch
        try:
            closed = stabilization.closed_by_all_rows(before, end)
            dynamics = stabilization.analyzed_at(before, closed)
            self._rows.dynamics = dynamics
            reached = self._reached_by_stages(start, self._stabilized(self.evaluate, closed))
        except SingularSystemError as singular:  # too near a singular pose for them
            self._rows.dynamics, self._rows.watch = before, watch
            if error.position_error > _OPEN_TOLERANCE:
                raise error from singular
            self._note(Event(end.time, "open joint", str(error)))
            return self._reached_by_stages(start, error.stabilized.solved())
        self._rows.dynamics = before
        self._rows.adopt(dynamics, closed, str(error))
        return reached

    def _integrated(self, evaluate: Evaluate, start: _Reached, time: float) -> State:
        """Return the state at `time`, not stabilized."""
        self._stages = []
        h = time - start.end.state.time
        end = self._integrator.step(
            lambda stage: self._stage(evaluate, stage), start.end.state, start.end.acceleration, h
        )
        return replace(end, time=time)

    def _stage(self, evaluate: Evaluate, stage: State) -> tuple[State, FloatArray]:
        """Return a stage, projected by the rows in use, and its acceleration."""
        try:
            here = self._stabilized(evaluate, stage)
        except OpenJointError as error:  # the end of the step is checked
            here = error.stabilized.solved()
        except SparsebodyError:
            self._check_finite(stage)  # which would be the cause
            raise
        self._stages.append(here)
        return here.state, here.acceleration

    def _stabilized(self, evaluate: Evaluate, state: State) -> Solved:
        return self._stabilization.stabilize(evaluate, state, self._small).solved()

    def _reached_by_stages(self, start: _Reached, end: Solved) -> _Reached:
        stages = [end, *self._stages]
        correction = max(stage.correction for stage in stages)
        end = end._replace(state=self._with_coordinates(end.state), correction=correction)
        return self._reached(start, end, min(stage.pivot for stage in stages))

    def _reached(self, start: _Reached, end: Solved, worst_pivot: Pivot) -> _Reached:
        self._check_finite(end.state)
        return _Reached(
            end,
            min(start.worst_pivot, worst_pivot),
            max(start.correction, end.correction),
            self._rows.dynamics.evaluator.dropped_residual(),
        )

    def _with_coordinates(self, state: State) -> State:
        """Return the state with its tracked coordinates, continued over whole turns."""
        system = self._rows.dynamics.system
        if len(state.coordinate) == 0:
            return state
        motion = coordinate_motion(system, state, joint_motion(system, state))
        return replace(state, coordinate=motion.value)

    def _check_finite(self, state: State) -> None:
        if largest(state.velocity) < _LARGEST_VALUE and largest(state.position) < _LARGEST_VALUE:
            return  # false for NaN, too
        finite = (np.abs(state.velocity) < _LARGEST_VALUE).all(axis=1)
        finite &= (np.abs(state.position) < _LARGEST_VALUE).all(axis=1)
        if not finite.all():
            name = self._rows.dynamics.system.body_names[int(np.argmin(finite))]
            raise SimulationError(
                f"the motion of body {name!r} blew up at t = {state.time:.6g} s; take smaller "
                "steps, or see whether a spring or a control is too stiff for them: "
                'method="auto" takes implicit steps there'
            )

    def _evaluate_finite(self, state: State) -> Evaluation:
        self._check_finite(state)
        return self.evaluate(state)

    def _evaluate_anyhow(self, state: State) -> Evaluation:
        """Evaluate; where the rows are dependent, choose others that are not."""
        try:
            evaluation = self.evaluate(state)
            evaluation.acceleration()
        except SingularSystemError as error:
            self._rows.choose(state, str(error))
            evaluation = self.evaluate(state)
        return evaluation
