"""Condition number and forward error of a solution of (8.64): the effect of rounding.

In coordinates in which the inertias of bodies are identities, with free accelerations f, rows A
and multipliers y, the accelerations are a = f + A' y where A a = b. Rounding of A, f and b changes
them by at most about kappa(A) eps of their size. The forward error is a sharper bound,

    largest row sum of |K^-1| diag(eps |K| |x| + eps |b| + |r|),   K = [1 A'; A 0],

r the residual; products with K^-1 are solutions by the factors. Higham (2002), sec. 7.7.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators import Evaluator
from sparsebody.model.system import State
from sparsebody.sparse import saddle
from sparsebody.tolerances import ESTIMATE_RESIDUAL

MACHINE_EPSILON = float(np.finfo(float).eps)
EXTENDED_PRECISION = 2.0**-48  # eps of double-double numbers to that of doubles, and some digits
FIXED_TOLERANCE = 1e-9  # |a| / |f| below which joints fix all bodies, and |f| is the scale


@dataclass(frozen=True)
class ConditionEstimate:
    """Condition of the independent rows A M^-1/2, each scaled to unit norm, and the forward error.

    `sigma_min` and `kappa` are NaN with the factorization "iterative", which solves for redundant
    rows as well: its multipliers are not unique.
    """

    kappa: float  # sigma_max / sigma_min
    sigma_max: float
    sigma_min: float
    forward_error: float  # bound of the accelerations' error, relative to the largest of them

    def extended(self) -> ConditionEstimate:
        """Return the estimate for refinement with residuals of 31 digits, of an exact state."""
        return replace(
            self, forward_error=max(4 * MACHINE_EPSILON, self.forward_error * EXTENDED_PRECISION)
        )

    def __str__(self) -> str:
        """Return both numbers in words, or the one that is known."""
        condition = f"condition number {self.kappa:.1e}: " if self.kappa == self.kappa else ""
        return f"{condition}{self.forward_error:.0e} of the accelerations uncertain"


def condition_estimate(evaluator: Evaluator, state: State) -> ConditionEstimate:
    """Return the condition at the state assembled last. Higham (2002), secs. 7.1, 15.1 and 21.2."""
    return _Conditioning(evaluator, state).estimate()


class _Conditioning:
    """K = [1 A'; A 0] at one state, of n accelerations and m multipliers."""

    def __init__(self, evaluator: Evaluator, state: State) -> None:
        self.evaluator, self.time, self.velocity = evaluator, state.time, state.velocity
        self.matrix: saddle.SaddleMatrix = evaluator.assembler.matrix
        self.n, self.m = self.matrix.pattern.n_primal_rows, len(self.matrix.rows)
        self.norm = np.sqrt((self.matrix.rows**2).sum(axis=(1, 2)))

    def estimate(self) -> ConditionEstimate:
        def gram(y: FloatArray) -> FloatArray:
            """A A' y, rows scaled to unit norm."""
            force = self._product(np.zeros(self.n), y / self.norm)[: self.n]
            return np.asarray(self._product(force, np.zeros(self.m))[self.n :] / self.norm)

        def inverse_gram(y: FloatArray) -> FloatArray:
            """(A A')^-1 y of the same rows: minus the multipliers of [1 A'; A 0]^-1 [0; y]."""
            return -self.norm * self._solve(np.zeros(self.n), self.norm * y)[self.n :]

        sigma_max = float(np.sqrt(saddle.largest_eigenvalue(gram, self.m)))
        if not self.evaluator.has_unique_multipliers:
            return ConditionEstimate(np.nan, sigma_max, np.nan, self._forward_error())
        inverse = saddle.largest_eigenvalue(inverse_gram, self.m)
        sigma_min = float(1.0 / np.sqrt(inverse)) if inverse > 0.0 else sigma_max
        kappa = sigma_max / sigma_min if self.m else 1.0
        return ConditionEstimate(kappa, sigma_max, sigma_min, self._forward_error())

    def _product(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return saddle.saddle_product(self.matrix, np.concatenate([x, y]))

    def _solve(self, x: FloatArray, y: FloatArray, goal: float = ESTIMATE_RESIDUAL) -> FloatArray:
        return self.evaluator.solution(np.concatenate([x, y]), self.time, goal)

    def _velocity_products(self, axes: FloatArray) -> FloatArray:
        """Return (n,) |w| |v| on linear components: right-hand sides b have terms of this size."""
        velocity = self.velocity[self.evaluator.assembler.bodies]
        size = np.prod([np.linalg.norm(velocity[:, k : k + 3], axis=1) for k in (0, 3)], axis=0)
        linear = np.linalg.norm(_inverses(axes)[:, :, 3:], axis=2)
        return np.asarray(size[:, None] * linear).ravel()

    def _forward_error(self) -> float:
        """Return the bound above, relative to the largest acceleration, in the user's units."""
        assembler, n = self.evaluator.assembler, self.n
        axes, right = assembler.unit_axes(), assembler.right.copy()
        x = self._solve(right[:n], right[n:], goal=0.0)
        sizes = replace(self.matrix, rows=_sizes(self.matrix, axes))
        terms = saddle.saddle_product(sizes, np.abs(x)) + np.abs(right)
        terms[n:] += saddle.saddle_product(
            sizes, np.append(self._velocity_products(axes), np.zeros(self.m))
        )[n:]
        error = MACHINE_EPSILON * terms + np.abs(saddle.saddle_residual(self.matrix, x, right))
        largest, free = (np.abs(_to_user(axes, a[:n])).max(initial=0.0) for a in (x, right))

        def product(z: FloatArray) -> FloatArray:
            """K^-1 diag(error) z, its accelerations."""
            weighted = error * z
            return _to_user(axes, self._solve(weighted[:n], weighted[n:])[:n])

        def transposed(v: FloatArray) -> FloatArray:
            """diag(error) K^-1 [v; 0]."""
            in_units = np.einsum("nwk,nk->nw", axes, v.reshape(-1, 6)).ravel()
            return error * self._solve(in_units, np.zeros(self.m))

        norm = saddle.largest_row_sum(product, transposed, 6 * len(axes))
        scale = largest if largest > FIXED_TOLERANCE * free else free
        return float(norm / scale) if scale > 0.0 else 0.0


def _sizes(matrix: saddle.SaddleMatrix, axes: FloatArray) -> FloatArray:
    """Return |A| (n_rows, 2, width), the size of the terms that make each entry.

    An entry of a moment is made of lever arms times forces, and rounded as these are, however small
    it is: its size is that of the joint's largest row on the body, of moments and of forces apart.
    """
    size = np.zeros(matrix.rows.shape)
    if len(size) == 0:
        return size
    block, inverse = matrix.row_block, _inverses(axes)
    ends = matrix.pattern.ends[block]
    is_first = np.diff(block, prepend=-1) > 0
    first, joint = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    for user in (slice(None, 3), slice(3, None)):  # moments, forces
        length = np.linalg.norm(axes[:, :, user], axis=2)
        for side in (0, 1):
            to_user = inverse[ends[:, side], :, user]
            wrench = np.einsum("kw,kwu->ku", matrix.rows[:, side], to_user)
            largest = np.maximum.reduceat(np.linalg.norm(wrench, axis=1), first)
            size[:, side] += length[ends[:, side]] * largest[joint][:, None]
    return size


def _inverses(axes: FloatArray) -> FloatArray:
    """Return (n_bodies, width, 6) matrices from the user's twists to x, zero if not a freedom."""
    gram = axes @ axes.transpose(0, 2, 1)
    k = np.arange(axes.shape[1])
    gram[:, k, k] += gram[:, k, k] == 0.0  # freedoms that a body does not have
    return np.linalg.inv(gram) @ axes


def _to_user(axes: FloatArray, x: FloatArray) -> FloatArray:
    """Return accelerations (6 n_bodies,) in the user's units."""
    return np.einsum("nwk,nw->nk", axes, x.reshape(axes.shape[:2])).ravel()
