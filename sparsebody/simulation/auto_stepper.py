"""Explicit steps as long as they do; implicit ones from where they do not, or are not enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import SimulationError, SingularSystemError, SparsebodyError
from sparsebody.model.system import State
from sparsebody.simulation.checkpoint import Checkpoint, RankWatch
from sparsebody.simulation.constraint_errors import largest
from sparsebody.simulation.implicit.implicit_stepper import ImplicitStepper
from sparsebody.simulation.implicit.stiffness import fastest_spring
from sparsebody.simulation.integrators.base import LocalError
from sparsebody.simulation.records.trajectory import Event, cause_of
from sparsebody.simulation.singular_poses import (
    analyzed_at,
    carried,
    closed_by_all_rows,
    moved_on,
)
from sparsebody.simulation.stabilization import projected, smallest_pivot
from sparsebody.simulation.stepper import LONG_STEP, Stepper
from sparsebody.tolerances import WORST_RESIDUAL

_AHEAD = 1e-4  # [rad, m] where rows are looked at that may be independent only there
_FARTHEST = 100  # steps: a motion that takes longer to get there is none yet, as that of a drive
_STIFF = 2.0  # rate of a spring times the step, from which on explicit steps would be unstable
_CUMBERSOME = ("step in parts", "re-analysis")  # events of steps that take long
_MOST_CUMBERSOME, _FORGOTTEN = 1.5, 0.99  # of them on the way, and how they count less step by step
_CHECKED, _MOST_CHECKS = 512, 4  # implicit steps before a look for regular poses; these in turn
_REGULAR = 0.05  # smallest pivot there

N_OWN = 5  # numbers of memory besides those of the implicit stepper

Note = Callable[[Event], None]


class AutoStepper:
    """Runge-Kutta steps with projection, or implicit ones of joints with negligible compliance.

    Implicit steps are taken from the start where springs are stiff, or where rows are dependent
    that are not so in general; from a pose on that explicit steps cannot pass, or pass only in
    parts and with other rows time and again. Explicit ones are taken again where poses have been
    regular for long, and for longer each time.
    `make_explicit` and `make_implicit` make the steppers; `memory_size` is that of the implicit
    one's memory, and `note` is told of events.
    """

    def __init__(
        self,
        make_explicit: Callable[[ForwardDynamics, Note], Stepper],
        make_implicit: Callable[[Note], ImplicitStepper],
        dynamics: ForwardDynamics,
        step: float,
        memory_size: int,
        note: Note,
    ) -> None:
        self._make_explicit, self._make_implicit = make_explicit, make_implicit
        self._dynamics, self._note = dynamics, note
        self._step, self._memory_size = step, memory_size
        self._cumbersome = 0.0  # explicit steps of late
        self._n_steps, self._n_regular, self._n_switches = 0, 0, 0  # implicit ones since; of all
        self._stepper: Stepper | ImplicitStepper = self._explicit()
        self._first: State | None = None

    @property
    def state(self) -> State:
        """The state that the next step starts from."""
        return self._stepper.state

    @property
    def acceleration(self) -> FloatArray:
        """Its accelerations (n_bodies, 6)."""
        return self._stepper.acceleration

    @property
    def multiplier(self) -> FloatArray | None:
        """Those of compliant joints; None where they are rigid."""
        return self._stepper.multiplier

    @property
    def rank(self) -> RankWatch:
        """Where the rank of the constraint rows stands."""
        return self._stepper.rank

    @property
    def memory(self) -> FloatArray:
        """What else the next step depends on."""
        is_implicit = isinstance(self._stepper, ImplicitStepper)
        others = self._stepper.memory if is_implicit else np.zeros(self._memory_size)
        own = [self._cumbersome, self._n_steps, self._n_regular, self._n_switches, is_implicit]
        return np.concatenate([others, np.array(own, dtype=float)])

    @property
    def nominal(self) -> float:
        """How long steps are meant to be [s]."""
        return self._stepper.nominal

    @nominal.setter
    def nominal(self, h: float) -> None:
        self._stepper.nominal = self._step = h

    @property
    def error_order(self) -> int:
        """The order of local errors."""
        return self._stepper.error_order

    def saved(self) -> tuple[Any, ...]:
        """Return what `restore` takes to undo steps."""
        own = self._cumbersome, self._n_steps, self._n_regular, self._n_switches
        return self._stepper, self._stepper.saved(), *own

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Undo the steps since then."""
        self._stepper, inner, *own = saved
        self._stepper.restore(inner)
        self._cumbersome, self._n_steps, self._n_regular, self._n_switches = own

    def local_error(self) -> LocalError | None:
        """Return the errors of the newest step; None where they are not known."""
        return self._stepper.local_error()

    def closed(self, state: State) -> State:
        """Return the nearest state that closes the joints, where these are rigid."""
        return self._stepper.closed(state)

    def acceleration_at(self, state: State) -> FloatArray:
        """Return the accelerations (n_bodies, 6) at a state."""
        return self._stepper.acceleration_at(state)

    def restart(self, state: State) -> None:
        """Go on from another state."""
        self._stepper.restart(state)

    def start(self, state: State) -> None:
        """Start from a consistent state."""
        self._first = state
        rate = fastest_spring(self._dynamics.system, state)
        if rate * self._step > _STIFF:
            self._switch(state, f"a spring or damper with a rate of {rate:.1e}/s is stiff")
        elif is_singular(self._dynamics, state, self._step):
            self._switch(state, "rows depend on others at this pose that do not in general")
        else:
            self._stepper.start(state)

    def resume(self, first: State, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint of a run that began at a state."""
        self._first = first
        others, own = np.split(checkpoint.memory, [self._memory_size])
        self._cumbersome, n_steps, n_regular, n_switches, is_implicit = map(float, own)
        self._n_steps, self._n_regular = int(n_steps), int(n_regular)
        self._n_switches = int(n_switches)
        if is_implicit:
            self._stepper = self._make_implicit(self._note)
        self._stepper.resume(first, replace(checkpoint, memory=others))

    def joint_wrench(self, state: State) -> FloatArray:
        """Return the reactions (n_joints, 6)."""
        return self._stepper.joint_wrench(state)

    def advance(self, time: float) -> State:
        """Return the state at `time`.

        Raises SingularSystemError or SimulationError if implicit steps cannot be taken, either.
        """
        if isinstance(self._stepper, ImplicitStepper):
            self._look_for_regular_poses()
            return self._stepper.advance(time)
        self._cumbersome *= _FORGOTTEN
        try:
            if self._cumbersome <= _MOST_CUMBERSOME:
                return self._stepper.advance(time)
            self._switch(self._stepper.state, "singular poses follow on each other")
        except (SingularSystemError, SimulationError) as error:
            self._switch(self._stepper.state, cause_of(error))
        return self._stepper.advance(time)

    def last_events(self, time: float) -> list[Event]:
        """Return what is told at the end of a run."""
        return self._stepper.last_events(time)

    def _explicit(self) -> Stepper:
        def note(event: Event) -> None:
            self._cumbersome += event.kind in _CUMBERSOME and LONG_STEP not in event.message
            self._note(event)

        return self._make_explicit(self._dynamics, note)

    def _look_for_regular_poses(self) -> None:
        """Take explicit steps again where poses have been regular for long."""
        self._n_steps += 1
        looks, early = divmod(self._n_steps, _CHECKED)
        if early or (self._n_regular == 0 and looks & (looks - 1)):  # a look costs many steps
            return
        regular = regular_near(self._dynamics, self._stepper.state, self._step)
        self._n_regular = 0 if regular is None else self._n_regular + 1
        if regular is None or self._n_regular < _MOST_CHECKS << self._n_switches:
            return
        dynamics, state = regular
        for event in self._stepper.last_events(state.time):
            self._note(event)
        message = "rk4 with projection: poses have been regular for long"
        self._note(Event(state.time, "explicit steps", message))
        self._cumbersome, self._stepper = 0.0, self._explicit()
        assert self._first is not None
        self._stepper.take_over(self._first, state, dynamics)

    def _switch(self, state: State, why: str) -> None:
        """Take implicit steps from a state on."""
        self._stepper = self._make_implicit(self._note)
        self._n_steps, self._n_regular, self._n_switches = 0, 0, self._n_switches + 1
        self._stepper.start(state)
        message = f"generalized-alpha, joints of {self._stepper.compliance:.1e} m/N: {why}"
        self._note(Event(state.time, "implicit steps", message))


def is_singular(dynamics: ForwardDynamics, state: State, step: float) -> bool:
    """Tell whether the rows in use do not keep the others a little further on the way."""
    if len(dynamics.redundant_rows) == 0:
        return False
    speed, longest = largest(state.velocity), _FARTHEST * step
    try:
        if speed * longest > _AHEAD:
            ahead = moved_on(state, _AHEAD / speed)
        else:
            acceleration = dynamics.evaluate(state).acceleration()
            if largest(acceleration) * longest**2 < 2.0 * _AHEAD:
                return False
            ahead = carried(state, acceleration, (2.0 * _AHEAD / largest(acceleration)) ** 0.5)
        projected(dynamics.evaluate, ahead).evaluation.acceleration()
    except SingularSystemError:
        return True
    return dynamics.evaluator.dropped_residual() > WORST_RESIDUAL


def regular_near(
    dynamics: ForwardDynamics, state: State, step: float
) -> tuple[ForwardDynamics, State] | None:
    """Return the nearest state that closes the joints, and dynamics there.

    None where explicit steps would be unstable, or the pose is singular or nearly so.
    """
    if fastest_spring(dynamics.system, state) * step > _STIFF:
        return None
    try:
        here = analyzed_at(dynamics, closed_by_all_rows(dynamics, state))
        closed = projected(here.evaluate, state)
        closed.evaluation.acceleration()
        is_far = smallest_pivot(closed.evaluation).sine > _REGULAR
        return (
            (here, closed.state) if is_far and not is_singular(here, closed.state, step) else None
        )
    except SparsebodyError:
        return None
