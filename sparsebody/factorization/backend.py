"""Protocols of factorization backends, checks that all of them share, and iterative refinement.

In long mechanisms the least eigenvalues of A D^-1 A' are smaller than the rounding errors of its
elimination: the factors are inaccurate in a few directions, and each of these costs an iteration of
conjugate gradients.
"""

from functools import lru_cache
from typing import Protocol

import numpy as np

from sparsebody import tolerances
from sparsebody._core import factorization
from sparsebody.arrays import FloatArray
from sparsebody.errors import ShapeError, SingularSystemError, SparsebodyError
from sparsebody.sparse import BlockPattern, SaddleMatrix, saddle

REMEDY = (
    "a constraint row depends on the others; leave dependent rows out "
    "(sparsebody.sparse.independent_rows names them) or look for redundant joints"
)


class Numeric(Protocol):
    """The factors of one matrix."""

    def solve(self, rhs: FloatArray) -> FloatArray:
        """Return x, rhs (n_rows,) or (n_rows, k), both in natural order, primal rows first."""
        ...


class Symbolic(Protocol):
    """The analysis of a pattern in an order, reused for every matrix with this pattern."""

    def factorize(self, matrix: SaddleMatrix) -> Numeric:
        """Factorize the values; raise SingularSystemError if they are singular."""
        ...


def check_pattern(matrix: SaddleMatrix, pattern: BlockPattern) -> None:
    """Raise ShapeError unless the matrix has the analyzed pattern (free if it is the same one)."""
    other = matrix.pattern
    if other is pattern:
        return
    if not other.is_like(pattern):
        raise ShapeError("the matrix has another pattern than the analyzed one: analyze it first")


def check_rhs(rhs: FloatArray, pattern: BlockPattern) -> None:
    """Raise ShapeError unless `rhs` is (n_rows,) or (n_rows, k)."""
    if rhs.ndim not in (1, 2) or len(rhs) != pattern.n_rows:
        raise ShapeError(f"right-hand side {rhs.shape} for a matrix of {pattern.n_rows} rows")


def block_of_row(pattern: BlockPattern, row: int) -> tuple[str, int]:
    """Return the block of a scalar row, as messages name it, and the number of the row in it."""
    block = int(np.searchsorted(pattern.offsets, row, side="right")) - 1
    n, local = pattern.n_primal, row - int(pattern.offsets[block])
    return (f"dual block {block - n}" if block >= n else f"primal block {block}"), local


def vanishing_pivot(pattern: BlockPattern, row: int) -> SingularSystemError:
    """Return the error that names the block whose pivot vanishes."""
    return SingularSystemError(f"a pivot of {block_of_row(pattern, row)[0]} vanishes: {REMEDY}")


def vanishing_row(pattern: BlockPattern, row: int) -> SingularSystemError:
    """Return the error that names the block that a useless row belongs to."""
    block, local = block_of_row(pattern, row)
    if row < pattern.n_primal_rows:
        return SingularSystemError(
            f"row {local} of {block}: its diagonal is not positive and finite"
        )
    return SingularSystemError(f"row {local} of {block} is zero or not finite: {REMEDY}")


def largest(x: FloatArray) -> float:
    """Return max |x|."""
    return float(np.abs(x).max(initial=0.0))


@lru_cache(maxsize=4)
def probe_vector(n: int) -> FloatArray:
    """Return a fixed right-hand side (n,) of signs, unlikely to be orthogonal to a null vector."""
    return np.asarray(np.random.default_rng(8_13).choice([-1.0, 1.0], n) + 0.125)


def check_regular(solve: saddle.Product, n: int) -> None:
    """Raise SingularSystemError if a solution (n,), by a unit diagonal, is too large."""
    growth = largest(solve(probe_vector(n)))
    if not growth < tolerances.LARGEST_INVERSE:  # catches NaN as well
        raise SingularSystemError(f"the matrix is singular (inverse beyond {growth:.0e}): {REMEDY}")


def check_newest(serial: int, newest: int) -> None:
    """Raise SparsebodyError if factors, stored in place, were overwritten by newer ones."""
    if serial != newest:
        raise SparsebodyError(
            "these factors were overwritten by a later factorize() of the same Symbolic: "
            "analyze() twice to keep two sets of factors"
        )


MOST_ITERATIONS = 4


def is_dependent(pattern: BlockPattern, rows: FloatArray, solve: saddle.Product, row: int) -> bool:
    """Return whether rows of A cancel in a combination y that holds dual row `row`.

    Inverse iteration with shifted factors turns y towards the smallest singular value of A'. In
    long mechanisms A' y is above rounding although y' A A' y, which the pivots see, is not.
    """
    n = pattern.n_primal_rows
    y = np.zeros(pattern.n_rows)
    y[n + row] = 1.0
    for _ in range(MOST_ITERATIONS):
        y = solve(y)
        y[:n] = 0.0
        size = np.abs(y).max()
        if not (0.0 < size < np.inf):
            return True
        y /= size
        product, terms = factorization.cancellation((pattern.offsets, pattern.ends), rows, y)
        if product <= tolerances.DEPENDENCE_TOLERANCE * terms:
            return True
    return False


