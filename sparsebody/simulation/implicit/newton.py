"""Newton's method on the equations of a step, by factors of a quasi-definite matrix.

The matrix without what couples bodies beside their joints, and without the skew part of each
body's own block, has factors in every order; they are kept as long as Newton's method converges
(core/simulation/newton.hpp). Where it does not, the whole matrix is factorized by SuperLU.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import coo_array, csc_array, diags_array
from scipy.sparse.linalg import splu

from sparsebody._core import simulation as native
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.preparation import SolverChoice, choose_solver
from sparsebody.equations.initial_state import mechanism_size
from sparsebody.errors import UnknownNameError
from sparsebody.factorization import FACTORIZATIONS
from sparsebody.factorization.block_ldl import BlockLDLSymbolic
from sparsebody.factorization.multifrontal import MultifrontalSymbolic
from sparsebody.model.system import System
from sparsebody.simulation.implicit.step_equations import StepEquations
from sparsebody.sparse.pattern import BlockPattern

_SOLVERS = ("block-ldl", "multifrontal")  # take [1 A'; A -1] for any rows

Solve = Callable[[FloatArray], FloatArray]


def solver_choice(pattern: BlockPattern, ordering: str, factorization: str) -> SolverChoice:
    """Return the order and the factorization with the least predicted time.

    Raises UnknownNameError for a factorization that cannot do it.
    """
    if factorization not in ("auto", *_SOLVERS):
        raise UnknownNameError(
            f"factorization is {factorization!r}; implicit steps take one of auto, "
            f"{', '.join(_SOLVERS)}"
        )
    names = _SOLVERS if factorization == "auto" else (factorization,)
    choices = [choose_solver(pattern, ordering, name) for name in names]
    return min(choices, key=lambda c: c.seconds[c.ordering][c.factorization])


def step_pattern(system: System, equations: StepEquations) -> BlockPattern:
    """Return bodies, joints with rows, elastic elements and springs as blocks."""
    size, elastic = np.diff(system.first_row), system.elastic
    joints = np.flatnonzero(size)
    ends = [
        np.stack([system.predecessor[joints], system.successor[joints]], axis=1),
        np.stack([elastic.predecessor, elastic.successor], axis=1),
        equations.spring_ends,
    ]
    sizes = (
        *(np.full(system.n_bodies, 6), size[joints]),
        *(elastic.n_rows, np.ones(len(equations.spring_ends))),
    )
    return BlockPattern(np.concatenate(sizes).astype(np.intp), np.concatenate(ends).astype(np.intp))


class NewtonMatrix:
    """[J A'; A -C] of a step: its factors, and corrections by them."""

    def __init__(self, equations: StepEquations, ordering: str, factorization: str) -> None:
        self._equations, system = equations, equations.system
        pattern = step_pattern(system, equations)
        self.choice = choice = solver_choice(pattern, ordering, factorization)
        symbolic = FACTORIZATIONS[choice.factorization].analyze(pattern, choice.order)
        assert isinstance(symbolic, BlockLDLSymbolic | MultifrontalSymbolic)
        self.length = mechanism_size(system)  # [m], that makes an angle a distance
        self.native = native.Newton(
            equations.native,
            symbolic.factors if isinstance(symbolic, BlockLDLSymbolic) else None,
            symbolic.factors if isinstance(symbolic, MultifrontalSymbolic) else None,
            equations.start,
            equations.end,
            equations.known,
            pattern.n_rows,
            self.length,
        )
        self.twist, self.multiplier = np.zeros((system.n_bodies, 6)), np.zeros(equations.n_rows)

    def factorize(self, b: float, c: float) -> None:
        """Factorize at the present unknowns, d(dv/dt) = b dy and dv = c dy."""
        self.native.factorize(b, c)

    def solve(self) -> None:
        """Fill `twist` and `multiplier` with the correction for the present residuals."""
        self.native.fill_correction(self.twist, self.multiplier)

    def size(self, twist: FloatArray) -> float:
        """Return the largest angle and distance of twists (n, 6) as one [m]."""
        angle, distance = np.sqrt((twist.reshape(-1, 2, 3) ** 2).sum(axis=2).max(axis=0))
        return float(self.length * angle + distance)

    def solve_whole(self, b: float, c: float) -> None:
        """Fill them by SuperLU of the matrix with nothing left out."""
        solve = scaled_lu(self.assembled(b, c), self.twist.size)
        equations = self._equations
        rhs = -np.concatenate([equations.force_residual.ravel(), equations.row_residual])
        twist, self.multiplier[:] = np.split(solve(rhs), [self.twist.size])
        self.twist[:] = twist.reshape(-1, 6)

    def assembled(self, b: float, c: float) -> csc_array:
        """Return [J A'; A -C] at the present unknowns, nothing left out."""
        row, column, stiffness, damping, inertia = self._equations.native.assemble()
        value = np.asarray(stiffness) + c * np.asarray(damping) + b * np.asarray(inertia)
        n = 6 * self._equations.system.n_bodies + self._equations.n_rows
        return coo_array((value, (row, column)), shape=(n, n)).tocsc()


def scaled_lu(matrix: csc_array, n_primal: int) -> Solve:
    """Return the solution by LU factors of [J A'; A -C], rows and columns scaled.

    So that J has a diagonal of ones, and A rows of at most that length.
    """
    scale = np.ones(matrix.shape[0])
    scale[:n_primal] = 1.0 / np.sqrt(np.abs(matrix.diagonal()[:n_primal]))
    rows = matrix[n_primal:, :n_primal].multiply(scale[:n_primal])
    size = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    scale[n_primal:] = 1.0 / np.sqrt(size - matrix.diagonal()[n_primal:])
    factors = splu((diags_array(scale) @ matrix @ diags_array(scale)).tocsc())
    return lambda rhs: scale * factors.solve(scale * rhs)
