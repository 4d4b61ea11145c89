"""Controls: wrenches that act besides the forces of a model, by Python or by compiled code.

A compiled control is a C function, which explicit steps call without Python::

    int control(double time, ptrdiff_t n_bodies, const double *position, const double *orientation,
                const double *velocity, const double *coordinate, double *wrench, void *data);

It fills `wrench` (n_bodies, 6), zero before, about the centers of mass in body axes, moment first
[N m, N], at positions (n_bodies, 3), unit quaternions (n_bodies, 4), velocities (n_bodies, 6) in
body axes, and tracked coordinates. Anything but 0 ends the motion. Give a ctypes function, a Numba
cfunc, or a scipy.LowLevelCallable, which takes functions of cffi and Cython, too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.assembler import is_plain
from sparsebody.equations.system_motion import checked_vectors
from sparsebody.errors import SimulationError, SimulationOptionError
from sparsebody.model.system import State, System

Control = Callable[[float, State], FloatArray]
"""control(time, state): wrenches (n_bodies, 6) about the centers of mass in body axes."""

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
        self.check(self._function(time, len(state.position), *pointers, self.data), time)
        return filled[-1]

    def check(self, status: int, time: float) -> None:
        """Raise SimulationError for a status that is not 0."""
        if status != 0:
            raise SimulationError(f"the control returned {status} at t = {time:.6g} s, not 0")


class ControlArguments:
    """The C function of a control, Python or not, and the memory of what it is called with.

    Errors of Python are kept, for C knows none.
    """

    def __init__(self, control: Control, system: System) -> None:
        self._control, self._system, n = control, system, system.n_bodies
        shapes = (n, 3), (n, 4), (n, 6), (len(system.coordinates.joint),), (n, 6)
        position, orientation, velocity, coordinate, wrench = map(np.zeros, shapes)
        self.memory = position, orientation, velocity, coordinate, wrench
        self._error: BaseException | None = None
        if isinstance(control, CompiledControl):
            address, data = control.address, control.data
        else:
            self._function = CONTROL_FUNCTION(self._fill)
            address, data = _address(self._function), 0
        self.function = address, data

    def _fill(self, time: float, *_: object) -> int:
        position, orientation, velocity, coordinate, wrench = self.memory
        try:
            state = State(
                position.copy(), orientation.copy(), velocity.copy(), coordinate.copy(), time
            )
            force = self._control(time, state)
            if not is_plain(force, wrench.shape):
                force = checked_vectors(self._system, force, "body_force")
            wrench[:] = force
        except BaseException as error:
            self._error = error
            return 1
        return 0

    def raise_failure(self, time: float) -> None:
        """Raise what ended the newest call."""
        error, self._error = self._error, None
        if error is not None:
            raise error
        if isinstance(self._control, CompiledControl):
            self._control.check(1, time)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def control_of(given: Any) -> Control | None:
    """Return what the user gives as a control, ready to be called.

    Raises SimulationOptionError if it is no function.
    """
    if isinstance(given, _FUNCTION):
        return CompiledControl(_address(given), 0, given)
    if isinstance(getattr(given, "address", None), int):  # a Numba cfunc
        return CompiledControl(given.address, 0, given)
    if type(given).__name__ == "LowLevelCallable":
        return CompiledControl(*_in_capsule(tuple.__getitem__(given, 0)), given)
    if given is not None and not callable(given):
        raise SimulationOptionError(
            f"control is {given!r}; give a function of time and state, or a C function"
        )
    return given


def _in_capsule(capsule: object) -> tuple[int, int]:
    """Return the pointers to the function and to its data of a scipy.LowLevelCallable."""
    api = ctypes.pythonapi
    name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    context = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCapsule_GetContext", api))
    return pointer(capsule, name(capsule)) or 0, context(capsule) or 0
