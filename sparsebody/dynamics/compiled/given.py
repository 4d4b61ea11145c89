"""What the general functions compute for an evaluation: varying rows, drives, springs, loads."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.body_forces import model_loads
from sparsebody.assembly.constraint import constraint_rows
from sparsebody.dynamics.compiled.varying import (
    VaryingRows,
    fill_varying_rows,
    varying_arrays,
)
from sparsebody.errors import ModelError, ShapeError
from sparsebody.kinematics.coordinates import coordinate_motion
from sparsebody.kinematics.motion import joint_motion
from sparsebody.model.selection import with_joints
from sparsebody.model.system import State, System, check_state

NO_ROWS, NO_VALUES, NO_LOADS = np.zeros((0, 2, 6)), np.zeros(0), np.zeros((0, 6))


@dataclass(frozen=True, eq=False)
class Given:
    """Rows and loads that compiled evaluations are given, in the user's numbering."""

    rows: FloatArray  # (n_given_rows, 2, 6) of A
    acceleration: FloatArray  # (n_given_rows,) asked for
    load: FloatArray  # (n_bodies, 6) in body coordinates, or (0, 6) for none


NOTHING = Given(NO_ROWS, NO_VALUES, NO_LOADS)


class GivenParts:
    """The joints whose rows vary on both bodies, or that have coordinates in use; all loads.

    As long as there are no coordinates and no loads, their rows are filled by compiled code. Other
    code may take care of some joints without coordinates, (n_joints,).
    """

    def __init__(self, system: System, but: BoolArray | None = None) -> None:
        self._whole = system
        self.is_given = given_joints(system)
        if but is not None:
            self.is_given &= ~but
        self.system = with_joints(system, np.flatnonzero(self.is_given))
        self.has_loads = any(
            (
                len(system.external_forces.body),
                len(system.joint_forces.item),
                len(system.point_forces.first),
            )
        )
        self.is_nothing = not (self.system.n_joints or self.has_loads)
        self._varying: VaryingRows | None = None
        if self.system.n_joints and not len(system.coordinates.joint) and not self.has_loads:
            arrays = varying_arrays(self.system)
            self._varying = VaryingRows(**arrays)
            self._filled = Given(arrays["rows"], arrays["asked"], NO_LOADS)

    def sources(self, rows: IntArray) -> IntArray:
        """Return where rows of the whole system are found in Given.rows; 0 for other rows."""
        place = np.cumsum(np.repeat(self.is_given, np.diff(self._whole.first_row))) - 1
        return np.maximum(place[rows], 0)

    def at(self, state: State, body_force: FloatArray | None) -> Given:
        """Return the rows and loads at a state with contiguous arrays of the right shapes."""
        if self._varying is not None:
            fill_varying_rows(self._varying, state.position, state.orientation, state.velocity)
            if body_force is None:
                return self._filled
            return replace(self._filled, load=self._checked(body_force))
        has_joints = self.system.n_joints > 0
        if not (has_joints or self.has_loads):
            load = NO_LOADS if body_force is None else self._checked(body_force)
            return NOTHING if body_force is None else Given(NO_ROWS, NO_VALUES, load)
        if len(self.system.coordinates.joint):
            check_state(self.system, state)  # compiled code does not see the coordinates
        motion = joint_motion(self.system, state)
        coordinates = coordinate_motion(self.system, state, motion)
        load = NO_LOADS
        if self.has_loads:
            load = model_loads(self.system, state, motion, coordinates)
        if body_force is not None:
            extra = self._checked(body_force)
            load = load + extra if self.has_loads else extra
        if not has_joints:
            return Given(NO_ROWS, NO_VALUES, load)
        constraint = constraint_rows(self.system, state, motion, coordinates)
        return Given(constraint.rows, constraint.acceleration, load)

    def _checked(self, body_force: FloatArray) -> FloatArray:
        names = self._whole.body_names
        if np.shape(body_force) != (len(names), 6):
            raise ShapeError(f"body_force is {np.shape(body_force)}, not {(len(names), 6)}")
        finite = np.isfinite(body_force).all(axis=1)
        if not finite.all():
            raise ModelError(
                f"body_force of {names[int(np.argmin(finite))]!r} is not finite; give six numbers"
            )
        return np.ascontiguousarray(body_force, dtype=float)


def given_joints(system: System) -> BoolArray:
    """Return (n_joints,) whether a joint's rows are not just constant ones on the successor."""
    is_given = np.zeros(system.n_joints, dtype=bool)
    is_given[system.varying_joints] = True
    is_given[system.coordinates.joint] = True
    return is_given
