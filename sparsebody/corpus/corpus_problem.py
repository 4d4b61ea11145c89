"""Linear systems of mechanisms: M, A, f, b at one state, and their KKT and Schur forms.

    kkt             [M A'; A 0] [a; y] = [f; b]
    quasi-definite  [M A'; A -delta I] [a; y] = [f; b]  (a regularized problem: its own a, y)
    schur           A M^-1 A' y = A M^-1 f - b

Each with all rows of A or with the independent ones. Where rows are redundant, KKT and Schur
matrices of all rows are singular: their reference solution has the y of least norm, and the
right-hand side is the product with it, so that it is consistent to the last digit. Records tell
ranks, inertias and condition numbers; spectra are exact in small matrices, estimates in large ones.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import block_diag, csc_array, csr_array, diags_array, eye_array, tril
from scipy.sparse.csgraph import structural_rank
from scipy.sparse.linalg import splu

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly import KKTStructure, bias_forces, constraint_rows, kkt_structure
from sparsebody.corpus import reference_solution as solutions
from sparsebody.corpus.corpus_families import CorpusFamily
from sparsebody.dynamics.reductions import rank_decision
from sparsebody.equations.system_motion import applied_forces
from sparsebody.kinematics.joint_motion import coordinate_motion, joint_frames, joint_motion
from sparsebody.model import GALLERY, State, System, subgroups
from sparsebody.sparse import RankDecision, SaddleMatrix, constraint_matrix, saddle_csc
from sparsebody.sparse.saddle import largest_eigenvalue
from sparsebody.study.study_references import symmetric_condition
from sparsebody.tolerances import RANK_TOLERANCE

ENTRY_TOLERANCE = 1e-14  # of the largest entry of a row, of f or of b, below which zero is meant
REGULARIZATION = 2.0**-27  # delta, by the power of two nearest to the mean diagonal of A M^-1 A'
DENSE = 2000  # rows up to which all singular values are computed
GAP = 10.0  # between zero and nonzero eigenvalues, for signs to be counted
_DIGITS = 3  # of estimates: more would differ from machine to machine

Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class CorpusProblem:
    """M a + A' y = f, A a = b, all rows; y = -lambda of Featherstone (2008), eq. (8.64)."""

    name: str
    entry: CorpusFamily
    parameters: Mapping[str, Any]  # of the mechanism in the gallery
    system: System
    state: State
    constraint: FloatArray  # (n_rows, 2, 6) A, row by row, on predecessor and successor
    force: FloatArray  # (6 n_bodies,) f [N m, N]
    demand: FloatArray  # (n_rows,) b, right-hand side of A a = b [rad/s^2, m/s^2]

    @cached_property
    def decision(self) -> RankDecision:
        """Which rows are independent, and how certain that is."""
        classes = subgroups.loop_classes(self.system)
        decision = rank_decision(self.system, self.state, "remove", RANK_TOLERANCE, classes)
        every = np.ones(self.system.n_rows, dtype=np.bool_)
        return RankDecision(every, np.inf, True, "no rows") if decision is None else decision

    def structure(self, rows: str) -> KKTStructure:
        """Return bodies and joints with "all" rows, or with the "independent" ones."""
        return kkt_structure(self.system, self.decision.keep if rows == "independent" else None)

    def matrix(self, rows: str) -> SaddleMatrix:
        """Return M and A with "all" rows, or with the "independent" ones."""
        structure, system = self.structure(rows), self.system
        inertias = system.spatial_inertia, system.inverse_inertia
        return SaddleMatrix(structure.pattern, *inertias, self.constraint[structure.rows])

    def positions(self) -> FloatArray:
        """Return (n_bodies + n_joints, 3) centers of mass and joint points in the world [m]."""
        joint = joint_frames(self.system, self.state)[1][1]
        return np.concatenate([self.state.position, joint])


