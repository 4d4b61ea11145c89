"""LU and Cholesky factors, as doubles, that the oracle's solutions are corrected with."""

from collections.abc import Callable

import numpy as np
from scipy.sparse import (
    bsr_array,
    coo_array,
    csc_array,
    csc_matrix,
    csr_array,
    diags_array,
    eye_array,
)
from scipy.sparse.linalg import SuperLU, splu

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.errors import SingularSystemError
from sparsebody.sparse.saddle import largest_row_sum

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
    moving = np.broadcast_to((ends < n)[:, :, None], values.shape)
    row = np.broadcast_to(6 * n + np.arange(m)[:, None, None], values.shape)[moving]
    column = (6 * ends[:, :, None] + np.arange(6))[moving]
    turning = 6 * np.arange(n)[:, None, None] + np.zeros((1, 3, 3), dtype=int)
    i, k = turning + np.arange(3)[:, None], turning + np.arange(3)
    sliding = (6 * np.arange(n)[:, None] + np.arange(3, 6)).ravel()
    entries = [inertia.ravel(), np.repeat(mass, 3), values[moving], values[moving]]
    rows = np.concatenate([i.ravel(), sliding, row, column])
    columns = np.concatenate([k.ravel(), sliding, column, row])
    return coo_array((np.concatenate(entries), (rows, columns)), shape=2 * (6 * n + m,)).tocsr()


class Factor:
    """LU factors, rows and columns scaled, dependent rows left out.

    With COLAMD and partial pivoting a dependent row of a lattice ends in a pivot of 1e-16, while
    independent ones stay above 1e-9 (measured up to 8281 bodies, against singular values up to
    529). That fails for spatial scissors, whose rows are to be chosen by who calls.
    """

    def __init__(
        self, K: csr_array, n_primal: int, keep: BoolArray | None = None, is_regular: bool = False
    ) -> None:
        scale, scaled = _scaled(K, n_primal)
        factors = None
        if keep is None:
            quick = _diagonal_pivots(scaled, n_primal) if is_regular else None
            factors = quick or _partial_pivoting(scaled, n_primal)
            keep = ~_weak_pivots(factors, n_primal)[n_primal:]
        self.kept = np.flatnonzero(np.concatenate([np.ones(n_primal, dtype=bool), keep]))
        self.scale, self.matrix = scale[self.kept], scaled
        if factors is None or not keep.all():
            self.matrix = csc_array(scaled[self.kept][:, self.kept])
            factors = _partial_pivoting(self.matrix, n_primal)
        self.factors = factors

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve the unscaled system in double precision; zeros at rows that are left out."""
        x = np.zeros(len(right))
        x[self.kept] = self.scale * self.factors.solve(self.scale * right[self.kept])
        return x

    def kappa(self) -> float:
        """Estimate the 1-norm condition number of the scaled matrix."""
        return condition(self.matrix, self.factors.solve)


class SchurFactor:
    """Cholesky factors of A D^-1 A' + a shift, which the refinement makes up for.

    Of lattices it leaves as little as dissection does; it squares the condition, which would be too
    much for ladders.
    """

    def __init__(self, K: csr_array, n_primal: int) -> None:
        from sksparse.cholmod import CholmodError, cholesky

        self.n_primal = n_primal
        self.scale, self.matrix = _scaled(K, n_primal)
        blocks = bsr_array(self.matrix[:n_primal, :n_primal], blocksize=(6, 6))
        blocks.sort_indices()
        inverse = np.linalg.inv(blocks.data), blocks.indices, blocks.indptr
        self.inverse = csr_array(bsr_array(inverse, shape=blocks.shape))
        self.A = csr_array(self.matrix[n_primal:, :n_primal])
        schur = self.A @ self.inverse @ self.A.T
        shifted = schur + SHIFT * eye_array(schur.shape[0])
        try:
            self.factor = cholesky(csc_matrix(shifted), mode="supernodal", ordering_method="metis")
        except CholmodError as error:
            raise SingularSystemError("rows depend on each other") from error

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve the unscaled system in double precision."""
        return self.scale * self._solve(self.scale * right)

    def _solve(self, right: FloatArray) -> FloatArray:
        n = self.n_primal
        free = self.inverse @ right[:n]
        y = self.factor(self.A @ free - right[n:])
        return np.concatenate([free - self.inverse @ (self.A.T @ y), y])

    def kappa(self) -> float:
        """Estimate the 1-norm condition number of the scaled matrix."""
        return condition(self.matrix, self._solve)


def _scaled(K: csr_array, n_primal: int) -> tuple[FloatArray, csc_array]:
    """Return scales, and the matrix with ones on the primal diagonal and rows of A of unit norm."""
    inverse_root = 1.0 / np.sqrt(np.abs(K.diagonal()[:n_primal]))
    A = K[n_primal:, :n_primal] @ diags_array(inverse_root)
    norm = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
    scale = np.concatenate([inverse_root, 1.0 / norm])
    return scale, csc_array(diags_array(scale) @ K @ diags_array(scale))


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
        return splu(csc_array(matrix + diags_array(shift)), "COLAMD", diag_pivot_thresh=1.0)


def condition(matrix: csc_array, solve: Callable[[FloatArray], FloatArray]) -> float:
    """Estimate the 1-norm condition number of a symmetric matrix with what solves it."""
    largest_column = float(np.abs(matrix).sum(axis=0).max())
    return largest_column * largest_row_sum(solve, solve, matrix.shape[0])
