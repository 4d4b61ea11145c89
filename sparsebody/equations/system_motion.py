"""Rows of joints whose T varies on both bodies, in one native call."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sparsebody._core import dynamics
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.body_forces import applied_forces, bias_forces
from sparsebody.assembly.constraint import ConstraintRows, constraint_rows, velocity_errors
from sparsebody.errors import ModelError, ShapeError
from sparsebody.kinematics.joint_motion import (
    CoordinateMotion,
    JointMotion,
    coordinate_motion,
    joint_motion,
    position_errors,
)
from sparsebody.model.system import State, System


class VaryingRows:
    """Rows of A and gamma of a system of joints whose T varies on both bodies."""

    def __init__(self, system: System) -> None:
        self.rows, self.gamma = np.zeros((system.n_rows, 2, 6)), np.zeros(system.n_rows)
        kinds = system.joint_kind, system.first_row
        self.native = dynamics.VaryingRows(system.joint_frames, *kinds, self.rows, self.gamma)

    def fill(self, state: State) -> None:
        """Fill `rows` and `gamma` at a state with contiguous arrays."""
        self.native.fill(state.position, state.orientation, state.velocity)


class SystemMotion:
    """A system at a state; joint motion, constraint rows and forces are computed when needed.

    Parameters
    ----------
    system : System
        The mechanism.
    state : State
        Poses and velocities.
    body_force : (n_bodies, 6) array, optional
        Additional wrenches about the centers of mass in body axes [N m, N].
    threads : int
        That joint motion and constraint rows may use.
    """

    def __init__(
        self,
        system: System,
        state: State,
        body_force: FloatArray | None = None,
        threads: int = 1,
    ) -> None:
        self.system, self.state, self.body_force = system, state, body_force
        self._threads = threads

    def at(self, state: State) -> SystemMotion:
        """Return the same system at another state."""
        return SystemMotion(self.system, state, self.body_force, self._threads)

    @cached_property
    def joints(self) -> JointMotion:
        """Relative motion at all joints."""
        return joint_motion(self.system, self.state, self._threads)

    @cached_property
    def coordinates(self) -> CoordinateMotion:
        """Of the tracked coordinates."""
        return coordinate_motion(self.system, self.state, self.joints)

    @cached_property
    def constraint(self) -> ConstraintRows:
        """All constraint rows, on the bodies."""
        return constraint_rows(
            self.system, self.state, self.joints, self.coordinates, self._threads
        )

    @cached_property
    def position_error(self) -> FloatArray:
        """(n_rows,) [rad, m]."""
        return position_errors(self.system, self.state, self.joints, self.coordinates)

    @cached_property
    def velocity_error(self) -> FloatArray:
        """(n_rows,) A v less what the drives prescribe [rad/s, m/s]."""
        return velocity_errors(self.system, self.state, self.joints, self.coordinates)

    def stabilization(self, T: float) -> FloatArray:
        """Return Baumgarte's terms (n_rows,), which are added to gamma. Featherstone, (8.22)."""
        return -2.0 / T * self.velocity_error - self.position_error / T**2

    @cached_property
    def applied(self) -> FloatArray:
        """(n_bodies, 6) all given forces, gravity, springs and loads, in body coordinates."""
        force = applied_forces(self.system, self.state, self.joints, self.coordinates)
        return force if self.body_force is None else force + self.body_force

    @cached_property
    def bias(self) -> FloatArray:
        """(n_bodies, 6) v x* I v."""
        return bias_forces(self.system, self.state.velocity)


def checked_vectors(system: System, vectors: FloatArray, name: str) -> FloatArray:
    """Return (n_bodies, 6) numbers; raise ShapeError or ModelError that names a body otherwise."""
    checked = np.ascontiguousarray(vectors, dtype=float)
    if checked.shape != (system.n_bodies, 6):
        raise ShapeError(f"{name} is {checked.shape}, not {(system.n_bodies, 6)}")
    finite = np.isfinite(checked).all(axis=1)
    if not finite.all():
        body = system.body_names[int(np.argmin(finite))]
        raise ModelError(f"{name} of {body!r} is not finite; give six numbers")
    return checked


def padded(vectors: FloatArray) -> FloatArray:
    """Return the vectors of bodies (n, 6) with zeros for the world, which -1 means."""
    return np.concatenate([vectors, np.zeros((1, 6))])


def joint_ends(system: System, joint: IntArray) -> IntArray:
    """Return predecessor and successor (m, 2) of joints (m,), -1 for the world."""
    return np.stack([system.predecessor[joint], system.successor[joint]], axis=1)
