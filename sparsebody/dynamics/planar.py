"""The planar reduction: three freedoms a body and the rows within the plane, where all are planar.

An exact change of basis. Reactions out of the plane are recovered from the solution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.constraint import constraint_rows
from sparsebody.assembly.kkt import KKTStructure, kkt_structure
from sparsebody.dynamics.compiled.planar import OFF, STILL
from sparsebody.dynamics.compiled.planar_tables import planar_inertia
from sparsebody.kinematics.coordinates import coordinate_motion
from sparsebody.kinematics.motion import body_rotations, joint_motion
from sparsebody.model.planar import PlanarMotion, planar_motion
from sparsebody.model.system import State, System
from sparsebody.sparse.rank import RankDecision, independent_rows
from sparsebody.sparse.saddle import SaddleMatrix

NONE_WITHIN = 1e-9  # part of a row within the plane that is nothing but rounding


@dataclass(frozen=True, eq=False)
class PlanarReduction:
    """What is left of a mechanism within its plane."""

    motion: PlanarMotion
    structure: KKTStructure  # of the kept rows within the plane
    left_out: IntArray  # the other rows within the plane
    decision: RankDecision  # on all rows; those out of the plane are kept where they hold bodies


def planar_reduction(system: System, state: State) -> PlanarReduction | None:
    """Return the reduction, decided at a state; None where bodies do not stay in a plane."""
    motion = planar_motion(system)
    if motion is None or not _is_within(motion, state):
        return None
    rows, is_within = _rows_within(system, motion, state)
    three = np.full(system.n_bodies, 3, dtype=np.intp)
    inverse = np.zeros((system.n_bodies, 3, 3))
    inverse[:, 0, 0] = 1.0 / planar_inertia(system, motion)
    inverse[:, 1, 1] = inverse[:, 2, 2] = 1.0 / system.mass
    pattern = kkt_structure(system, is_within, three).pattern
    unused = np.empty((system.n_bodies, 0, 0))
    found = independent_rows(SaddleMatrix(pattern, unused, inverse, rows[is_within]))
    kept = is_within.copy()
    kept[is_within] = found.keep
    decision = replace(
        found, keep=kept | motion.is_outer, method=f"planar motion, then {found.method}"
    )
    return PlanarReduction(
        motion,
        kkt_structure(system, kept, three),
        np.flatnonzero(is_within & ~kept),
        decision,
    )


def _is_within(motion: PlanarMotion, state: State) -> bool:
    """Tell whether poses and velocities are parallel to the plane."""
    up = np.einsum("nij,nj->ni", body_rotations(state), motion.basis[:, 0])
    tilt = np.abs(up @ motion.axes[1:].T).max()
    w = np.einsum("nab,nb->na", motion.basis, state.velocity[:, :3])
    u = np.einsum("nab,nb->na", motion.basis, state.velocity[:, 3:])
    return bool(
        tilt < OFF
        and (up @ motion.axes[0]).min() > 0.0
        and np.abs(w[:, 1:]).max() <= OFF * np.abs(w[:, 0]).max() + STILL
        and np.abs(u[:, 0]).max() <= OFF * np.abs(u[:, 1:]).max() + STILL
    )


def _rows_within(
    system: System, motion: PlanarMotion, state: State
) -> tuple[FloatArray, BoolArray]:
    """Return the parts of all rows in the plane (n_rows, 2, 3), and which of them are not zero."""
    moving = joint_motion(system, state)
    coordinates = coordinate_motion(system, state, moving)
    rows = constraint_rows(system, state, moving, coordinates).rows
    within, whole = np.zeros((system.n_rows, 2, 3)), np.zeros(system.n_rows)
    turning = 1.0 / np.sqrt(np.trace(system.inertia, axis1=1, axis2=2))
    moved = 1.0 / np.sqrt(system.mass)
    part = np.zeros(system.n_rows)
    for side, body in enumerate((system.predecessor, system.successor)):
        body = body[system.row_joint]
        basis = motion.basis[body]
        moment, force = rows[:, side, :3], rows[:, side, 3:]
        within[:, side, 0] = np.einsum("ra,ra->r", basis[:, 0], moment)
        within[:, side, 1:] = np.einsum("rca,ra->rc", basis[:, 1:], force)
        within[body < 0, side] = 0.0
        scale = turning[body], moved[body]
        whole += (scale[0] ** 2) * np.sum(moment**2, axis=1) + scale[1] ** 2 * np.sum(
            force**2, axis=1
        )
        part += (scale[0] * within[:, side, 0]) ** 2 + np.sum(
            (scale[1][:, None] * within[:, side, 1:]) ** 2, axis=1
        )
    return within, (part > NONE_WITHIN**2 * whole) & ~motion.is_outer
