"""How far rounding can move accelerations: condition number and forward error of one solution.

In coordinates in which the inertia of every body is one, with free accelerations f, rows A and
multipliers y, the accelerations are a = f + A' y where A a = b. Rounding of A, f and b moves them
by at most about kappa(A) eps of their size, and the factors at hand tell by how much in truth: the
inverse of [1 A'; A 0] times what rounding is of each equation's terms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled import Core, PlanarCore
from sparsebody.sparse.norms import largest_eigenvalue, largest_row_sum
from sparsebody.sparse.saddle import SaddleMatrix, saddle_product, saddle_residual

ROUNDING = float(np.finfo(float).eps)
_ROUGHLY = 1e-9  # relative residual with which estimates are content


@dataclass(frozen=True)
class ConditionEstimate:
    """Condition of the kept rows A D^-1/2, each scaled to unit norm, and what it does."""

    kappa: float  # sigma_max / sigma_min
    sigma_max: float
    sigma_min: float
    forward_error: float  # of the accelerations, relative to the largest; a bound but for estimates

    def __str__(self) -> str:
        """Return both numbers in words."""
        return (
            f"condition number {self.kappa:.1e}: "
            f"{self.forward_error:.0e} of the accelerations uncertain"
        )


def condition_estimate(core: Core | PlanarCore, time: float) -> ConditionEstimate:
    """Return the condition of the system that a core has assembled last; takes some ten solutions.

    References
    ----------
    Higham (2002), Accuracy and Stability of Numerical Algorithms, sec. 7.1, 15.1 and 21.2.
    """
    return _Conditioning(core, time).estimate()


class _Conditioning:
    """One matrix [1 A'; A 0], n accelerations and m multipliers, and solutions with it."""

    def __init__(self, core: Core | PlanarCore, time: float) -> None:
        self.core, self.time = core, time
        self.matrix: SaddleMatrix = core.matrix
        self.n, self.m = core.matrix.pattern.n_primal_rows, len(core.matrix.rows)
        self.norm = np.sqrt((core.matrix.rows**2).sum(axis=(1, 2)))

    def estimate(self) -> ConditionEstimate:
        sigma_max = float(np.sqrt(largest_eigenvalue(self._gram, self.m)))
        inverse = largest_eigenvalue(self._inverse_gram, self.m)
        sigma_min = float(1.0 / np.sqrt(inverse)) if inverse > 0.0 else sigma_max
        kappa = sigma_max / sigma_min if self.m else 1.0
        return ConditionEstimate(kappa, sigma_max, sigma_min, self._forward_error())

    def _product(self, x: FloatArray, y: FloatArray) -> FloatArray:
        return saddle_product(self.matrix, np.concatenate([x, y]))

    def _solution(self, x: FloatArray, y: FloatArray, goal: float = _ROUGHLY) -> FloatArray:
        return self.core.solve_in_units(np.concatenate([x, y]), self.time, goal)

    def _gram(self, y: FloatArray) -> FloatArray:
        """Return A A' y, rows scaled to unit norm."""
        pull = self._product(np.zeros(self.n), y / self.norm)[: self.n]
        return np.asarray(self._product(pull, np.zeros(self.m))[self.n :] / self.norm)

    def _inverse_gram(self, y: FloatArray) -> FloatArray:
        """Return (A A')^-1 y, rows scaled to unit norm."""
        return -self.norm * self._solution(np.zeros(self.n), self.norm * y)[self.n :]

    def _forward_error(self) -> float:
        """Estimate the largest error that rounding of every term can cause, and what is left."""
        n, axes = self.n, self.core.unit_axes()
        right = self.core.right.copy()
        x = self._solution(right[:n], right[n:], goal=0.0)
        sizes = replace(self.matrix, rows=np.abs(self.matrix.rows))
        terms = saddle_product(sizes, np.abs(x)) + np.abs(right)
        error = ROUNDING * terms + np.abs(saddle_residual(self.matrix, x, right))
        largest = np.abs(_to_user(axes, x[:n])).max(initial=0.0)

        def moved(z: FloatArray) -> FloatArray:
            weighted = error * z
            return _to_user(axes, self._solution(weighted[:n], weighted[n:])[:n])

        def felt(v: FloatArray) -> FloatArray:
            return error * self._solution(_from_user(axes, v), np.zeros(self.m))

        found = largest_row_sum(moved, felt, 6 * len(axes))
        return float(found / largest) if largest > 0.0 else 0.0


def _to_user(axes: FloatArray, x: FloatArray) -> FloatArray:
    """Return accelerations (6 n_bodies,) in the user's units."""
    return np.einsum("nwk,nw->nk", axes, x.reshape(axes.shape[:2])).ravel()


def _from_user(axes: FloatArray, v: FloatArray) -> FloatArray:
    """Return the transpose of `_to_user` times v."""
    return np.einsum("nwk,nk->nw", axes, v.reshape(-1, 6)).ravel()
