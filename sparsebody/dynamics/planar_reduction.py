"""The planar reduction: three freedoms a body and the rows within the plane, where all are planar.

An exact change of basis. Reactions out of the plane are recovered from the solution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.assembly.kkt import KKTStructure, kkt_structure
from sparsebody.dynamics.evaluators.planar_assembler import rows_in_plane
from sparsebody.dynamics.independence import independent_rows
from sparsebody.model.planar_motion import PlanarMotion, planar_motion
from sparsebody.model.system import State, System
from sparsebody.sparse.rank import RankDecision
from sparsebody.sparse.saddle import SaddleMatrix


@dataclass(frozen=True, eq=False)
class PlanarReduction:
    """What is left of a mechanism within its plane."""

    motion: PlanarMotion
    structure: KKTStructure  # of the kept rows within the plane
    left_out: IntArray  # the other rows within the plane
    decision: RankDecision  # on all rows; those out of the plane are kept where they hold bodies


def planar_reduction(
    system: System, state: State, tolerance: float = 1e-8, threads: int = 1
) -> PlanarReduction | None:
    """Return the reduction, decided at a state; None where bodies are not in a plane."""
    motion = planar_motion(system)
    rows = None if motion is None else rows_in_plane(system, motion, state)
    if motion is None or rows is None:
        return None
    is_within = np.zeros(system.n_rows, dtype=bool)
    is_within[~motion.is_out_of_plane] = rows.any(axis=(1, 2))
    three = np.full(system.n_bodies, 3, dtype=np.intp)
    pattern = kkt_structure(system, is_within, three).pattern
    matrix = SaddleMatrix.of_rows(pattern, rows[is_within[~motion.is_out_of_plane]])
    in_plane = independent_rows(matrix, tolerance, threads)
    kept = is_within.copy()
    kept[is_within] = in_plane.keep
    decision = replace(
        in_plane,
        keep=kept | motion.is_out_of_plane,
        method=f"planar motion, then {in_plane.method}",
    )
    structure = kkt_structure(system, kept, three)
    return PlanarReduction(motion, structure, np.flatnonzero(is_within & ~kept), decision)
