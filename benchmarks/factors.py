"""LU and Cholesky factors, as doubles, that the oracle's solutions are corrected with."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csc_array, csr_array
from scipy.sparse.linalg import SuperLU, splu

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.errors import SingularSystemError
from sparsebody.study.study_references import scaled_saddle, symmetric_condition

LARGE = 40_000  # unknowns of bodies
SHIFT = 1e-14  # of the Schur complement of the scaled matrix
WEAK_PIVOT = 1e-10  # of a row that depends on others, in the scaled matrix


def saddle_matrix(
    inertia: FloatArray, mass: FloatArray, values: FloatArray, ends: IntArray
) -> csr_array:
    """Return [D A'; A 0] from (n, 3, 3), (n,), coefficients (m, 2, 6) and bodies (m, 2), n: world.

    Unknowns of a body are three of turning and three of its center of mass.
    """
    n, m = len(mass), len(ends)
    blocks = np.zeros((n, 6, 6))
    blocks[:, :3, :3], blocks[:, 3:, 3:] = inertia, mass[:, None, None] * np.eye(3)
    D = sparse.bsr_array((blocks, np.arange(n), np.arange(n + 1))).tocsr()
    D.eliminate_zeros()
    columns, start = 6 * ends[:, :, None] + np.arange(6), 12 * np.arange(m + 1)
    A = csr_array((values.ravel(), columns.ravel(), start), shape=(m, 6 * n + 6))[:, : 6 * n]
    return csr_array(sparse.block_array([[D, A.T], [A, None]]))


@dataclass(frozen=True, eq=False)
class Factor:
    """Factors of a matrix whose rows and columns are scaled."""

    matrix: csc_array  # scaled
    scale: FloatArray
    solve_scaled: Callable[[FloatArray], FloatArray]
    rows: IntArray  # of the matrix; others are left out

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve the unscaled system in double precision; zeros at rows that are left out."""
        x = np.zeros(len(right))
        x[self.rows] = self.scale * self.solve_scaled(self.scale * right[self.rows])
        return x

    def kappa(self) -> float:
        """Estimate the 1-norm condition number of the scaled matrix."""
        return symmetric_condition(self.matrix, self.solve_scaled)


def lu_factor(
    K: csr_array, n_primal: int, keep: BoolArray | None = None, is_regular: bool = False
) -> Factor:
    """Return LU factors, dependent rows left out.

    With COLAMD and partial pivoting a dependent row of a lattice ends in a pivot of 1e-16, while
    independent ones stay above 1e-9 (measured up to 8281 bodies, against singular values up to
    529). That fails for spatial scissors, whose rows are to be chosen by who calls.
    """
    (scale, matrix), factors = scaled_saddle(K, n_primal), None
    if keep is None:
        quick = _diagonal_pivots(matrix, n_primal) if is_regular else None
        factors = quick or _partial_pivoting(matrix, n_primal)
        keep = ~_weak_pivots(factors, n_primal)[n_primal:]
    rows = np.flatnonzero(np.concatenate([np.ones(n_primal, dtype=bool), keep]))
    if factors is None or not keep.all():
        matrix = csc_array(matrix[rows][:, rows])
        factors = _partial_pivoting(matrix, n_primal)
    return Factor(matrix, scale[rows], factors.solve, rows)


def schur_factor(K: csr_array, n: int) -> Factor:
    """Return Cholesky factors of A D^-1 A' + a shift, which the refinement makes up for.

    Of lattices it leaves as little as dissection does; it squares the condition, which would be too
    much for ladders. `n`: unknowns of bodies.
    """
    from sksparse.cholmod import CholmodError, cholesky

    scale, matrix = scaled_saddle(K, n)
    blocks = sparse.bsr_array(matrix[:n, :n], blocksize=(6, 6))
    blocks.sort_indices()
    inverse_blocks = np.linalg.inv(blocks.data), blocks.indices, blocks.indptr
    inverse = csr_array(sparse.bsr_array(inverse_blocks, shape=blocks.shape))
    A = csr_array(matrix[n:, :n])
    schur = A @ inverse @ A.T
    shifted = schur + SHIFT * sparse.eye_array(schur.shape[0])
    try:
        factor = cholesky(sparse.csc_matrix(shifted), mode="supernodal", ordering_method="metis")
    except CholmodError as error:
        raise SingularSystemError("rows depend on each other") from error

    def solve(right: FloatArray) -> FloatArray:
        free = inverse @ right[:n]
        y = factor(A @ free - right[n:])
        return np.concatenate([free - inverse @ (A.T @ y), y])

    return Factor(matrix, scale, solve, np.arange(len(scale)))


def _diagonal_pivots(matrix: csc_array, n_primal: int) -> SuperLU | None:
    """Factorize a large matrix in an order for symmetric ones; None where a pivot is weak.

    It is ten times faster, and what rounding it adds the refinement takes away.
    """
    if n_primal < LARGE:
        return None
    options = {"SymmetricMode": True}
    try:
        factors = splu(matrix, "MMD_AT_PLUS_A", diag_pivot_thresh=0.1, options=options)
    except RuntimeError:
        return None
    return None if _weak_pivots(factors, n_primal).any() else factors


def _weak_pivots(factors: SuperLU, n_primal: int) -> BoolArray:
    weak = np.abs(factors.U.diagonal())[factors.perm_c] < WEAK_PIVOT
    weak[:n_primal] = False
    return weak


def _partial_pivoting(matrix: csc_array, n_primal: int) -> SuperLU:
    """Factorize; where a pivot is exactly zero, move the dual diagonal by a rounding error."""
    try:
        return splu(matrix, "COLAMD", diag_pivot_thresh=1.0)
    except RuntimeError:
        shift = np.where(np.arange(matrix.shape[0]) < n_primal, 0.0, -1e-16)
        return splu(csc_array(matrix + sparse.diags_array(shift)), "COLAMD", diag_pivot_thresh=1.0)
