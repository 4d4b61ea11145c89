"""Solution of [1 A'; A 0] x = b as an assembler has filled it, by factors made at every state."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from sparsebody._core import dynamics
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators.assembler import Assembler
from sparsebody.dynamics.evaluators.spatial_assembler import SpatialAssembler
from sparsebody.equations.accelerations import SolveReport
from sparsebody.errors import SingularSystemError
from sparsebody.factorization import Numeric, block_qr, refined_solve
from sparsebody.factorization.block_ldl import REGULAR, BlockLDLSymbolic
from sparsebody.factorization.block_qr import BlockQRSymbolic
from sparsebody.factorization.unit_ldl import UnitLDLSymbolic
from sparsebody.tolerances import ROUGH_RESIDUAL, WORST_RESIDUAL

MAX_CORRECTIONS = 8  # of solutions by backends; one or two are usual
QR_CORRECTIONS = 4  # of solutions by block QR, at most
ROUGH_CORRECTION = dynamics.ROUGH_CORRECTION  # relative, of a solution by LDL', that tells of QR


class InaccurateFactors(SingularSystemError):
    """Factors in which rounding hides the softest motions, or that have lost a pivot to it."""

    def __init__(self, message: str, time: float) -> None:
        super().__init__(message)
        self.time = time


class Solver(ABC):
    """Factors of the newest matrix of an assembler; they and the solution x are workspace."""

    is_inaccurate = False  # whether few digits of the newest solution are good
    inconsistency = 0.0  # largest violation of a row that no solution fulfills, relative
    report: SolveReport | None = None  # of the newest solution, if it was iterative

    def __init__(self, assembler: Assembler) -> None:
        self.assembler = assembler
        self._factorized: object = None  # the assembly that the factors are of

    def __reduce__(self) -> tuple[type[Solver], tuple[Assembler]]:
        """Copy and pickle without the factors."""
        return type(self), (self.assembler,)

    def factorize(self, time: float) -> None:
        """Factorize what was assembled last; `time` [s] is for messages.

        Raises
        ------
        SingularSystemError
            If a pivot is lost; the message names the joint or the body.
        """
        self._factorize(time)
        self._factorized = self.assembler.assembly

    def accept_assembled(self) -> None:
        """Take the native factors for those of what was assembled last."""
        self._factorized = self.assembler.assembly

    def solve(self, right: FloatArray, time: float, goal: float = 0.0) -> float:
        """Fill x of the assembler for a right-hand side, and return the relative residual.

        Parameters
        ----------
        right : (n_rows of the pattern,) array
            Forces, then gamma.
        time : float
            For messages [s].
        goal : float
            A relative residual that is not corrected, if larger than usual; 0 for the usual one.

        Raises
        ------
        SingularSystemError
            If a pivot is lost, or the residual is large.
        """
        if self._factorized is not self.assembler.assembly:
            self.factorize(time)
        return self._solve(right, time, goal)

    @abstractmethod
    def _factorize(self, time: float) -> None: ...

    @abstractmethod
    def _solve(self, right: FloatArray, time: float, goal: float) -> float: ...

    def smallest_pivot(self) -> tuple[float, int]:
        """Return the smallest pivot of the newest factors, the sine of an angle, and its row.

        The angle is that between a row, in the user's numbering, and the rows before it; NaN and -1
        where the factorization does not tell.
        """
        return np.nan, -1

    def _in_user_order(self, pivot: tuple[float, int]) -> tuple[float, int]:
        sine, row = pivot
        return sine, int(self.assembler.rows[row]) if row >= 0 else -1


class BlockLDLSolver(Solver):
    """LDL' by unrolled blocks, refined; one native pass with the assembly."""

    def __init__(self, assembler: Assembler) -> None:
        assert isinstance(assembler, SpatialAssembler)
        assert isinstance(assembler.symbolic, BlockLDLSymbolic)
        super().__init__(assembler)
        self._native, self._symbolic = assembler.native, assembler.symbolic
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
            raise self._inaccurate(time)
        return checked(residual, time)

    def accept(self, status: int, residual: float, correction: float, time: float) -> float:
        """Return the residual of a native pass that has assembled, factorized and solved."""
        if status == REGULAR and not correction > ROUGH_CORRECTION:
            self._factorized = self.assembler.assembly
            return checked(residual, time)
        if status != REGULAR:
            self._examine(status, time)
        raise self._inaccurate(time)

    def _examine(self, status: int, time: float) -> None:
        """Raise SingularSystemError if a doubtful pivot of the newest factors is truly lost."""
        try:
            self._symbolic.check(status, self.assembler.values)
        except SingularSystemError as error:
            raise self.assembler.singular(error, time) from error

    def _inaccurate(self, time: float) -> InaccurateFactors:
        return InaccurateFactors(f"at t = {time:.6g} s rounding hides the softest motions", time)

    def smallest_pivot(self) -> tuple[float, int]:
        """Return the smallest pivot; see `Solver`."""
        return self._in_user_order(self._symbolic.smallest_pivot(self.assembler.values))


