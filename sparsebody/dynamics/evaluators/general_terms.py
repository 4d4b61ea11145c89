"""Terms of (8.64) outside the compiled assembly: loads, prescribed motions and rows with varying T.

Without springs, loads and tracked coordinates, rows with varying T are one native call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebody._core import dynamics
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.body_forces import model_loads
from sparsebody.assembly.constraint import constraint_rows
from sparsebody.equations.system_motion import VaryingRows
from sparsebody.errors import ModelError, ShapeError
from sparsebody.kinematics.joint_motion import coordinate_motion, joint_motion
from sparsebody.model.system import State, System, check_state, with_joints


class Terms(NamedTuple):
    """Values at a state, in the user's numbering."""

    load: FloatArray  # (n_bodies, 6) in body coordinates, or (0, 6) for none
    rows: FloatArray  # (n_general_rows, 2, 6) of A
    gamma: FloatArray  # (n_general_rows,) of A a = gamma


NO_TERMS = Terms(np.zeros((0, 6)), np.zeros((0, 2, 6)), np.zeros(0))


class GeneralTerms:
    """All loads, and the rows of joints with varying T or with tracked coordinates.

    Parameters
    ----------
    system : System
        The mechanism.
    but : (n_joints,) bool array, optional
        Joints without coordinates that the compiled assembly takes care of.
    """

    def __init__(self, system: System, but: BoolArray | None = None) -> None:
        self._body_names, self._first_row = system.body_names, system.first_row
        self.is_general = general_joints(system)
        if but is not None:
            self.is_general &= ~but
        self._system = system = with_joints(system, np.flatnonzero(self.is_general))
        loads = system.external_forces.body, system.joint_forces.item, system.point_forces.first
        self._has_loads = any(len(bodies) for bodies in loads)
        self.is_empty = not (system.n_joints or self._has_loads)
        has_coordinates = len(system.coordinates.joint) > 0
        self._varying: VaryingRows | None = None
        if system.n_joints and not (has_coordinates or self._has_loads):
            self._varying = VaryingRows(system)

    @property
    def varying_rows(self) -> dynamics.VaryingRows | None:
        """The native function that fills all terms, where they are rows alone."""
        return None if self._varying is None else self._varying.native

    def sources(self, rows: IntArray) -> IntArray:
        """Return the index in Terms.rows of rows of the system; any number for constant rows."""
        general = np.flatnonzero(np.repeat(self.is_general, np.diff(self._first_row)))
        return np.searchsorted(general, rows).clip(max=max(len(general) - 1, 0))

    def at(self, state: State, body_force: FloatArray | None) -> Terms:
        """Return the terms at a state with contiguous arrays of the right shapes."""
        load = NO_TERMS.load if body_force is None else self._checked(body_force)
        if self.is_empty:
            return NO_TERMS._replace(load=load)
        if self._varying is not None:
            self._varying.fill(state)
            return Terms(load, self._varying.rows, self._varying.gamma)
        system = self._system
        if len(system.coordinates.joint):
            check_state(system, state)  # compiled code does not see the coordinates
        motion = joint_motion(system, state)
        coordinates = coordinate_motion(system, state, motion)
        if self._has_loads:
            applied = model_loads(system, state, motion, coordinates)
            load = applied if body_force is None else applied + load
        if not system.n_joints:
            return NO_TERMS._replace(load=load)
        constraint = constraint_rows(system, state, motion, coordinates)
        return Terms(load, constraint.rows, constraint.acceleration)

    def _checked(self, body_force: FloatArray) -> FloatArray:
        names = self._body_names
        if np.shape(body_force) != (len(names), 6):
            raise ShapeError(f"body_force is {np.shape(body_force)}, not {(len(names), 6)}")
        finite = np.isfinite(body_force).all(axis=1)
        if not finite.all():
            raise ModelError(
                f"body_force of {names[int(np.argmin(finite))]!r} is not finite; give six numbers"
            )
        return np.ascontiguousarray(body_force, dtype=float)


def general_joints(system: System) -> BoolArray:
    """Return (n_joints,) whether a joint's rows are not just constant ones on the successor."""
    is_general = np.zeros(system.n_joints, dtype=bool)
    is_general[system.varying_joints] = True
    is_general[system.coordinates.joint] = True
    return is_general
