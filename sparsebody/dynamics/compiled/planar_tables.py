"""The arrays of a planar evaluation: bodies and rows within the plane, in elimination order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody._core import dynamics, factorization
from sparsebody.arrays import BoolArray, FloatArray, IntArray, large_zeros
from sparsebody.dynamics.compiled.given import NO_VALUES, GivenParts
from sparsebody.model.planar import PARALLEL, PlanarMotion
from sparsebody.model.system import State, System
from sparsebody.sparse.etree import positions


@dataclass(frozen=True, eq=False)
class PlanarTable:
    """Some rows within the plane, those of a joint together."""

    rows: IntArray  # (k,) the user's numbers
    values: FloatArray  # (k, 2, 3) on predecessor and successor, in units
    native: dynamics.PlanarRows
    frames: dynamics.SuccessorFrames


def rows_in_plane(system: System, motion: PlanarMotion, state: State) -> FloatArray | None:
    """Return all rows but those of `motion` (k, 2, 3), on velocities in the plane, at a state.

    A row without any part in the plane is zero. None if the state is not in the plane.
    """
    bodies, rows = np.arange(system.n_bodies), np.flatnonzero(~motion.is_outer)
    is_line = planar_lines(system, motion)
    parts = GivenParts(system, but=is_line)
    table = planar_table(system, motion, parts, is_line, bodies, rows)
    ones = np.ones(system.n_bodies)  # as if inertias were
    right, x = (np.zeros(3 * len(bodies) + len(rows)) for _ in range(2))
    evaluation = _evaluation(system, motion, bodies, table, None, ones, ones, right, x)
    given = parts.at(state, None)
    status = evaluation.assemble(
        np.array(state.position, order="C"),
        np.array(state.orientation, order="C"),
        np.array(state.velocity, order="C"),
        np.array(state.coordinate),
        state.time,
        given.load,
        given.rows,
        given.acceleration,
        NO_VALUES,
    )
    return table.values if status == evaluation.GOOD else None


def planar_evaluation(
    system: System,
    motion: PlanarMotion,
    bodies: IntArray,
    kept: PlanarTable,
    qr: factorization.BlockQR | None,
    right: FloatArray,
    x: FloatArray,
) -> dynamics.PlanarEvaluation:
    """Return the evaluation of `bodies`, the user's numbers in order, and of kept rows."""
    normal = motion.basis[:, 0]
    inertia = np.einsum("na,nab,nb->n", normal, system.inertia, normal)
    return _evaluation(system, motion, bodies, kept, qr, inertia, system.mass, right, x)


def _evaluation(
    system: System,
    motion: PlanarMotion,
    bodies: IntArray,
    kept: PlanarTable,
    qr: factorization.BlockQR | None,
    inertia: FloatArray,
    mass: FloatArray,
    right: FloatArray,
    x: FloatArray,
) -> dynamics.PlanarEvaluation:
    """Return the evaluation of bodies with these inertias about the normal and masses."""
    gravity = motion.axes[1:] @ system.gravity
    n_coordinates = len(system.coordinates.joint)
    evaluation = dynamics.PlanarEvaluation(
        kept.native,
        qr,
        bodies,
        motion.basis,
        motion.axes,
        gravity,
        inertia,
        mass,
        right,
        x,
        n_coordinates,
    )
    evaluation.fill_rows_on_successors(kept.native, kept.frames)
    return evaluation


def planar_table(
    system: System,
    motion: PlanarMotion,
    given: GivenParts,
    is_line: BoolArray,
    bodies: IntArray,
    rows: IntArray,
) -> PlanarTable:
    """Return the table of `rows`, the user's numbers, those of a joint together; values are zero.

    The evaluation fills rows that are constant on their successors.
    """
    of_row = system.row_joint[rows]
    starts = np.flatnonzero(np.diff(of_row, prepend=-1))
    joints = of_row[starts]
    new = np.append(positions(bodies), len(bodies))  # the last, also at -1, is the world
    kinds = dynamics.PlanarRows
    kind = np.where(given.is_given[joints], kinds.GENERAL, kinds.CARRIED)
    kind[is_line[joints]] = kinds.LINE
    constant = np.zeros((len(joints), 4))
    grounded = np.flatnonzero(system.successor[joints] < 0)
    constant[grounded, :2] = system.successor_point[joints[grounded]] @ motion.axes[1:].T
    lines = np.flatnonzero(is_line[joints])
    constant[lines] = _line_constants(system, motion, joints[lines])
    values = large_zeros((len(rows), 2, 3))
    table = dynamics.PlanarRows(
        new[system.predecessor[joints]],
        new[system.successor[joints]],
        kind,
        constant,
        np.append(starts, len(rows)),
        rows,
        given.sources(rows),
        values,
    )
    frames = dynamics.SuccessorFrames(
        system.successor_rotation[joints], system.successor_point[joints], system.subspace[rows]
    )
    return PlanarTable(rows, values, table, frames)


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
