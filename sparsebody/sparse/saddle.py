"""Values of a saddle-point matrix [D A'; A 0] on a BlockPattern, products with it, norms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal
from scipy.sparse import coo_array, csc_array

from sparsebody._core import factorization, rank
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.errors import ShapeError
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.tolerances import GROWTH_TOLERANCE


@dataclass(frozen=True, eq=False)
class SaddleMatrix:
    """D as blocks and A as scalar rows, each row with its part on either primal end.

    `width` is the largest primal block; a smaller block uses the leading part of its storage.
    """

    pattern: BlockPattern
    diagonal: FloatArray  # (n_primal, width, width) symmetric positive definite blocks of D
    inverse: FloatArray  # (n_primal, width, width) their inverses
    rows: FloatArray  # (n_dual_rows, 2, width) rows of A on first and second end; 0 where none
    is_unit: bool = False  # whether D is one, and the values stay until the next factorization

    @classmethod
    def of_rows(cls, pattern: BlockPattern, rows: FloatArray) -> SaddleMatrix:
        """Return a matrix without D, for functions of A alone."""
        nothing = np.empty((pattern.n_primal, 0, 0))
        return cls(pattern, nothing, nothing, rows)

    def unit_rows(self, index: IntArray, part: BlockPattern, threads: int = 1) -> FloatArray:
        """Return the rows `index` of A scaled to unit norm, on the ends in the pattern of a part.

        Zero rows stay. A row with both ends on one primal block has its sum on the first end.
        """
        return rank.unit_rows(
            self.rows, index, part.ends, part.dual_offsets, part.primal_sizes, threads
        )

    @property
    def blocks(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """Offsets, ends, D and A, as kernels take them."""
        return self.pattern.offsets, self.pattern.ends, self.diagonal, self.rows

    @property
    def factors(self) -> tuple[tuple[IntArray, IntArray, FloatArray, FloatArray], FloatArray]:
        """The blocks and the inverses of D, both empty where D is one, as kernels multiply them."""
        of_D = slice(0 if self.is_unit else None)
        offsets, ends, diagonal, rows = self.blocks
        return (offsets, ends, diagonal[of_D], rows), self.inverse[of_D]

    @property
    def row_block(self) -> IntArray:
        """(n_dual_rows,) the dual block, counted from 0, that each row of A belongs to."""
        sizes = self.pattern.block_sizes[self.pattern.n_primal :]
        return np.repeat(np.arange(self.pattern.n_dual, dtype=np.intp), sizes)


def saddle_product(matrix: SaddleMatrix, x: FloatArray) -> FloatArray:
    """Return [D A'; A 0] x for x (n_rows,) or (n_rows, k) in natural order, primal part first."""
    return -saddle_residual(matrix, x, np.zeros(x.shape))


def saddle_residual(matrix: SaddleMatrix, x: FloatArray, rhs: FloatArray) -> FloatArray:
    """Return rhs - [D A'; A 0] x of one or several columns; ShapeError if x does not fit."""
    pattern = matrix.pattern
    if x.shape[0] != pattern.n_rows:
        raise ShapeError(f"x has {x.shape[0]} rows, the matrix {pattern.n_rows}")
    if x.shape != rhs.shape:
        raise ShapeError(f"x is {x.shape}, the right-hand side {rhs.shape}")
    residual = np.array(rhs, dtype=float, order="C")
    columns = x.reshape(len(x), -1), residual.reshape(len(x), -1)
    blocks, _ = matrix.factors
    factorization.subtract_product(blocks, *columns)
    return residual


def residual_scales(matrix: SaddleMatrix, x: FloatArray, rhs: FloatArray) -> FloatArray:
    """Return scales (k, 2) of the primal and the dual residuals of each of k columns.

    The largest entries of f and D x for primal rows, of g and A D^-1 f for dual ones.
    """
    columns = x.reshape(len(x), -1), rhs.reshape(len(x), -1)
    return factorization.residual_scales(*matrix.factors, *columns)


def residual_size(matrix: SaddleMatrix, residual: FloatArray, scales: FloatArray) -> float:
    """Return the largest entry of a residual relative to its scales; NaN if one is not a number."""
    parts = np.split(np.abs(residual.reshape(len(residual), -1)), [matrix.pattern.n_primal_rows])
    largest = np.stack([part.max(axis=0, initial=0.0) for part in parts], axis=1)
    return float((largest / np.where(scales > 0.0, scales, 1.0)).max(initial=0.0))


def constraint_matrix(matrix: SaddleMatrix) -> csc_array:
    """Return A alone, (n_dual_rows, n_primal_rows), as a SciPy sparse matrix."""
    column, used = _row_columns(matrix)
    row = np.broadcast_to(np.arange(len(column))[:, None, None], column.shape)
    shape = (len(column), matrix.pattern.n_primal_rows)
    return coo_array((matrix.rows[used], (row[used], column[used])), shape=shape).tocsc()


def scaled_columns(matrix: SaddleMatrix, scale: FloatArray) -> SaddleMatrix:
    """Return the matrix with A times a diagonal, scale (n_primal_rows,), and D as it was."""
    column, used = _row_columns(matrix)
    rows = np.zeros_like(matrix.rows)
    rows[used] = matrix.rows[used] * scale[column[used]]
    return replace(matrix, rows=rows)


def _row_columns(matrix: SaddleMatrix) -> tuple[IntArray, BoolArray]:
    """Return the columns of A of all entries of `rows`, and which of these are used."""
    pattern, local = matrix.pattern, np.arange(matrix.rows.shape[2])
    ends = pattern.ends[matrix.row_block]  # (n_dual_rows, 2)
    column = pattern.offsets[ends][:, :, None] + local
    return column, (ends >= 0)[:, :, None] & (local < pattern.block_sizes[ends][:, :, None])


def saddle_csc(matrix: SaddleMatrix) -> csc_array:
    """Return the whole of [D A'; A 0] in natural order as a SciPy sparse matrix (slow, clear)."""
    pattern = matrix.pattern
    width = matrix.diagonal.shape[1]
    local = np.arange(width)
    size = pattern.block_sizes[: pattern.n_primal]
    used = (local < size[:, None])[:, :, None] & (local < size[:, None])[:, None, :]
    start = pattern.offsets[: pattern.n_primal, None, None]
    row = np.broadcast_to(start + local[:, None], used.shape)[used]
    column = np.broadcast_to(start + local, used.shape)[used]
    constraint = constraint_matrix(matrix).tocoo()
    lower = constraint.row + pattern.n_primal_rows
    entries = np.concatenate([matrix.diagonal[used], constraint.data, constraint.data])
    rows = np.concatenate([row, lower, constraint.col])
    columns = np.concatenate([column, constraint.col, lower])
    return coo_array((entries, (rows, columns)), shape=(pattern.n_rows, pattern.n_rows)).tocsc()


Product = Callable[[FloatArray], FloatArray]
STEPS = 40  # of Lanczos at most
LEAST_STEPS = 4
INVARIANT_TOLERANCE = 1e-12  # relative residual at which the Krylov space is invariant
ROUNDS = 5  # of Hager's method at most; two are usual


def largest_eigenvalue(product: Product, n: int, growth: float = GROWTH_TOLERANCE) -> float:
    """Estimate the largest eigenvalue of a symmetric positive matrix (n, n), from below.

    Lanczos' method from a random vector, until a step adds no more than a relative `growth`. Golub
    and Van Loan (2013), sec. 10.1; Kuczynski and Wozniakowski (1992), SIMAX 13:1094.
    """
    if n == 0:
        return 0.0
    q = np.random.default_rng(0).normal(size=n)
    q /= np.linalg.norm(q)
    last, beta, eigenvalue = np.zeros(n), 0.0, 0.0
    diagonal, off_diagonal = list[float](), list[float]()  # of the tridiagonal matrix
    for step in range(min(STEPS, n)):
        z = product(q) - beta * last
        diagonal.append(float(z @ q))
        z -= diagonal[-1] * q
        before, eigenvalue = eigenvalue, float(eigvalsh_tridiagonal(diagonal, off_diagonal)[-1])
        beta = float(np.linalg.norm(z))
        has_settled = step >= LEAST_STEPS and eigenvalue <= (1.0 + growth) * before
        is_invariant = not beta > INVARIANT_TOLERANCE * eigenvalue
        if has_settled or is_invariant:
            break
        off_diagonal.append(beta)
        last, q = q, z / beta
    return eigenvalue


def largest_row_sum(product: Product, transposed: Product, n_rows: int) -> float:
    """Estimate the largest sum of absolute values in a row of a matrix with n_rows, from below.

    Hager (1984), SIAM J. Sci. Stat. Comput. 5:311; Higham (2002), sec. 15.3.
    """
    v = np.full(n_rows, 1.0 / n_rows)
    largest_sum = 0.0
    for _ in range(ROUNDS):
        row = transposed(v)
        total = float(np.abs(row).sum())
        if not total > largest_sum:
            break
        largest_sum = total
        sums = np.abs(product(np.where(row < 0.0, -1.0, 1.0)))
        v = np.zeros(n_rows)
        v[np.argmax(sums)] = 1.0
    return largest_sum
