"""Explicit steps as one native call: evaluations, closing of all stages, loads, drives, control."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebody._core import dynamics, simulation
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators import BlockQREvaluator, Evaluator
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.system import State, System
from sparsebody.simulation.constraint_errors import Scales, joint_errors
from sparsebody.simulation.control import Control, ControlArguments
from sparsebody.simulation.integrators.base import Composition, Tableau
from sparsebody.simulation.stabilization import Pivot, Solved

Native = (
    simulation.SpatialSteps
    | simulation.SpatialQRSteps
    | simulation.ReducedSteps
    | simulation.PlanarSteps
)

_NOTHING, _NOTHING_KNOWN = np.zeros(0), np.zeros((0, 0, 3))


class ExplicitSteps:
    """The native call for the evaluator that a ForwardDynamics has at the time."""

    def __init__(
        self,
        system: System,
        scheme: Tableau | Composition,
        small: Scales,
        control: Control | None,
        is_adaptive: bool,
    ) -> None:
        self._scheme, self._small, self._is_adaptive = scheme, small, is_adaptive
        self.error: FloatArray | None = None  # (n_bodies, 7) of the mean y'' of the newest step
        self._control = None if control is None else ControlArguments(control, system)
        self._inertias = system.inertia, system.mass
        nodes = np.cumsum(scheme.parts) if isinstance(scheme, Composition) else scheme.node
        self._nodes = [*nodes[:-1].tolist(), 1.0]
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
        native = self._native
        if native is None:
            return None
        poses = state.position, state.orientation, state.velocity
        evaluator.assembler.renew()
        start = poses, state.coordinate, acceleration, *self._known(evaluator, state.time, time)
        reached = self._step(native, start, time - state.time)
        status, x, q, v, coordinate, a, correction, worst, last, error = reached
        if status != native.CLOSED:
            if status == native.STOPPED and self._control is not None:
                self._control.raise_failure(time)
            return None
        self.error = error if self._is_adaptive else None
        evaluator.accept_assembled()
        end = State(x, q, v, coordinate, time)
        return Solved(end, a, correction, Pivot(*last)), Pivot(*worst)

    def _known(
        self, evaluator: Evaluator, start: float, end: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the times of stages (s,) and what is known then (s, n_functions, 3), if needed."""
        terms = evaluator.assembler.general_terms
        n_functions = 0 if terms is None else len(terms.known)
        if self._control is None and n_functions == 0:
            return _NOTHING, _NOTHING_KNOWN
        times = [start + node * (end - start) if node < 1.0 else end for node in self._nodes]
        known = np.empty((len(times), n_functions, 3))
        if terms is not None and n_functions > 0:
            for k, time in enumerate(times):
                if k > 0 and time == times[k - 1]:
                    known[k] = known[k - 1]
                else:
                    terms.fill_known(time, known[k])
        return np.array(times), known

    def _step(self, native: Native, start: Any, h: float) -> Any:
        scheme = self._scheme
        if isinstance(scheme, Composition):
            return native.variational_step(start, self._inertias, scheme.parts, h)
        error = scheme.error if self._is_adaptive else _NOTHING
        return native.step(start, (scheme.node, scheme.pose, scheme.rate, error), h)

    def _of(self, solver: ForwardDynamics) -> Native | None:
        if solver.baumgarte is not None or solver.residuals != "double":
            return None
        native = self._by_factorization(solver)
        if native is not None and self._control is not None:
            native.set_control((*self._control.function, *self._control.memory))
        return native

    def _by_factorization(self, solver: ForwardDynamics) -> Native | None:
        evaluator, system = solver.evaluator, solver.system
        assembler, tracked = evaluator.assembler, system.coordinates
        terms = assembler.general_terms
        arguments = (
            None if terms is None else terms.native,
            joint_errors(system),
            tracked.row[tracked.prescribed],
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
