"""Multipliers of the rows that keep a planar mechanism's bodies in their plane.

There are three for every body on the tree of joints that holds them there, as many as equations of
motion out of the plane, which give them one body after the other, the outermost first.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.body_forces import applied_forces, bias_forces
from sparsebody.assembly.constraint import constraint_rows
from sparsebody.kinematics.coordinates import coordinate_motion
from sparsebody.kinematics.motion import joint_motion
from sparsebody.model.planar import PlanarMotion
from sparsebody.model.system import State, System


def fill_outer_multipliers(
    system: System,
    plane: PlanarMotion,
    state: State,
    body_force: FloatArray | None,
    acceleration: FloatArray,
    multiplier: FloatArray,
) -> None:
    """Fill the multipliers (n_rows,) out of the plane; those within it are given."""
    rows, need = rows_and_needs(system, state, body_force, acceleration)
    _fill(
        plane.bodies,
        plane.joint,
        plane.basis,
        plane.tree_rows,
        system.predecessor,
        system.successor,
        system.row_joint,
        rows,
        need,
        multiplier,
    )


def rows_and_needs(
    system: System, state: State, body_force: FloatArray | None, acceleration: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return all rows (n_rows, 2, 6), and the wrenches (n_bodies, 6) that joints have to exert."""
    motion = joint_motion(system, state)
    coordinates = coordinate_motion(system, state, motion)
    rows = constraint_rows(system, state, motion, coordinates).rows
    force = applied_forces(system, state, motion, coordinates) - bias_forces(system, state.velocity)
    if body_force is not None:
        force += body_force
    need = np.einsum("nab,nb->na", system.inertia, acceleration[:, :3])
    return rows, np.concatenate([need, system.mass[:, None] * acceleration[:, 3:]], axis=1) - force


@njit(cache=True)
def _fill(
    bodies: IntArray,
    joint: IntArray,
    basis: FloatArray,
    tree_rows: IntArray,
    predecessor: IntArray,
    successor: IntArray,
    row_joint: IntArray,
    rows: FloatArray,
    need: FloatArray,
    multiplier: FloatArray,
) -> None:
    """`need` is what the wrenches of all constraints on each body have to add up to."""
    for k in range(len(row_joint)):
        take(k, row_joint[k], multiplier[k], predecessor, successor, rows, need)
    first = np.full(len(predecessor), -1, dtype=np.intp)
    for k in tree_rows[::-1]:
        first[row_joint[k]] = k
    place = np.empty(len(row_joint), dtype=np.intp)
    for i in range(len(tree_rows)):
        place[tree_rows[i]] = i
    matrix, right = np.empty((3, 3)), np.empty(3)
    for i in range(len(bodies)):
        body = bodies[len(bodies) - 1 - i]
        j = joint[body]
        side = 1 if successor[j] == body else 0
        start = place[first[j]]
        _components(basis[body], need[body], right)
        for c in range(3):
            _components(basis[body], rows[tree_rows[start + c], side], matrix[:, c])
        found = np.linalg.solve(matrix, right)
        for c in range(3):
            k = tree_rows[start + c]
            multiplier[k] = found[c]
            take(k, j, found[c], predecessor, successor, rows, need)


@njit(cache=True)
def _components(basis: FloatArray, wrench: FloatArray, out: FloatArray) -> None:
    """Fill the parts of a wrench that lead out of the plane: two moments and a force."""
    out[0] = out[1] = out[2] = 0.0
    for a in range(3):
        out[0] += basis[1, a] * wrench[a]
        out[1] += basis[2, a] * wrench[a]
        out[2] += basis[0, a] * wrench[a + 3]


@njit(cache=True)
def take(
    k: int,
    j: int,
    size: float,
    predecessor: IntArray,
    successor: IntArray,
    rows: FloatArray,
    need: FloatArray,
) -> None:
    """Take the wrenches of a row from what two bodies need."""
    for side in range(2):
        body = successor[j] if side == 1 else predecessor[j]
        if body >= 0:
            for a in range(6):
                need[body, a] -= rows[k, side, a] * size
