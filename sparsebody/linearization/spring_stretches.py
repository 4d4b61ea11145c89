"""Springs as stretches w'x of stiffness k, in place of entries k w w' of K.

Written as k (w'x)^2, the energy of soft springs is not lost in the rounding errors that stiff ones
leave in x' K x. The geometric stiffness of the forces of springs remains in K: it is that of the
same system with these forces constant.
"""

from dataclasses import replace
from typing import TypeVar

import numpy as np
from scipy.sparse import coo_array, csc_array, vstack

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.constraint import rows_on_bodies
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.model.system import Springs, State, System
from sparsebody.model.time_functions import Polynomial

AnySprings = TypeVar("AnySprings", bound=Springs)


def springs_as_stretches(system: System, state: State) -> tuple[System, FloatArray, csc_array]:
    """Return the system with constant forces of springs, k (n_springs,) and w' (n_springs, 6n).

    Springs on joint coordinates, then those between points.
    """
    motion = SystemMotion(system, state)
    on_joints, on_lines = system.joint_forces, system.point_forces
    joint = system.coordinates.joint[on_joints.item]
    column = motion.coordinates.active_force[on_joints.item]
    rates, *_ = rows_on_bodies(system, joint, motion.joints, column, np.zeros(len(joint)))
    length, line_rates = lines(system, state)
    ends = system.ends[joint]
    stretch = motion.coordinates.value[on_joints.item] - on_joints.rest
    constant = replace(
        system,
        joint_forces=_with_constant_effort(on_joints, stretch, state.time),
        point_forces=_with_constant_effort(on_lines, length - on_lines.rest_length, state.time),
    )
    stiffness = np.concatenate([on_joints.stiffness, on_lines.stiffness])
    on_bodies = _matrix(rates, ends, 6 * system.n_bodies)
    return constant, stiffness, vstack([on_bodies, line_rates], format="csc")


def _with_constant_effort(springs: AnySprings, stretch: FloatArray, time: float) -> AnySprings:
    """Return springs whose force at a time, without damping, is a constant effort."""
    effort = springs.efforts(time) - springs.stiffness * stretch
    constant = tuple(Polynomial((value,)) for value in effort.tolist())
    return replace(springs, stiffness=np.zeros(len(effort)), effort=constant)


def lines(system: System, state: State) -> tuple[FloatArray, csc_array]:
    """Return lengths l (n,) between the points of forces, and B (n, 6 n_bodies), dl/dt = B v."""
    forces = system.point_forces
    rotation = np.concatenate([body_rotations(state), [np.eye(3)]])
    position = np.concatenate([state.position, np.zeros((1, 3))])
    body = np.stack([forces.first, forces.second], axis=1)
    point = np.stack([forces.first_point, forces.second_point], axis=1)
    end = position[body] + np.einsum("nsij,nsj->nsi", rotation[body], point)
    difference = end[:, 1] - end[:, 0]
    length = np.linalg.norm(difference, axis=1)
    outwards = np.stack([-difference, difference], axis=1) / length[:, None, None]
    linear = np.einsum("nsij,nsi->nsj", rotation[body], outwards)
    rates = np.concatenate([np.cross(point, linear), linear], axis=2)
    return length, _matrix(rates, body, 6 * system.n_bodies)


def _matrix(rows: FloatArray, ends: IntArray, width: int) -> csc_array:
    """Return rows (n, 2, 6) on bodies (n, 2), -1 for the world, as a matrix (n, width)."""
    index = 6 * ends[:, :, None] + np.arange(6)
    row = np.broadcast_to(np.arange(len(rows))[:, None, None], index.shape)
    is_body = index >= 0
    entries = rows[is_body], (row[is_body], index[is_body])
    return coo_array(entries, shape=(len(rows), width)).tocsc()
