"""Least-norm solutions of A x = g by Krylov steps on the dual unknowns, whatever the rank of A.

x = A' y, preconditioned by (A A' + delta)^-1: the singular values are then close to 1 except
those below sqrt(delta), each of which costs a step or two. No product A A' is formed, so that
singular values far below sqrt(eps) are distinguished from zero, and no rank is decided. -(A A' +
delta) is the Schur complement of the primal part of the quasi-definite [1 A'; A -delta], which has
factors in every order: Vanderbei (1995), SIAM J. Optim. 5:100.

Arioli and Orban (2017), Iterative Solution of Symmetric Quasi-Definite Linear Systems, ch. 4:
generalized LSQR. Golub and Kahan (1965); Paige and Saunders (1982), ACM TOMS 8:43.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.factorization.backend import largest
from sparsebody.factorization.cholmod import CholmodSymbolic
from sparsebody.factorization.unit_factors import UnitSymbolic
from sparsebody.sparse.saddle import Product, SaddleMatrix
from sparsebody.tolerances import RESIDUAL_ROUNDING

MOST_STEPS = 300
MOST_PASSES = 12
GAIN_TOLERANCE = 1e-9  # of A' p, relative to the first one, after which another pass begins
LEAST_REDUCTION = 0.5  # ratio of two residuals above which no further pass is made
RESIDUAL_TOLERANCE = 1e-10  # relative


class Operator(NamedTuple):
    """A, with unit rows, and the factors of A A' + delta."""

    product: Product  # A x
    transposed: Product  # A' y
    precondition: Product  # (A A' + delta)^-1 r of a residual r, nearly


@dataclass(frozen=True, eq=False)
class LeastNorm:
    """The smallest solution of a least-squares problem A x = g."""

    y: FloatArray  # (n_dual_rows,) with x = A' y
    x: FloatArray  # (n_primal_rows,)
    steps: int
    residual: float  # largest entry of r = g - A x, relative to `size`
    normal_residual: float  # the same, or that of A' r if smaller: the least |r| is then not zero
    converged: bool


def least_norm(operator: Operator, g: FloatArray, size: float) -> LeastNorm:
    """Return the smallest x = A' y of those with the least |A x - g|.

    First g (n_dual_rows,) is assumed to be in the range of A. If a residual g - A x remains, x is
    computed from the part of g in the range alone, because the other part is amplified by 1 /
    delta. Residuals are relative to `size`, the largest entry of g and of the terms that it is the
    sum of.
    """
    iterate = _consistent(operator, g, size)
    if largest(iterate.residual) > RESIDUAL_TOLERANCE * size + _rounding(iterate, size):
        first, iterate = iterate, _least_squares(operator, g, size, iterate)
        iterate = replace(iterate, steps=iterate.steps + first.steps)
    residual = largest(iterate.residual)
    normal = min(residual, largest(operator.transposed(iterate.residual)))
    bound = max(RESIDUAL_TOLERANCE * size, 8.0 * _rounding(iterate, size))
    y, x, scale = iterate.y, iterate.x, size if size > 0.0 else 1.0
    return LeastNorm(y, x, iterate.steps, residual / scale, normal / scale, normal <= bound)


@dataclass(frozen=True, eq=False)
class _Iterate:
    y: FloatArray
    x: FloatArray  # A' y
    residual: FloatArray  # g - A x
    steps: int


def _consistent(operator: Operator, g: FloatArray, size: float) -> _Iterate:
    """Return an x whose residual no further pass reduces, for g in the range of A."""
    y = np.zeros(len(g))
    iterate = _Iterate(y, operator.transposed(y), g, 0)
    for _ in range(MOST_PASSES):
        if largest(iterate.residual) <= RESIDUAL_ROUNDING * size:
            break
        change, steps = _golub_kahan(operator, iterate.residual)
        trial = _changed(operator, iterate, change, steps)
        is_better = largest(trial.residual) < LEAST_REDUCTION * largest(iterate.residual)
        iterate = trial if is_better else replace(iterate, steps=trial.steps)
        if not is_better:
            break
    return iterate


def _least_squares(operator: Operator, g: FloatArray, size: float, start: _Iterate) -> _Iterate:
    """Return an x whose residual is orthogonal to the range of A, A' (g - A x) = 0."""
    zero = replace(start, y=np.zeros_like(start.y), x=np.zeros_like(start.x), residual=g)
    iterate = _changed(operator, zero, _range_part(operator, start.y))
    normal_residual = largest(operator.transposed(iterate.residual))
    for _ in range(MOST_PASSES):
        if normal_residual <= RESIDUAL_ROUNDING * size:
            break
        change, steps = _golub_kahan(operator, _range_part(operator, iterate.residual))
        trial = _changed(operator, iterate, _range_part(operator, change), steps)
        new_residual = largest(operator.transposed(trial.residual))
        if not new_residual < normal_residual:
            break
        is_better = new_residual < LEAST_REDUCTION * normal_residual
        iterate, normal_residual = trial, new_residual
        if not is_better:
            break
    return iterate


def _changed(operator: Operator, iterate: _Iterate, change: FloatArray, steps: int = 0) -> _Iterate:
    """Return the iterate after a change of y; rounding of A' y does not enter the residual."""
    dx = operator.transposed(change)
    residual = iterate.residual - operator.product(dx)
    return _Iterate(iterate.y + change, iterate.x + dx, residual, iterate.steps + steps)


