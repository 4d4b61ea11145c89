"""Accelerations and constraint forces; the smallest ones where constraints are redundant."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_array, csr_array, eye_array
from scipy.sparse.linalg import splu

from sparsebody.arrays import BriefRepr, FloatArray, IntArray
from sparsebody.equations.memoized import memoized
from sparsebody.errors import ConvergenceWarning, MemoryLimitError, ModelError
from sparsebody.factorization import Case, analyze, krylov, predict_seconds
from sparsebody.factorization.unit_factors import UnitSymbolic
from sparsebody.html_tables import largest_norm
from sparsebody.ordering import candidate_orderings, order
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import Product, SaddleMatrix, constraint_matrix, scaled_columns
from sparsebody.tolerances import FORCE_TOLERANCE, MULTIPLIER_TOLERANCE


@dataclass(frozen=True)
class SolveReport:
    """Steps and residual of an iterative solve."""

    method: str
    iterations: int
    residual: float  # relative, of the rows, or of their least-squares equations
    converged: bool


@dataclass(frozen=True, eq=False, repr=False)
class Accelerations(BriefRepr):
    """The solution of the body-level system. Featherstone (2008), eq. (8.64)."""

    acceleration: FloatArray  # (n_bodies, 6) spatial, body coordinates, angular first
    multiplier: FloatArray  # (n_rows,) lambda of every constraint row [N m, N]
    joint_wrench: FloatArray  # (n_joints, 6) T lambda, on the successor, in S coordinates
    residual: float  # relative; of the independent rows and the bodies' equations
    dropped_residual: float  # largest, of dropped rows, relative to unconstrained motion
    solver: SolveReport | None = None  # of an iterative solve

    def _html_facts(self) -> Mapping[str, object]:
        angular, linear = (largest_norm(part) for part in np.split(self.acceleration, 2, axis=1))
        moment, force = (largest_norm(part) for part in np.split(self.joint_wrench, 2, axis=1))
        facts: dict[str, object] = {
            "bodies": len(self.acceleration),
            "largest acceleration": f"{linear:.4g} m/s^2, {angular:.4g} rad/s^2, spatial",
            "constraint rows": len(self.multiplier),
            "largest joint reaction": f"{force:.4g} N, {moment:.4g} N m",
            "residual": f"{self.residual:.1e}, of left-out rows {self.dropped_residual:.1e}",
        }
        return facts if self.solver is None else facts | {"solver": self.solver}


REACTIONS = ("minimum-norm", "basic")  # where multipliers are not unique
_LEAST_DELTA = 1e-15  # that leaves pivoted factors a digit


def check_baumgarte(time_constant: float | None) -> None:
    """Raise ModelError unless it is positive, or None for no stabilization."""
    if time_constant is not None and not time_constant > 0.0:
        raise ModelError(f"the Baumgarte time constant is {time_constant}; it must be positive")


def minimum_norm(
    matrix: SaddleMatrix, multiplier: FloatArray, factors: UnitSymbolic | None = None
) -> FloatArray:
    """Return the smallest multipliers that exert the same forces A' lambda on the bodies.

    `matrix`: all rows A, dependent ones included; `multiplier` (n_rows,): any that exerts the right
    forces; `factors`: a layout of the pattern, if there is one. The given multipliers are returned,
    with a ConvergenceWarning, where A is so ill-conditioned that the smallest ones cannot be
    computed, as on scissor lifts of 10^4 pairs.
    """
    smallest = smallest_multipliers(matrix, multiplier, factors)
    if smallest is not None:
        return smallest
    warnings.warn(
        "the constraint rows are too ill-conditioned for multipliers of minimum norm: those "
        "returned are basic; take reactions='basic' to ask for these",
        ConvergenceWarning,
        stacklevel=2,
    )
    return multiplier


def smallest_multipliers(
    matrix: SaddleMatrix, multiplier: FloatArray, factors: UnitSymbolic | None = None
) -> FloatArray | None:
    """Return the least multipliers with the same forces A' lambda; None if they are inaccurate.

    Columns of A are scaled to one: units, and small bodies beside large ones, do not change what is
    sought. Where rows nearly cancel, as in long scissor lifts, pivoted factors do what others
    cannot.
    """
    A = constraint_matrix(matrix)
    square = np.asarray(A.multiply(A).sum(axis=0)).ravel()
    scale = 1.0 / np.sqrt(np.where(square > 0.0, square, 1.0))
    transposed = A.T.tocsr()
    transposed.data *= np.repeat(scale, np.diff(transposed.indptr))
    force = transposed @ multiplier
    largest = float(np.abs(force).max(initial=0.0))
    noise = MULTIPLIER_TOLERANCE * max(largest, float(np.abs(multiplier).max(initial=0.0)))
    inverses: tuple[Callable[[], Product], ...] = (
        lambda: _inverse_by_blocks(scaled_columns(matrix, scale), factors),
        lambda: _inverse_by_pivoting(transposed),
    )
    products = transposed.dot, transposed.T.tocsr().dot
    for inverse in inverses:
        smallest = krylov.least_norm(krylov.Operator(*products, inverse()), force, largest).x
        residual = float(np.abs(force - transposed @ smallest).max(initial=0.0))
        if residual <= FORCE_TOLERANCE * largest + noise:
            return smallest
    return None


def _inverse_by_blocks(matrix: SaddleMatrix, factors: UnitSymbolic | None) -> Product:
    """Return (A' A + delta)^-1, the primal part of [1 A'; A -delta]^-1 (f, 0) over delta."""
    layout = layout_of_all_rows(matrix.pattern) if factors is None else factors
    layout.eliminate(matrix.rows, krylov.DELTA)
    nothing = np.zeros(len(matrix.rows))

    def inverse(force: FloatArray) -> FloatArray:
        rhs = np.concatenate([force, nothing])
        return layout.unit_solution(matrix.rows, rhs)[: len(force)] / krylov.DELTA

    return inverse


def _inverse_by_pivoting(transposed: csr_array) -> Product:
    """Return (A' A + delta)^-1 of the least delta, by pivoted LU of [1 A; A' -delta]."""
    k, n = transposed.shape[::-1]
    shift = _LEAST_DELTA * eye_array(n)
    lu = splu(block_array([[eye_array(k), transposed.T], [transposed, -shift]], format="csc"))
    return lambda force: np.asarray(-lu.solve(np.concatenate([np.zeros(k), force]))[k:])


def layout_of_all_rows(pattern: BlockPattern) -> UnitSymbolic:
    """Return a layout of [1 A'; A -delta], in the order with the least predicted time.

    Raises MemoryLimitError where factors of all rows do not fit into memory.
    """
    seconds, name, blocks = _order_of_all_rows(pattern)
    if np.isinf(seconds):
        raise MemoryLimitError(
            f"factors of all {pattern.n_rows} rows and freedoms do not fit into memory: take "
            "reactions='basic', and begin at a state that is consistent, or a larger machine"
        )
    symbolic = analyze(name, pattern, blocks)
    assert isinstance(symbolic, UnitSymbolic)
    return symbolic


@memoized
def _order_of_all_rows(pattern: BlockPattern) -> tuple[float, str, IntArray]:
    """Return the least predicted time [s] of LDL', its backend, and the order (n_blocks,)."""
    cases = [Case(pattern, order(pattern, name)) for name in candidate_orderings(pattern)]
    seconds, k, name = min(
        (predict_seconds(name, pattern, case.order, case), k, name)
        for k, case in enumerate(cases)
        for name in ("block-ldl", "multifrontal")
    )
    return seconds, name, cases[k].order
