"""Multipliers of the rows that keep bodies in their plane, or within their displacement subgroups.

There is a joint for every such body that does so, nearer to the world than the body, and at least
as many of its rows as the body has lost freedoms. Where all other wrenches on a body are known, the
equations of motion outside the subgroup give those of that joint: one body after the other, the
outermost first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsebody._core import dynamics as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.body_forces import applied_forces, bias_forces
from sparsebody.assembly.constraint import constraint_rows
from sparsebody.kinematics.coordinates import coordinate_motion
from sparsebody.kinematics.motion import joint_motion
from sparsebody.model.system import State, System


class ReactionTree(NamedTuple):
    """Bodies, from the world outwards, and the joints that hold them within their subgroups."""

    bodies: IntArray  # (m,)
    joint: IntArray  # (m,)
    rows: IntArray  # (m, k) of these joints that take part, up to the first -1


def add_complementary_reactions(
    system: System,
    tree: ReactionTree,
    state: State,
    body_force: FloatArray | None,
    acceleration: FloatArray,
    multiplier: FloatArray,
) -> None:
    """Add to the multipliers (n_rows,) what the joints of a tree need; the others are known."""
    motion = joint_motion(system, state)
    coordinates = coordinate_motion(system, state, motion)
    rows = constraint_rows(system, state, motion, coordinates).rows
    force = applied_forces(system, state, motion, coordinates) - bias_forces(system, state.velocity)
    if body_force is not None:
        force += body_force
    required = np.empty((system.n_bodies, 6))  # of the wrenches of all constraints on each body
    required[:, :3] = np.einsum("nab,nb->na", system.inertia, acceleration[:, :3])
    required[:, 3:] = system.mass[:, None] * acceleration[:, 3:]
    required -= force
    ends = system.predecessor, system.successor
    native.fill_complementary_reactions(*tree, *ends, system.row_joint, rows, required, multiplier)
