"""From a planar System in the user's numbering to the arrays of PlanarWorkspace."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray, large_zeros
from sparsebody.dynamics.compiled.assembly import PHASE
from sparsebody.dynamics.compiled.given import NO_LOADS, NO_ROWS, NO_VALUES, GivenParts
from sparsebody.dynamics.compiled.planar import (
    CARRIED,
    COSINE,
    GIVEN,
    GOOD,
    LINE,
    MASS_INVERSE,
    MASS_ROOT,
    TURN_INVERSE,
    TURN_ROOT,
    PlanarRows,
    PlanarWorkspace,
    assemble_planar,
    part_in_plane,
)
from sparsebody.dynamics.compiled.qr_solution import qr_arrays
from sparsebody.dynamics.compiled.workspace import WORLD_ROOT, Index
from sparsebody.model.planar import PARALLEL, PlanarMotion
from sparsebody.model.system import State, System
from sparsebody.sparse.etree import positions
from sparsebody.spatial.tuples import (
    add,
    cross,
    load_rotation,
    load_vector,
    store_vector,
    turned,
)


def rows_in_plane(system: System, motion: PlanarMotion, state: State) -> FloatArray | None:
    """Return all rows but those of `motion` (k, 2, 3), on velocities in the plane, at a state.

    A row without any part in the plane is zero. None if the state is not in the plane.
    """
    bodies, rows = np.arange(system.n_bodies), np.flatnonzero(~motion.is_outer)
    is_line = planar_lines(system, motion)
    parts = GivenParts(system, but=is_line)
    arrays = planar_arrays(system, motion, bodies, len(rows))
    arrays["unit"][:-1] = 1.0  # as if inertias were
    table = planar_row_arrays(system, motion, parts, is_line, bodies, arrays["unit"], rows)
    workspace = PlanarWorkspace(kept=PlanarRows(**table), factor=qr_arrays(None), **arrays)
    given = parts.at(state, None)
    poses = (np.ascontiguousarray(a) for a in (state.position, state.orientation, state.velocity))
    arguments = (*poses, given.load, given.rows, given.acceleration, arrays["nothing"])
    if assemble_planar(workspace, *arguments) != GOOD:
        return None
    return np.asarray(table["rows"])


def planar_arrays(system: System, motion: PlanarMotion, bodies: IntArray, k: int) -> dict[str, Any]:
    """Return the fields of a PlanarWorkspace for `bodies`, the user's numbers in order, k rows."""
    n = len(bodies)
    state = large_zeros((n + 1, 8))
    state[n, COSINE] = 1.0
    basis = large_zeros((n, 9))
    basis[:] = motion.basis.reshape(n, 9)[bodies]
    return {
        "body": bodies.astype(np.uint32),
        "axes": np.ascontiguousarray(motion.axes.reshape(9)),
        "gravity": motion.axes[1:] @ system.gravity,
        "basis": basis,
        "unit": _units(system, motion, bodies),
        "motion": state,
        "no_rows": NO_ROWS,
        "no_loads": NO_LOADS,
        "nothing": NO_VALUES,
        "right": large_zeros(3 * n + k),
        "x": large_zeros(3 * n + k),
    }


def _units(system: System, motion: PlanarMotion, bodies: IntArray) -> FloatArray:
    unit = large_zeros((len(bodies) + 1, 4))
    unit[-1, [TURN_ROOT, MASS_ROOT]] = WORLD_ROOT
    unit[-1, [TURN_INVERSE, MASS_INVERSE]] = 1.0 / WORLD_ROOT
    normal = motion.basis[:, 0]
    unit[:-1, TURN_ROOT] = np.sqrt(np.einsum("na,nab,nb->n", normal, system.inertia, normal))[
        bodies
    ]
    unit[:-1, MASS_ROOT] = np.sqrt(system.mass)[bodies]
    unit[:-1, TURN_INVERSE] = 1.0 / unit[:-1, TURN_ROOT]
    unit[:-1, MASS_INVERSE] = 1.0 / unit[:-1, MASS_ROOT]
    return unit


