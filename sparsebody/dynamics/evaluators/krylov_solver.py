"""Krylov steps on the multipliers of all rows, without a decision on their rank."""

from __future__ import annotations

import numpy as np

from sparsebody._core import factorization as native
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators.assembler import Assembler
from sparsebody.dynamics.evaluators.solvers import Solver
from sparsebody.equations.accelerations import SolveReport
from sparsebody.errors import ConvergenceWarning, SingularSystemError, warn_user
from sparsebody.factorization.krylov import least_norm
from sparsebody.factorization.quasi_definite import quasi_definite


class KrylovSolver(Solver):
    """Accelerations that keep the rows as well as any do, in least squares.

    Rows are scaled to unit norm, bodies in units in which their inertia is one. Where rows
    contradict each other, the sum of the squares of what they miss is least; of all accelerations
    of which that is true, those with the least Gauss function are returned.

    Parameters
    ----------
    assembler : Assembler
        Of all rows, analyzed by one of QUASI_DEFINITE.
    """

    def __init__(self, assembler: Assembler) -> None:
        super().__init__(assembler)
        pattern = assembler.pattern
        self._pattern = pattern.offsets, pattern.ends
        self._n_primal = pattern.n_primal_rows
        self._unit_rows = np.zeros_like(assembler.values)
        self._scale = np.ones(len(assembler.values))
        self._factors = quasi_definite(assembler.symbolic)
        self._has_warned = False

    def _factorize(self, time: float) -> None:
        self._scale_rows()
        self._factors.factorize(self._unit_rows)

    def _scale_rows(self) -> None:
        rows = self.assembler.values
        norm = np.sqrt(np.einsum("rsa,rsa->r", rows, rows))
        self._scale = 1.0 / np.where(norm > 0.0, norm, 1.0)
        np.multiply(rows, self._scale[:, None, None], out=self._unit_rows)

    def _solve(self, right: FloatArray, time: float, goal: float) -> float:
        """Solve, and warn once if the steps stall before the residual is at rounding."""
        n, x = self._n_primal, self.assembler.x
        free, gamma = right[:n], self._scale * right[n:]
        size = max(_largest(free), _largest(gamma))
        if not np.isfinite(size):
            raise SingularSystemError(
                f"forces or accelerations at t = {time:.6g} s are not finite: velocities or forces "
                "are too large to multiply; look at the state"
            )
        solution = least_norm(self, gamma - self.product(free), size)
        x[:n] = free + solution.x
        x[n:] = -self._scale * solution.y
        steps, residual = solution.steps, solution.residual
        self.report = SolveReport("krylov", steps, residual, solution.converged)
        self.inconsistency = solution.gap
        if goal == 0.0 and not solution.converged and not self._has_warned:
            self._has_warned = True
            warn_user(
                f"the accelerations at t = {time:.6g} s have not converged after {steps} "
                f"Krylov steps (relative residual {residual:.0e}): motions of the mechanism "
                "are too soft to tell from rounding; leave dependent rows out "
                "(redundancy='remove')",
                ConvergenceWarning,
            )
        return residual

    def damped_twists(self, error: FloatArray, damping: float) -> FloatArray:
        """Return twists (n_bodies, 6) that change the rows by -error, but not far.

        Least of |A twist + error|^2 + damping |twist|^2 with unit rows, in the metric of the
        inertias: a step of Levenberg and Marquardt.
        """
        assembler = self.assembler
        self._scale_rows()
        self._factors.factorize(self._unit_rows, damping)
        self._factorized = None  # by factors for accelerations
        gap = -self._scale * error[assembler.rows]
        assembler.x[: self._n_primal] = self.transposed(self._factors.solve(gap))
        twists = np.empty((assembler.system.n_bodies, 6))
        assembler.to_user_order(twists, np.zeros(0))
        return twists

    def product(self, x: FloatArray) -> FloatArray:
        """Return A x, rows of unit norm."""
        return native.constraint_product(self._pattern, self._unit_rows, x)

    def transposed(self, y: FloatArray) -> FloatArray:
        """Return A' y."""
        return native.constraint_forces(self._pattern, self._unit_rows, y)

    def precondition(self, gap: FloatArray) -> FloatArray:
        """Return (A A' + delta)^-1 gap, nearly."""
        return self._factors.solve(gap)


def _largest(x: FloatArray) -> float:
    return float(np.abs(x).max(initial=0.0))
