"""Steps of implicit methods, in halves where Newton's method cannot take them whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sparsebody.arrays import FloatArray
from sparsebody.errors import SimulationError
from sparsebody.model.system import State
from sparsebody.simulation.records.trajectory import Event, cause_of

_SAME_STEP = 1e-9  # relative difference of steps that is rounding of times
_CALM = 8  # steps without trouble, after which parts become longer


class Newest(Protocol):
    """The newest values of a method."""

    @property
    def state(self) -> State: ...  # noqa: D102
    @property
    def acceleration(self) -> FloatArray: ...  # noqa: D102


class HalvedSteps:
    """Halves steps of `nominal` [s], at most so many times, and lengthens them after calm ones."""

    def __init__(self, nominal: float, most_halvings: int, note: Callable[[Event], None]) -> None:
        self.nominal, self._most_halvings, self._note = nominal, most_halvings, note
        self._halvings, self._n_calm = 0, 0  # of steps now; steps since that changed

    @property
    def now(self) -> Newest:
        """The newest values of the method."""
        raise NotImplementedError

    @property
    def state(self) -> State:
        """The state that the next step starts from."""
        return self.now.state

    @property
    def acceleration(self) -> FloatArray:
        """Its accelerations (n_bodies, 6)."""
        return self.now.acceleration

    def advance(self, time: float) -> State:
        """Return the state at `time`.

        Raises SimulationError if Newton's method does not converge however short the step is, or
        joints are torn.
        """
        before = self._halvings
        self._advance(time, 0)
        self._check_closed()
        self._n_calm = self._n_calm + 1 if self._halvings == before else 0
        if self._n_calm == _CALM:
            self._halvings, self._n_calm = max(0, self._halvings - 1), 0
        return self.state

    def _advance(self, time: float, halvings: int) -> None:
        """Reach `time`, in halves where that is known or turns out to be too far."""
        if halvings >= self._halvings:
            try:
                h, nominal = time - self.state.time, self.nominal / 2**halvings
                h = nominal if abs(h - nominal) < _SAME_STEP * nominal else h
                self._step(time, h, halvings)
                return
            except SimulationError as error:
                if halvings == self._most_halvings:
                    raise SimulationError(self._explained(error)) from error
                self._halvings = halvings + 1
                parts = f"{2**self._halvings} parts: {cause_of(error)}"
                self._note(Event(time, "step in parts", parts))
        self._advance(0.5 * (self.state.time + time), halvings + 1)
        self._advance(time, halvings + 1)

    def _step(self, time: float, h: float, halvings: int) -> None:
        """Take one step of `h` [s] to `time`."""
        raise NotImplementedError

    def _check_closed(self) -> None:
        """Raise SimulationError where joints are torn."""

    def _explained(self, error: SimulationError) -> str:
        """Return an error with what may have caused it."""
        return str(error)
