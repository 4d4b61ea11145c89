"""Records of the index, one for each problem and matrix: ranks, inertias, condition numbers.

Spectra are exact in small matrices, estimates in large ones.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array
from scipy.sparse.csgraph import structural_rank
from scipy.sparse.linalg import splu

from sparsebody.arrays import FloatArray
from sparsebody.corpus.corpus_families import GENERATOR, LICENSE
from sparsebody.corpus.corpus_problem import CorpusProblem, Form
from sparsebody.corpus.reference_solution import EPSILON
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix, largest_eigenvalue
from sparsebody.study.study_references import symmetric_condition

DENSE = 2000  # rows up to which all singular values are computed
GAP = 10.0  # between zero and nonzero eigenvalues, for signs to be counted
_DIGITS = 3  # of estimates: more would differ from machine to machine

Record = dict[str, Any]


def problem_record(problem: CorpusProblem, seed: int) -> Record:
    """Return what is known of a mechanism and of its constraint rows A."""
    system, decision, spectrum = problem.system, problem.decision, row_spectrum(problem)
    family = problem.entry.family
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
        "rank_by_svd": spectrum.rank,
        "structural_rank": spectrum.structural_rank,
        "sigma_max": rounded(spectrum.sigma_max),
        "sigma_min": rounded(spectrum.sigma_min),
        "sigma_zero": _power_of_ten(spectrum.sigma_zero),
        "kappa": rounded(spectrum.kappa),
        "sigma_kind": spectrum.kind,
    }


def matrix_record(name: str, problem: CorpusProblem, form: Form) -> Record:
    """Return what is known of one matrix."""
    system, estimate, reference = problem.system, condition(form), form.reference
    positive, negative, zero = form.inertia
    # A least-norm solution comes with a right-hand side that is rounded: an error of kappa eps.
    error = reference.error if reference.kind == "unique" else estimate.kappa * EPSILON
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
        "inertia_by": estimate.inertia_by,
        "rank": positive + negative,
        "redundant_rows": problem.decision.n_dependent if form.rows == "all" else 0,
        "rank_certain": problem.decision.certain,
        "kappa": rounded(estimate.kappa),
        "kappa_kind": estimate.kind,
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


def digests(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of files in a folder, by name."""
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def header(record: Mapping[str, Any], what: str) -> list[str]:
    """Return the comment at the head of a Matrix Market file, in the SuiteSparse collection's way.

    It has what tells the file; the index has the rest.
    """
    return [
        f"name: sparsebody/{record['name']}",
        f"title: {what}",
        f"family: {record['family']}, {record['n_bodies']} bodies, {record['n_joints']} joints",
        "kind: multibody dynamics problem",
        f"author: {GENERATOR}; license: {LICENSE}",
        "notes: facts, block structure and digests are in corpus.json, explanations in README.md",
    ]


# ---- spectra ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Condition:
    """Largest over smallest nonzero singular value, and how it was found."""

    kappa: float  # NaN where it is not known
    kind: str  # "2-norm, eigenvalues", "1-norm, estimated", "not computed"
    inertia_by: str  # "rank and eigenvalues" where both say the same, "rank"


@dataclass(frozen=True)
class RowSpectrum:
    """Singular values of A M^-1/2, its rows scaled to unit norm."""

    rank: int | None  # by the gap of the singular values; None where they are not computed
    structural_rank: int  # that no values exceed on the pattern of A
    sigma_max: float
    sigma_min: float  # the least of as many as the rank
    sigma_zero: float  # the largest of the others; NaN where there are none
    kind: str

    @property
    def kappa(self) -> float:
        """Condition number, zeros left out."""
        return self.sigma_max / self.sigma_min if self.sigma_min > 0.0 else np.inf


def condition(form: Form) -> Condition:
    """Return the condition number of a matrix as it is written."""
    n, zeros = form.matrix.shape[0], form.inertia[2]
    if n <= DENSE:
        values = np.linalg.eigvalsh(form.matrix.toarray())
        values = values[np.argsort(np.abs(values))]
        size, counted = np.abs(values), values[zeros:]
        kappa = float(size[-1] / size[zeros]) if size[zeros] > 0.0 else np.inf
        is_clear = zeros == 0 or size[zeros] > GAP * size[zeros - 1]
        signs = int(np.sum(counted > 0.0)), int(np.sum(counted < 0.0)), zeros
        agreed = "rank and eigenvalues" if is_clear and signs == form.inertia else "rank"
        return Condition(kappa, "2-norm, eigenvalues", agreed)
    if zeros:
        return Condition(np.nan, "not computed", "rank")
    matrix = csc_array(form.matrix)
    kappa = symmetric_condition(matrix, splu(matrix).solve)
    return Condition(kappa, "1-norm, estimated", "rank")


def row_spectrum(problem: CorpusProblem) -> RowSpectrum:
    """Return what is known of the singular values of A."""
    rows, rank = unit_rows(problem), problem.decision.rank
    pattern_rank = int(structural_rank(rows))
    if rows.shape[0] <= DENSE:
        sigma = np.linalg.svd(rows.toarray(), compute_uv=False)
        zero = float(sigma[rank]) if rank < len(sigma) else np.nan
        numerical_rank = int(np.sum(sigma > sigma[0] * max(rows.shape) * np.finfo(float).eps))
        return RowSpectrum(
            numerical_rank, pattern_rank, float(sigma[0]), float(sigma[rank - 1]), zero, "SVD"
        )
    kept = rows[problem.decision.keep]
    square = csc_array(kept @ kept.T)
    solve = splu(square, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve
    largest = largest_eigenvalue(lambda x: rows @ (rows.T @ x), rows.shape[0])
    least = 1.0 / largest_eigenvalue(solve, kept.shape[0])
    return RowSpectrum(
        None, pattern_rank, float(np.sqrt(largest)), float(np.sqrt(least)), np.nan, "Lanczos"
    )


def unit_rows(problem: CorpusProblem) -> csr_array:
    """Return A M^-1/2 with rows of unit norm: units, sizes and masses do not matter."""
    saddle = problem.matrix("all")
    factor = np.linalg.cholesky(saddle.inverse)  # of M^-1 = L L', A L
    body = problem.structure("all").pattern.ends[saddle.row_block]
    rows = np.einsum("ksi,ksij->ksj", saddle.rows, factor[body])
    scaled_rows = csr_array(constraint_matrix(SaddleMatrix.of_rows(saddle.pattern, rows)))
    norm: FloatArray = np.sqrt(np.asarray(scaled_rows.power(2).sum(axis=1)).ravel())
    return csr_array(diags_array(1.0 / norm) @ scaled_rows)