class BlockQRSolver(Solver):
    """QR of the constraint columns, refined: of the assembler's symbolic, or in natural order.

    The latter where LDL' is not accurate enough: then rough solutions of it are told of.
    """

    def __init__(self, assembler: Assembler) -> None:
        super().__init__(assembler)
        symbolic = assembler.symbolic
        self.is_last_resort = not isinstance(symbolic, BlockQRSymbolic)
        if not isinstance(symbolic, BlockQRSymbolic):
            order = np.arange(assembler.pattern.n_blocks, dtype=np.intp)
            symbolic = block_qr.analyze(assembler.pattern, order)
        self._symbolic, self.qr = symbolic, symbolic.qr

    def _factorize(self, time: float) -> None:
        status = self.qr.factorize(self.assembler.values)
        if status != block_qr.REGULAR:
            self._check(status, time)

    def _solve(self, right: FloatArray, time: float, goal: float) -> float:
        """Solve; with a positive goal others correct the solution, and its residual is a guess."""
        assembler = self.assembler
        residual, first = self.qr.solve(
            assembler.values, right, assembler.x, accurate=goal == 0.0, corrections=QR_CORRECTIONS
        )
        if goal == 0.0:
            self.is_inaccurate = self.is_last_resort and first > ROUGH_RESIDUAL
        return checked(residual, time)

    def accept(self, dependent_row: int, residual: float, time: float) -> float:
        """Return the residual of a native pass that has assembled, factorized and solved."""
        if dependent_row != block_qr.REGULAR:
            self._check(dependent_row, time)
        self._factorized = self.assembler.assembly
        return checked(residual, time)

    def _check(self, status: int, time: float) -> None:
        """Raise SingularSystemError for the dependent row that a factorization has returned."""
        try:
            self._symbolic.check(status)
        except SingularSystemError as error:
            raise self.assembler.singular(error, time) from error

    def smallest_pivot(self) -> tuple[float, int]:
        """Return the smallest pivot; see `Solver`."""
        return self._in_user_order(self.qr.smallest_pivot(self.assembler.values))


class BackendSolver(Solver):
    """Any Symbolic of FACTORIZATIONS, with iterative refinement."""

    def _factorize(self, time: float) -> None:
        try:
            self._numeric: Numeric = self.assembler.symbolic.factorize(self.assembler.matrix)
        except SingularSystemError as error:
            raise self._lost(error, time) from error

    def _solve(self, right: FloatArray, time: float, goal: float) -> float:
        matrix = self.assembler.matrix
        try:
            x, residual = refined_solve(self._numeric, matrix, right, MAX_CORRECTIONS)
        except SingularSystemError as error:
            raise self._lost(error, time) from error
        self.assembler.x[:] = x
        return checked(residual, time)

    def smallest_pivot(self) -> tuple[float, int]:
        """Return the smallest pivot; see `Solver`."""
        symbolic = self.assembler.symbolic
        if not isinstance(symbolic, UnitLDLSymbolic):
            return super().smallest_pivot()
        return self._in_user_order(symbolic.smallest_pivot(self.assembler.values))

    def _lost(self, error: SingularSystemError, time: float) -> InaccurateFactors:
        return InaccurateFactors(str(self.assembler.singular(error, time)), time)


def direct_solver(assembler: Assembler) -> Solver:
    """Return the solver for the factorization that an assembler has analyzed."""
    if isinstance(assembler.symbolic, BlockQRSymbolic):
        return BlockQRSolver(assembler)
    is_ldl = isinstance(assembler.symbolic, BlockLDLSymbolic)
    if is_ldl and isinstance(assembler, SpatialAssembler):
        return BlockLDLSolver(assembler)
    return BackendSolver(assembler)


def checked(residual: float, time: float) -> float:
    """Return a relative residual; raise SingularSystemError if it is large or no number."""
    if residual <= WORST_RESIDUAL:
        return residual
    if not math.isfinite(residual):
        raise SingularSystemError(
            f"the accelerations at t = {time:.6g} s are not finite: velocities or forces are too "
            "large to multiply; look at the state"
        )
    raise SingularSystemError(
        f"the constraint rows are nearly dependent at t = {time:.6g} s "
        f"(relative residual {residual:.1e}); analyze the redundancy at this pose again"
    )
