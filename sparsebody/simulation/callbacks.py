"""User functions that a simulation calls: control, events, progress; and requests to stop it.

A control returns wrenches that are added to the forces of a model. A compiled one is a C function,
which explicit steps call without Python::

    int control(double time, ptrdiff_t n_bodies, const double *position, const double *orientation,
                const double *velocity, const double *coordinate, double *wrench, void *data);

It fills `wrench` (n_bodies, 6), zero before, about the centers of mass in body axes, moment first
[N m, N], at positions (n_bodies, 3), unit quaternions (n_bodies, 4), velocities (n_bodies, 6) in
body axes, and tracked coordinates. Any return value but 0 ends the motion. Give a ctypes function,
a Numba cfunc, or a scipy.LowLevelCallable, which takes functions of cffi and Cython, too.

Events are zeros of functions of time and state, which can end or change a motion, with the
conventions of scipy.integrate.solve_ivp.
"""

import ctypes
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, Protocol

import numpy as np

from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.equations.system_motion import checked_vectors
from sparsebody.errors import (
    ControlError,
    SimulationError,
    SimulationOptionError,
    SingularSystemError,
)
from sparsebody.model.system import State, States, System
from sparsebody.progress import progress_bar
from sparsebody.simulation.integrators import interpolated

Control = Callable[[float, State], FloatArray]
"""control(time, state): wrenches (n_bodies, 6) about the centers of mass in body axes."""

CONTROL_WRENCH = "the control's wrench"  # its name in messages
_RETRIED = SimulationError, SingularSystemError  # errors whose steps are taken in another way

_FUNCTION: Any = ctypes._CFuncPtr  # type: ignore[attr-defined]
_POINTERS = [ctypes.c_void_p] * 6
CONTROL_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, ctypes.c_ssize_t, *_POINTERS)


class CompiledControl:
    """A control that is a C function at an address, with the pointer that it is given."""

    def __init__(self, address: int, data: int, owner: object) -> None:
        self.address, self.data, self._owner = address, data, owner
        self._function = CONTROL_FUNCTION(address)

    def __call__(self, time: float, state: State) -> FloatArray:
        """Return the wrenches (n_bodies, 6) at a state."""
        arrays = state.position, state.orientation, state.velocity, state.coordinate
        filled = *map(np.ascontiguousarray, arrays), np.zeros(state.velocity.shape)
        pointers = [array.ctypes.data for array in filled]
        if self._function(time, len(state.position), *pointers, self.data) != 0:
            raise self.error(time)
        return filled[-1]

    def error(self, time: float) -> ControlError:
        """Return the error of a call that failed."""
        when = f"in the step to t = {time:.6g} s"
        return ControlError(f"the control's C function did not return 0 {when}")


class ControlArguments:
    """A control as a C function that fills `wrench` (n_bodies, 6), and memory of its arguments.

    Errors of a Python control are stored, as C has no exceptions, and raised after the call.
    """

    def __init__(self, control: Control, system: System, wrench: FloatArray) -> None:
        self._control, self._system, self._wrench = control, system, wrench
        n_coordinates = len(system.coordinates.joint)
        self._error: BaseException | None = None
        if isinstance(control, CompiledControl):
            function = control.address, control.data
        else:
            to_wrenches = partial(checked_vectors, system, name=CONTROL_WRENCH)
            state_parts = State, State.__match_args__, n_coordinates, None
            self._items = [control, to_wrenches, self._keep_error, *state_parts]
            function = simulation.python_control(self._items)
        self.native = *function, np.zeros(n_coordinates), wrench

    def _keep_error(self, error: BaseException) -> None:
        self._error = error

    def raise_error(self) -> None:
        """Raise the Python error of the newest call, if there was one."""
        error, self._error = self._error, None
        if isinstance(error, _RETRIED):
            raise _final(error) from error
        if error is not None:
            raise error

    def raise_failure(self, time: float) -> None:
        """Raise the error that ended the newest call."""
        self.raise_error()
        checked_vectors(self._system, self._wrench, CONTROL_WRENCH)
        if isinstance(self._control, CompiledControl):
            raise self._control.error(time)


def control_wrench(control: Control, system: System, state: State) -> FloatArray:
    """Return the wrenches (n_bodies, 6) of a control, at a copy of a state."""
    try:
        wrench = control(state.time, States.of(state).at(0))
    except _RETRIED as error:
        raise _final(error) from error
    return checked_vectors(system, wrench, CONTROL_WRENCH)


def _final(error: Exception) -> ControlError:
    """Return an error of a control that ends the motion in place of one that does not."""
    return ControlError(f"the control failed: {error}")


def control_of(function: Any) -> Control | None:
    """Return a user's control as a Python function or a CompiledControl.

    Raises SimulationOptionError if it is no function.
    """
    if isinstance(function, _FUNCTION):
        return CompiledControl(ctypes.cast(function, ctypes.c_void_p).value or 0, 0, function)
    if isinstance(getattr(function, "address", None), int):  # a Numba cfunc
        return CompiledControl(function.address, 0, function)
    if type(function).__name__ == "LowLevelCallable":
        return CompiledControl(*_in_capsule(tuple.__getitem__(function, 0)), function)
    if function is not None and not callable(function):
        raise SimulationOptionError(
            f"control is {function!r}; give a function of time and state, or a C function"
        )
    return function


