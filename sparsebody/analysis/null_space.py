"""Random multipliers that exert no force on any body: elements of the null space of A'.

Each left-out row d is a combination of kept ones K, and random combinations of the left-out rows
give, with one factor of A_K, random elements of the whole null space: what is zero in a few of them
is zero in all, with probability one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.dynamics.choice import choose_solver
from sparsebody.factorization.block_qr import analyze
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.rank.parts import part_of_rows
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix

MOST_STEPS = 6  # corrections
FEWER = 0.5  # a correction is worth it where it makes the residual this much smaller


@dataclass(frozen=True, eq=False)
class NullVectors:
    """Multipliers lambda with A' lambda = 0 of some joints' rows."""

    rows: IntArray  # (n_rows,) which rows of A
    multiplier: FloatArray  # (n_rows, k)
    residual: float  # largest |A' lambda| by the largest |lambda|, rows of unit norm


def random_null_vectors(
    matrix: SaddleMatrix, keep: BoolArray, duals: IntArray, n_vectors: int, seed: int = 0
) -> NullVectors:
    """Return random elements of the null space of A' restricted to some joints.

    Parameters
    ----------
    matrix : SaddleMatrix
        With all rows of A.
    keep : (n_dual_rows,) bool array
        A maximal set of independent rows.
    duals : (n,) int array
        Dual blocks whose rows depend on each other only: whole biconnected components.
    n_vectors : int
        How many.
    seed : int
        Of the random numbers.
    """
    weight = np.random.default_rng(seed)

    def weights(n: int) -> FloatArray:
        return weight.normal(size=(n, n_vectors))

    return _null_vectors(matrix, keep, duals, weights)


def null_basis(matrix: SaddleMatrix, keep: BoolArray, duals: IntArray) -> NullVectors:
    """Return the basis that has a one at each left-out row, dense; see `random_null_vectors`."""
    return _null_vectors(matrix, keep, duals, np.eye)


def _null_vectors(
    matrix: SaddleMatrix,
    keep: BoolArray,
    duals: IntArray,
    weights: Callable[[int], FloatArray],
) -> NullVectors:
    """Solve A_K' y = A_D' w and return (y, -w)."""
    pattern = matrix.pattern
    label = np.full(pattern.n_primal, -1, dtype=np.intp)
    part = part_of_rows(matrix, duals, label)
    kept = keep[part.index]
    norm = _norms(matrix, part.index)
    n = part.pattern.n_primal
    by_dual = np.repeat(np.arange(part.pattern.n_dual), part.pattern.block_sizes[n:])
    w = np.asarray(weights(int(np.count_nonzero(~kept))))
    everything = SaddleMatrix(part.pattern, np.empty((n, 0, 0)), np.empty((n, 0, 0)), part.rows)
    A = constraint_matrix(everything).tocsr()
    force = np.asarray(A[~kept].T @ w)
    solved = _least_squares(part.pattern, by_dual[kept], part.rows[kept], A[kept].T.tocsc(), force)
    scaled = np.zeros((len(kept), w.shape[1]))
    scaled[kept], scaled[~kept] = solved, -w
    size = np.abs(scaled).max(initial=0.0)
    residual = float(np.abs(A.T @ scaled).max(initial=0.0) / size) if size > 0.0 else 0.0
    multiplier = np.divide(
        scaled, norm[:, None], out=np.zeros_like(scaled), where=norm[:, None] > 0.0
    )
    return NullVectors(part.index, multiplier, residual)


def _norms(matrix: SaddleMatrix, rows: IntArray) -> FloatArray:
    """Return (n,) the norms of rows of A."""
    on_body = matrix.pattern.ends[matrix.row_block[rows]] >= 0
    return np.linalg.norm(matrix.rows[rows] * on_body[:, :, None], axis=(1, 2))


def _least_squares(
    pattern: BlockPattern, dual: IntArray, rows: FloatArray, columns: csc_array, force: FloatArray
) -> FloatArray:
    """Return y with A_K' y = force by seminormal equations, corrected while that helps.

    Paige (1973), BIT 13:364; Bjorck (1987), Linear Algebra Appl. 88:31.
    """
    n = pattern.n_primal
    used, size = np.unique(dual, return_counts=True)
    sizes = np.concatenate([pattern.block_sizes[:n], size]).astype(np.intp)
    reduced = BlockPattern(sizes, pattern.ends[used])
    width = rows.shape[2]
    ones = np.broadcast_to(np.eye(width), (n, width, width)).copy()
    order = choose_solver(reduced, "auto", "block-qr").order
    factor = analyze(reduced, order).factorize(SaddleMatrix(reduced, ones, ones, rows))
    y = np.zeros((len(rows), force.shape[1]))
    rest, before = force, np.inf
    for _ in range(MOST_STEPS):
        size_of_rest = float(np.abs(rest).max(initial=0.0))
        if not 0.0 < size_of_rest < FEWER * before:
            break
        right = np.concatenate([rest, np.zeros((len(rows), force.shape[1]))])
        trial = y + factor.solve(right)[reduced.n_primal_rows :]
        trial_rest = force - columns @ trial
        if float(np.abs(trial_rest).max(initial=0.0)) >= size_of_rest:
            break
        y, rest, before = trial, trial_rest, size_of_rest
    return y
