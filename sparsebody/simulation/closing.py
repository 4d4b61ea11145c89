"""States closed and evaluated in one native call, where nothing in the equations needs Python."""

from __future__ import annotations

import numpy as np

from sparsebody._core import dynamics, simulation
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators import (
    BlockLDLSolver,
    BlockQRSolver,
    Evaluator,
)
from sparsebody.dynamics.forward import Evaluation, ForwardDynamics
from sparsebody.factorization import block_ldl, block_qr
from sparsebody.model.system import State
from sparsebody.simulation.constraint_errors import Scales, joint_errors
from sparsebody.simulation.stabilization import Stabilized

_NOTHING = np.zeros(0)

Native = simulation.SpatialClosing | simulation.ReducedClosing | simulation.PlanarClosing


class SolvedEvaluation(Evaluation):
    """An evaluation whose acceleration is known; the factors are those of its state."""

    def __init__(self, solver: ForwardDynamics, state: State, acceleration: FloatArray) -> None:
        super().__init__(solver, state)
        self._assembly = solver.evaluator.assembler.assembly
        self._acceleration = acceleration

    def acceleration(self) -> FloatArray:
        """Return the accelerations (n_bodies, 6) alone."""
        return self._acceleration


class Closing:
    """The native call for the evaluator that a ForwardDynamics has at the time."""

    def __init__(self, small: Scales) -> None:
        self._small = small
        self._evaluator: Evaluator | None = None
        self._native: Native | None = None

    def __call__(self, solver: ForwardDynamics, state: State) -> Stabilized | None:
        """Return what `projected` does; None where no native call can, or the rows do not."""
        evaluator = solver.evaluator
        if evaluator is not self._evaluator:
            self._evaluator, self._native = evaluator, self._of(solver)
        native, assembler = self._native, evaluator.assembler
        if native is None:
            return None
        state = assembler.retracted(state)
        is_closed, position, orientation, velocity, acceleration, correction = assembler.call(
            lambda x, q, v, *_: native.close(x, q, v, self._small.creep), state, None, _NOTHING
        )
        if not is_closed:
            return None
        if isinstance(evaluator.solver, BlockLDLSolver):
            evaluator.solver.accept(block_ldl.REGULAR, 0.0, 0.0, state.time)
        elif isinstance(evaluator.solver, BlockQRSolver):
            evaluator.solver.accept(block_qr.REGULAR, 0.0, state.time)
        closed = State(position, orientation, velocity, state.coordinate, state.time)
        return Stabilized(closed, SolvedEvaluation(solver, closed, acceleration), correction)

    def _of(self, solver: ForwardDynamics) -> Native | None:
        evaluator, system = solver.evaluator, solver.system
        assembler = evaluator.assembler
        is_plain = solver.baumgarte is None and solver.residuals == "double"
        if not (evaluator.is_fused and assembler.is_compiled and is_plain):
            return None
        native = assembler.native
        arguments = (
            joint_errors(system),
            self._small.tolerance,
            assembler.rows,
            len(assembler.right),
        )
        if isinstance(native, dynamics.PlanarEvaluation):
            return simulation.PlanarClosing(native, *arguments)
        if isinstance(native, dynamics.ReducedEvaluation):
            return simulation.ReducedClosing(native, *arguments)
        return simulation.SpatialClosing(native, *arguments)
