"""Explicit steps as long as they do; implicit ones from where they do not, or are not enough."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import SimulationError, SingularSystemError
from sparsebody.model.system import State
from sparsebody.simulation.checkpoint import Checkpoint, RankWatch
from sparsebody.simulation.constraint_errors import largest
from sparsebody.simulation.implicit.stepper import ImplicitStepper
from sparsebody.simulation.implicit.stiffness import fastest_spring
from sparsebody.simulation.singular_poses import carried, moved_on
from sparsebody.simulation.stabilization import projected
from sparsebody.simulation.stepper import Stepper
from sparsebody.simulation.trajectory import Event
from sparsebody.tolerances import WORST_RESIDUAL

_AHEAD = 1e-4  # [rad, m] where rows are looked at that may be independent only there
_STIFF = 2.0  # rate of a spring times the step, from which on explicit steps would be unstable

Note = Callable[[Event], None]


class AutoStepper:
    """Runge-Kutta steps with projection, or implicit ones of joints with negligible compliance.

    Implicit steps are taken from the start where springs are stiff, or where rows are dependent
    that are not so in general; and from a pose on that explicit steps cannot pass.

    Parameters
    ----------
    make_explicit, make_implicit : callable
        The steppers, from what takes notes of events.
    dynamics : ForwardDynamics
        Of the explicit stepper.
    step : float
        [s]
    memory_size : int
        Numbers of the implicit stepper's memory, and one that tells which is in use.
    note : callable
        Takes notes of events.
    """

    def __init__(
        self,
        make_explicit: Callable[[Note], Stepper],
        make_implicit: Callable[[Note], ImplicitStepper],
        dynamics: ForwardDynamics,
        step: float,
        memory_size: int,
        note: Note,
    ) -> None:
        self._make_implicit, self._dynamics, self._note = make_implicit, dynamics, note
        self._step, self._memory_size = step, memory_size
        self._stepper: Stepper | ImplicitStepper = make_explicit(note)

    @property
    def state(self) -> State:
        """The state that the next step starts from."""
        return self._stepper.state

    @property
    def acceleration(self) -> FloatArray:
        """Its accelerations (n_bodies, 6)."""
        return self._stepper.acceleration

    @property
    def rank(self) -> RankWatch:
        """Where the rank of the constraint rows stands."""
        return self._stepper.rank

    @property
    def memory(self) -> FloatArray:
        """What else the next step depends on: zeros as long as steps are explicit."""
        if isinstance(self._stepper, ImplicitStepper):
            return np.append(self._stepper.memory, 1.0)
        return np.zeros(self._memory_size)

    def start(self, state: State) -> None:
        """Start from a consistent state."""
        rate = fastest_spring(self._dynamics.system, state)
        if rate * self._step > _STIFF:
            self._switch(state, f"a spring or damper with a rate of {rate:.1e}/s is stiff")
        elif is_singular(self._dynamics, state):
            self._switch(state, "rows depend on others at this pose that do not in general")
        else:
            self._stepper.start(state)

    def resume(self, first: State, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint of a run that began at a state."""
        if checkpoint.memory[-1]:
            self._stepper = self._make_implicit(self._note)
        self._stepper.resume(first, checkpoint)

    def joint_wrench(self, state: State) -> FloatArray:
        """Return the reactions (n_joints, 6)."""
        return self._stepper.joint_wrench(state)

    def advance(self, time: float) -> State:
        """Return the state at `time`.

        Raises
        ------
        SingularSystemError, SimulationError
            If implicit steps cannot be taken, either.
        """
        try:
            return self._stepper.advance(time)
        except (SingularSystemError, SimulationError) as error:
            if isinstance(self._stepper, ImplicitStepper):
                raise
            self._switch(self._stepper.state, str(error))
        return self._stepper.advance(time)

    def last_events(self, time: float) -> list[Event]:
        """Return what is told at the end of a run."""
        return self._stepper.last_events(time)

    def _switch(self, state: State, why: str) -> None:
        """Take implicit steps from a state on."""
        self._stepper = self._make_implicit(self._note)
        message = f"generalized-alpha, joints of {self._stepper.compliance:.1e} m/N: {why}"
        self._note(Event(state.time, "implicit steps", message))
        self._stepper.start(state)


def is_singular(dynamics: ForwardDynamics, state: State) -> bool:
    """Tell whether the rows in use do not keep the others a little further on the way."""
    if len(dynamics.redundant_rows) == 0:
        return False
    speed = largest(state.velocity)
    try:
        if speed > 0.0:
            ahead = moved_on(state, _AHEAD / speed)
        else:
            acceleration = dynamics.evaluate(state).acceleration()
            if largest(acceleration) == 0.0:
                return False
            ahead = carried(state, acceleration, (2.0 * _AHEAD / largest(acceleration)) ** 0.5)
        projected(dynamics.evaluate, ahead).evaluation.acceleration()
    except SingularSystemError:
        return True
    return dynamics.evaluator.dropped_residual() > WORST_RESIDUAL