def _in_capsule(capsule: object) -> tuple[int, int]:
    """Return the pointers to the function and to its data of a scipy.LowLevelCallable."""
    api = ctypes.pythonapi
    name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    context = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCapsule_GetContext", api))
    return pointer(capsule, name(capsule)) or 0, context(capsule) or 0


# ---- events -------------------------------------------------------------------------------------

EventFunction = Callable[[float, State], float]

_TIME_TOLERANCE = 4.0 * np.finfo(float).eps  # of times, relative


class Motion(Protocol):
    """The part of a stepper that interpolates between its states."""

    def acceleration_at(self, state: State) -> FloatArray | None: ...  # noqa: D102
    def closed(self, state: State) -> State: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class UserEvent:
    """A function of time and state, and what its zeros do."""

    function: EventFunction
    name: str
    is_terminal: bool  # zeros end the motion
    direction: float  # of the changes of sign that count; 0 for both
    change: Callable[[float, State], State] | None  # the state that the motion goes on from


def user_events(events: Any) -> list[UserEvent]:
    """Return one or several functions with their attributes.

    Raises SimulationOptionError if one of them is no function.
    """
    functions = [] if events is None else events if isinstance(events, Sequence) else [events]
    for function in functions:
        if not callable(function):
            raise SimulationOptionError(
                f"an event is {function!r}; give a function of time and state, or several"
            )
    return [
        UserEvent(
            function,
            str(getattr(function, "__name__", type(function).__name__)),
            bool(getattr(function, "terminal", False)),
            getattr(function, "direction", 0),
            getattr(function, "change", None),
        )
        for function in functions
    ]


class EventFinder:
    """Finds the zeros of functions between the states of a motion, in their order.

    A zero is a change of sign; so zeros at the first state, or at one that an event has changed,
    do not count.
    """

    def __init__(self, events: list[UserEvent]) -> None:
        self.events, self._values = events, [0.0] * len(events)
        self.changes_states = any(event.change is not None for event in events)

    def begin(self, state: State, changed_by: UserEvent | None = None) -> None:
        """Begin at a state, maybe one changed by an event, whose function is zero there."""
        values = zip(self.events, self._at(state), strict=True)
        self._values = [0.0 if event is changed_by else value for event, value in values]

    def n_before(self, states: States) -> int:
        """Return how many states come before the first event, or error of a function.

        The error comes again when `find` calls the function at that state.
        """
        values, copied = self._values, [array.copy() for array in states[:4]]
        for k, state in enumerate(map(State, *copied, states.time.tolist())):
            try:
                before, values = values, self._at(state)
            except Exception:
                return k
            if self._crossed(before, values):
                return k
        return len(states.time)

    def find(self, motion: Motion, before: State, after: State) -> list[tuple[UserEvent, State]]:
        """Return the events between two states, with the states at their zeros."""
        old, self._values = self._values, self._at(after)
        crossed = self._crossed(old, self._values)
        if not crossed:
            return []
        accelerations = motion.acceleration_at(before), motion.acceleration_at(after)
        ends = {before.time: before, after.time: after}

        from scipy.optimize import brentq  # takes longer to import than a short simulation

        def zero_of(event: UserEvent) -> State:
            def value(time: float) -> float:
                # the ends themselves: interpolated ones may have another sign, by rounding
                at = ends.get(time) or interpolated(before, after, accelerations, time)
                return event.function(time, at)

            time = brentq(
                value, before.time, after.time, xtol=_TIME_TOLERANCE, rtol=_TIME_TOLERANCE
            )
            return motion.closed(interpolated(before, after, accelerations, float(time)))

        zeros = [(event, zero_of(event)) for event in crossed]
        return sorted(zeros, key=lambda zero: zero[1].time)

    def _crossed(self, before: list[float], after: list[float]) -> list[UserEvent]:
        return [
            event
            for event, a, b in zip(self.events, before, after, strict=True)
            if (a < 0.0 <= b and event.direction >= 0) or (a > 0.0 >= b and event.direction <= 0)
        ]

    def _at(self, state: State) -> list[float]:
        return [float(event.function(state.time, state)) for event in self.events]


# ---- progress, and requests to stop -------------------------------------------------------------

Report = Callable[[float, float], None]
"""report(time, end): simulated time reached, and where it ends [s]."""

_PERIOD = 0.1  # [s] of wall time between two reports


@contextmanager
def progress_report(progress: bool | Report, end: float) -> Iterator[Report]:
    """Yield a function to call after every step; it passes on about ten calls a second."""
    if progress is False:
        yield lambda now, end: None
        return
    last = -float("inf")

    def throttled(now: float, end: float) -> None:
        nonlocal last
        if time.monotonic() - last >= _PERIOD or now >= end:
            last = time.monotonic()
            report(now, end)

    if progress is not True:
        report = progress
        yield throttled
        return
    with progress_bar(end, "s") as moved:

        def report(now: float, end: float) -> None:
            moved(now, "")

        yield throttled


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Whether a signal has asked to stop, and which."""

    def __init__(self) -> None:
        self.signal: str | None = None

    def __bool__(self) -> bool:
        return self.signal is not None

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:  # the second time: at once
            raise KeyboardInterrupt
        self.signal = signal.Signals(number).name


@contextmanager
def stop_request() -> Iterator[StopRequest]:
    """Turn SIGINT and SIGTERM into a request; outside the main thread, do nothing."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    handlers = {number: known for number, known in handlers.items() if known is not None}
    for number in handlers:  # others are not Python's, which could not put them back
        signal.signal(number, request._note)
    try:
        yield request
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
