"""Newton's method on the equations of a step, by factors of a quasi-definite matrix.

The matrix without what couples bodies beside their joints, and without the skew part of each
body's own block, has factors in every order; they are kept as long as Newton's method converges.
Solutions are refined by what the blocks of the bodies are besides. Where that does not converge,
the whole matrix is factorized by SuperLU.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import coo_array, csc_array, diags_array
from scipy.sparse.linalg import splu

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.solver_choice import SolverChoice, choose_solver
from sparsebody.errors import UnknownNameError
from sparsebody.factorization import FACTORIZATIONS
from sparsebody.factorization.block_ldl import BlockLDLSymbolic
from sparsebody.factorization.multifrontal import MultifrontalSymbolic
from sparsebody.model.system import System
from sparsebody.simulation.implicit.step_equations import StepEquations
from sparsebody.sparse.pattern import BlockPattern

_SOLVERS = ("block-ldl", "multifrontal")  # take [1 A'; A -1] for any rows
_REFINEMENTS = 10
_REFINED = 0.02  # change at which they end: Newton's method does the rest

Solve = Callable[[FloatArray], FloatArray]


def solver_choice(pattern: BlockPattern, ordering: str, factorization: str) -> SolverChoice:
    """Return the order and the factorization with the least predicted time.

    Raises
    ------
    UnknownNameError
        For a factorization that cannot do it.
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
        self._equations, self._native = equations, equations.native
        pattern = step_pattern(equations.system, equations)
        choice = solver_choice(pattern, ordering, factorization)
        symbolic = FACTORIZATIONS[choice.factorization].analyze(pattern, choice.order)
        assert isinstance(symbolic, BlockLDLSymbolic | MultifrontalSymbolic)
        self._symbolic, self.choice = symbolic, choice
        self._rows = np.zeros((pattern.n_rows - pattern.n_primal_rows, 2, 6))
        self._rhs, self._changed, self._x = np.zeros((3, pattern.n_rows))
        self.twist = np.zeros((equations.system.n_bodies, 6))
        self.multiplier = np.zeros(equations.n_rows)
        self._is_rough = False  # a block of a body is not positive definite
        self._direct: Solve | None = None  # where the factors do not do

    def factorize(self, b: float, c: float) -> None:
        """Factorize at the present unknowns, d(dv/dt) = b dy and dv = c dy."""
        self._direct = None
        self._is_rough = self._native.linearize(b, c, self._rows) > 0
        if isinstance(self._symbolic, BlockLDLSymbolic):
            zeros = np.zeros(self._symbolic.pattern.n_rows)
            self._symbolic.factors.eliminate(self._rows, zeros, -1.0)
        else:
            self._symbolic.factors.factorize_shifted(self._rows, 1.0)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out since the last factorization."""
        return self._direct is not None

    def factorize_whole(self, b: float, c: float) -> None:
        """Factorize the matrix with nothing left out, by SuperLU."""
        self._direct = scaled_lu(self.assembled(b, c), self.twist.size)

    def assembled(self, b: float, c: float) -> csc_array:
        """Return [J A'; A -C] at the present unknowns, nothing left out."""
        row, column, value = self._native.assemble(b, c)
        n = 6 * self._equations.system.n_bodies + self._equations.n_rows
        return coo_array((value, (row, column)), shape=(n, n)).tocsc()

    def solve(self) -> None:
        """Fill `twist` and `multiplier` with the correction for the present residuals."""
        if self._direct is None:
            self._solve_by_factors()
            return
        n = self.twist.size
        rhs = np.zeros(n + self.multiplier.size)
        self._native.whole_right_side(rhs)
        x = self._direct(rhs)
        self.twist[:], self.multiplier[:] = x[:n].reshape(-1, 6), x[n:]

    def _solve_by_factors(self) -> None:
        """Solve; refined, as long as that converges, where H leaves out more than skew parts."""
        native, n = self._native, self.twist.size
        native.right_side(self._rhs)
        self._substitute(self._rhs)
        last = np.inf
        for _ in range(_REFINEMENTS if self._is_rough else 0):
            before = self._x[:n].copy()
            native.subtract_rest(self._x, self._rhs, self._changed)
            self._substitute(self._changed)
            change = float(np.abs(self._x[:n] - before).max(initial=0.0))
            if not _REFINED * np.abs(before).max(initial=0.0) < change < 0.9 * last:
                break
            last = change
        native.to_correction(self._x, self.twist, self.multiplier)

    def _substitute(self, rhs: FloatArray) -> None:
        if isinstance(self._symbolic, BlockLDLSymbolic):
            self._symbolic.factors.solve(self._rows, rhs, 1.0, False, self._x)
        else:
            self._symbolic.factors.solve(self._rows, rhs, self._x)


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
