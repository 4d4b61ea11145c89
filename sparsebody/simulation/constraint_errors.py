"""Position and velocity errors of the constraint rows, and how small they have to be."""

from __future__ import annotations

import math
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.assembly.constraint import constraint_rows
from sparsebody.equations.initial_state import mechanism_size
from sparsebody.equations.system_motion import NativeTerms, joint_table
from sparsebody.errors import AssemblyError
from sparsebody.kinematics.joint_motion import coordinate_motion, joint_motion
from sparsebody.model.system import State, System, with_joints

_CLOSURE_TOLERANCE = 2e-15  # of rotations [rad], and of translations in sizes of the mechanism
_ROUNDING_TOLERANCE = np.finfo(float).eps  # of translations, relative to the farthest position

_JOINT_ERRORS: WeakKeyDictionary[System, simulation.JointErrors] = WeakKeyDictionary()
_DRIVES: WeakKeyDictionary[System, NativeTerms] = WeakKeyDictionary()
_OPEN_START_TOLERANCE = 0.02  # [rad, sizes of the mechanism] that the first step closes unasked

_CREEP = 1e-9  # of the mechanism's size in a step: hardly a motion


def constraint_errors(system: System, state: State) -> tuple[FloatArray, FloatArray]:
    """Return the position and the velocity errors (n_rows,) of all constraint rows."""
    poses = state.position, state.orientation, state.velocity
    errors = joint_errors(system)(poses)
    tracked = system.coordinates
    if len(tracked.prescribed):
        if system not in _DRIVES:
            _DRIVES[system] = NativeTerms(with_joints(system, np.unique(tracked.joint)))
        drives = _DRIVES[system]
        drives.fill_known(state.time, drives.known)
        drives.native.fill_errors(poses, tracked.row[tracked.prescribed], *errors)
    return errors


def joint_errors(system: System) -> simulation.JointErrors:
    """Return the native function from positions, orientations and velocities to both errors.

    It holds views of the system's arrays. Rows of prescribed coordinates are not filled.
    """
    if system not in _JOINT_ERRORS:
        _JOINT_ERRORS[system] = simulation.JointErrors(joint_table(system))
    return _JOINT_ERRORS[system]


def row_sizes(system: System, state: State) -> FloatArray:
    """Return (n_rows,) errors that are as large as the mechanism: 1 rad, its typical length."""
    motion = joint_motion(system, state)
    rows = constraint_rows(system, state, motion, coordinate_motion(system, state, motion))
    moment, force = rows.subspace[:, :3], rows.subspace[:, 3:]
    return np.asarray(
        np.linalg.norm(moment, axis=1) + mechanism_size(system) * np.linalg.norm(force, axis=1)
    )


def check_is_closed(system: System, state: State) -> None:
    """Raise AssemblyError if a joint is open in the state from which a motion is to begin."""
    error = np.abs(constraint_errors(system, state)[0])
    sizes = row_sizes(system, state)
    if np.any(error > _OPEN_START_TOLERANCE * sizes):
        worst = int(np.argmax(error / sizes))
        raise AssemblyError(
            f"joint {system.joint_names[system.row_joint[worst]]!r} is open by {error[worst]:.3g} "
            "(m or rad) in the given state; close it with consistent_state(system, state)"
        )


class Scales(NamedTuple):
    """What is small in a mechanism."""

    tolerance: FloatArray  # (n_rows,) position errors of joints that are closed [rad, m]; and
    # velocity errors for velocities of 1 rad/s or m/s
    creep: float = 0.0  # velocity that is hardly one [rad/s, m/s]

    def relative(self, correction: float, speed: float) -> float:
        """Return a correction of velocities relative to the largest of them."""
        return correction / max(speed, self.creep) if correction > 0.0 else 0.0


def scales(system: System, state: State, step: float = math.inf) -> Scales:
    """Return what is small in a mechanism, for steps [s]."""
    farthest = _ROUNDING_TOLERANCE * largest(state.position)
    tolerance = _CLOSURE_TOLERANCE * row_sizes(system, state) + farthest
    return Scales(tolerance, _CREEP * mechanism_size(system) / step)


def largest(array: FloatArray) -> float:
    """Return the largest magnitude, zero for an empty array."""
    return simulation.largest(array.ravel())
