"""Explicit steps as one native call, where nothing in the equations needs Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebody._core import dynamics, simulation
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators import BlockQREvaluator, Evaluator
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.system import State, System
from sparsebody.simulation.constraint_errors import Scales, joint_errors
from sparsebody.simulation.integrators.base import Composition, Tableau
from sparsebody.simulation.stabilization import Pivot, Solved

Native = (
    simulation.SpatialSteps
    | simulation.SpatialQRSteps
    | simulation.ReducedSteps
    | simulation.PlanarSteps
)

_NOTHING = np.zeros(0)


class ExplicitSteps:
    """The native call for the evaluator that a ForwardDynamics has at the time."""

    def __init__(
        self, scheme: Tableau | Composition, small: Scales, is_adaptive: bool = False
    ) -> None:
        self._scheme, self._is_adaptive = scheme, is_adaptive
        self.error: FloatArray | None = None  # (n_bodies, 7) of the mean y'' of the newest step
        self._small = small
        self._evaluator: Evaluator | None = None
        self._native: Native | None = None

    def __call__(
        self, solver: ForwardDynamics, state: State, acceleration: FloatArray, time: float
    ) -> tuple[Solved, Pivot] | None:
        """Return the state at `time` and the smallest pivot of all stages.

        The correction is the largest of all stages. None where no native call can do the step, or
        the rows in use do not close the joints at some stage.
        """
        evaluator = solver.evaluator
        if evaluator is not self._evaluator:
            self._evaluator, self._native = evaluator, self._of(solver)
        native, h = self._native, time - state.time
        if native is None:
            return None
        is_closed, x, q, v, a, correction, worst, last, error = evaluator.assembler.call(
            lambda *arguments: self._step(solver.system, native, arguments[:3], acceleration, h),
            state,
            None,
            _NOTHING,
        )
        if not is_closed:
            return None
        self.error = error if self._is_adaptive else None
        evaluator.accept_assembled()
        end = State(x, q, v, state.coordinate, time)
        return Solved(end, a, correction, Pivot(*last)), Pivot(*worst)

    def _step(
        self, system: System, native: Native, start: Any, acceleration: FloatArray, h: float
    ) -> Any:
        if isinstance(self._scheme, Composition):
            inertias = system.inertia, system.mass
            return native.variational_step(start, acceleration, inertias, self._scheme.parts, h)
        scheme = self._scheme
        error = scheme.error if self._is_adaptive else _NOTHING
        tableau = scheme.node, scheme.pose, scheme.rate, error
        return native.step(start, acceleration, tableau, h)

    def _of(self, solver: ForwardDynamics) -> Native | None:
        evaluator, system = solver.evaluator, solver.system
        assembler = evaluator.assembler
        is_plain = solver.baumgarte is None and solver.residuals == "double"
        if not (assembler.is_compiled and is_plain):
            return None
        arguments = (
            assembler.varying_rows,
            joint_errors(system),
            assembler.retraction,
            self._small.tolerance,
            self._small.creep,
            assembler.rows,
            len(assembler.right),
        )
        native = assembler.native
        if isinstance(native, dynamics.SpatialEvaluation) and isinstance(
            evaluator, BlockQREvaluator
        ):
            by_qr = simulation.SpatialQR(native, evaluator.qr, evaluator.is_last_resort)
            return simulation.SpatialQRSteps(by_qr, *arguments)
        if evaluator.fused is None:
            return None
        if isinstance(native, dynamics.PlanarEvaluation):
            return simulation.PlanarSteps(native, *arguments)
        if isinstance(native, dynamics.ReducedEvaluation):
            return simulation.ReducedSteps(native, *arguments)
        return simulation.SpatialSteps(native, *arguments)
