"""Newton's matrices of implicit steps, and their factors.

That of one step, [J A'; A -C], without what couples bodies beside their joints, and without the
skew part of each body's own block, has factors in every order; they are reused as long as Newton's
method converges (core/simulation/newton.hpp). Where it does not, the full matrix is factorized by
SuperLU.

A collocation method has one for each eigenvalue of its rates: with gamma = value / h they are
[gamma^2 M + gamma D + K, A'; A, -C], C a regularization: rows that depend on others, always or at a
pose, need no decision. Where inertia outweighs D and K, as in steps that resolve the motion, all
are nearly multiples of one another, and Newton's method converges with the factors of the real one.
Otherwise each has its own, by SuperLU. Hairer and Wanner (1996), sec. IV.8.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import block_array, coo_array, csc_array, diags_array

from sparsebody._core import simulation as native
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.preparation import choose_solver
from sparsebody.errors import UnknownNameError
from sparsebody.factorization import analyze
from sparsebody.factorization.unit_factors import UnitSymbolic
from sparsebody.model.system import State, System
from sparsebody.simulation.implicit.step_equations import (
    Solve,
    StepEquations,
    Values,
    scaled_solver,
    uniform_compliance,
)
from sparsebody.simulation.integrators import Collocation
from sparsebody.sparse.pattern import BlockPattern

SOLVERS = ("block-ldl", "multifrontal", "mumps")  # take [1 A'; A -1] for any rows
SINGULAR = "Newton's matrix is singular"  # begins messages
_REGULARIZATION = 1e-10  # C over that of the inertia in a step
# Relative residual of rows, after a solution, above which rows are dependent
_DEPENDENT_RESIDUAL = 1e-5


def step_pattern(system: System, equations: StepEquations) -> BlockPattern:
    """Return bodies, joints with rows, elastic elements and springs as blocks."""
    size, elastic = np.diff(system.first_row), system.elastic
    joints = np.flatnonzero(size)
    ends = [
        system.ends[joints],
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
        if factorization not in ("auto", *SOLVERS):
            raise UnknownNameError(
                f"factorization is {factorization!r}; implicit steps take one of auto, "
                f"{', '.join(SOLVERS)}; explicit ones, method='rk4', take any"
            )
        names = SOLVERS[:2] if factorization == "auto" else (factorization,)
        self.choice = choice = choose_solver(pattern, ordering, names)
        symbolic = analyze(choice.factorization, pattern, choice.order)
        self.length = system.typical_length  # [m], that makes an angle a distance
        self.native = native.Newton(
            equations.native,
            symbolic.factors if isinstance(symbolic, UnitSymbolic) else symbolic,
            equations.start,
            equations.end,
            equations.inputs,
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

    def solve_full(self, b: float, c: float) -> tuple[FloatArray, FloatArray]:
        """Return twists and multipliers by SuperLU of the matrix with nothing left out."""
        equations = self._equations
        solve = scaled_lu(equations.matrix(1.0, c, b), self.twist.size)
        rhs = -np.concatenate([equations.force_residual.ravel(), equations.row_residual])
        twist, multiplier = np.split(solve(rhs).real, [self.twist.size])
        return twist.reshape(-1, 6), multiplier


# ---- collocation --------------------------------------------------------------------------------


class StageMatrix:
    """The matrices at one pose, for one step.

    Rows are scaled as at `state`; `ordering` and `factorization` are those of the real matrix.
    """

    def __init__(
        self, system: System, state: State, scheme: Collocation, ordering: str, factorization: str
    ) -> None:
        self._values = scheme.modes[0]
        self.equations = StepEquations(system, uniform_compliance(system, state, 1.0), None)
        compliance = self.equations.compliance
        self._unit = compliance.entries.copy()  # of C = 1 m/N
        self._real = NewtonMatrix(self.equations, ordering, factorization)
        self.length, self.size = self._real.length, self._real.size
        self._mode_solves: list[Solve] = []
        self._n_primal = 6 * system.n_bodies
        self.rate = 0.0  # [1/s] the real gamma
        self.is_redundant = False

    def factorize(self, state: State, multiplier: FloatArray, h: float, by_mode: bool) -> None:
        """Factorize at the start of a step of `h` [s]: the real matrix, or all if `by_mode`."""
        equations = self.equations
        equations.begin(state, multiplier=multiplier)
        self.rate = float(self._values[0].real) / h
        C = _REGULARIZATION / self.rate**2 / float(equations.system.mass.mean())
        self.compliance = C * equations.compliance.diagonal  # (n_rows of joints,)
        equations.compliance.entries[:] = C * self._unit
        equations.evaluate()
        self._mode_solves = []
        if not by_mode:
            self._real.factorize(self.rate**2, self.rate)
            self._probe()
            return
        K, D, M = matrix_parts(equations)
        for value in self._values:
            gamma = complex(value) / h
            g = gamma.real if gamma.imag == 0.0 else gamma
            data = K.data + g * D.data + g * g * M.data
            matrix = csc_array((data, K.indices, K.indptr), shape=K.shape)
            self._mode_solves.append(scaled_lu(matrix, self._n_primal))
        self._probe()

    def solve(self, mode: int, force: Values, row: Values) -> tuple[Values, Values]:
        """Return the correction of a mode, twists and multipliers (flat), for its residual."""
        if mode == 0:
            force, row = force.real, row.real
        if mode == 0 or self._mode_solves:
            return self._consistent(mode, force, row)
        ratio = (self._values[mode] / self._values[0].real) ** 2
        scaled = force / ratio
        real, imaginary = (
            self._consistent(0, part(scaled), part(row)) for part in (np.real, np.imag)
        )
        return real[0] + 1j * imaginary[0], ratio * (real[1] + 1j * imaginary[1])

    def _by_factors(self, mode: int, force: Values, row: Values) -> tuple[Values, Values]:
        if self._mode_solves:
            x = self._mode_solves[mode](-np.concatenate([force, row]))
            return x[: self._n_primal], x[self._n_primal :]
        self.equations.force_residual.ravel()[:] = force
        self.equations.row_residual[:] = row
        self._real.solve()
        return self._real.twist.ravel().copy(), self._real.multiplier.copy()

    def _consistent(self, mode: int, force: Values, row: Values) -> tuple[Values, Values]:
        """Solve for the consistent part of the rows: the inconsistent one is C lambda, to O(C).

        States of self-stress at this pose would exert forces at the poses of the stages.
        """
        twist, multiplier = self._by_factors(mode, force, row)
        if not self.is_redundant:
            return twist, multiplier
        n = len(self.compliance)
        row = np.append(row[:n] - self.compliance * multiplier[:n], row[n:])
        return self._by_factors(mode, force, row)

    def without_self_stress(self, multiplier: FloatArray) -> FloatArray:
        """Return multipliers (flat) of the same forces A' lambda, without states of self-stress.

        That part, A' lambda = 0, is (C + A J^-1 A')^-1 C lambda, to O(C), of dependent rows. The
        equations do not determine it, so that it would grow from step to step.
        """
        if not self.is_redundant:
            return multiplier
        n = len(self.compliance)
        row = np.append(self.compliance * multiplier[:n], np.zeros(multiplier.size - n))
        return multiplier - self._by_factors(0, np.zeros(self._n_primal), row)[1].real

    def _probe(self) -> None:
        """Test, by an arbitrary right-hand side, whether rows are dependent at this pose."""
        self.is_redundant = False
        n = len(self.compliance)
        row = np.zeros(self.equations.n_rows)
        row[:n] = np.cos(np.arange(n))
        contradiction = self.compliance * self.solve(0, np.zeros(self._n_primal), row)[1][:n]
        self.is_redundant = bool(np.abs(contradiction).max(initial=0.0) > _DEPENDENT_RESIDUAL)


def matrix_parts(equations: StepEquations) -> tuple[csc_array, csc_array, csc_array]:
    """Return K, with all rows, D and M at the present unknowns, of one pattern."""
    row, column, *values = equations.native.assemble(False)
    n = equations.displacement.size + equations.n_rows
    K, D, M = (coo_array((value, (row, column)), shape=(n, n)).tocsc() for value in values)
    return K, D, M


def coupled_solve(
    stages: Sequence[StepEquations], rates: FloatArray, compliance: FloatArray, rhs: FloatArray
) -> FloatArray:
    """Return Newton's correction (s, n) of all stages, each with the matrix of its own pose.

    It converges at poses where rows lose rank, and change signs within a step.
    """
    s, square = len(stages), rates @ rates
    n = stages[0].displacement.size
    regular = np.append(np.zeros(n), compliance)
    blocks: list[list[Any]] = []
    for i, stage in enumerate(stages):
        K, D, M = matrix_parts(stage)
        blocks.append([square[i, j] * M + rates[i, j] * D for j in range(s)])
        blocks[i][i] = blocks[i][i] + K - diags_array(regular)
    x = scaled_lu(block_array(blocks).tocsc(), n, s)(rhs.ravel())
    return np.asarray(x.real).reshape(s, -1)


def scaled_lu(matrix: csc_array, n_primal: int, n_stages: int = 1) -> Solve:
    """Return the solution by LU, scaled; in each stage the first n_primal unknowns are primal."""
    diagonal = np.abs(matrix.diagonal())
    scale = np.ones(len(diagonal))
    is_primal = np.tile(np.arange(len(scale) // n_stages) < n_primal, n_stages)
    scale[is_primal] = 1.0 / np.sqrt(diagonal[is_primal])
    rows = abs(matrix[~is_primal][:, is_primal]).multiply(scale[is_primal])
    size = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    scale[~is_primal] = 1.0 / np.sqrt(size + diagonal[~is_primal])
    return scaled_solver(matrix, scale, f"{SINGULAR}; take smaller steps")
