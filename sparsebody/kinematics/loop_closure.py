"""How far joints are from closing: position errors delta and velocity errors, row by row."""

from __future__ import annotations

import numpy as np

from sparsebody._core import joints
from sparsebody.arrays import FloatArray
from sparsebody.kinematics.coordinates import CoordinateMotion, prescribed_motion
from sparsebody.kinematics.motion import JointMotion, joint_poses
from sparsebody.model.system import State, System


def position_errors(
    system: System, state: State, motion: JointMotion, coordinates: CoordinateMotion
) -> FloatArray:
    """Return delta (n_rows,), zero where the joints close [rad, m]. Featherstone (2008), 8.27.

    Rows of prescribed coordinates hold the difference from the given value, angles modulo turns.
    """
    error = joints.position_errors(system.first_row, joint_poses(system, motion))
    tracked = system.coordinates
    items = tracked.prescribed
    if len(items):
        gap = coordinates.value[items] - prescribed_motion(system, state.time)[:, 0]
        error[tracked.row[items]] = np.where(
            tracked.is_angle[items], (gap + np.pi) % (2.0 * np.pi) - np.pi, gap
        )
    return error


def prescribed_velocities(system: System, time: float) -> FloatArray:
    """Return sigma (n_rows,): the velocity T' v_J that each row asks for; zero but on drives."""
    velocity = np.zeros(system.n_rows)
    items = system.coordinates.prescribed
    if len(items):
        velocity[system.coordinates.row[items]] = prescribed_motion(system, time)[:, 1]
    return velocity
