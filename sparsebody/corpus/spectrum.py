"""Ranks, inertias and condition numbers: exact in small matrices, estimates in large ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array
from scipy.sparse.csgraph import structural_rank
from scipy.sparse.linalg import splu

from sparsebody.arrays import FloatArray
from sparsebody.corpus.corpus_problem import CorpusProblem
from sparsebody.corpus.forms import Form
from sparsebody.sparse.saddle import constraint_matrix, largest_eigenvalue, largest_row_sum

DENSE = 2000  # rows up to which all singular values are computed
CLEAR = 10.0  # times that nonzero eigenvalues are larger than those that are zero, to be counted


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
        size = np.sort(np.abs(values))
        kappa = float(size[-1] / size[zeros]) if size[zeros] > 0.0 else np.inf
        is_clear = zeros == 0 or size[zeros] > CLEAR * size[zeros - 1]
        counted = values[np.argsort(np.abs(values))[zeros:]]
        signs = int(np.sum(counted > 0.0)), int(np.sum(counted < 0.0)), zeros
        agreed = "rank and eigenvalues" if is_clear and signs == form.inertia else "rank"
        return Condition(kappa, "2-norm, eigenvalues", agreed)
    if zeros:
        return Condition(np.nan, "not computed", "rank")
    solve = splu(csc_array(form.matrix)).solve
    largest = float(abs(form.matrix).sum(axis=0).max())
    kappa = largest * largest_row_sum(solve, solve, n)
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
    scaled = type(saddle)(saddle.pattern, saddle.diagonal, saddle.inverse, rows)
    scaled_rows = csr_array(constraint_matrix(scaled))
    norm: FloatArray = np.sqrt(np.asarray(scaled_rows.power(2).sum(axis=1)).ravel())
    return csr_array(diags_array(1.0 / norm) @ scaled_rows)
