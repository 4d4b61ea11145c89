"""Constraint rows that depend on each other: the decision which to leave out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from sparsebody import ordering
from sparsebody._core import model
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.constraint import KKTStructure, kkt_structure
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import SingularSystemError
from sparsebody.factorization import analyze
from sparsebody.factorization.cost_model import choose_factorization
from sparsebody.factorization.quasi_definite import QUASI_DEFINITE, quasi_definite
from sparsebody.model.subgroups import Classes, displacement_classes
from sparsebody.model.subgroups.classes import has_isolated_spherical_joints
from sparsebody.model.system import State, System
from sparsebody.sparse import rank
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank import RankDecision
from sparsebody.sparse.row_choices import PartOfRows, Rows
from sparsebody.sparse.saddle import SaddleMatrix
from sparsebody.tolerances import EIGENVALUE_TOLERANCE, GRAM_SHIFT, RANK_TOLERANCE

ORDERING = "nested-dissection"  # of parts that are wide in every direction
LONGEST = 60.0  # [s] predicted
VECTORS = 8  # that ARPACK keeps


def independent_rows(
    matrix: Rows, tolerance: float = RANK_TOLERANCE, threads: int = 1
) -> RankDecision:
    """Decide which rows of A to keep, as `sparse.rank.independent_rows` does, faster where wide.

    Parts where all rows are independent need no decision row by row: their least singular value
    says so, and it takes one factorization that costs as much as that of the whole system.
    """
    return rank.independent_rows(matrix, tolerance, least_singular_value, threads)


def least_singular_value(part: PartOfRows) -> float | None:
    """Return the least singular value of A, as factors of A A' + delta tell it, or None.

    Below about 1e-7 only that is known. None if the factorization would take minutes.

    References
    ----------
    Kuczynski and Wozniakowski (1992), SIAM J. Matrix Anal. Appl. 13, 4: how sure Lanczos steps from
    a random start are.
    """
    order = ordering.order(part.pattern, ORDERING)
    predicted = choose_factorization(part.pattern, order)[1]
    name = min(set(QUASI_DEFINITE) & set(predicted), key=lambda name: predicted[name])
    if predicted[name] > LONGEST:
        return None
    factors = quasi_definite(analyze(name, part.pattern, order))
    try:
        factors.factorize(part.rows, GRAM_SHIFT)
    except SingularSystemError:
        return 0.0
    n = len(part.rows)
    inverse = LinearOperator((n, n), matvec=factors.solve, dtype=float)
    start = np.random.default_rng(1).normal(size=n)
    largest = eigsh(
        inverse, 1, v0=start, ncv=VECTORS, tol=EIGENVALUE_TOLERANCE, return_eigenvectors=False
    )
    return float(np.sqrt(max(1.0 / largest[0] - GRAM_SHIFT, 0.0)))


def rows_by_structure(classes: Classes | None) -> BoolArray | None:
    """Return (n_rows,) the rows that no subgroup makes redundant; None where all are such."""
    if classes is None or not classes.is_redundant.any():
        return None
    return ~classes.is_redundant


def classes_of(system: System) -> Classes | None:
    """Return the displacement classes; None where they could not close any loop."""
    return displacement_classes(system) if may_have_structure(system) else None


def with_structure(keep: BoolArray, decision: RankDecision) -> RankDecision:
    """Return a decision on all rows from one on those that are kept."""
    every = np.zeros_like(keep)
    every[keep] = decision.keep
    return replace(decision, keep=every, method=f"displacement subgroups, then {decision.method}")


def may_have_structure(system: System) -> bool:
    """Tell whether joints close loops that subgroups could say anything about."""
    return has_loops(system) and not has_isolated_spherical_joints(system)


def has_loops(system: System) -> bool:
    """Tell whether joints close any loop."""
    n = system.n_bodies + 1
    return bool(model.spanning_forest(n, system.predecessor % n, system.successor % n)[1].any())


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
    return SystemMotion(system, state, threads=threads).constraint.rows
