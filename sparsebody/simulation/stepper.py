"""Stepper: one step of time, also through poses where the constraint rows lose rank."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import Evaluation, ForwardDynamics
from sparsebody.errors import SimulationError, SingularSystemError, SparsebodyError
from sparsebody.kinematics.coordinates import coordinate_motion
from sparsebody.kinematics.motion import joint_motion
from sparsebody.model.system import State
from sparsebody.simulation.checkpoint import Checkpoint, RankWatch
from sparsebody.simulation.integrators import Integrator
from sparsebody.simulation.integrators.base import moved, pose_rates
from sparsebody.simulation.row_choice import RowChoice
from sparsebody.simulation.singular_poses import (
    FAR,
    analyzed_at,
    carried,
    closed_by_all_rows,
    growing_parts,
    n_parts_after,
    weakest_joint,
)
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

_CUTS = ((0.382, 0.618), (0.618, 0.382), (0.146, 0.236, 0.236, 0.382))
"""Parts of a step that are tried in turn: uneven, so that no stage falls where one fell before."""

_OUTLIER = 30.0  # times the typical correction: a step that needs more is tried in parts
_NEGLIGIBLE = 1e-9  # of the largest velocity: smaller corrections are never outliers
_NEAR = 1e-6  # smallest pivot, the sine of an angle, that tells of a singular pose by itself
_NEAR_UNHELD = 1e-3  # the same where no projection takes errors out, which such pivots amplify
_BEARABLE = 1e-5  # [rad, m] that joints may open where no choice of rows closes them
_BEYOND = 1e30  # [m, m/s, rad/s]: no motion gets there
_LONGEST_LAG = 2.5  # steps by which the motion may go on from an earlier state


@dataclass(frozen=True, eq=False)
class _Reached:
    """A state, its acceleration, and what was worst on the way."""

    state: State
    acceleration: FloatArray
    correction: float = 0.0  # largest
    sine: float = math.inf  # smallest pivot
    joint: str = ""  # of this pivot
    dropped: float = 0.0  # violation of the rows left out, at the end

    def by(self, margin: float) -> tuple[float, float]:
        """Return what to choose by: pivots below a margin first, then corrections."""
        return min(0.0, self.sine / margin - 1.0) * -1.0, self.correction


class Stepper:
    """Takes steps with a ForwardDynamics, also past poses where its rows lose rank.

    Near a singular pose the accelerations lose accuracy as the inverse square of the distance, and
    the stabilization has more to correct: that is the sign to watch. Such a step is tried in
    uneven parts, whose stages lie elsewhere. If it is the end of the step that lies badly, the
    state there is given out, but the motion goes on from the state before, over it. So it is with
    the smallest pivot of the factors, which counts alone where nothing is corrected. Only where
    the rows are dependent whatever is tried, they are chosen anew at the pose itself, and
    again later until the rank is as large as before.

    Rows that are dependent where a motion begins may not be so later: then those that were left
    out are violated, and rows are chosen anew at the nearest pose that closes all joints.
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
        self._rows = RowChoice(dynamics, note)
        self._nominal = step
        self._integrate = integrator.step
        self._stabilize = stabilization.stabilize
        self._margin = _NEAR if stabilization.closes else _NEAR_UNHELD
        self._control = control
        self._note = note
        self.typical_correction = 0.0
        self._weakest = math.inf, ""
        self._latest_sine = 0.0  # of the end of a step

    memory = np.zeros(0)

    def last_events(self, time: float) -> list[Event]:
        """Return what is told at the end of a run."""
        return []

    @property
    def rank(self) -> RankWatch:
        """Where the rank of the constraint rows stands."""
        return self._rows.watch

    def start(self, state: State) -> None:
        """Start from a consistent state."""
        self._rows.tell_doubt(state)
        acceleration = self._rows.leave_by_velocity(state)
        if acceleration is None:
            acceleration = self.evaluate(state).acceleration()
            state, acceleration = self._rows.leave_from_rest(state, acceleration)
        self.state, self.acceleration = state, acceleration

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        self.state, self.acceleration = checkpoint.state, checkpoint.acceleration
        self.typical_correction = checkpoint.typical_correction
        self._rows.resume(checkpoint.rank)

    def evaluate(self, state: State) -> Evaluation:
        """Return the evaluation of the dynamics, control included."""
        if self._control is None:
            return self._rows.dynamics.evaluate(state)
        return self._rows.dynamics.evaluate(state, body_force=self._control(state.time, state))

    def joint_wrench(self, state: State) -> FloatArray:
        """Return the reactions (n_joints, 6), NaN at a singular pose."""
        try:
            return self.evaluate(state).accelerations().joint_wrench
        except SingularSystemError:
            return np.full((self._rows.dynamics.system.n_joints, 6), np.nan)

    def advance(self, time: float) -> State:
        """Return the state at `time`.

        Raises
        ------
        SingularSystemError
            If no choice of rows leads on.
        SimulationError
            If numbers cease to be finite.
        """
        if time < self.state.time:  # on the way out of a singular pose
            before = carried(self.state, self.acceleration, time - self.state.time)
            return closed_by_all_rows(self._rows.dynamics, before)
        if self._rows.seek_full_rank(self.state):
            self.acceleration = self.evaluate(self.state).acceleration()
        lag = (time - self.state.time) / self._nominal
        left = self.rank.analysis_state
        if left is not None and left.time == self.state.time:
            return self._adopt(self._left(time), 1, "")
        best, trouble, is_open = None, "", False
        for parts in (self._plain_parts(), *_CUTS)[1 if lag > 1.5 else 0 :]:
            try:
                reached = self._in_parts(parts, time)
            except (SingularSystemError, SimulationError) as error:
                trouble, is_open = str(error), not _is_of_pose(error)
                continue
            if self._is_usual(reached, not trouble):
                return self._adopt(reached, len(parts), trouble)
            if best is None or reached.by(self._margin) < best.by(self._margin):
                best = reached
            trouble = self._told(reached)
        if lag < _LONGEST_LAG and not is_open:
            self._note(Event(time, "passed pose", trouble))
            return best.state if best is not None else self._extrapolated(time)
        if best is None:
            return self._adopt(self._left(time), 1, "")
        return self._adopt(best, len(_CUTS[-1]), trouble)

    def _told(self, reached: _Reached) -> str:
        """Say in words that, and where, a step came near a singular pose."""
        where = f" at joint {reached.joint!r}, pivot {reached.sine:.1e}" if reached.joint else ""
        return f"near a singular pose{where}, correction {reached.correction:.1e}"

    def _plain_parts(self) -> tuple[float, ...]:
        """Return a whole step, or parts soon after a singular pose was left."""
        left = self.rank.analysis_state
        if left is None:
            return (1.0,)
        n = n_parts_after(self.state.time - left.time, self._nominal)
        return (1.0 / n,) * n

    def _here(self) -> _Reached:
        return _Reached(self.state, self.acceleration)

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
        if not reached.sine > self._margin:
            return False
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
        self._rows.doubt(reached.dropped)
        if trouble and n_parts > 1:
            self._note(Event(reached.state.time, "step in parts", f"{n_parts} parts: {trouble}"))
        return reached.state

    def _step(self, evaluate: Evaluate, start: _Reached, time: float) -> _Reached:
        return self._stabilized(evaluate, start, self._integrated(evaluate, start, time))

    def _left(self, time: float) -> _Reached:
        """Leave a pose where no parts of a step lead on: in tiny parts first, then in growing ones.

        Motions that rows left out forbid have gone no further than the parts by then.
        """
        start = self._here()
        try:
            reached = start
            for share in growing_parts():
                part = start.state.time + share * (time - start.state.time)
                reached = self._step_anyhow(reached, part)
        except SingularSystemError:
            return self._step_anyhow(start, time)
        return reached

    def _step_anyhow(self, start: _Reached, time: float) -> _Reached:
        """Choose the rows anew wherever they do not do."""
        end = self._integrated(self._evaluate_anyhow, start, time)
        try:
            return self._stabilized(self._evaluate_anyhow, start, end)
        except OpenJointError as error:
            return self._closed_anew(start, end, error)

    def _closed_anew(self, start: _Reached, end: State, error: OpenJointError) -> _Reached:
        """Close with the rows that are independent at the end, or leave joints a little open."""
        before, watch = self._rows.dynamics, self._rows.watch
        try:
            closed = closed_by_all_rows(before, end)
            dynamics = analyzed_at(before, closed)
            self._rows.dynamics = dynamics
            reached = self._stabilized(self.evaluate, start, closed)
        except SingularSystemError as singular:  # too near a singular pose for them
            self._rows.dynamics, self._rows.watch = before, watch
            if error.opening > _BEARABLE:
                raise error from singular
            self._note(Event(end.time, "open joint", str(error)))
            return self._reached(start, error.stabilized)
        self._rows.dynamics = before
        self._rows.adopt(dynamics, closed, str(error))
        return reached

    def _integrated(self, evaluate: Evaluate, start: _Reached, time: float) -> State:
        """Return the state at `time`, not stabilized; remember the smallest pivot of the stages."""
        weakest = math.inf, ""

        def acceleration_of(stage: State) -> FloatArray:
            nonlocal weakest
            try:
                evaluation = evaluate(stage)
                acceleration = evaluation.acceleration()
                if self._latest_sine < FAR:
                    weakest = min(weakest, weakest_joint(evaluation))
                return acceleration
            except SingularSystemError:
                self._check_finite(stage)  # otherwise that is what is wrong
                raise

        h = time - start.state.time
        end = self._integrate(acceleration_of, start.state, start.acceleration, h)
        end = replace(end, time=time)
        self._check_finite(end)
        self._weakest = weakest
        return end

    def _stabilized(self, evaluate: Evaluate, start: _Reached, end: State) -> _Reached:
        return self._reached(start, self._stabilize(evaluate, end))

    def _reached(self, start: _Reached, stabilized: Stabilized) -> _Reached:
        end = self._with_coordinates(stabilized.state)
        self._check_finite(end)
        correction = max(start.correction, stabilized.correction)
        acceleration = stabilized.evaluation.acceleration()
        dropped = self._rows.dynamics.evaluator.dropped_residual()
        of_start, of_end = (start.sine, start.joint), weakest_joint(stabilized.evaluation)
        weakest, self._latest_sine = min(of_start, self._weakest, of_end), of_end[0]
        return _Reached(end, acceleration, correction, *weakest, dropped)

    def _with_coordinates(self, state: State) -> State:
        """Count the turns of the tracked coordinates on."""
        system = self._rows.dynamics.system
        if len(state.coordinate) == 0:
            return state
        motion = coordinate_motion(system, state, joint_motion(system, state))
        return replace(state, coordinate=motion.value)

    def _check_finite(self, state: State) -> None:
        finite = (np.abs(state.velocity) < _BEYOND).all(axis=1)  # false for NaN, too
        finite &= (np.abs(state.position) < _BEYOND).all(axis=1)
        if not finite.all():
            name = self._rows.dynamics.system.body_names[int(np.argmin(finite))]
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
            self._rows.choose(state, str(error))
            evaluation = self.evaluate(state)
        return evaluation


def _is_of_pose(error: SparsebodyError) -> bool:
    """Tell whether rows are dependent at a pose, and not that the motion goes wrong."""
    return isinstance(error, SingularSystemError) and not isinstance(error, OpenJointError)
