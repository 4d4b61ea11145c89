"""Accelerations of a mechanism: an assembler fills (8.64), a solver solves it."""

from __future__ import annotations

import copy
from collections.abc import Callable

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators.assembler import Assembler
from sparsebody.dynamics.evaluators.planar_assembler import GOOD, PlanarAssembler
from sparsebody.dynamics.evaluators.solvers import (
    BlockLDLSolver,
    BlockQRSolver,
    Solver,
    direct_solver,
)
from sparsebody.dynamics.evaluators.spatial_assembler import SpatialAssembler
from sparsebody.factorization.block_ldl import REGULAR
from sparsebody.model.system import State


class Evaluator:
    """An assembler and a solver on its arrays.

    Nothing but these arrays and the factors changes: they belong to the newest state.

    Parameters
    ----------
    assembler : Assembler
        From states to the system in elimination order.
    solver : Solver, optional
        On the arrays of this assembler; default: that of the factorization it has analyzed.
    """

    def __init__(self, assembler: Assembler, solver: Solver | None = None) -> None:
        self.assembler = assembler
        self.solver = direct_solver(assembler) if solver is None else solver
        self._fused = fused_pass(self.assembler, self.solver)

    @property
    def is_fused(self) -> bool:
        """Whether one native call assembles, factorizes and solves."""
        return self._fused is not None

    def __reduce__(self) -> tuple[type[Evaluator], tuple[Assembler, Solver]]:
        """Pickle the parts."""
        return Evaluator, (self.assembler, self.solver)

    def __copy__(self) -> Evaluator:
        """Return one with arrays of its own."""
        assembler = copy.copy(self.assembler)
        return Evaluator(assembler, type(self.solver)(assembler))

    def assemble(
        self, state: State, body_force: FloatArray | None, stabilization: FloatArray
    ) -> None:
        """See `Assembler.assemble`."""
        self.assembler.assemble(state, body_force, stabilization)

    def accelerate(
        self,
        state: State,
        body_force: FloatArray | None,
        stabilization: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> float:
        """Assemble, factorize and solve; return the relative residual.

        Parameters
        ----------
        state, body_force, stabilization
            See `Assembler.assemble`.
        acceleration : (n_bodies, 6) array
            Filled.
        multiplier : (n_rows,) array
            Filled where rows are kept; (0,) for none.

        Raises
        ------
        ShapeError, ModelError, ReductionViolated
            See `Assembler.assemble`.
        SingularSystemError
            See `Solver.solve`; InaccurateFactors where another solver may do.
        """
        if self._fused is None:
            self.assembler.assemble(state, body_force, stabilization)
            return self.solve_assembled(state, body_force, acceleration, multiplier)
        residual = self._fused(state, body_force, stabilization, acceleration, multiplier)
        if multiplier.size > 0:
            self.assembler.add_complementary_reactions(state, body_force, acceleration, multiplier)
        return residual

    def solve_assembled(
        self,
        state: State,
        body_force: FloatArray | None,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> float:
        """Solve what is assembled; parameters and errors as in `accelerate`."""
        residual = self.solver.solve(self.assembler.right, state.time)
        self.assembler.to_user_order(acceleration, multiplier)
        if multiplier.size > 0:
            self.assembler.add_complementary_reactions(state, body_force, acceleration, multiplier)
        return residual

    def solve_extended(
        self,
        state: State,
        body_force: FloatArray | None,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> None:
        """Correct the newest solution with residuals of 31 digits: by QR in a plane, else not."""
        assembler = self.assembler
        if not (isinstance(assembler, PlanarAssembler) and isinstance(self.solver, BlockQRSolver)):
            return
        multiplier[:] = 0.0
        assembler.solve_extended(state)
        assembler.to_user_order(acceleration, multiplier)
        if multiplier.size > 0:
            assembler.add_complementary_reactions(state, body_force, acceleration, multiplier)

    def solve_in_units(self, right: FloatArray, time: float, goal: float) -> FloatArray:
        """Return the solution of [1 A'; A 0] x = right; the newest solution stays what it is."""
        x = self.assembler.x
        newest = x.copy()
        self.solver.solve(right, time, goal)
        solution = x.copy()
        x[:] = newest
        return solution

    def dropped_residual(self) -> float:
        """Return the largest violation of a row by the newest solution.

        Of the rows left out, see `Assembler.violation`, or of all rows where they contradict each
        other: these of unit norm, relative to the largest acceleration of free bodies or gamma.
        """
        return max(self.assembler.violation(), self.solver.inconsistency)


FusedPass = Callable[[State, FloatArray | None, FloatArray, FloatArray, FloatArray], float]


def fused_pass(assembler: Assembler, solver: Solver) -> FusedPass | None:
    """Return the native call that assembles, factorizes and solves; None for pairs without one."""
    if isinstance(assembler, SpatialAssembler) and isinstance(solver, BlockLDLSolver):
        return _spatial_by_ldl(assembler, solver)
    if isinstance(assembler, PlanarAssembler) and isinstance(solver, BlockQRSolver):
        return _planar_by_qr(assembler, solver)
    return None


def _spatial_by_ldl(assembler: SpatialAssembler, solver: BlockLDLSolver) -> FusedPass:
    call, native, accept = assembler.call, assembler.native.accelerate, solver.accept

    def accelerate(
        state: State,
        body_force: FloatArray | None,
        stabilization: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> float:
        outputs = acceleration, multiplier
        status, residual, correction = call(native, state, body_force, stabilization, outputs)
        if status != REGULAR:
            assembler.check(status, state)
        return accept(status, residual, correction, state.time)

    return accelerate


def _planar_by_qr(assembler: PlanarAssembler, solver: BlockQRSolver) -> FusedPass:
    call, native, accept = assembler.call, assembler.native, solver.accept

    def accelerate(
        state: State,
        body_force: FloatArray | None,
        stabilization: FloatArray,
        acceleration: FloatArray,
        multiplier: FloatArray,
    ) -> float:
        outputs = acceleration, multiplier
        status = call(native.accelerate, state, body_force, stabilization, outputs)
        if status != GOOD:
            assembler.check(status, state)
        return accept(native.row, native.residual, state.time)

    return accelerate
