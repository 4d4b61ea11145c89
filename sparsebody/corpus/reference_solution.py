"""Solutions to the last digit: LU with pivoting, corrected by residuals of 31 digits.

The solution is a sum of two doubles, so that corrections shrink until the condition number no
longer counts; it is rounded once, at the end.

Dependent rows are combinations of the independent ones, A_d = C A_k. The multipliers (y_k, 0) and
(y_k - C' t, t) give the same forces, and the least of them solve (I + C C') t = C y_k. That is well
conditioned where the independent rows are, and C is known by its products: C' t are the multipliers
of the forces A_d' t, and C v = A_d x for a motion with A_k x = v.

References
----------
Demmel, Hida, Kahan, Li, Mukherjee and Riedy (2006), ACM Trans. Math. Softw. 32, 2.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array, linalg

from sparsebody._core import factorization as kernels
from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.errors import SingularSystemError
from sparsebody.sparse.saddle import Product

EPSILON = float(np.finfo(float).eps)
STEPS = 40  # corrections at most
CORRECTION_TOLERANCE = 1e-28  # size of a correction, relative to x, after which none is made
ENTRY_TOLERANCE = 1e-22  # of the largest entry, below which there is nothing but rounding
ROW_TOLERANCE = 1e-12  # of |K| max |x| + |b|: a smaller |K| |x| + |b| of a row counts as zero
SHRINKS = 0.5  # largest ratio of two corrections: of larger ones the second is the last
PASSES = 10  # of scaling: each takes the root of how far the largest entries are from one


@dataclass(frozen=True, eq=False)
class Reference:
    """A solution, and how far it can be trusted."""

    x: FloatArray  # (n,)
    kind: str  # "unique" or "least-norm"
    error: float  # bound of |x - exact| relative to the largest entry, the worse of two parts
    backward_error: float  # |b - K x| relative to |K| |x| + |b|, the worst row


def refined(K: csr_array, right: FloatArray, split: int) -> Reference:
    """Return the solution of K x = right, K symmetric and regular, correctly rounded if it can be.

    The error is the larger one of x[:split] and x[split:], which have different units. It is
    bounded by twice the last correction: each is less than half the one before. Where K is singular
    to working precision corrections do not shrink, and the bound is large; where a pivot is zero,
    the solution is NaN and the bound infinite.
    """
    try:
        solve = scaled_solver(K)
    except SingularSystemError:
        return Reference(np.full(len(right), np.nan), "unique", np.inf, np.inf)
    high, low = np.zeros(len(right)), np.zeros(len(right))
    last = np.inf
    for _ in range(STEPS):
        step = solve(residual(K, right, high, low))
        high, low = _added(high, low, step)
        before, last = last, _relative(step, high, split)
        if last < CORRECTION_TOLERANCE or not last < SHRINKS * before:
            break
    x = high.copy()
    for part in np.split(x, [split]):  # what is too small for any of its digits to be right
        part[np.abs(part) < ENTRY_TOLERANCE * np.abs(part).max(initial=0.0)] = 0.0
    error = EPSILON / 2 + 2.0 * last
    return Reference(x, "unique", error, backward_error(K, right, x, split))


def scaled_solver(K: csr_array) -> Product:
    """Return the function that solves K x = right in double precision, by LU of K with scales."""
    scale = _scales(K)
    try:
        solve = linalg.splu(csc_array(diags_array(scale) @ K @ diags_array(scale))).solve
    except RuntimeError as error:
        raise SingularSystemError("the matrix is singular: a pivot is zero") from error
    return lambda right: scale * solve(scale * right)


def backward_error(K: csr_array, right: FloatArray, x: FloatArray, split: int = 0) -> float:
    """Return the largest |b - K x| relative to |K| |x| + |b|, the componentwise backward error.

    In rows where that is zero, but for rounding, relative to |K| max |x| + |b|, with a maximum over
    x[:split] and one over x[split:]. Oettli and Prager (1964); Arioli, Demmel and Duff (1989), SIAM
    J. Matrix Anal. 10, 165.
    """
    size_of_residual = np.abs(residual(K, right, x, np.zeros(len(x))))
    size = abs(K) @ np.abs(x) + np.abs(right)
    halves = np.split(np.abs(x), [split])
    largest = np.concatenate([np.full(len(half), half.max(initial=0.0)) for half in halves])
    bound = abs(K) @ largest + np.abs(right)
    size = np.where(size > ROW_TOLERANCE * bound, size, bound)
    return float(np.max(size_of_residual / np.where(size > 0.0, size, 1.0), initial=0.0))


def exact_product(K: csr_array, x: FloatArray) -> FloatArray:
    """Return K x, rounded once."""
    return -residual(K, np.zeros(K.shape[0]), x, np.zeros(len(x)))


def residual(K: csr_array, right: FloatArray, high: FloatArray, low: FloatArray) -> FloatArray:
    """Return right - K (high + low) of 31 digits, rounded once."""
    return kernels.exact_residual(K.indptr, K.indices, K.data, right, high, low)


def _added(high: FloatArray, low: FloatArray, step: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return high + low + step in two doubles. Knuth's sum of two."""
    total = high + step
    back = total - high
    error = (high - (total - back)) + (step - back) + low
    new_high = total + error
    return new_high, error - (new_high - total)


