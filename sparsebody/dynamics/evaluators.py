"""Solutions of Featherstone's (2008) eq. (8.64) at a state, in units that make inertias identities.

    [ 1  A' ] [    a    ]   [   f   ]
    [ A  0  ] [ -lambda ] = [ gamma ]

An assembler fills the matrix and the right-hand side; an evaluator factorizes and solves.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sparsebody._core import dynamics
from sparsebody._core import factorization as native
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.assembler import Assembler, SpatialAssembler
from sparsebody.dynamics.reductions import PlanarAssembler
from sparsebody.equations.accelerations import SolveReport
from sparsebody.errors import ConvergenceWarning, SingularSystemError, warn_user
from sparsebody.factorization import Numeric, krylov, mumps, refined_solve, unit_factors
from sparsebody.factorization.substructures import IterativeSymbolic
from sparsebody.factorization.unit_factors import REGULAR, BlockQRSymbolic, UnitSymbolic
from sparsebody.model.system import State
from sparsebody.tolerances import ROUGH_RESIDUAL, WORST_RESIDUAL

MAX_CORRECTIONS = 8  # of solutions by backends; one or two are usual
QR_CORRECTIONS = 4  # of solutions by block QR, at most
ROUGH_CORRECTION = dynamics.ROUGH_CORRECTION  # relative, of LDL': beyond it QR is used instead


class InaccurateFactors(SingularSystemError):
    """Factors with a pivot that is rounding alone, or with A too ill-conditioned for them."""

    def __init__(self, message: str, time: float) -> None:
        super().__init__(message)
        self.time = time


def inaccurate(time: float) -> InaccurateFactors:
    """Return the error of factors whose corrections do not converge."""
    return InaccurateFactors(f"at t = {time:.6g} s the constraint rows are ill-conditioned", time)


class Evaluator(ABC):
    """An assembler of [1 A'; A 0] x = b, and factors of its newest matrix; both change in place."""

    is_inaccurate = False  # whether few digits of the newest solution are good
    has_unique_multipliers = True  # of dependent rows, those of least norm
    inconsistency = 0.0  # largest relative violation of contradictory rows
    report: SolveReport | None = None  # of the newest solution, if it was iterative
    fused: Callable[..., Any] | None = None  # native call that assembles, factorizes and solves

    def __init__(self, assembler: Assembler) -> None:
        self.assembler = assembler
        self.symbolic: object = assembler.symbolic
        self._factorized: object = None  # the assembly that the factors are of

    def __reduce__(self) -> tuple[type[Evaluator], tuple[Assembler]]:
        """Pickle without the factors."""
        return type(self), (self.assembler,)

    def __copy__(self) -> Evaluator:
        """Return one with arrays of its own."""
        return type(self)(copy.copy(self.assembler))

    def accelerate(
        self,
        state: State,
        body_force: FloatArray | None,
        stabilization: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> float:
        """Assemble, factorize and solve; return the relative residual.

        Fills acceleration (n_bodies, 6), and multiplier (n_rows,) where rows are kept; (0,) for
        none. Raises the errors of `Assembler.assemble`; SingularSystemError for dependent rows,
        and InaccurateFactors where another factorization may be accurate enough.
        """
        assembler = self.assembler
        if self.fused is None:
            assembler.assemble(state, body_force, stabilization)
            return self.solve_assembled(state, acceleration, multiplier)
        outputs = acceleration, multiplier
        outcome = assembler.call(self.fused, state, body_force, stabilization, outputs)
        status, residual, correction = outcome
        if status == REGULAR and not correction > ROUGH_CORRECTION:
            self._factorized = assembler.assembly
            return checked(residual, state.time)
        if status != REGULAR:
            assembler.check(status, state)
            self._examine(status, state.time)
        raise inaccurate(state.time)

    def solve_assembled(
        self, state: State, acceleration: FloatArray, multiplier: FloatArray
    ) -> float:
        """Factorize and solve what was assembled; fill and return as `accelerate` does."""
        residual = self.solve(self.assembler.right, state.time)
        self.assembler.native.to_user_order(acceleration, multiplier)
        return residual

    def factorize(self, time: float) -> None:
        """Factorize what was assembled; SingularSystemError names a dependent joint, and `time`."""
        self._factorize(time)
        self._factorized = self.assembler.assembly

    def accept_assembled(self, state: State | None = None) -> None:
        """Record that the native factors are those of the newest assembly, of `state` if known.

        Forces may include those of a control.
        """
        self._factorized, self.assembler.state = self.assembler.assembly, state

    def solve(self, right: FloatArray, time: float, goal: float = 0.0) -> float:
        """Fill x of the assembler for `right`, forces, then gamma; return the relative residual.

        A solution with a residual below `goal` is not corrected; 0 stands for the default goal.
        SingularSystemError if the residual is large. `time` [s] is for its message.
        """
        if self._factorized is not self.assembler.assembly:
            self.factorize(time)
        return self._solve(right, time, goal)

    def solution(self, right: FloatArray, time: float, goal: float) -> FloatArray:
        """Return the solution of [1 A'; A 0] x = right, and leave x of the assembler as it was."""
        x = self.assembler.x
        newest = x.copy()
        self.solve(right, time, goal)
        solution = x.copy()
        x[:] = newest
        return solution

    @abstractmethod
    def _factorize(self, time: float) -> None: ...

    @abstractmethod
    def _solve(self, right: FloatArray, time: float, goal: float) -> float: ...

    def explain(self) -> dict[str, object]:
        """Return what the factorization reports, for people and for JSON."""
        return {}

    def dropped_residual(self) -> float:
        """Return the largest violation of rows left out, or of all where they contradict."""
        return max(self.assembler.violation(), self.inconsistency)

    def smallest_pivot(self) -> tuple[float, int]:
        """Return the least sine of the angle between a row and the span of those before it.

        And the index of the row among the user's; (NaN, -1) of factors that do not tell.
        """
        symbolic = self.symbolic
        if not isinstance(symbolic, UnitSymbolic) or isinstance(symbolic, IterativeSymbolic):
            return np.nan, -1
        sine, row = symbolic.factors.smallest_pivot(self.assembler.values)
        return sine, int(self.assembler.rows[row]) if row >= 0 else -1

    def _examine(self, status: int, time: float) -> None:
        """Raise SingularSystemError if a doubtful pivot of the newest factors is rounding alone."""
        assert isinstance(self.symbolic, UnitSymbolic)
        try:
            self.symbolic.check(status, self.assembler.values)
        except SingularSystemError as error:
            raise self.assembler.singular(error, time) from error


class BlockLDLEvaluator(Evaluator):
    """LDL' by small dense blocks, refined; one native call assembles, factorizes and solves."""

    def __init__(self, assembler: Assembler) -> None:
        assert isinstance(assembler, SpatialAssembler)
        super().__init__(assembler)
        self._native, self.fused = assembler.native, assembler.native.accelerate
        self._shifted: object = None  # the newest assembly with a doubtful pivot

    def _factorize(self, time: float) -> None:
        status = self._native.factorize()
        if status != REGULAR:
            self._shifted = self.assembler.assembly
            self._examine(status, time)

    def _solve(self, right: FloatArray, time: float, goal: float) -> float:
        is_shifted = self._shifted is self.assembler.assembly
        residual, correction = self._native.solve(right, goal, is_shifted)
        if correction > ROUGH_CORRECTION or (is_shifted and goal == 0.0):
            raise inaccurate(time)  # a shifted pivot serves projections, whose caller corrects x
        return checked(residual, time)


class BlockQREvaluator(Evaluator):
    """QR of the constraint columns, refined; in natural order where LDL' is not accurate enough."""

    def __init__(self, assembler: Assembler) -> None:
        super().__init__(assembler)
        symbolic = assembler.symbolic
        self.is_last_resort = not isinstance(symbolic, BlockQRSymbolic)
        if not isinstance(symbolic, BlockQRSymbolic):
            order = np.arange(assembler.pattern.n_blocks, dtype=np.intp)
            symbolic = unit_factors.analyze_qr(assembler.pattern, order)
        self.symbolic, self.qr = symbolic, symbolic.factors
        if isinstance(assembler, PlanarAssembler) and not self.is_last_resort:
            self.fused = assembler.native.accelerate

    def _factorize(self, time: float) -> None:
        status = self.qr.factorize(self.assembler.values)
        if status != REGULAR:
            self._examine(status, time)

    def _solve(self, right: FloatArray, time: float, goal: float) -> float:
        """Solve; with a positive goal the caller corrects x, and the residual is an estimate."""
        assembler = self.assembler
        residual, first = self.qr.solve(
            assembler.values, right, assembler.x, accurate=goal == 0.0, corrections=QR_CORRECTIONS
        )
        if goal == 0.0:
            self.is_inaccurate = self.is_last_resort and first > ROUGH_RESIDUAL
        return checked(residual, time)


class BackendEvaluator(Evaluator):
    """Any Symbolic of FACTORIZATIONS, with iterative refinement."""

    def _factorize(self, time: float) -> None:
        assembler = self.assembler
        try:
            self._numeric: Numeric = assembler.symbolic.factorize(assembler.matrix)
        except SingularSystemError as error:
            raise self._inaccurate(error, time) from error

    def explain(self) -> dict[str, object]:
        """Return the memory of each rank, if ranks share the factors."""
        symbolic = self.symbolic
        return symbolic.explain() if isinstance(symbolic, mumps.MumpsSymbolic) else {}

    def _solve(self, right: FloatArray, time: float, goal: float) -> float:
        matrix = self.assembler.matrix
        try:
            x, residual = refined_solve(self._numeric, matrix, right, MAX_CORRECTIONS)
        except SingularSystemError as error:
            raise self._inaccurate(error, time) from error
        self.assembler.x[:] = x
        return checked(residual, time)

    def _inaccurate(self, error: SingularSystemError, time: float) -> InaccurateFactors:
        return InaccurateFactors(str(self.assembler.singular(error, time)), time)


class KrylovEvaluator(Evaluator):
    """Krylov iterations for the multipliers of all rows, scaled to unit norm, whatever their rank.

    Where rows contradict each other, the accelerations are those of least |A a - gamma|, and of
    all these those with the least Gauss function, |a - f| in units of the inertias.
    """

    def __init__(self, assembler: Assembler) -> None:
        super().__init__(assembler)
        pattern = assembler.pattern
        self._n_primal = pattern.n_primal_rows
        self._unit_rows = np.zeros_like(assembler.values)
        self._scale = np.ones(len(assembler.values))
        self._factors = krylov.quasi_definite(assembler.symbolic)
        A = (pattern.offsets, pattern.ends), self._unit_rows
        products = partial(native.constraint_product, *A), partial(native.constraint_forces, *A)
        self._operator = krylov.Operator(*products, self._factors.solve)
        self.has_unique_multipliers = not isinstance(assembler.symbolic, IterativeSymbolic)
        self.symbolic = None  # its pivots are shifted
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
        """Solve; warn once if the iterations stall before the residual is at rounding.

        With substructures that is a SingularSystemError: other factors may still do.
        """
        n, x = self._n_primal, self.assembler.x
        free, gamma = right[:n], self._scale * right[n:]
        size = np.abs(np.concatenate([free, gamma])).max(initial=0.0)  # NaN if any is
        if not np.isfinite(size):
            raise _not_finite("forces or accelerations", time)
        g = gamma - self._operator.product(free)
        solution = krylov.least_norm(self._operator, g, float(size))
        x[:n] = free + solution.x
        x[n:] = -self._scale * solution.y
        steps, residual = solution.steps, solution.normal_residual
        self.report = SolveReport("krylov", steps, residual, solution.converged)
        self.inconsistency = solution.residual
        if goal == 0.0 and not solution.converged and not self._has_warned:
            stalled = (
                f"the accelerations at t = {time:.6g} s have not converged after {steps} "
                f"Krylov steps (relative residual {residual:.0e})"
            )
            if not self.has_unique_multipliers:
                raise SingularSystemError(
                    f"{stalled}: the constraint rows are too ill-conditioned, or contradict each "
                    "other, as at inconsistent states; use factorization='multifrontal', or make "
                    "the state consistent"
                )
            self._has_warned = True
            warn_user(
                f"{stalled}: the constraint rows are too ill-conditioned; leave dependent rows "
                "out (redundancy='remove')",
                ConvergenceWarning,
            )
        return residual

    def explain(self) -> dict[str, object]:
        """Return the substructures that the mechanism is cut into, level by level, if it is."""
        symbolic = self.assembler.symbolic
        if not isinstance(symbolic, IterativeSymbolic):
            return {}
        return {"substructures": symbolic.substructures.explain()}

    def damped_twists(self, error: FloatArray, damping: float) -> FloatArray:
        """Return twists (n_bodies, 6) of least |A twist + error|^2 + damping |twist|^2.

        `error` (n_rows,); rows A of unit norm, |twist|^2 = twist' M twist.
        """
        assembler = self.assembler
        self._scale_rows()
        self._factors.factorize(self._unit_rows, damping)
        self._factorized = None  # these factors, with damping, are not those of accelerations
        g = -self._scale * error[assembler.rows]
        assembler.x[: self._n_primal] = self._operator.transposed(self._factors.solve(g))
        twists = np.empty((assembler.system.n_bodies, 6))
        assembler.native.to_user_order(twists, np.zeros(0))
        return twists


def direct_evaluator(assembler: Assembler) -> Evaluator:
    """Return the evaluator by the factorization that an assembler has analyzed."""
    if isinstance(assembler.symbolic, BlockQRSymbolic):
        return BlockQREvaluator(assembler)
    if isinstance(assembler.symbolic, unit_factors.BlockLDLSymbolic):
        return BlockLDLEvaluator(assembler)
    return BackendEvaluator(assembler)


def checked(residual: float, time: float) -> float:
    """Return a relative residual; raise SingularSystemError if it is large or no number."""
    if residual <= WORST_RESIDUAL:
        return residual
    if not math.isfinite(residual):
        raise _not_finite("the accelerations", time)
    raise SingularSystemError(
        f"the constraint rows are nearly dependent at t = {time:.6g} s "
        f"(relative residual {residual:.1e}); analyze the redundancy at this pose again, or keep "
        "all rows: redundancy='krylov'"
    )


def _not_finite(what: str, time: float) -> SingularSystemError:
    return SingularSystemError(
        f"{what} at t = {time:.6g} s are not finite: products of velocities or forces overflow; "
        "give smaller ones"
    )
