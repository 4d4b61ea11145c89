"""Constraint forces: wrenches at the joints, and the smallest multipliers where rows depend."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.assembly.constraint import ConstraintRows
from sparsebody.assembly.kkt import KKTStructure
from sparsebody.factorization import Numeric
from sparsebody.model.system import System


def joint_wrenches(
    system: System, constraint: ConstraintRows, multiplier: FloatArray
) -> FloatArray:
    """Return T lambda (n_joints, 6): the constraint wrench on the successor, in S coordinates.

    Prescribed coordinates are constraint rows, so the wrench contains the force of the drive.
    """
    wrench = np.zeros((system.n_joints, 6))
    np.add.at(wrench, system.row_joint, constraint.subspace * multiplier[:, None])
    return wrench


def minimum_norm(
    system: System,
    structure: KKTStructure,
    constraint: ConstraintRows,
    numeric: Numeric,
    multiplier: FloatArray,
) -> FloatArray:
    """Return the smallest multipliers that exert the same forces on the bodies.

    Each left-out row d is a combination of the kept ones, A_d' = A_k' c, found with the factors
    at hand: [I A_k'; A_k 0] [0; c] = [A_d'; 0]. The vectors (c, -1) span the null space of A'.
    """
    n_rows = len(multiplier)
    dropped = np.setdiff1d(np.arange(n_rows), structure.rows)
    n_primal = structure.pattern.n_primal_rows
    right = np.zeros((n_primal + len(structure.rows), len(dropped)))
    joint = system.row_joint[dropped]
    for side, body in ((0, system.predecessor[joint]), (1, system.successor[joint])):
        moving = np.flatnonzero(body >= 0)
        index = structure.pattern.offsets[body[moving], None] + np.arange(6)
        right[index, moving[:, None]] += constraint.rows[dropped[moving], side]
    null = np.zeros((n_rows, len(dropped)))
    null[structure.rows] = numeric.solve(right)[n_primal:]
    null[dropped, np.arange(len(dropped))] = -1.0
    coefficient = np.linalg.lstsq(null, multiplier, rcond=None)[0]
    return np.asarray(multiplier - null @ coefficient)