MOST_GRADIENTS = 100
GRADIENT_REDUCTION = 1e-12  # of the error in the energy norm


def refined_solve(
    numeric: Numeric, matrix: SaddleMatrix, rhs: FloatArray, steps: int = 4
) -> tuple[FloatArray, float]:
    """Solve, then add corrections as long as the error needs it and they or the residual shrink.

    The first correction, relative to the solution, is about the error of the factors, of `matrix`
    or one close to it; each one multiplies the error by it. Where it is large, conjugate gradients
    make the corrections, at most `steps`; most right-hand sides (n_rows,) or (n_rows, k) need one.

    Returns x shaped like rhs, and the size of b - K x in the worst column, against
    `residual_scales`. Higham (2002), Accuracy and Stability of Numerical Algorithms, ch. 12.
    """
    n = matrix.pattern.n_primal_rows
    x = numeric.solve(rhs)
    residual = saddle.saddle_residual(matrix, x, rhs)
    scales = saddle.residual_scales(matrix, x, rhs)
    best = saddle.residual_size(matrix, residual, scales)
    roughness, latest = 0.0, np.inf
    for step in range(steps if best > tolerances.REFINED_RESIDUAL else 0):
        is_rough = roughness > tolerances.ROUGH_FACTORS
        correction = corrections(numeric, matrix, residual) if is_rough else numeric.solve(residual)
        trial = x + correction
        residual = saddle.saddle_residual(matrix, trial, rhs)
        size = saddle.residual_size(matrix, residual, scales)
        relative = _relative_size(correction[:n], trial[:n])
        if not (size < best or relative < latest / 2):
            break
        x, best = trial, size
        if step == 0:
            roughness = relative
        latest = np.inf if step == 0 and roughness > tolerances.ROUGH_FACTORS else relative
        is_corrected = is_rough and relative < tolerances.GRADIENT_CORRECTION
        if is_corrected or relative * roughness < tolerances.REFINED_ERROR:
            break
    return x, best


def corrections(numeric: Numeric, matrix: SaddleMatrix, residual: FloatArray) -> FloatArray:
    """Return what conjugate gradients make of every column of a residual."""
    columns = residual.reshape(len(residual), -1).T
    solutions = [conjugate_gradient_solve(numeric, matrix, column) for column in columns]
    return np.column_stack(solutions).reshape(residual.shape)


def _relative_size(correction: FloatArray, x: FloatArray) -> float:
    """Return the largest entry of a correction relative to that of the solution, worst column."""
    largest = np.abs(x).max(axis=0, initial=0.0)
    change = np.abs(correction).max(axis=0, initial=0.0)
    return float(np.max(change / np.where(largest > 0.0, largest, 1.0), initial=0.0))


def conjugate_gradient_solve(
    numeric: Numeric, matrix: SaddleMatrix, rhs: FloatArray, reduction: float = GRADIENT_REDUCTION
) -> FloatArray:
    """Return x with [D A'; A 0] x nearly rhs (n_rows,), exact in its primal rows but for rounding.

    By rough factors, a correction and not a solution to all digits: the iterate of least residual,
    because dependent rows contradict each other by rounding. Gould, Hribar and Nocedal (2001), SIAM
    J. Sci. Comput. 23:1376, with constraint preconditioner.
    """
    n, of_matrix = matrix.pattern.n_primal_rows, matrix.factors

    def preconditioned(r: FloatArray) -> FloatArray:
        """Return (A D^-1 A')^-1 r, roughly."""
        return numeric.solve(np.concatenate([np.zeros(n), -r]))[n:]

    def schur_product(y: FloatArray) -> FloatArray:
        """Return A D^-1 A' y."""
        wrench = saddle.saddle_product(matrix, np.concatenate([np.zeros(n), y]))
        return factorization.dual_rhs(*of_matrix, wrench[:, None])[:, 0]

    y = np.zeros(len(rhs) - n)
    residual = factorization.dual_rhs(*of_matrix, rhs[:, None])[:, 0]  # A D^-1 f - g
    step = preconditioned(residual)
    direction = step
    power = first = least = float(residual @ step)
    best = y
    for _ in range(MOST_GRADIENTS):
        product = schur_product(direction)
        curvature = float(direction @ product)
        if not curvature > 0.0:
            break
        y = y + power / curvature * direction
        residual = residual - power / curvature * product
        step = preconditioned(residual)
        before, power = power, float(residual @ step)
        if power < least:
            best, least = y, power
        if not power > reduction**2 * first:
            break
        direction = step + power / before * direction
    return factorization.primal_solution(*of_matrix, rhs[:, None], best[:, None])[:, 0]
