"""Stepper: one step of time, also through poses where the constraint rows lose rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import Evaluation, ForwardDynamics
from sparsebody.errors import SimulationError, SingularSystemError
from sparsebody.kinematics.coordinates import coordinate_motion
from sparsebody.kinematics.motion import joint_motion
from sparsebody.model.system import State
from sparsebody.simulation.checkpoint import RankWatch
from sparsebody.simulation.integrators import Integrator
from sparsebody.simulation.stabilization import Stabilization
from sparsebody.simulation.trajectory import Event

Control = Callable[[float, State], FloatArray]
"""control(time, state): wrenches (n_bodies, 6) about the centers of mass in body axes."""

_SPLITS = (0.382, 0.618)  # where a step is cut so that no stage falls on a singular pose
_LONGEST_WAIT = 1024  # steps between two attempts to find the full rank again


class Stepper:
    """Takes steps with a ForwardDynamics, and analyzes it again where its rows lose rank.

    Most singular poses are only passed: a step that meets one is cut into two uneven parts, whose
    stages lie elsewhere. Where that fails, the dependent rows are looked for at the pose itself,
    and again later until the rank is as large as before.
    """

    def __init__(
        self,
        dynamics: ForwardDynamics,
        integrator: Integrator,
        stabilization: Stabilization,
        control: Control | None,
        note: Callable[[Event], None],
    ) -> None:
        self._dynamics = dynamics
        self._integrate = integrator.step
        self._stabilize = stabilization.stabilize
        self._control = control
        self._note = note
        self.rank = RankWatch(full_rank=dynamics.rank)

    def resume(self, rank: RankWatch) -> None:
        """Go on with the rows that a checkpoint names."""
        if rank.analysis_state is not None:
            self._dynamics = _analyzed_at(self._dynamics, rank.analysis_state)
        self.rank = rank

    def evaluate(self, state: State) -> Evaluation:
        """Return the evaluation of the dynamics, control included."""
        if self._control is None:
            return self._dynamics.evaluate(state)
        return self._dynamics.evaluate(state, body_force=self._control(state.time, state))

    def acceleration(self, state: State) -> FloatArray:
        """Return the accelerations (n_bodies, 6)."""
        return self.evaluate(state).acceleration()

    def joint_wrench(self, state: State) -> FloatArray:
        """Return the reactions (n_joints, 6), NaN at a singular pose."""
        try:
            return self.evaluate(state).accelerations().joint_wrench
        except SingularSystemError:
            return np.full((self._dynamics.system.n_joints, 6), np.nan)

    def advance(
        self, state: State, acceleration: FloatArray, time: float
    ) -> tuple[State, FloatArray]:
        """Return state and acceleration at `time`.

        Raises
        ------
        SingularSystemError
            If no choice of rows leads on.
        SimulationError
            If numbers cease to be finite.
        """
        if self._dynamics.rank < self.rank.full_rank and self._finds_full_rank(state):
            acceleration = self.acceleration(state)
        try:
            return self._step(self.evaluate, state, acceleration, time)
        except SingularSystemError as error:
            trouble = str(error)
        for part in _SPLITS:
            try:
                between = state.time + part * (time - state.time)
                halfway = self._step(self.evaluate, state, acceleration, between)
                end = self._step(self.evaluate, *halfway, time)
            except SingularSystemError:
                continue
            self._note(Event(state.time, "split step", trouble))
            return end
        return self._step(self._evaluate_anyhow, state, acceleration, time)

    def _step(
        self,
        evaluate: Callable[[State], Evaluation],
        state: State,
        acceleration: FloatArray,
        time: float,
    ) -> tuple[State, FloatArray]:
        def acceleration_of(stage: State) -> FloatArray:
            return evaluate(stage).acceleration()

        moved = self._integrate(acceleration_of, state, acceleration, time - state.time)
        moved = replace(moved, time=time)
        self._check_finite(moved)
        stabilized = self._stabilize(evaluate, moved)
        end = self._with_coordinates(stabilized.state)
        self._check_finite(end)
        return end, stabilized.evaluation.acceleration()

    def _with_coordinates(self, state: State) -> State:
        """Count the turns of the tracked coordinates on."""
        system = self._dynamics.system
        if len(state.coordinate) == 0:
            return state
        motion = coordinate_motion(system, state, joint_motion(system, state))
        return replace(state, coordinate=motion.value)

    def _check_finite(self, state: State) -> None:
        finite = np.isfinite(state.velocity).all(axis=1) & np.isfinite(state.position).all(axis=1)
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
        rank = self._dynamics.rank
        self.rank = RankWatch(state, max(rank, self.rank.full_rank))
        message = f"{rank} independent constraint rows from here on: {reason}"
        self._note(Event(state.time, "re-analysis", message))

    def _finds_full_rank(self, state: State) -> bool:
        """Look for more independent rows, ever more rarely; tell whether there are."""
        if self.rank.countdown > 0:
            self.rank = replace(self.rank, countdown=self.rank.countdown - 1)
            return False
        found = _analyzed_at(self._dynamics, state)
        if found.rank <= self._dynamics.rank:
            wait = min(2 * self.rank.wait, _LONGEST_WAIT)
            self.rank = replace(self.rank, wait=wait, countdown=wait)
            return False
        self._analyze(state, "the singular pose is passed")
        return True


def _analyzed_at(dynamics: ForwardDynamics, state: State) -> ForwardDynamics:
    """Return the same kind of dynamics with the rows that are independent at `state`."""
    return ForwardDynamics(
        dynamics.system,
        state,
        ordering=dynamics.ordering,
        factorization=dynamics.factorization,
        reactions=dynamics.reactions,
        baumgarte=dynamics.baumgarte,
    )
