"""What becomes of constraint rows that depend on each other: the options, and the decision."""

from __future__ import annotations

from dataclasses import dataclass

from sparsebody._core import model
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.constraint import constraint_rows
from sparsebody.assembly.kkt import KKTStructure, kkt_structure
from sparsebody.dynamics.independence import independent_rows
from sparsebody.dynamics.structure import rows_by_structure, with_structure
from sparsebody.errors import ModelError
from sparsebody.kinematics.coordinates import coordinate_motion
from sparsebody.kinematics.motion import joint_motion
from sparsebody.model.subgroups import Classes
from sparsebody.model.system import State, System
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank import RankDecision
from sparsebody.sparse.rank.parts import Rows
from sparsebody.sparse.saddle import SaddleMatrix

REDUNDANCY = ("remove", "keep", "krylov", "auto")
INCONSISTENT = ("auto", "kept", "least-squares")


def resolved(redundancy: str, inconsistent: str) -> str:
    """Return the redundancy that both options lead to.

    Raises
    ------
    ModelError
        If they contradict each other.
    """
    if redundancy == "krylov" and inconsistent == "kept":
        raise ModelError(
            "inconsistent is 'kept', but redundancy 'krylov' leaves no rows out that others could "
            "be kept against; give inconsistent 'least-squares', or redundancy 'remove'"
        )
    if redundancy == "keep" and inconsistent == "least-squares":
        raise ModelError(
            "inconsistent is 'least-squares', but redundancy 'keep' solves with all rows as "
            "independent ones, which contradict nothing; give redundancy 'krylov'"
        )
    if redundancy == "auto" and inconsistent == "kept":
        return "remove"
    return "krylov" if inconsistent == "least-squares" else redundancy


def rank_decision(
    system: System,
    state: State,
    redundancy: str,
    tolerance: float,
    classes: Classes | None = None,
    threads: int = 1,
) -> RankDecision | None:
    """Return which rows to keep at a state; None where all are kept without asking.

    Those that displacement classes make redundant are left out first.
    """
    if redundancy == "keep" or system.n_rows == 0:
        return None
    keep = rows_by_structure(classes)
    structure = kkt_structure(system, keep)
    rows: Rows = ConstantRows(structure, state)
    if len(system.varying_joints) or len(system.coordinates.prescribed):
        rows = SaddleMatrix.of_rows(
            structure.pattern, rows_at(system, state, threads)[structure.rows]
        )
    decision = independent_rows(rows, tolerance, threads)
    return decision if keep is None else with_structure(keep, decision)


@dataclass(frozen=True, eq=False)
class ConstantRows:
    """Rows of joints whose T is constant on the successor, at a state; made when asked for."""

    structure: KKTStructure
    state: State

    @property
    def pattern(self) -> BlockPattern:
        """Their blocks."""
        return self.structure.pattern

    def unit_rows(self, index: IntArray, part: BlockPattern, threads: int = 1) -> FloatArray:
        """Return some rows (n, 2, 6), scaled to unit norm."""
        system, state = self.structure.system, self.state
        return model.unit_rows(
            self.structure.rows[index],
            system.row_joint,
            system.joint_frames,
            (state.position, state.orientation, state.velocity),
            system.subspaces,
            threads,
        )


def rows_at(system: System, state: State, threads: int = 1) -> FloatArray:
    """Return all constraint rows (n_rows, 2, 6)."""
    motion = joint_motion(system, state, threads)
    coordinates = coordinate_motion(system, state, motion)
    return constraint_rows(system, state, motion, coordinates, threads).rows