def corpus_problem(entry: CorpusFamily, value: int, seed: int) -> CorpusProblem:
    """Return the mechanism of a family with `value` for its size parameters, as a linear system."""
    family = entry.family
    system = family.of_parameter(value, seed).compile()
    state = family.problem(system, seed).state
    motion = joint_motion(system, state)
    coordinates = coordinate_motion(system, state, motion)
    defaults = GALLERY[family.mechanism].defaults
    parameters = defaults | dict(family.parameters) | dict.fromkeys(family.size_parameters, value)
    constraint = constraint_rows(system, state, motion, coordinates)
    force = applied_forces(system, state) - bias_forces(system, state.velocity)
    parameters |= {"seed": seed} if "seed" in defaults else {}
    sides = (_rounded(x.reshape(1, -1)).ravel() for x in (force, constraint.acceleration))
    rows = _rounded(constraint.rows)
    name = f"{family.name}_{system.n_bodies}"
    return CorpusProblem(name, entry, parameters, system, state, rows, *sides)


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
    rows: str  # "all" or "independent"
    matrix: csr_array  # (n, n) symmetric
    right: FloatArray  # (n,)
    reference: solutions.Reference
    blocks: IntArray  # bodies and joints, numbered one after the other, in the order of the matrix
    sizes: IntArray  # of these blocks
    inertia: tuple[int, int, int]  # positive, negative and zero eigenvalues, by the rank of A
    definiteness: str
    delta: float = 0.0


def form_of(problem: CorpusProblem, name: str, rows: str) -> Form:
    """Return the matrix of a problem in a form, with "all" rows or the "independent" ones."""
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
    if name == "quasi-definite":  # regular at any rank. Vanderbei (1995), SIAM J. Optim. 5(1):100
        definiteness, inertia = name, (n, m, 0)
        mean = float(_schur(saddle).diagonal().mean()) if m else 1.0
        delta = REGULARIZATION * float(np.exp2(np.round(np.log2(mean))))
        K = csr_array(K - block_diag([csr_array((n, n)), delta * eye_array(m)]))
    if redundant == 0 or delta > 0.0:
        reference = solutions.refined(K, right, split)
    else:
        x = _least_norm(problem)[n - split :]  # y alone for schur (split 0), else [a; y]
        right = solutions.exact_product(K, x)
        error = solutions.backward_error(K, right, x, split)
        reference = solutions.Reference(x, "least-norm", np.nan, error)
    return Form(name, rows, K, right, reference, blocks, sizes, inertia, definiteness, delta)


def _schur(saddle: SaddleMatrix) -> csr_array:
    """Return A M^-1 A', the upper triangle a copy of the lower one."""
    A = csr_array(constraint_matrix(saddle))
    inverse = block_diag(list(saddle.inverse), format="csr") if len(saddle.inverse) else A
    lower = csr_array(tril(A @ inverse @ A.T))
    return csr_array(lower + tril(lower, k=-1).T)


def _least_norm(problem: CorpusProblem) -> FloatArray:
    """Return the accelerations by the independent rows, and the least multipliers with them."""
    n, keep = len(problem.force), problem.decision.keep
    K = csr_array(saddle_csc(problem.matrix("independent")))
    right = np.concatenate([problem.force, problem.demand[problem.structure("independent").rows]])
    solution = solutions.refined(K, right, n).x
    A = csr_array(constraint_matrix(problem.matrix("all")))
    return np.concatenate([solution[:n], solutions.least_multipliers(K, A, keep, solution[n:])])


# ---- records of the index -----------------------------------------------------------------------


def problem_record(problem: CorpusProblem, seed: int) -> Record:
    """Return what is known of a mechanism and of its constraint rows A."""
    system, decision, family = problem.system, problem.decision, problem.entry.family
    return {
        "name": problem.name,
        "family": family.name,
        "summary": problem.entry.summary,
        "mechanism": family.mechanism,
        "parameters": {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in problem.parameters.items()
        },
        "motion": family.motion,
        "seed": seed,
        "n_bodies": system.n_bodies,
        "n_joints": system.n_joints,
        "constraint_rows": system.n_rows,
        "rank": decision.rank,
        "redundant_rows": decision.n_dependent,
        "rank_certain": decision.certain,
        "rank_method": decision.method,
        "rank_doubt": decision.doubt,
        **row_spectrum(problem),
    }


def matrix_record(name: str, problem: CorpusProblem, form: Form) -> Record:
    """Return what is known of one matrix."""
    system, reference = problem.system, form.reference
    kappa, kappa_kind, inertia_by = condition(form)
    positive, negative, zero = form.inertia
    # A least-norm solution comes with a right-hand side that is rounded: an error of kappa eps.
    error = reference.error if reference.kind == "unique" else kappa * solutions.EPSILON
    return {
        "name": name,
        "problem": problem.name,
        "family": problem.entry.family.name,
        "n_bodies": system.n_bodies,
        "n_joints": system.n_joints,
        "form": form.name,
        "rows": form.rows,
        "n": form.matrix.shape[0],
        "nnz": int(form.matrix.count_nonzero()),
        "symmetric": True,
        "definiteness": form.definiteness,
        "inertia": {"positive": positive, "negative": negative, "zero": zero},
        "inertia_by": inertia_by,
        "rank": positive + negative,
        "redundant_rows": problem.decision.n_dependent if form.rows == "all" else 0,
        "rank_certain": problem.decision.certain,
        "kappa": rounded(kappa),
        "kappa_kind": kappa_kind,
        "delta": form.delta,
        "solution": reference.kind,
        "solution_error": rounded(error),
        "backward_error": rounded(reference.backward_error),
    }


