"""The planar reduction: three freedoms a body and the rows within the plane, where all are planar.

An exact change of basis. Reactions out of the plane are recovered from the solution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numba import njit

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
from sparsebody.spatial.tuples import dot, load_rotation, load_vector, store_vector, turned

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
    leaves = _leaves(motion.axes, motion.basis, body_rotations(state), state.velocity)
    return not leaves


@njit(cache=True)
def _leaves(
    axes: FloatArray, basis: FloatArray, rotation: FloatArray, velocity: FloatArray
) -> bool:
    world = load_rotation(axes)
    turning = tilting = moving = slipping = 0.0
    for i in range(len(basis)):
        own = load_rotation(basis[i])
        up = turned(world, turned(load_rotation(rotation[i]), load_vector(basis[i, 0], 0)))
        if not (up[0] > 0.0 and up[1] ** 2 + up[2] ** 2 < OFF**2):
            return True
        w, u = turned(own, load_vector(velocity[i], 0)), turned(own, load_vector(velocity[i], 3))
        turning, tilting = max(turning, abs(w[0])), max(tilting, abs(w[1]), abs(w[2]))
        moving, slipping = max(moving, abs(u[1]), abs(u[2])), max(slipping, abs(u[0]))
    return tilting > OFF * turning + STILL or slipping > OFF * moving + STILL


def _rows_within(
    system: System, motion: PlanarMotion, state: State
) -> tuple[FloatArray, BoolArray]:
    """Return the parts of all rows in the plane (n_rows, 2, 3), and which of them are not zero."""
    moving = joint_motion(system, state)
    coordinates = coordinate_motion(system, state, moving)
    rows = constraint_rows(system, state, moving, coordinates).rows
    within, is_within = np.zeros((system.n_rows, 2, 3)), ~motion.is_outer
    ends = np.stack([system.predecessor, system.successor], axis=1)
    _project(
        system.row_joint, ends, motion.basis, system.inertia, system.mass, rows, within, is_within
    )
    return within, is_within


@njit(cache=True)
def _project(
    row_joint: IntArray,
    ends: IntArray,
    basis: FloatArray,
    inertia: FloatArray,
    mass: FloatArray,
    rows: FloatArray,
    within: FloatArray,
    is_within: BoolArray,
) -> None:
    """Fill the parts of rows in the plane; unmark rows without any."""
    for k in range(len(row_joint)):
        part = whole = 0.0
        for side in range(2):
            body = ends[row_joint[k], side]
            if body < 0:
                continue
            I, own = inertia[body], load_rotation(basis[body])
            turning, moving = 1.0 / (I[0, 0] + I[1, 1] + I[2, 2]), 1.0 / mass[body]
            moment = turned(own, load_vector(rows[k, side], 0))
            force = turned(own, load_vector(rows[k, side], 3))
            store_vector(within[k, side], 0, (moment[0], force[1], force[2]))
            part += turning * moment[0] ** 2 + moving * (force[1] ** 2 + force[2] ** 2)
            whole += turning * dot(moment, moment) + moving * dot(force, force)
        if not part > NONE_WITHIN**2 * whole:
            is_within[k] = False