def _relative(step: FloatArray, x: FloatArray, split: int) -> float:
    """Return the largest entry of a correction relative to that of x, the worse of two parts."""
    parts = zip(np.split(np.abs(step), [split]), np.split(np.abs(x), [split]), strict=True)
    return max(float(one.max(initial=0.0) / (of.max(initial=0.0) or 1.0)) for one, of in parts)


def _scales(K: csr_array) -> FloatArray:
    """Return powers of two that bring the largest entry of each row near one. Ruiz (2001)."""
    size, scale = abs(csr_array(K)), np.ones(K.shape[0])
    for _ in range(PASSES):
        scaled_now = diags_array(scale) @ size @ diags_array(scale)
        largest = scaled_now.max(axis=1).toarray().ravel()
        scale = scale / np.sqrt(np.where(largest > 0.0, largest, 1.0))
    return np.exp2(np.round(np.log2(scale)))


MOST_STEPS = 1000  # of conjugate gradients
RESIDUAL_TOLERANCE = 1e-15  # relative residual


def least_multipliers(K: csr_array, A: csr_array, keep: BoolArray, mu: FloatArray) -> FloatArray:
    """Return the least y (n_rows,) with A' y = A[keep]' mu.

    K (n + rank, n + rank) is [M A_k'; A_k 0] of the rows A_k = A[keep] of all rows A (n_rows, n).
    """
    n, rough, dependent = A.shape[1], scaled_solver(K), A[~keep]

    def solve(*right: FloatArray) -> list[FloatArray]:
        """Return accelerations and multipliers."""
        x = rough(both := np.concatenate(right))
        return np.split(x + rough(residual(K, both, x, np.zeros(len(x)))), [n])

    def transposed_product(t: FloatArray) -> FloatArray:
        """Return C' t."""
        return solve(dependent.T @ t, np.zeros(len(mu)))[1]

    def product(v: FloatArray) -> FloatArray:
        """Return C v."""
        return np.asarray(dependent @ solve(np.zeros(n), v)[0])

    shape = (dependent.shape[0], dependent.shape[0])
    matrix = linalg.LinearOperator(shape, lambda s: s + product(transposed_product(s)), dtype=float)
    t, _ = linalg.cg(matrix, product(mu), rtol=RESIDUAL_TOLERANCE, maxiter=MOST_STEPS)
    y = np.empty(len(keep))
    y[keep], y[~keep] = mu - transposed_product(t), t
    return y