def rounded(value: float) -> float | None:
    """Return a number with few digits; None for what is not finite."""
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None


def _power_of_ten(value: float) -> float | None:
    """Return a bound of what is nothing but rounding, which has no digits."""
    if not math.isfinite(value):
        return None
    return float(f"1e{math.ceil(math.log10(value))}") if value > 0.0 else 0.0


# ---- spectra ----------------------------------------------------------------------------------


def condition(form: Form) -> tuple[float, str, str]:
    """Return the condition number, how it was found, and what the inertia rests on.

    Of the nonzero spectrum in the 2-norm up to DENSE rows, else a 1-norm estimate; NaN where it is
    not known. The inertia rests on "rank and eigenvalues" where both say the same, else on "rank".
    """
    n, zeros = form.matrix.shape[0], form.inertia[2]
    if n <= DENSE:
        values = np.linalg.eigvalsh(form.matrix.toarray())
        values = values[np.argsort(np.abs(values))]
        size, counted = np.abs(values), values[zeros:]
        kappa = float(size[-1] / size[zeros]) if size[zeros] > 0.0 else np.inf
        is_clear = zeros == 0 or size[zeros] > GAP * size[zeros - 1]
        signs = int(np.sum(counted > 0.0)), int(np.sum(counted < 0.0)), zeros
        agreed = "rank and eigenvalues" if is_clear and signs == form.inertia else "rank"
        return kappa, "2-norm, eigenvalues", agreed
    if zeros:
        return np.nan, "not computed", "rank"
    matrix = csc_array(form.matrix)
    return symmetric_condition(matrix, splu(matrix).solve), "1-norm, estimated", "rank"


def row_spectrum(problem: CorpusProblem) -> Record:
    """Return ranks and singular values of A M^-1/2, its rows scaled to unit norm.

    `rank_by_svd` counts sigma > sigma_max max(m, n) eps; None where not all are computed.
    `sigma_min` is the least of as many as the rank or, in large problems, that of the independent
    rows, a lower bound of it; `sigma_zero` is a bound of the others.
    """
    rows, rank = unit_rows(problem), problem.decision.rank
    svd_rank, zero = None, np.nan
    if rows.shape[0] <= DENSE:
        sigma = np.linalg.svd(rows.toarray(), compute_uv=False)
        svd_rank = int(np.sum(sigma > sigma[0] * max(rows.shape) * solutions.EPSILON))
        largest, least = float(sigma[0]), float(sigma[rank - 1])
        zero = float(sigma[rank]) if rank < len(sigma) else np.nan
    else:
        independent_rows = rows[problem.decision.keep]
        square = csc_array(independent_rows @ independent_rows.T)
        solve = splu(square, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve
        largest = math.sqrt(largest_eigenvalue(lambda x: rows @ (rows.T @ x), rows.shape[0]))
        least = math.sqrt(1.0 / largest_eigenvalue(solve, independent_rows.shape[0]))
    return {
        "rank_by_svd": svd_rank,
        "structural_rank": int(structural_rank(rows)),  # the highest of any values on this pattern
        "sigma_max": rounded(largest),
        "sigma_min": rounded(least),
        "sigma_zero": _power_of_ten(zero),
        "kappa": rounded(largest / least if least > 0.0 else np.inf),
        "sigma_kind": "Lanczos" if svd_rank is None else "SVD",
    }


def unit_rows(problem: CorpusProblem) -> csr_array:
    """Return A M^-1/2 with rows of unit norm: units, sizes and masses do not matter."""
    saddle = problem.matrix("all")
    factor = np.linalg.cholesky(saddle.inverse)  # of M^-1 = L L', A L
    body = problem.structure("all").pattern.ends[saddle.row_block]
    rows = np.einsum("ksi,ksij->ksj", saddle.rows, factor[body])
    scaled_rows = csr_array(constraint_matrix(SaddleMatrix.of_rows(saddle.pattern, rows)))
    norm: FloatArray = np.sqrt(np.asarray(scaled_rows.power(2).sum(axis=1)).ravel())
    return csr_array(diags_array(1.0 / norm) @ scaled_rows)