def _range_part(operator: Operator, y: FloatArray) -> FloatArray:
    """Return the part of y in the range of A, less that of singular values below sqrt(delta)."""
    return operator.precondition(operator.product(operator.transposed(y)))


def _rounding(iterate: _Iterate, size: float) -> float:
    """Return the rounding error of the residual."""
    return RESIDUAL_ROUNDING * (size + largest(iterate.y))


def _golub_kahan(operator: Operator, g: FloatArray) -> tuple[FloatArray, int]:
    """Return y (n_dual_rows,) and the steps; v = A' t, w = A' s of Paige and Saunders (1982)."""
    y = np.zeros(len(g))
    p = operator.precondition(g)
    beta = math.sqrt(max(float(g @ p), 0.0))
    if not 0.0 < beta < math.inf:
        return y, 0
    u, metric_u = p / beta, g / beta
    v = operator.transposed(u)
    alpha = float(np.linalg.norm(v))
    if alpha == 0.0:
        return y, 0
    v, t = v / alpha, u / alpha
    s, phi_bar, rho_bar = t, beta, alpha
    first = alpha * beta
    p_size = float(np.linalg.norm(p))
    least = max(GAIN_TOLERANCE * first, RESIDUAL_ROUNDING * p_size)  # of p, in A' p
    for step in range(1, MOST_STEPS + 1):
        metric_p = operator.product(v) - alpha * metric_u
        p = operator.precondition(metric_p)
        beta = math.sqrt(max(float(metric_p @ p), 0.0))
        if beta > 0.0:
            u, metric_u = p / beta, metric_p / beta
        v = operator.transposed(u) - beta * v
        alpha = float(np.linalg.norm(v))
        if alpha > 0.0:
            v, t = v / alpha, (u - beta * t) / alpha
        rho = math.hypot(rho_bar, beta)
        cosine, sine = rho_bar / rho, beta / rho
        theta, rho_bar = sine * alpha, -cosine * alpha
        phi, phi_bar = cosine * phi_bar, sine * phi_bar
        y += phi / rho * s
        s = t - theta / rho * s
        gain = abs(phi_bar * alpha * cosine)
        if not gain > least or beta == 0.0 or alpha == 0.0:
            return y, step
    return y, MOST_STEPS


# Each singular value of A below sqrt(DELTA) costs steps of an iteration; rounding errors of the
# factors, some 1e-16 / DELTA, are reduced by further passes.
DELTA = 1e-12
QUASI_DEFINITE = ("block-ldl", "multifrontal", "cholmod")  # that factorize A A' + delta
PRECONDITIONERS = (*QUASI_DEFINITE, "iterative")  # and one that approximates its inverse


@dataclass(eq=False)
class ShiftedLDL:
    """LDL' of the whole matrix."""

    symbolic: UnitSymbolic

    def factorize(self, rows: FloatArray, delta: float = DELTA) -> None:
        """Factorize for A (n_dual_rows, 2, width), which must not change before the last solve."""
        self._rows = rows
        self.symbolic.eliminate(rows, delta)

    def solve(self, r: FloatArray) -> FloatArray:
        """Return (A A' + delta)^-1 r, both (n_dual_rows,), by a solution without forces."""
        n = self.symbolic.pattern.n_primal_rows
        return self.symbolic.unit_solution(self._rows, np.concatenate([np.zeros(n), -r]))[n:]


@dataclass(eq=False)
class ShiftedCholesky:
    """Cholesky factorization of A A' + delta by CHOLMOD."""

    symbolic: CholmodSymbolic

    def __post_init__(self) -> None:
        pattern, lower = self.symbolic.layout.pattern, self.symbolic.factor.permuted
        n, width = pattern.n_primal, int(pattern.block_sizes[: pattern.n_primal].max(initial=0))
        self._ones = np.tile(np.eye(width), (n, 1, 1))
        column = np.repeat(np.arange(lower.shape[1]), np.diff(lower.indptr))
        self._diagonal = np.flatnonzero(lower.indices == column)

    def factorize(self, rows: FloatArray, delta: float = DELTA) -> None:
        """Factorize for A (n_dual_rows, 2, width) the lower triangle."""
        layout, factor = self.symbolic.layout, self.symbolic.factor
        matrix = SaddleMatrix(layout.pattern, self._ones, self._ones, rows)
        layout.fill(matrix, np.ones(layout.pattern.n_rows), factor.permuted.data)
        factor.permuted.data[self._diagonal] += delta
        factor.refactorize()

    def solve(self, r: FloatArray) -> FloatArray:
        """Return (A A' + delta)^-1 r, both (n_dual_rows,)."""
        order, y = self.symbolic.layout.order, np.empty_like(r)
        y[order] = self.symbolic.factor.solve(r[order])
        return y


def quasi_definite(symbolic: object) -> ShiftedLDL | ShiftedCholesky:
    """Return the factorization of A A' + delta that has this layout."""
    if isinstance(symbolic, CholmodSymbolic):
        return ShiftedCholesky(symbolic)
    assert isinstance(symbolic, UnitSymbolic)
    return ShiftedLDL(symbolic)
