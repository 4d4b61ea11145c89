"""One mechanism at one state as a linear system: M, A, f, b, and what is known of the rank of A."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.body_forces import applied_forces, bias_forces
from sparsebody.assembly.constraint import KKTStructure, constraint_rows, kkt_structure
from sparsebody.corpus.corpus_families import CorpusFamily
from sparsebody.dynamics.reductions import classes_of, rank_decision
from sparsebody.kinematics.joint_motion import body_rotations, coordinate_motion, joint_motion
from sparsebody.model.gallery import GALLERY
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.system import State, System
from sparsebody.sparse.rank import RankDecision
from sparsebody.sparse.saddle import SaddleMatrix

TOLERANCE = 1e-8  # of rank decisions
CRUMB = 1e-14  # of the largest entry of a row, of f or of b, below which zero is meant


@dataclass(frozen=True, eq=False)
class CorpusProblem:
    """M a + A' y = f, A a = b, with all constraint rows; y = -lambda of (8.64)."""

    name: str
    entry: CorpusFamily
    parameters: Mapping[str, Any]  # of the mechanism in the gallery
    mechanism: Mechanism
    system: System
    state: State
    constraint: FloatArray  # (n_rows, 2, 6) A, row by row, on predecessor and successor
    force: FloatArray  # (6 n_bodies,) f [N m, N]
    demand: FloatArray  # (n_rows,) b [rad/s^2, m/s^2]

    @cached_property
    def decision(self) -> RankDecision:
        """Which rows are kept, and how sure that is."""
        classes = classes_of(self.system)
        decision = rank_decision(self.system, self.state, "remove", TOLERANCE, classes)
        every = np.ones(self.system.n_rows, dtype=np.bool_)
        return RankDecision(every, np.inf, True, "no rows") if decision is None else decision

    def structure(self, rows: str) -> KKTStructure:
        """Return bodies and joints with "all" rows, or with the "kept" ones."""
        return kkt_structure(self.system, self.decision.keep if rows == "kept" else None)

    def matrix(self, rows: str) -> SaddleMatrix:
        """Return M and A with "all" rows, or with the "kept" ones."""
        structure, system = self.structure(rows), self.system
        kept = self.constraint[structure.rows]
        return SaddleMatrix(structure.pattern, system.spatial_inertia, system.inverse_inertia, kept)

    def positions(self) -> FloatArray:
        """Return (n_bodies + n_joints, 3) centers of mass and joint points in the world [m]."""
        system, place = self.system, self.state.position
        on = system.successor
        turned = np.einsum("nij,nj->ni", body_rotations(self.state)[on], system.successor_point)
        joint = np.where(on[:, None] >= 0, place[on] + turned, system.successor_point)
        return np.concatenate([place, joint])


def corpus_problem(entry: CorpusFamily, value: int, seed: int) -> CorpusProblem:
    """Return the mechanism of a family with `value` for its size parameters, as a linear system."""
    family = entry.family
    mechanism = family.of_parameter(value, seed)
    system = mechanism.compile()
    state = family.problem(system, seed).state
    motion = joint_motion(system, state)
    coordinates = coordinate_motion(system, state, motion)
    constraint = constraint_rows(system, state, motion, coordinates)
    force = applied_forces(system, state, motion, coordinates) - bias_forces(system, state.velocity)
    return CorpusProblem(
        f"{family.name}_{system.n_bodies}",
        entry,
        _parameters(entry, value, seed),
        mechanism,
        system,
        state,
        _without_crumbs(constraint.rows),
        _without_crumbs(force.reshape(1, -1)).ravel(),
        _without_crumbs(constraint.acceleration.reshape(1, -1)).ravel(),
    )


def _without_crumbs(rows: FloatArray) -> FloatArray:
    """Return the rows with zeros for what is nothing but rounding beside the largest of a row."""
    size = np.abs(rows)
    largest = size.max(axis=tuple(range(1, rows.ndim)), keepdims=True)
    return np.where(size < CRUMB * largest, 0.0, rows)


def _parameters(entry: CorpusFamily, value: int, seed: int) -> dict[str, Any]:
    """Return all parameters of the mechanism, those left at their defaults included."""
    family, defaults = entry.family, GALLERY[entry.family.mechanism].defaults
    given = defaults | dict(family.parameters) | dict.fromkeys(family.size_parameters, value)
    return given | ({"seed": seed} if "seed" in defaults else {})


def kept_rows(problem: CorpusProblem) -> IntArray:
    """Return (rank,) the rows that are kept, counted from 0."""
    return np.flatnonzero(problem.decision.keep)
