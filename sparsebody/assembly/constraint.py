"""Constraint rows on the bodies, and the system (8.64): pattern made once, values refilled."""

from dataclasses import dataclass

import numpy as np

from sparsebody._core import graph, joints, model
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.kinematics.joint_motion import CoordinateMotion, JointMotion, prescribed_motion
from sparsebody.model.system import State, System
from sparsebody.sparse import BlockPattern, SaddleMatrix


@dataclass(frozen=True, eq=False)
class ConstraintRows:
    """T' P' in body coordinates, row by row, and the right-hand side of A a = acceleration."""

    subspace: FloatArray  # (n_rows, 6) T' in S coordinates
    rows: FloatArray  # (n_rows, 2, 6) on the predecessor's and the successor's velocity
    drift: FloatArray  # (n_rows,) (dT/dt)' v_J seen from S, less d sigma/dt
    velocity: FloatArray  # (n_rows,) T' v_J
    acceleration: FloatArray  # (n_rows,) right-hand side of A a


def constraint_rows(
    system: System,
    state: State,
    motion: JointMotion,
    coordinates: CoordinateMotion,
    threads: int = 1,
) -> ConstraintRows:
    """Return the constraint rows in body coordinates. Featherstone (2008), (8.10), (8.64).

    T'(a_s - a_p) = -T'(v_s x v_p) - (dT/dt)' v_J + d sigma/dt, all in S coordinates, where d/dt
    is that seen from S and sigma the velocity of a prescribed coordinate.
    """
    subspace, drift = system.subspace, np.zeros(system.n_rows)
    items = system.coordinates.prescribed
    varying = system.varying_joints
    if len(items) or len(varying):
        subspace = subspace.copy()
    if len(varying):
        poses = system.joint_kind, motion.rotation, motion.translation, system.parameter
        of_joints = system.first_row, poses, motion.velocity
        joints.fill_subspaces(varying, *of_joints, subspace, drift)
    if len(items):
        row = system.coordinates.row[items]
        subspace[row] = coordinates.active_force[items]
        drift[row] = coordinates.drift[items] - prescribed_motion(system, state.time)[:, 2]
    on_bodies = rows_on_bodies(system, system.row_joint, motion, subspace, drift, threads)
    rows, velocity, acceleration = on_bodies
    return ConstraintRows(subspace, rows, drift, velocity, acceleration)


def rows_on_bodies(
    system: System,
    joint: IntArray,
    motion: JointMotion,
    subspace: FloatArray,
    drift: FloatArray,
    threads: int = 1,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rows t' of joints on the bodies, t' v_J, and gamma where d(t' v_J)/dt = 0.

    subspace (n, 6): t', a column of T or T_a in S coordinates; drift (n,): (dt/dt)' v_J. The rows
    (n, 2, 6) act on the predecessor's and the successor's velocity, in body coordinates.
    """
    return model.constraint_rows(
        joint, system.joint_frames, motion.on_bodies, subspace, drift, threads
    )


@dataclass(frozen=True, eq=False)
class KKTStructure:
    """Which rows of which joints enter the matrix; joints without any are not in it."""

    pattern: BlockPattern  # bodies first, then the joints of `joints`
    joints: IntArray  # (n_dual,) joint of each dual block
    rows: IntArray  # indices of the constraint rows of the matrix, in order
    keep: BoolArray  # (n_rows,) whether each constraint row is one of these
    system: System

    def matrix(self, constraint: ConstraintRows) -> SaddleMatrix:
        """Return the matrix with the values of a pose."""
        rows = constraint.rows
        if len(self.rows) < len(rows):
            rows = rows[self.rows]
        inertias = self.system.spatial_inertia, self.system.inverse_inertia
        return SaddleMatrix(self.pattern, *inertias, rows)

    def right_hand_side(self, force: FloatArray, acceleration: FloatArray) -> FloatArray:
        """Return (n_rows of the pattern,): forces (n_bodies, 6), then accelerations of the rows."""
        return np.concatenate([force.ravel(), acceleration[self.rows]])


def kkt_structure(system: System, keep: BoolArray | None = None, freedoms: int = 6) -> KKTStructure:
    """Return the structure with all constraint rows, or with those where `keep` is true."""
    if keep is None:
        keep = np.ones(system.n_rows, dtype=bool)
    rows, n_rows = graph.selected_items(system.first_row, keep, np.arange(system.n_joints))
    joints = n_rows.nonzero()[0]
    sizes = np.full(system.n_bodies + len(joints), freedoms)
    sizes[system.n_bodies :] = n_rows[joints]
    pattern = BlockPattern(sizes, system.ends[joints])
    return KKTStructure(pattern, joints, rows, keep, system)
