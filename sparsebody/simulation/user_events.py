"""Events of a user: zeros of functions of time and state, which can end or change a motion.

The conventions are those of scipy.integrate.solve_ivp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.optimize import brentq

from sparsebody.arrays import FloatArray
from sparsebody.errors import SimulationOptionError
from sparsebody.model.system import State
from sparsebody.simulation.dense_output import interpolated

EventFunction = Callable[[float, State], float]

_ROUNDING = 4.0 * np.finfo(float).eps  # of times, relative


class Motion(Protocol):
    """What a stepper tells of states on its way."""

    def acceleration_at(self, state: State) -> FloatArray:
        """Return the accelerations (n_bodies, 6) at a state."""

    def closed(self, state: State) -> State:
        """Return the nearest state that closes the joints."""


@dataclass(frozen=True, eq=False)
class Crossing:
    """A zero of an event's function."""

    function: EventFunction
    state: State

    @property
    def name(self) -> str:
        """The function's name."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def is_terminal(self) -> bool:
        """Whether it ends the motion."""
        return bool(getattr(self.function, "terminal", False))

    @property
    def change(self) -> Callable[[float, State], State] | None:
        """From its time and state to the state that the motion goes on from."""
        return getattr(self.function, "change", None)


class EventFinder:
    """Finds the zeros of functions between the states of a motion, in their order.

    Zeros at the very first state, or at one that an event has made, are none: functions have to
    change their signs.
    """

    def __init__(self, functions: tuple[EventFunction, ...]) -> None:
        self._functions = functions
        self._values = [0.0] * len(functions)

    def begin(self, state: State) -> None:
        """Begin at a state."""
        self._values = self._at(state)

    def begin_at(self, crossing: Crossing, state: State) -> None:
        """Begin at the state that an event has made, at which its function is zero."""
        values = zip(self._functions, self._at(state), strict=True)
        self._values = [0.0 if f is crossing.function else value for f, value in values]

    def find(self, motion: Motion, before: State, after: State) -> list[Crossing]:
        """Return what happens between the state before and one after it."""
        old, self._values = self._values, self._at(after)
        functions = list(self._changed(old))
        if not functions:
            return []
        accelerations = motion.acceleration_at(before), motion.acceleration_at(after)

        def crossing(function: EventFunction) -> Crossing:
            def value(time: float) -> float:
                return function(time, interpolated(before, after, accelerations, time))

            ends = before.time, after.time
            time = float(brentq(value, *ends, xtol=_ROUNDING, rtol=_ROUNDING))
            return Crossing(
                function, motion.closed(interpolated(before, after, accelerations, time))
            )

        return sorted(map(crossing, functions), key=lambda zero: zero.state.time)

    def _at(self, state: State) -> list[float]:
        return [float(function(state.time, state)) for function in self._functions]

    def _changed(self, old: list[float]) -> Iterator[EventFunction]:
        """Yield the functions whose values changed their signs, in the directions asked for."""
        for function, a, b in zip(self._functions, old, self._values, strict=True):
            direction = getattr(function, "direction", 0)
            if (a < 0.0 <= b and direction >= 0) or (a > 0.0 >= b and direction <= 0):
                yield function


def event_functions(events: Any) -> tuple[EventFunction, ...]:
    """Return the checked functions of one or several events.

    Raises SimulationOptionError if one of them is no function.
    """
    if events is None:
        return ()
    functions = tuple(events) if isinstance(events, Sequence) else (events,)
    for function in functions:
        if not callable(function):
            raise SimulationOptionError(
                f"an event is {function!r}; give a function of time and state, or several"
            )
    return functions
