"""Poses where constraint rows lose rank: which rows to keep there, and how to leave them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators import KrylovEvaluator
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import RankWarning, SingularSystemError
from sparsebody.factorization.krylov import DELTA
from sparsebody.kinematics.poses import displaced
from sparsebody.model.system import State
from sparsebody.simulation.stabilization import (
    OpenJointError,
    constraint_errors,
    largest,
    projected,
    smallest_pivot,
)
from sparsebody.simulation.stepping import RankWatch
from sparsebody.simulation.trajectory import Event
from sparsebody.tolerances import WORST_RESIDUAL

_WEAK = 1e-6  # remainder of a row that drift outweighs: it is held by closing the joints alone
_FIRST_PART = 1e-3  # of a step, where a motion leaves a singular pose
_GROWTH = 1.2  # of each part to the next one: what happens there has no scale but its own age
_FIRST_DAMPING = 1e-4  # of corrections, relative to the squares of unit rows
_MOST_CORRECTIONS, _MOST_POLISHING = 40, 4
_CLOSED = 1e-13  # [rad, m]
_MOST_PARTS = 8  # of the steps after it
_LONGEST_WAIT = 1024  # steps between two attempts to find more independent rows
_AHEAD = 1e-4  # [rad, m] where to look for the branch that leaves a singular pose
_MOST_TRIALS, _PATIENCE = 60, 12  # of finding the way out of a singular pose
_SETTLED, _ACCEPTED = 1e-6, 1e-2  # changes of the acceleration by a trial, relative
_HALF = 0.5  # of a pivot: worth looking for other rows, and worth taking them
_MOST_NAMES = 3  # of joints in a message
_UNDETERMINED = (
    "the motion begins at rest at a singular pose, and no one way out of it was found: the branch "
    'that is taken may depend on the step; method="auto" takes implicit steps from there'
)


def analyzed_at(dynamics: ForwardDynamics, state: State) -> ForwardDynamics:
    """Return the same kind of dynamics with the rows that are independent at `state`.

    In doubt the likeliest ones: a wrong choice shows in joints that open.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        kind = "krylov" if dynamics.is_krylov else "remove"
        return dynamics.analyzed_at(state, redundancy=kind, rank_tolerance=_WEAK)


def closed_by_all_rows(dynamics: ForwardDynamics, state: State) -> State:
    """Return the nearest state that closes all joints, and obeys them, whatever the rank there.

    A pose that drift has opened has more independent rows than the mechanism. Raises OpenJointError
    if there is none near.
    """
    with_all = ForwardDynamics(dynamics.system, state, redundancy="krylov", reactions="basic")
    try:
        closed = projected(with_all.evaluate, state).state
    except OpenJointError:  # soft motions would have to go far
        closed = projected(with_all.evaluate, _nearly_closed(with_all, state)).state
    return _closed_to_rounding(with_all, closed)


def _closed_to_rounding(with_all: ForwardDynamics, state: State) -> State:
    """Return a state with errors as small as they get: soft motions multiply what is left."""
    error = constraint_errors(with_all.system, state)[0]
    for _ in range(_MOST_POLISHING):
        trial = displaced(state, with_all.evaluate(state).position_correction())
        trial_error = constraint_errors(with_all.system, trial)[0]
        if not largest(trial_error) < 0.5 * largest(error):
            break
        state, error = trial, trial_error
    return state


def _nearly_closed(with_all: ForwardDynamics, state: State) -> State:
    """Return a closed state as far as steps of Levenberg and Marquardt lead to one."""
    damping, error = _FIRST_DAMPING, constraint_errors(with_all.system, state)[0]
    for _ in range(_MOST_CORRECTIONS):
        if largest(error) <= _CLOSED:
            break
        solver = with_all.evaluate(state).assembled()
        assert isinstance(solver, KrylovEvaluator)
        trial = displaced(state, solver.damped_twists(error, damping))
        trial_error = constraint_errors(with_all.system, trial)[0]
        is_better = largest(trial_error) < largest(error)
        damping = max(0.01 * damping, DELTA) if is_better else 100.0 * damping
        if is_better:
            state, error = trial, trial_error
    return state


