"""A core that keeps all rows, decides no rank, and solves by Krylov steps on the multipliers."""

from __future__ import annotations

import warnings

import numpy as np

from sparsebody._core import factorization as native
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.kkt import KKTStructure
from sparsebody.dynamics.accelerations import SolveReport
from sparsebody.dynamics.compiled.core import Core
from sparsebody.errors import ConvergenceWarning, SingularSystemError
from sparsebody.factorization.least_norm import least_norm
from sparsebody.factorization.quasi_definite import quasi_definite
from sparsebody.model.system import State, System


class KrylovCore(Core):
    """See `Core`; the accelerations keep the rows as well as any do, in least squares.

    Rows are scaled to unit norm, bodies in units in which their inertia is one. Where rows
    contradict each other, the sum of the squares of what they miss is least; of all accelerations
    of which that is true, those with the least Gauss function are returned.

    Parameters
    ----------
    system : System
        The mechanism.
    structure : KKTStructure
        Of all rows.
    order : (n_blocks,) int array
        Elimination order of its pattern.
    factorization : str
        A name from QUASI_DEFINITE.
    """

    def __init__(
        self, system: System, structure: KKTStructure, order: IntArray, factorization: str
    ) -> None:
        super().__init__(system, structure, order, factorization)
        self._constraints = native.ConstraintPattern(self._pattern.block_sizes, self._pattern.ends)
        self._n_primal = self._pattern.n_primal_rows
        self._unit = np.zeros_like(self._values)
        self._scale = np.ones(len(self._values))
        self._factors = quasi_definite(self.symbolic)
        self._warned_of = False
        self._left = 0.0

    def accelerate(
        self,
        state: State,
        body_force: FloatArray | None,
        shift: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> float:
        """Assemble, factorize and solve; parameters and errors as in those."""
        self.assemble(state, body_force, shift)
        return self.solve(self.right, acceleration, multiplier, state.time)

    def factorize(self, time: float) -> None:
        """Scale the rows and factorize; singular values of A do no harm, `time` is not used."""
        norm = np.sqrt(np.einsum("rsa,rsa->r", self._values, self._values))
        self._scale = 1.0 / np.where(norm > 0.0, norm, 1.0)
        np.multiply(self._values, self._scale[:, None, None], out=self._unit)
        self._factors.factorize(self._unit)
        self._is_factorized = True

    def solve(
        self,
        right: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
        time: float,
        goal: float = 0.0,
    ) -> float:
        """Solve for a right-hand side in elimination order, and return the residual.

        Parameters as in `Core.solve`; what was done is in `report`.

        Raises
        ------
        SingularSystemError
            If numbers are not finite.

        Warns
        -----
        ConvergenceWarning
            Once, if the steps stall before the residual is at rounding.
        """
        if not self._is_factorized:
            self.factorize(time)
        n = self._n_primal
        free, asked = right[:n], self._scale * right[n:]
        size = max(_largest(free), _largest(asked))
        if not np.isfinite(size):
            raise SingularSystemError(
                f"forces or accelerations at t = {time:.6g} s are not finite: velocities or forces "
                "are too large to multiply; look at the state"
            )
        found = least_norm(self, asked - self.product(free), size)
        self._x[:n] = free + found.x
        self._x[n:] = -self._scale * found.y
        self.report = SolveReport("krylov", found.steps, found.residual, found.converged)
        self._left = found.gap
        if goal == 0.0 and not found.converged and not self._warned_of:
            self._warned_of = True
            warnings.warn(
                f"the accelerations at t = {time:.6g} s have not converged after {found.steps} "
                f"Krylov steps (relative residual {found.residual:.0e}): motions of the mechanism "
                "are too soft to tell from rounding; leave dependent rows out "
                "(redundancy='remove')",
                ConvergenceWarning,
                stacklevel=4,
            )
        self._unscramble(acceleration, multiplier)
        return found.residual

    def damped_twists(self, error: FloatArray, damping: float) -> FloatArray:
        """Return twists (n_bodies, 6) that change the rows by -error, but not far.

        Least of |A twist + error|^2 + damping |twist|^2 with unit rows, in the metric of the
        inertias: a step of Levenberg and Marquardt.
        """
        if not self._is_factorized:
            self.factorize(0.0)
        self._factors.factorize(self._unit, damping)
        gap = -self._scale * error[self.rows]
        self._x[: self._n_primal] = self.transposed(self._factors.solve(gap))
        self._is_factorized = False
        twists = np.empty((self.system.n_bodies, 6))
        self._unscramble(twists, np.zeros(0))
        return twists

    def dropped_residual(self) -> float:
        """Return the largest gap of a row, which no acceleration closes, of the newest solution.

        Rows of unit norm, relative to the largest acceleration of the free bodies or asked for.
        """
        return self._left

    def smallest_pivot(self) -> tuple[float, int]:
        """Return NaN and -1: pivots of dependent rows vanish at every pose."""
        return np.nan, -1

    def product(self, x: FloatArray) -> FloatArray:
        """Return A x, rows of unit norm."""
        gap, nothing = np.empty(len(self._unit)), np.zeros(len(self._unit))
        self._constraints.residual(self._unit, x, nothing, gap)
        return gap

    def transposed(self, y: FloatArray) -> FloatArray:
        """Return A' y."""
        x = np.zeros(self._n_primal)
        self._constraints.subtract_forces(self._unit, -y, x)
        return x

    def precondition(self, gap: FloatArray) -> FloatArray:
        """Return (A A' + delta)^-1 gap, nearly."""
        return self._factors.solve(gap)


def _largest(x: FloatArray) -> float:
    return float(np.abs(x).max(initial=0.0))
