"""States closed and evaluated in one native call, where nothing in the equations needs Python."""

from __future__ import annotations

import numpy as np

from sparsebody._core import dynamics, simulation
from sparsebody.dynamics.evaluators import Evaluator
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.system import State
from sparsebody.simulation.constraint_errors import Scales, joint_errors
from sparsebody.simulation.stabilization import Pivot, Solved

_NOTHING = np.zeros(0)

Native = simulation.SpatialClosing | simulation.ReducedClosing | simulation.PlanarClosing


class Closing:
    """The native call for the evaluator that a ForwardDynamics has at the time."""

    def __init__(self, small: Scales) -> None:
        self._small = small
        self._evaluator: Evaluator | None = None
        self._native: Native | None = None

    def __call__(self, solver: ForwardDynamics, state: State) -> Solved | None:
        """Return what `projected` does; None where no native call can, or the rows do not."""
        evaluator = solver.evaluator
        if evaluator is not self._evaluator:
            self._evaluator, self._native = evaluator, self._of(solver)
        native, assembler = self._native, evaluator.assembler
        if native is None:
            return None
        is_closed, x, q, v, acceleration, correction, speed, sine, row = assembler.call(
            lambda *arguments: native.close(arguments[:3]),
            assembler.retracted(state),
            None,
            _NOTHING,
        )
        if not is_closed:
            return None
        evaluator.solver.accept_assembled()
        closed = State(x, q, v, state.coordinate, state.time)
        return Solved(
            closed, acceleration, self._small.relative(correction, speed), Pivot(sine, row)
        )

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
