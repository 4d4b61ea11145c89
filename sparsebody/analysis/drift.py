"""How far joints open along a trajectory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import ShapeError
from sparsebody.model.system import System
from sparsebody.simulation.stabilization import constraint_errors
from sparsebody.simulation.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class JointErrors:
    """The largest constraint error of every joint at every record."""

    position: FloatArray  # (n_records, n_joints) [rad, m]
    velocity: FloatArray  # (n_records, n_joints) [rad/s, m/s]
    joint_names: tuple[str, ...]

    def worst(self, count: int = 5) -> list[tuple[str, float]]:
        """Return the joints that open most, with their largest position errors."""
        largest = self.position.max(axis=0, initial=0.0)
        return [(self.joint_names[j], float(largest[j])) for j in np.argsort(-largest)[:count]]


def joint_errors(system: System, trajectory: Trajectory) -> JointErrors:
    """Return the constraint errors joint by joint.

    Raises
    ------
    ShapeError
        If the trajectory is not one of this system.
    """
    if trajectory.joint_names != system.joint_names:
        raise ShapeError(
            f"the trajectory of {trajectory.name!r} does not have the joints of {system.name!r}"
        )
    shape = len(trajectory), system.n_joints
    position, velocity = np.zeros(shape), np.zeros(shape)
    for record in range(len(trajectory)):
        errors = constraint_errors(system, trajectory.state(record))
        for target, error in zip((position, velocity), errors, strict=True):
            np.maximum.at(target[record], system.row_joint, np.abs(error))
    return JointErrors(position, velocity, tuple(system.joint_names))
