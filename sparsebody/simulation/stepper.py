"""Stepper: one step of time, also through poses where the constraint rows lose rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import Evaluation, ForwardDynamics
from sparsebody.errors import SimulationError, SingularSystemError
from sparsebody.kinematics.coordinates import coordinate_motion
from sparsebody.kinematics.motion import joint_motion
from sparsebody.model.system import State
from sparsebody.simulation.checkpoint import Checkpoint, RankWatch
from sparsebody.simulation.integrators import Integrator
from sparsebody.simulation.integrators.base import moved, pose_rates
from sparsebody.simulation.stabilization import (
    Evaluate,
    OpenJointError,
    Stabilization,
    Stabilized,
    largest,
)
from sparsebody.simulation.trajectory import Event

Control = Callable[[float, State], FloatArray]
"""control(time, state): wrenches (n_bodies, 6) about the centers of mass in body axes."""

_CUTS = ((1.0,), (0.382, 0.618), (0.618, 0.382), (0.146, 0.236, 0.236, 0.382))
"""Parts of a step that are tried in turn: uneven, so that no stage falls where one fell before."""

_OUTLIER = 30.0  # times the typical correction: a step that needs more is tried in parts
_NEGLIGIBLE = 1e-9  # of the largest velocity: smaller corrections are never outliers
_BEARABLE = 1e-5  # [rad, m] that joints may open where no choice of rows closes them
_BEYOND = 1e30  # [m, m/s, rad/s]: no motion gets there
_LONGEST_LAG = 2.5  # steps by which the motion may go on from an earlier state
_LONGEST_WAIT = 1024  # steps between two attempts to find the full rank again


@dataclass(frozen=True, eq=False)
class _Reached:
    """A state, its acceleration, and the largest correction on the way."""

    state: State
    acceleration: FloatArray
    correction: float


class Stepper:
    """Takes steps with a ForwardDynamics, also past poses where its rows lose rank.

    Near a singular pose the accelerations lose accuracy as the inverse square of the distance, and
    the stabilization has more to correct: that is the sign to watch. Such a step is tried in
    uneven parts, whose stages lie elsewhere. If it is the end of the step that lies badly, the
    state there is given out, but the motion goes on from the state before, over it. Only where
    the rows are dependent whatever is tried, they are chosen anew at the pose itself, and
    again later until the rank is as large as before.
    """

    def __init__(
        self,
        dynamics: ForwardDynamics,
        step: float,
        integrator: Integrator,
        stabilization: Stabilization,
        control: Control | None,
        note: Callable[[Event], None],
    ) -> None:
        self._dynamics = dynamics
        self._nominal = step
        self._integrate = integrator.step
        self._stabilize = stabilization.stabilize
        self._control = control
        self._note = note
        self.rank = RankWatch(full_rank=dynamics.rank)
        self.typical_correction = 0.0

    def start(self, state: State) -> None:
        """Start from a consistent state."""
        self.state, self.acceleration = state, self.evaluate(state).acceleration()

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        self.state, self.acceleration = checkpoint.state, checkpoint.acceleration
        self.rank, self.typical_correction = checkpoint.rank, checkpoint.typical_correction
        if self.rank.analysis_state is not None:
            self._dynamics = _analyzed_at(self._dynamics, self.rank.analysis_state)

    def evaluate(self, state: State) -> Evaluation:
        """Return the evaluation of the dynamics, control included."""
        if self._control is None:
            return self._dynamics.evaluate(state)
        return self._dynamics.evaluate(state, body_force=self._control(state.time, state))

    def joint_wrench(self, state: State) -> FloatArray:
        """Return the reactions (n_joints, 6), NaN at a singular pose."""
        try:
            return self.evaluate(state).accelerations().joint_wrench
        except SingularSystemError:
            return np.full((self._dynamics.system.n_joints, 6), np.nan)

    def advance(self, time: float) -> State:
        """Return the state at `time`.

        Raises
        ------
        SingularSystemError
            If no choice of rows leads on.
        SimulationError
            If numbers cease to be finite.
        """
        if self._dynamics.rank < self.rank.full_rank:
            self._seek_full_rank()
        lag = (time - self.state.time) / self._nominal
        best, trouble, is_open = None, "", False
        for parts in _CUTS[1 if lag > 1.5 else 0 :]:
            try:
                reached = self._in_parts(parts, time)
            except SingularSystemError as error:
                trouble, is_open = str(error), isinstance(error, OpenJointError)
                continue
            if self._is_usual(reached, len(parts) == 1):
                return self._adopt(reached, len(parts), trouble)
            if best is None or reached.correction < best.correction:
                best = reached
            trouble = f"correction of {reached.correction:.1e} near a singular pose"
        if lag < _LONGEST_LAG and not is_open:
            self._note(Event(time, "passed pose", trouble))
            return best.state if best is not None else self._extrapolated(time)
        if best is None:
            return self._adopt(self._step_anyhow(time), 1, trouble)
        return self._adopt(best, len(_CUTS[-1]), trouble)

    def _here(self) -> _Reached:
        return _Reached(self.state, self.acceleration, 0.0)

    def _in_parts(self, parts: tuple[float, ...], time: float) -> _Reached:
        """Reach `time` in steps that are the given parts of the way."""
        start, done = self.state.time, 0.0
        reached = self._here()
        for part in parts[:-1]:
            done += part
            reached = self._step(self.evaluate, reached, start + done * (time - start))
        return self._step(self.evaluate, reached, time)

    def _is_usual(self, reached: _Reached, is_plain: bool) -> bool:
        """Tell whether a correction is of the usual size, and learn from it what is usual."""
        typical, correction = self.typical_correction, reached.correction
        speed = largest(reached.state.velocity)
        bound = max(_OUTLIER * typical, _NEGLIGIBLE * speed)
        if is_plain and correction > 0.0:
            ratio = min(max(correction / typical, 0.01), 100.0) if typical > 0.0 else 1.0
            self.typical_correction = typical * ratio**0.1 if typical > 0.0 else correction
        return correction <= bound or typical == 0.0

    def _extrapolated(self, time: float) -> State:
        """Return the state at a singular pose, without evaluating anything there."""
        h = time - self.state.time
        middle = moved(self.state, *pose_rates(self.state), self.acceleration, 0.5 * h)
        end = moved(self.state, *pose_rates(middle), self.acceleration, h)
        return self._with_coordinates(replace(end, time=time))

    def _adopt(self, reached: _Reached, n_parts: int, trouble: str) -> State:
        self.state, self.acceleration = reached.state, reached.acceleration
        if n_parts > 1:
            self._note(Event(reached.state.time, "step in parts", f"{n_parts} parts: {trouble}"))
        return reached.state

    def _step(self, evaluate: Evaluate, start: _Reached, time: float) -> _Reached:
        return self._stabilized(evaluate, start, self._integrated(evaluate, start, time))

    def _step_anyhow(self, time: float) -> _Reached:
        """Choose the rows anew wherever they do not do."""
        start = self._here()
        end = self._integrated(self._evaluate_anyhow, start, time)
        try:
            return self._stabilized(self._evaluate_anyhow, start, end)
        except OpenJointError as error:
            return self._closed_anew(start, end, error)

    def _closed_anew(self, start: _Reached, end: State, error: OpenJointError) -> _Reached:
        """Close with the rows that are independent at the end, or leave joints a little open."""
        before = self._dynamics
        self._dynamics = _analyzed_at(before, end)
        try:
            reached = self._stabilized(self.evaluate, start, end)
        except SingularSystemError as singular:  # too near a singular pose for them
            if error.opening > _BEARABLE:
                raise error from singular
            self._dynamics = before
            return self._reached(start, error.stabilized)
        self._watch_rank(end, str(error))
        return reached

    def _integrated(self, evaluate: Evaluate, start: _Reached, time: float) -> State:
        def acceleration_of(stage: State) -> FloatArray:
            try:
                return evaluate(stage).acceleration()
            except SingularSystemError:
                self._check_finite(stage)  # otherwise that is what is wrong
                raise

        h = time - start.state.time
        end = self._integrate(acceleration_of, start.state, start.acceleration, h)
        end = replace(end, time=time)
        self._check_finite(end)
        return end

    def _stabilized(self, evaluate: Evaluate, start: _Reached, end: State) -> _Reached:
        return self._reached(start, self._stabilize(evaluate, end))

    def _reached(self, start: _Reached, stabilized: Stabilized) -> _Reached:
        end = self._with_coordinates(stabilized.state)
        self._check_finite(end)
        correction = max(start.correction, stabilized.correction)
        return _Reached(end, stabilized.evaluation.acceleration(), correction)

    def _with_coordinates(self, state: State) -> State:
        """Count the turns of the tracked coordinates on."""
        system = self._dynamics.system
        if len(state.coordinate) == 0:
            return state
        motion = coordinate_motion(system, state, joint_motion(system, state))
        return replace(state, coordinate=motion.value)

    def _check_finite(self, state: State) -> None:
        finite = (np.abs(state.velocity) < _BEYOND).all(axis=1)  # false for NaN, too
        finite &= (np.abs(state.position) < _BEYOND).all(axis=1)
        if not finite.all():
            name = self._dynamics.system.body_names[int(np.argmin(finite))]
            raise SimulationError(
                f"the motion of body {name!r} blew up at t = {state.time:.6g} s; take smaller "
                "steps, or see whether a spring or a control is too stiff for them"
            )

    def _evaluate_anyhow(self, state: State) -> Evaluation:
        """Evaluate; where the rows are dependent, choose others that are not."""
        try:
            evaluation = self.evaluate(state)
            evaluation.acceleration()
        except SingularSystemError as error:
            self._analyze(state, str(error))
            evaluation = self.evaluate(state)
        return evaluation

    def _analyze(self, state: State, reason: str) -> None:
        self._dynamics = _analyzed_at(self._dynamics, state)
        self._watch_rank(state, reason)

    def _watch_rank(self, state: State, reason: str) -> None:
        """Remember where the rows in use were chosen."""
        rank = self._dynamics.rank
        self.rank = RankWatch(state, max(rank, self.rank.full_rank))
        message = f"{rank} independent constraint rows from here on: {reason}"
        self._note(Event(state.time, "re-analysis", message))

    def _seek_full_rank(self) -> None:
        """Look for more independent rows, ever more rarely."""
        if self.rank.countdown > 0:
            self.rank = replace(self.rank, countdown=self.rank.countdown - 1)
            return
        if _analyzed_at(self._dynamics, self.state).rank > self._dynamics.rank:
            self._analyze(self.state, "the singular pose is passed")
            self.acceleration = self.evaluate(self.state).acceleration()
        else:
            wait = min(2 * self.rank.wait, _LONGEST_WAIT)
            self.rank = replace(self.rank, wait=wait, countdown=wait)


def _analyzed_at(dynamics: ForwardDynamics, state: State) -> ForwardDynamics:
    """Return the same kind of dynamics with the rows that are independent at `state`."""
    return ForwardDynamics(
        dynamics.system,
        state,
        ordering=dynamics.ordering,
        factorization="auto" if dynamics.reduced_bodies else dynamics.factorization,
        reactions=dynamics.reactions,
        reduction=dynamics.reduction,
        baumgarte=dynamics.baumgarte,
    )
