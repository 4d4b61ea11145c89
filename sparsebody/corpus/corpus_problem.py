"""Linear systems of mechanisms: M, A, f, b at one state, and their KKT and Schur forms.

    kkt             [M A'; A 0] [a; y] = [f; b]
    quasi-definite  [M A'; A -delta] [a; y] = [f; b]
    schur           A M^-1 A' y = A M^-1 f - b

Each with all rows of A or with the kept, independent ones. Where rows are redundant, matrices of
all rows are singular: their reference solution has the least y, and the right-hand side is the
product with it, so that it is consistent to the last digit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import block_diag, csr_array, eye_array, tril

from sparsebody.analysis.determined_reactions import successor_frames
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.body_forces import applied_forces, bias_forces
from sparsebody.assembly.constraint import KKTStructure, constraint_rows, kkt_structure
from sparsebody.corpus.corpus_families import CorpusFamily
from sparsebody.corpus.reference_solution import (
    Reference,
    backward_error,
    exact_product,
    least_multipliers,
    refined,
)
from sparsebody.dynamics.reductions import classes_of, rank_decision
from sparsebody.kinematics.joint_motion import coordinate_motion, joint_motion
from sparsebody.model.gallery import GALLERY
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.system import State, System
from sparsebody.sparse.rank import RankDecision
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix, saddle_csc
from sparsebody.tolerances import RANK_TOLERANCE

ENTRY_TOLERANCE = 1e-14  # of the largest entry of a row, of f or of b, below which zero is meant
DAMPING = 2.0**-27  # delta, relative to the mean diagonal of A M^-1 A'


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
        decision = rank_decision(self.system, self.state, "remove", RANK_TOLERANCE, classes)
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
        joint = successor_frames(self.system, self.state)[1]
        return np.concatenate([self.state.position, joint])


def corpus_problem(entry: CorpusFamily, value: int, seed: int) -> CorpusProblem:
    """Return the mechanism of a family with `value` for its size parameters, as a linear system."""
    family = entry.family
    mechanism = family.of_parameter(value, seed)
    system = mechanism.compile()
    state = family.problem(system, seed).state
    motion = joint_motion(system, state)
    coordinates = coordinate_motion(system, state, motion)
    defaults = GALLERY[family.mechanism].defaults
    parameters = defaults | dict(family.parameters) | dict.fromkeys(family.size_parameters, value)
    constraint = constraint_rows(system, state, motion, coordinates)
    force = applied_forces(system, state, motion, coordinates) - bias_forces(system, state.velocity)
    parameters |= {"seed": seed} if "seed" in defaults else {}
    sides = (_rounded(x.reshape(1, -1)).ravel() for x in (force, constraint.acceleration))
    rows = _rounded(constraint.rows)
    name = f"{family.name}_{system.n_bodies}"
    return CorpusProblem(name, entry, parameters, mechanism, system, state, rows, *sides)


def _rounded(rows: FloatArray) -> FloatArray:
    """Return the rows with zeros for entries of the size of rounding."""
    size = np.abs(rows)
    largest = size.max(axis=tuple(range(1, rows.ndim)), keepdims=True)
    return np.where(size < ENTRY_TOLERANCE * largest, 0.0, rows)


# ---- forms ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Form:
    """One matrix of the corpus, with its right-hand side and reference solution."""

    name: str  # a key of FORMS
    rows: str  # "all" or "kept"
    matrix: csr_array  # (n, n) symmetric
    right: FloatArray  # (n,)
    reference: Reference
    blocks: IntArray  # bodies and joints, numbered one after the other, in the order of the matrix
    sizes: IntArray  # of these blocks
    inertia: tuple[int, int, int]  # positive, negative and zero eigenvalues, by the rank of A
    definiteness: str
    delta: float = 0.0


def form_of(problem: CorpusProblem, name: str, rows: str) -> Form:
    """Return the matrix of a problem in a form, with "all" rows or the "kept" ones."""
    structure, saddle = problem.structure(rows), problem.matrix(rows)
    right = np.concatenate([problem.force, problem.demand[structure.rows]])
    n, rank, n_bodies = len(problem.force), problem.decision.rank, problem.system.n_bodies
    m, delta = len(right) - n, 0.0
    redundant = m - rank
    blocks, sizes = n_bodies + structure.joints, structure.pattern.block_sizes
    if name == "schur":
        K, sizes, split = _schur(saddle), sizes[n_bodies:], 0
        definiteness = "positive semidefinite" if redundant else "positive definite"
        inertia = (rank, 0, redundant)
        free = np.einsum("nij,nj->ni", saddle.inverse, problem.force.reshape(-1, 6)).ravel()
        right = constraint_matrix(saddle) @ free - right[n:]
    else:
        blocks, split = np.concatenate([np.arange(n_bodies), blocks]), n
        K, definiteness, inertia = csr_array(saddle_csc(saddle)), "indefinite", (n, rank, redundant)
    if name == "quasi-definite":  # regular whatever the rank. Vanderbei (1995), SIAM J. Optim. 5, 1
        definiteness, inertia = name, (n, m, 0)
        mean = float(_schur(saddle).diagonal().mean()) if m else 1.0
        delta = DAMPING * float(np.exp2(np.round(np.log2(mean))))
        K = csr_array(K - block_diag([csr_array((n, n)), delta * eye_array(m)]))
    if redundant == 0 or delta > 0.0:
        reference = refined(K, right, split)
    else:
        x = _least_norm(problem)[n - split :]
        right = exact_product(K, x)
        reference = Reference(x, "least-norm", np.nan, backward_error(K, right, x, split))
    return Form(name, rows, K, right, reference, blocks, sizes, inertia, definiteness, delta)


def _schur(saddle: SaddleMatrix) -> csr_array:
    """Return A M^-1 A', the upper triangle a copy of the lower one."""
    A = csr_array(constraint_matrix(saddle))
    inverse = block_diag(list(saddle.inverse), format="csr") if len(saddle.inverse) else A
    lower = csr_array(tril(A @ inverse @ A.T))
    return csr_array(lower + tril(lower, k=-1).T)


def _least_norm(problem: CorpusProblem) -> FloatArray:
    """Return the accelerations that the kept rows imply, and the least multipliers with them."""
    n, kept = len(problem.force), problem.decision.keep
    K = csr_array(saddle_csc(problem.matrix("kept")))
    right = np.concatenate([problem.force, problem.demand[problem.structure("kept").rows]])
    solution = refined(K, right, n).x
    A = csr_array(constraint_matrix(problem.matrix("all")))
    return np.concatenate([solution[:n], least_multipliers(K, A, kept, solution[n:])])