def moved_on(state: State, h: float) -> State:
    """Return where the velocity leads in a time h [s], which may be negative."""
    return replace(displaced(state, h * state.velocity), time=state.time + h)


def carried(state: State, acceleration: FloatArray, t: float) -> State:
    """Return where a constant acceleration (n_bodies, 6) leads in a time t [s]."""
    there = displaced(state, t * state.velocity + 0.5 * t**2 * acceleration)
    return replace(there, velocity=state.velocity + t * acceleration, time=state.time + t)


def growing_parts() -> list[float]:
    """Return times, as shares of a step, by which a motion leaves the pose it begins at."""
    n = math.ceil(math.log1p((_GROWTH - 1.0) / _FIRST_PART) / math.log(_GROWTH))
    ends = [_GROWTH**k - 1.0 for k in range(1, n + 1)]
    return [end / ends[-1] for end in ends]


def n_parts_after(age: float, step: float) -> int:
    """Return in how many parts to take a step `age` [s] after a singular pose was left."""
    if age <= 0.0:
        return _MOST_PARTS
    return max(1, min(_MOST_PARTS, math.ceil(step / ((_GROWTH - 1.0) * age))))


class RowChoice:
    """The dynamics in use, with the rows that were independent where they were chosen last."""

    def __init__(self, dynamics: ForwardDynamics, note: Callable[[Event], None]) -> None:
        self.dynamics = dynamics
        self.watch = RankWatch(full_rank=dynamics.rank)
        self._note = note

    def tell_doubt(self, state: State) -> None:
        """Say if it is not certain which rows are independent at the start."""
        decision = self.dynamics.rank_decision
        if decision is not None and not decision.certain:
            n, why = decision.n_dependent, decision.doubt or f"gap {decision.gap:.0e}"
            message = f"{n} constraint rows left out, but not for certain: {why}"
            self._note(Event(state.time, "rank in doubt", message))

    def resume(self, watch: RankWatch) -> None:
        """Go on from a checkpoint."""
        self.watch = watch
        if watch.analysis_state is not None:
            self.dynamics = analyzed_at(self.dynamics, watch.analysis_state)

    def take_over(self, dynamics: ForwardDynamics, state: State) -> None:
        """Begin with dynamics analyzed at a state."""
        self.dynamics, self.watch = dynamics, RankWatch(state, dynamics.rank)

    def choose(self, state: State, reason: str) -> None:
        """Keep the rows that are independent at a state."""
        self.adopt(analyzed_at(self.dynamics, state), state, reason)

    def adopt(self, dynamics: ForwardDynamics, state: State, reason: str) -> None:
        """Use dynamics that were analyzed at a singular pose, and tell."""
        self._use(dynamics, state, reason)
        self.watch = replace(self.watch, left_at=state.time)

    def _use(self, dynamics: ForwardDynamics, state: State, reason: str) -> None:
        changed = np.setxor1d(self.dynamics.redundant_rows, dynamics.redundant_rows)
        self.dynamics = dynamics
        full_rank = max(dynamics.rank, self.watch.full_rank)
        self.watch = RankWatch(state, full_rank, left_at=self.watch.left_at)
        joints = np.unique(dynamics.system.row_joint[changed])
        names = [repr(dynamics.system.joint_names[j]) for j in joints[:_MOST_NAMES]]
        more = ", ..." if len(joints) > _MOST_NAMES else ""
        where = f", others at joints {', '.join(names)}{more}" if names else ""
        message = f"{dynamics.rank} independent constraint rows from here on{where}: {reason}"
        self._note(Event(state.time, "re-analysis", message))

    def leave_by_velocity(self, state: State) -> FloatArray | None:
        """Return the acceleration (n_bodies, 6) of the branch that a velocity points along.

        A singular pose does not know it: there it is that just after and just before, on average,
        with the rows that are independent there. None if the pose is not singular.
        """
        h = _AHEAD / max(largest(state.velocity), _AHEAD)
        if len(self.dynamics.redundant_rows) == 0 or h == 1.0 or self._holds(moved_on(state, h)):
            return None
        try:
            ahead, behind = (
                closed_by_all_rows(self.dynamics, moved_on(state, dt)) for dt in (h, -h)
            )
            dynamics = analyzed_at(self.dynamics, ahead)
            if dynamics.rank <= self.dynamics.rank:
                return None
            pair = [dynamics.evaluate(near).acceleration() for near in (ahead, behind)]
        except SingularSystemError:
            return None
        self.adopt(dynamics, ahead, "the motion begins at a singular pose, and leaves it")
        return np.asarray(sum(pair) / 2.0)

    def leave_from_rest(self, state: State, acceleration: FloatArray) -> tuple[State, FloatArray]:
        """Return the first state of a motion from rest, and its acceleration (n_bodies, 6).

        At a singular pose constraints forbid some of the accelerations that rows as they stand
        allow. On the way out, x = a t^2 / 2 and v = a t, they do not: a is what the nearest state
        on the way has, a fixed point of that.
        """
        size = largest(acceleration)
        is_moving = largest(state.velocity) > 0.0 or size < _AHEAD
        if len(self.dynamics.redundant_rows) == 0 or is_moving:
            return state, acceleration
        t = (2.0 * _AHEAD / size) ** 0.5
        if self._holds(carried(state, acceleration, t)):
            return state, acceleration
        a, change = acceleration, 0.0  # 0: nothing tells yet that the pose is singular
        try:
            for trial in range(_MOST_TRIALS):
                near = closed_by_all_rows(self.dynamics, carried(state, a, t))
                dynamics = analyzed_at(self.dynamics, near)
                if dynamics.rank <= self.dynamics.rank:
                    return state, acceleration
                before, a = a, dynamics.evaluate(near).acceleration()
                change = largest(a - before) / size
                if change <= _SETTLED or (trial > _PATIENCE and change > _ACCEPTED):
                    break
        except SingularSystemError:
            change = np.inf if change > 0.0 else 0.0
        if 0.0 < change <= _ACCEPTED:
            self.adopt(
                dynamics, near, "the motion begins at rest at a singular pose, and leaves it"
            )
            return near, a
        if change > _ACCEPTED:
            self._note(Event(state.time, "undetermined branch", _UNDETERMINED))
        return state, acceleration

    def _holds(self, state: State) -> bool:
        """Tell whether the rows in use keep the others at a state near by."""
        try:
            evaluation = projected(self.dynamics.evaluate, state).evaluation
            evaluation.acceleration()
        except SingularSystemError:
            return False
        return self.dynamics.evaluator.dropped_residual() <= WORST_RESIDUAL

    def follow(self, sine: float) -> None:
        """Take note of the smallest pivot after a step."""
        watch = self.watch
        watch.sine, watch.best_sine = sine, max(sine, watch.best_sine)

    def exchange(self, state: State) -> bool:
        """Keep other rows of the same rank where these are much better conditioned.

        Looked for as often as the smallest pivot of the rows in use has halved.
        """
        watch = self.watch
        if not watch.sine < _HALF * watch.best_sine:
            return False
        self.watch = replace(watch, best_sine=watch.sine)
        if not self.dynamics.evaluator.assembler.has_alternatives:
            return False
        dynamics = analyzed_at(self.dynamics, state)
        evaluation = dynamics.evaluate(state)
        evaluation.acceleration()
        better = smallest_pivot(evaluation).sine
        if dynamics.rank != self.dynamics.rank or not watch.sine < _HALF * better:
            return False
        self._use(dynamics, state, "the rows kept so far become dependent")
        return True

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
            closed = closed_by_all_rows(self.dynamics, state)
        except SingularSystemError:
            closed = state
        dynamics = analyzed_at(self.dynamics, closed)
        if dynamics.rank > self.dynamics.rank:
            self.adopt(dynamics, closed, "rows that were left out are independent here")
            return True
        wait = min(2 * watch.wait, _LONGEST_WAIT)
        self.watch = replace(watch, wait=wait, countdown=wait)
        return False
