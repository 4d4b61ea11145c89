"""Protocols of factorization backends, and the checks that all of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from sparsebody._core import factorization
from sparsebody.arrays import FloatArray
from sparsebody.errors import ShapeError, SingularSystemError, SparsebodyError
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix
from sparsebody.tolerances import DEPENDENCE_TOLERANCE, LARGEST_INVERSE

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
    same_sizes = np.array_equal(other.block_sizes, pattern.block_sizes)
    if not (same_sizes and np.array_equal(other.ends, pattern.ends)):
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


def check_regular(solve: Callable[[FloatArray], FloatArray], probe: FloatArray) -> None:
    """Raise SingularSystemError if a solution, by a unit diagonal, is larger than a regular one."""
    growth = np.abs(solve(probe)).max(initial=0.0)
    if not growth < LARGEST_INVERSE:  # catches NaN as well
        raise SingularSystemError(f"the matrix is singular (inverse beyond {growth:.0e}): {REMEDY}")


def check_newest(serial: int, newest: int) -> None:
    """Raise SparsebodyError if factors, stored in place, were overwritten by newer ones."""
    if serial != newest:
        raise SparsebodyError(
            "these factors were overwritten by a later factorize() of the same Symbolic: "
            "analyze() twice to keep two sets of factors"
        )


def probe_vector(n: int) -> FloatArray:
    """Return a fixed right-hand side (n,) of signs, unlikely to be orthogonal to a null vector."""
    return np.asarray(np.random.default_rng(8_13).choice([-1.0, 1.0], n) + 0.125)


MOST_ITERATIONS = 4


def is_dependent(
    pattern: BlockPattern, rows: FloatArray, solve: Callable[[FloatArray], FloatArray], row: int
) -> bool:
    """Return whether rows of A cancel in a combination y that holds dual row `row`.

    Inverse iteration with shifted factors turns y towards the smallest singular value of A'. In
    long mechanisms A' y can be told from rounding although y' A A' y, which the pivots see, cannot.
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
        if product <= DEPENDENCE_TOLERANCE * terms:
            return True
    return False
