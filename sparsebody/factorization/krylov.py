"""Krylov steps on the dual unknowns: smallest solutions, whatever the rank.

x = A' y is looked for where (A A' + delta)^-1 takes A from g: its singular values are then close to
one, but for those below sqrt(delta), each of which costs a step or two. No product A A' is formed,
so that singular values far below sqrt(eps) are told from zero, and no rank is decided.

References
----------
Arioli and Orban (2017), Iterative Solution of Symmetric Quasi-Definite Linear Systems, ch. 4:
generalized LSQR. Golub and Kahan (1965); Paige and Saunders (1982), ACM TOMS 8:43.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.tolerances import GAP_ROUNDING

MOST_STEPS = 300
MOST_PASSES = 12
REDUCTION = 1e-9  # of what a step could gain, relative to the first one: then comes another pass
BETTER = 0.5  # share of what is left before a pass that must not be left after it
SOLVED = 1e-10  # relative size of what is left


class Operator(Protocol):
    """A, with unit rows, and the factors of A A' + delta."""

    def product(self, x: FloatArray) -> FloatArray:
        """Return A x."""
        ...

    def transposed(self, y: FloatArray) -> FloatArray:
        """Return A' y."""
        ...

    def precondition(self, gap: FloatArray) -> FloatArray:
        """Return (A A' + delta)^-1 gap, nearly."""
        ...


@dataclass(frozen=True, eq=False)
class LeastNorm:
    """What was found."""

    y: FloatArray  # (n_dual_rows,) with x = A' y
    x: FloatArray  # (n_primal_rows,)
    steps: int
    gap: float  # largest entry of g - A x, relative to `size`
    residual: float  # the same, or that of A' (g - A x) where g contradicts itself
    converged: bool


def least_norm(operator: Operator, g: FloatArray, size: float) -> LeastNorm:
    """Return the smallest x = A' y of those with the least |A x - g|.

    First g (n_dual_rows,) is taken at its word. Where a pass leaves a gap that no x closes, as rows
    that depend on each other let it, its part in the range of A is sought alone, for what is
    outside is amplified by 1 / delta; singular values far below sqrt(delta) then count as zero.
    Gaps are measured against `size`, the largest entry of g and of what it comes from.
    """
    found = _closed(operator, g, size)
    if _size(found.gap) > SOLVED * size + _noise(found, size):
        closed, found = found, _nearest(operator, g, size, found)
        found = replace(found, steps=found.steps + closed.steps)
    left = _size(found.gap)
    rest = min(left, _size(operator.transposed(found.gap)))
    bound = max(SOLVED * size, 8.0 * _noise(found, size))
    scale = size if size > 0.0 else 1.0
    return LeastNorm(found.y, found.x, found.steps, left / scale, rest / scale, rest <= bound)


@dataclass(frozen=True, eq=False)
class _Found:
    y: FloatArray
    x: FloatArray  # A' y
    gap: FloatArray  # g - A x
    steps: int


def _closed(operator: Operator, g: FloatArray, size: float) -> _Found:
    """Return an x that closes the gap as far as passes make it smaller."""
    y = np.zeros(len(g))
    found = _Found(y, operator.transposed(y), g, 0)
    for _ in range(MOST_PASSES):
        if _size(found.gap) <= GAP_ROUNDING * size:
            break
        change, steps = _golub_kahan(operator, found.gap)
        trial = _moved(operator, found, change, steps)
        is_better = _size(trial.gap) < BETTER * _size(found.gap)
        found = trial if is_better else replace(found, steps=trial.steps)
        if not is_better:
            break
    return found


def _nearest(operator: Operator, g: FloatArray, size: float, start: _Found) -> _Found:
    """Return an x that leaves a gap outside the range of A only."""
    nothing = replace(start, y=np.zeros_like(start.y), x=np.zeros_like(start.x), gap=g)
    found = _moved(operator, nothing, _range_part(operator, start.y))
    rest = _size(operator.transposed(found.gap))
    for _ in range(MOST_PASSES):
        if rest <= GAP_ROUNDING * size:
            break
        change, steps = _golub_kahan(operator, _range_part(operator, found.gap))
        trial = _moved(operator, found, _range_part(operator, change), steps)
        left = _size(operator.transposed(trial.gap))
        if not left < rest:
            break
        is_better, found, rest = left < BETTER * rest, trial, left
        if not is_better:
            break
    return found


def _moved(operator: Operator, found: _Found, change: FloatArray, steps: int = 0) -> _Found:
    """Return what a change of y makes.

    It is added to x: rounding of A' y, which is large in long mechanisms, stays out of the gap.
    """
    dx = operator.transposed(change)
    gap = found.gap - operator.product(dx)
    return _Found(found.y + change, found.x + dx, gap, found.steps + steps)


def _range_part(operator: Operator, y: FloatArray) -> FloatArray:
    """Return the part of y in the range of A, of singular values below sqrt(delta) less."""
    return operator.precondition(operator.product(operator.transposed(y)))


def _noise(found: _Found, size: float) -> float:
    """Return what rounding makes of the terms of a gap."""
    return GAP_ROUNDING * (size + _size(found.y))


def _golub_kahan(operator: Operator, g: FloatArray) -> tuple[FloatArray, int]:
    """Return y (n_dual_rows,) of generalized LSQR, and the number of steps.

    In the words of Paige and Saunders, v = A' t and w = A' s.
    """
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
    least = max(REDUCTION * first, GAP_ROUNDING * float(np.linalg.norm(p)))  # of p, in A' p
    for step in range(1, MOST_STEPS + 1):
        left = operator.product(v) - alpha * metric_u
        p = operator.precondition(left)
        beta = math.sqrt(max(float(left @ p), 0.0))
        if beta > 0.0:
            u, metric_u = p / beta, left / beta
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


def _size(x: FloatArray) -> float:
    return float(np.abs(x).max(initial=0.0))