def planar_row_arrays(
    system: System,
    motion: PlanarMotion,
    given: GivenParts,
    is_line: BoolArray,
    bodies: IntArray,
    unit: FloatArray,
    rows: IntArray,
) -> dict[str, Any]:
    """Return the fields of PlanarRows for `rows`, the user's numbers, those of a joint together."""
    n = len(bodies)
    of_row = system.row_joint[rows]
    starts = np.flatnonzero(np.diff(of_row, prepend=-1))
    joints = of_row[starts]
    new = np.append(positions(bodies), n).astype(np.uint32)  # n, also at -1, is the world
    values = large_zeros((len(rows), 2, 3))
    _fill_rows_on_successors(
        rows,
        of_row,
        given.is_given | is_line,
        system.successor,
        new,
        np.concatenate([motion.basis, motion.axes[None]]),
        unit,
        system.successor_rotation,
        system.successor_point,
        system.subspace,
        values,
    )
    kind = np.where(is_line[joints], LINE, np.where(given.is_given[joints], GIVEN, CARRIED))
    constant = np.zeros((len(joints), 4))
    grounded = np.flatnonzero(system.successor[joints] < 0)
    constant[grounded, :2] = system.successor_point[joints[grounded]] @ motion.axes[1:].T
    lines = np.flatnonzero(is_line[joints])
    constant[lines] = _line_constants(system, motion, joints[lines])
    return {
        "predecessor": new[system.predecessor[joints]],
        "successor": new[system.successor[joints]],
        "kind": kind.astype(np.uint32),
        "constant": constant,
        "first_row": np.append(starts, len(rows)).astype(np.uint32),
        "row": rows.astype(np.uint32),
        "source": given.sources(rows).astype(np.uint32),
        "rows": values,
    }


def planar_lines(system: System, motion: PlanarMotion) -> BoolArray:
    """Return (n_joints,) which joints hold a point on a line in the plane, and do nothing else."""
    is_line = np.zeros(system.n_joints, dtype=bool)
    for group in system.groups:
        if group.name == "point-on-plane":
            normal = _in_plane(
                motion, system.predecessor[group.joints], _normals(system, group.joints)
            )
            is_line[group.joints] = np.abs(normal[:, 0]) <= PARALLEL
    is_line[system.coordinates.joint] = False
    return is_line


def _normals(system: System, joints: IntArray) -> FloatArray:
    """Return (m, 3) the z axes of predecessor frames in body coordinates."""
    return np.asarray(system.predecessor_rotation[joints][:, :, 2])


def _in_plane(motion: PlanarMotion, bodies: IntArray, vectors: FloatArray) -> FloatArray:
    """Return (m, 3) components of vectors on bodies along the normal and in the plane."""
    basis = np.where((bodies >= 0)[:, None, None], motion.basis[bodies], motion.axes)
    return np.asarray(np.einsum("mij,mj->mi", basis, vectors))


def _line_constants(system: System, motion: PlanarMotion, joints: IntArray) -> FloatArray:
    """Return (m, 4): normal of the line on the predecessor, point on the successor."""
    normal = _in_plane(motion, system.predecessor[joints], _normals(system, joints))
    point = _in_plane(motion, system.successor[joints], system.successor_point[joints])
    return np.concatenate([normal[:, 1:], point[:, 1:]], axis=1)


@njit(**PHASE)
def _fill_rows_on_successors(
    rows: IntArray,
    joint: IntArray,
    is_varying: BoolArray,
    successor: IntArray,
    new: Index,
    basis: FloatArray,
    unit: FloatArray,
    rotation: FloatArray,
    point: FloatArray,
    subspace: FloatArray,
    values: FloatArray,
) -> None:
    """Fill the parts in the plane of T' of rows that are constant on the successors.

    Where the world is the successor, in its axes about the origin of S.
    """
    for k in range(rows.size):
        j = joint[k]
        if is_varying[j]:
            continue
        s, R = successor[j], load_rotation(rotation[j])
        moment = turned(R, load_vector(subspace[rows[k]], 0))
        force = turned(R, load_vector(subspace[rows[k]], 3))
        if s >= 0:
            moment = add(moment, cross(load_vector(point[j], 0), force))
        of = unit[new[s]]  # of the world the last one, as -1 says
        part = part_in_plane(
            load_rotation(basis[s]), moment, force, of[TURN_INVERSE], of[MASS_INVERSE]
        )
        store_vector(values[k, 1], 0, part)
