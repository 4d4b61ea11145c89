"""Controls: wrenches that act besides the forces of a model, by Python or by compiled code.

A compiled control is a C function, which explicit steps call without Python::

    int control(double time, ptrdiff_t n_bodies, const double *position, const double *orientation,
                const double *velocity, const double *coordinate, double *wrench, void *data);

It fills `wrench` (n_bodies, 6), zero before, about the centers of mass in body axes, moment first
[N m, N], at positions (n_bodies, 3), unit quaternions (n_bodies, 4), velocities (n_bodies, 6) in
body axes, and tracked coordinates. Anything but 0 ends the motion. It is given as a ctypes function,
as a Numba cfunc, or as a scipy.LowLevelCallable, which takes functions of cffi and Cython, too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.equations.system_motion import checked_vectors
from sparsebody.errors import SimulationError, SimulationOptionError
from sparsebody.model.system import State, System

Control = Callable[[float, State], FloatArray]
"""control(time, state): wrenches (n_bodies, 6) about the centers of mass in body axes."""

_POINTERS = [ctypes.c_void_p] * 6
_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, ctypes.c_ssize_t, *_POINTERS)
_NUMBER = ctypes.sizeof(ctypes.c_double)


class CompiledControl:
    """A control that is a C function at an address, with the pointer that it is given."""

    def __init__(self, address: int, data: int, owner: object) -> None:
        self.address, self.data, self._owner = address, data, owner
        self._function = _SIGNATURE(address)

    def __call__(self, time: float, state: State) -> FloatArray:
        """Return the wrenches (n_bodies, 6) at a state."""
        arrays = state.position, state.orientation, state.velocity, state.coordinate
        plain = [np.ascontiguousarray(array) for array in arrays]
        wrench = np.zeros(state.velocity.shape)
        pointers = [array.ctypes.data for array in (*plain, wrench)]
        self.check(self._function(time, len(wrench), *pointers, self.data), time)
        return wrench

    def check(self, status: int, time: float) -> None:
        """Raise SimulationError for a status that is not 0."""
        if status != 0:
            raise SimulationError(f"the control returned {status} at t = {time:.6g} s, not 0")


class PythonControl:
    """The C function of a control in Python; errors are kept, for C knows none."""

    data = 0

    def __init__(self, control: Control, system: System) -> None:
        self._control, self._system = control, system
        self._shape = system.n_bodies, 6
        self.error: BaseException | None = None
        self._function = _SIGNATURE(self._fill)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value

    def _fill(self, time: float, n: int, *pointers: int) -> int:
        *arrays, wrench, _ = pointers
        try:
            position, orientation, velocity = (
                _copied(pointer, width * n).reshape(n, width)
                for pointer, width in zip(arrays, (3, 4, 6), strict=False)
            )
            coordinate = _copied(arrays[3], len(self._system.coordinates.joint))
            force = self._control(time, State(position, orientation, velocity, coordinate, time))
            if not (isinstance(force, np.ndarray) and force.shape == self._shape):
                force = checked_vectors(self._system, force, "body_force")
            ctypes.memmove(wrench, np.ascontiguousarray(force, float).tobytes(), 6 * n * _NUMBER)
        except BaseException as error:
            self.error = error
            return 1
        return 0

    def check(self, status: int, time: float) -> None:
        """Raise what the control raised."""
        error, self.error = self.error, None
        if error is not None:
            raise error


def _copied(pointer: int | None, n: int) -> FloatArray:
    """Return n numbers from memory."""
    if n == 0:
        return np.zeros(0)
    return np.frombuffer(bytearray(ctypes.string_at(pointer, n * _NUMBER)))  # type: ignore[arg-type]


def control_of(given: Any) -> Control | None:
    """Return what the user gives as a control, ready to be called.

    Raises
    ------
    SimulationOptionError
        If it is no function.
    """
    if isinstance(given, ctypes._CFuncPtr):
        return CompiledControl(ctypes.cast(given, ctypes.c_void_p).value or 0, 0, given)
    if isinstance(getattr(given, "address", None), int):  # a Numba cfunc
        return CompiledControl(given.address, 0, given)
    if type(given).__name__ == "LowLevelCallable":
        return CompiledControl(*_in_capsule(given[0]), given)
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
