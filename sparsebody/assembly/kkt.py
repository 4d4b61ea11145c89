"""The system (8.64) in body coordinates: pattern made once, values refilled at every pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.constraint import ConstraintRows
from sparsebody.model.system import System
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix


@dataclass(frozen=True, eq=False)
class KKTStructure:
    """Which rows of which joints enter the matrix; joints without a kept row are not in it."""

    pattern: BlockPattern  # bodies first, then the joints of `joints`
    joints: IntArray  # (n_dual,) joint of each dual block
    rows: IntArray  # (n_kept,) kept constraint rows, in order
    system: System

    @property
    def left_out(self) -> IntArray:
        """The constraint rows that are not kept, in order."""
        is_left = np.ones(self.system.n_rows, dtype=bool)
        is_left[self.rows] = False
        return np.flatnonzero(is_left)

    def matrix(self, constraint: ConstraintRows) -> SaddleMatrix:
        """Return the matrix with the values of a pose."""
        rows = constraint.rows
        kept = rows if len(self.rows) == len(rows) else rows[self.rows]
        return SaddleMatrix(
            self.pattern, self.system.spatial_inertia, self.system.inverse_inertia, kept
        )

    def right_hand_side(self, force: FloatArray, acceleration: FloatArray) -> FloatArray:
        """Return (n_rows of the pattern,): forces (n_bodies, 6), then the kept accelerations."""
        return np.concatenate([force.ravel(), acceleration[self.rows]])


def kkt_structure(
    system: System, keep: BoolArray | None = None, freedoms: IntArray | None = None
) -> KKTStructure:
    """Return the structure with all constraint rows, or with those where `keep` is true.

    The bodies have all their freedoms, or the given number (n_bodies,).
    """
    freedoms = system.freedoms if freedoms is None else freedoms
    if keep is None:
        rows, kept = np.arange(system.n_rows, dtype=np.intp), np.diff(system.first_row)
    else:
        rows = np.flatnonzero(keep)
        kept = np.diff(np.concatenate([[0], np.cumsum(keep)])[system.first_row])
    joints = np.flatnonzero(kept)
    sizes = kept[joints]
    ends = np.stack([system.predecessor[joints], system.successor[joints]], axis=1)
    return KKTStructure(
        pattern=BlockPattern(np.concatenate([freedoms, sizes]).astype(np.intp), ends),
        joints=joints.astype(np.intp),
        rows=rows.astype(np.intp),
        system=system,
    )
