"""Explicit steps: as one native call, and variational ones where the equations need Python.

The call evaluates, closes joints, and takes loads, prescribed motions and control. The stages of a
step are projected onto the constraints near singular poses alone; elsewhere only its end is, by a
method that has smaller errors so. Hairer, Lubich, Wanner (2006), sec. IV.4.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sparsebody._core import dynamics, graph, simulation
from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.assembly.body_forces import bias_forces
from sparsebody.dynamics.evaluators import BlockQREvaluator, Evaluator
from sparsebody.dynamics.forward import Exchange, ForwardDynamics
from sparsebody.equations.system_motion import constraint_errors, joint_errors
from sparsebody.errors import SingularSystemError
from sparsebody.kinematics.joint_motion import body_rotations, displaced
from sparsebody.model.system import State, States, System
from sparsebody.simulation import integrators, stabilization
from sparsebody.simulation.callbacks import Control, ControlArguments
from sparsebody.simulation.integrators import Composition, SemiImplicitEuler, Tableau
from sparsebody.simulation.stabilization import Evaluate, Pivot, Scales, Solved, largest
from sparsebody.simulation.trajectory import EndMemory, Ends

Native = (
    simulation.SpatialSteps
    | simulation.SpatialQRSteps
    | simulation.ReducedSteps
    | simulation.PlanarSteps
)
_NATIVE: dict[type, Any] = {
    dynamics.SpatialEvaluation: simulation.SpatialSteps,
    dynamics.ReducedEvaluation: simulation.ReducedSteps,
    dynamics.PlanarEvaluation: simulation.PlanarSteps,
}


Attempt = tuple[FloatArray, Callable[[Any, tuple[Any, ...], float], Any]]
"""The nodes of a method, and a step of it by native steps, from a start, of h [s]."""


_NOTHING, _NO_VALUES = np.zeros(0), np.zeros((0, 0, 3))
_LAST_NODE = 1.0 - 1e-12  # nodes beyond it are the end of a step
_MOST_TABULATED = 64  # steps
_POSE_CORRECTIONS, _VELOCITY_CORRECTIONS = 20, 8
_SINGULAR_CONTRACTION = 0.3  # of position errors by a correction; slower near a singular pose
_ROUNDED_ERROR_RATIO = 100.0  # tolerances


def _attempt(method: Tableau, closes_stages: bool, is_adaptive: bool) -> Attempt:
    choices = closes_stages, is_adaptive
    return method.node, lambda native, start, h: native.step(start, method.arrays, *choices, h)


class LastStep(NamedTuple):
    """What is known of the last one of several steps."""

    pivot_before: float  # the smallest at its start
    pivot: Pivot  # the smallest at its end
    best_pivot: float  # largest of the smallest ones at ends of steps so far
    dropped: float  # violation of the rows left out, at its end
    is_newest: bool  # whether the newest factors are those of its end, or of a near pose
    exchange: Exchange | None  # of rows, that is due there


class ExplicitSteps:
    """The native call for the evaluator that a ForwardDynamics has at the time."""

    def __init__(
        self,
        system: System,
        scheme: integrators.ExplicitScheme,
        small: Scales,
        control: Control | None,
        is_adaptive: bool,
        keeps_stages: bool = False,
    ) -> None:
        self._small, self._is_adaptive, self._keeps_stages = small, is_adaptive, keeps_stages
        # of the newest step, if kept: (s, n_bodies, 19) x, q, v and a, and (s, n_rows) multipliers
        self.stages: tuple[FloatArray, FloatArray] | None = None
        self.attempt = 0  # 0 if the newest step had open stages, 1 if closed ones
        # Whether the next step tries closed stages first, because open ones failed
        self.starts_closed = False
        self.error: FloatArray | None = None  # (n_bodies, 7) of y'' of the newest step
        self._control = None
        if control is not None:
            self._control = ControlArguments(control, system, np.zeros((system.n_bodies, 6)))
        self._first_attempt = 0  # 1 if there is no attempt with open stages
        # Of open stages and closed ones, where both are
        self._tableaus: tuple[Any, ...] = ()
        self._is_variational = isinstance(scheme, Composition)
        if isinstance(scheme, Composition):
            self._attempts = [self._composition(scheme)]
        elif isinstance(scheme, SemiImplicitEuler):
            self._attempts = [(np.ones(1), lambda native, *of: native.semi_implicit_step(*of))]
        else:
            self._attempts = [_attempt(scheme, True, is_adaptive)]
            reads_prescribed = control is not None and len(system.coordinates.prescribed) > 0
            if scheme.open_stages is None or reads_prescribed:
                self._first_attempt = 1
            else:
                self._attempts.insert(0, _attempt(scheme.open_stages, False, is_adaptive))
                self._tableaus = scheme.open_stages.arrays, scheme.arrays
        is_plain = not (is_adaptive or keeps_stages)
        self._takes_several = is_plain and len(self._tableaus) > 0
        self._most_tabulated = _MOST_TABULATED  # steps whose functions of time are computed at once
        self._memory = EndMemory(system)
        self._is_on_loop = _loop_rows(system)  # of all rows
        self._evaluator: Evaluator | None = None
        self._native: Native | None = None

    def __call__(
        self, solver: ForwardDynamics, state: State, acceleration: FloatArray, time: float
    ) -> tuple[Solved, Pivot] | None:
        """Return the state at `time` and the smallest pivot of all stages.

        The correction is the largest of all stages. None where no native call can do the step, or
        the rows in use do not close the joints at some stage.
        """
        evaluator, native = solver.evaluator, self.native(solver)
        if native is None:
            return None
        poses = state.position, state.orientation, state.velocity
        evaluator.assembler.renew()
        if self._control is not None:  # it failed in the step after those of `take_steps`
            self._control.raise_error()
        skipped = int(self.starts_closed and len(self._attempts) > 1)
        attempts = self._attempts[skipped:]
        for k, (nodes, attempt) in enumerate(attempts, self._first_attempt + skipped):
            self.attempt = k
            times_and_functions = self._functions(evaluator, state.time, np.array([time]), nodes)
            start = poses, state.coordinate, acceleration, *times_and_functions
            reached = attempt(native, start, time - state.time)
            if reached[0] != native.OPEN:
                break
        status, x, q, v, coordinate, a, correction, worst, last, error = reached
        self.starts_closed = status != native.CLOSED
        if status not in (native.CLOSED, native.SENSITIVE):
            if status == native.STOPPED and self._control is not None:
                self._control.raise_failure(time)
            return None
        self.error = error if self._is_adaptive else None
        self.stages = native.stages() if self._keeps_stages else None
        evaluator.accept_assembled()
        end = State(x, q, v, coordinate, time)
        return Solved(end, a, correction, Pivot(*last)), Pivot(*worst)

    def _composition(self, scheme: Composition) -> Attempt:
        parts = scheme.parts

        def attempt(native: Any, start: tuple[Any, ...], h: float) -> Any:
            return native.variational_step(start, self._inertias, parts, h)

        return np.cumsum(parts), attempt

    def take_steps(
        self,
        solver: ForwardDynamics,
        start: tuple[State, FloatArray],
        times: FloatArray,
        limits: tuple[float, float, float, float, float, float, float],
        pivots: tuple[float, float],
        out: States | None = None,
    ) -> tuple[Ends, LastStep] | None:
        """Take steps to times (n,), up to the first one that breaks a limit; return their ends.

        `pivots` are the smallest one at the start, and the largest of the smallest ones at ends of
        steps so far. An error of the control ends the steps before it, and is raised by the next
        call. None where Python has a part in the first step, or it fails.
        """
        assembler, native = solver.evaluator.assembler, self.native(solver)
        if native is None or not self._takes_several:
            return None
        terms, functions = assembler.loads_and_rows, _NO_VALUES
        (state, acceleration), times = start, self._memory.begin(times, out)
        if terms is not None and not terms.are_constant:
            times, functions = self._tabulated(solver.evaluator, state.time, times)
            if len(times) == 0:
                return None
        assembler.renew()
        if self._control is not None:  # it failed in the step after those of the call before
            self._control.raise_error()
        poses = state.position, state.orientation, state.velocity
        begin = poses, state.coordinate, acceleration, _NOTHING, functions
        open_stages, closed = self._tableaus
        taken = native.take_steps(
            *(begin, open_stages, closed, self.starts_closed),
            *(state.time, times, self._memory.arrays, limits),
            *pivots,
        )
        n, self.starts_closed, best, before, last, dropped, is_newest, exchange = taken
        self._most_tabulated = min(2 * n + 2, _MOST_TABULATED)
        if n == 0 and self._control is not None:
            self._control.raise_error()
        if n == 0:
            return None
        assembler.renew()  # the newest assembly may be that of a further step, which failed
        ends = self._memory.ends(times[:n])
        due = Exchange(*exchange) if exchange[0] >= 0 else None
        return ends, LastStep(before, Pivot(*last), best, dropped, is_newest, due)

    def native(self, solver: ForwardDynamics) -> Native | None:
        """Return the native steps for the evaluator that a ForwardDynamics has now, if it has."""
        if solver.evaluator is not self._evaluator:
            self._evaluator, self._native = solver.evaluator, self._native_steps(solver)
        return self._native

    def _functions(
        self, evaluator: Evaluator, start: float, ends: FloatArray, nodes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return times of stages and functions of time then, one step after the other, if needed.

        `ends` (n,) are those of n steps of s stages; times are (n s,), functions (n s, ., 3).
        """
        terms = evaluator.assembler.loads_and_rows
        has_functions = terms is not None and not terms.are_constant
        if self._control is None and not has_functions:
            return _NOTHING, _NO_VALUES
        starts = np.append(start, ends[:-1])[:, None]
        times = starts + nodes * (ends[:, None] - starts)
        times[:, nodes > _LAST_NODE] = ends[:, None]
        times = times.ravel()
        if terms is None or not has_functions:
            return times, _NO_VALUES
        is_new = np.append(True, times[1:] != times[:-1])
        values = terms.functions_at(times[is_new].tolist())
        return times, values[np.cumsum(is_new) - 1]

    def _tabulated(
        self, evaluator: Evaluator, start: float, ends: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the first steps, and functions of time at the stages of these.

        Without steps at which functions fail: the step that reaches one of them tells the error.
        """
        nodes, ends = self._attempts[int(self.starts_closed)][0], ends[: self._most_tabulated]
        while len(ends) > 0:
            try:
                return ends, self._functions(evaluator, start, ends, nodes)[1]
            except Exception:  # anything, of a user's function
                ends = ends[: len(ends) // 2]
        return ends, _NO_VALUES

    def _native_steps(self, solver: ForwardDynamics) -> Native | None:
        evaluator, system, small = solver.evaluator, solver.system, self._small
        assembler, tracked = evaluator.assembler, system.coordinates
        if solver.baumgarte is not None or solver.residuals != "double":
            return None
        equations: Any = assembler.native
        kind = _NATIVE.get(type(equations))
        if isinstance(evaluator, BlockQREvaluator) and kind is simulation.SpatialSteps:
            equations = simulation.SpatialQR(equations, evaluator.qr, evaluator.is_last_resort)
            kind = simulation.SpatialQRSteps
        elif evaluator.fused is None or kind is None:
            return None
        terms, decision = assembler.loads_and_rows, solver.rank_decision
        is_spare = np.zeros(system.n_rows, bool) if decision is None else ~decision.keep
        if self._is_variational:
            self._inertias = np.ascontiguousarray(solver.rotational_inertia), system.mass
        native: Native = kind(
            equations,
            assembler.left_out.native,
            None if terms is None else terms.native,
            joint_errors(system),
            tracked.row[tracked.prescribed],
            assembler.retraction,
            *(small.tolerance, system.typical_length, small.negligible_speed),
            assembler.rows,
            np.flatnonzero(self._is_on_loop[assembler.rows]),
            np.flatnonzero(is_spare[assembler.left_out.rows]),
            len(assembler.right),
        )
        native.keep_stages(self._keeps_stages)
        if self._control is not None:
            native.set_control(self._control.native)
        return native


def _loop_rows(system: System) -> BoolArray:
    """Return which rows are on closed loops; all others are independent, see `sparse.rank`."""
    joints = np.unique(system.row_joint)  # with rows
    ends = system.ends[joints]
    component = graph.biconnected_components(system.n_bodies, ends)
    on_loops = joints[np.bincount(component, minlength=1)[component] > 1]
    return np.isin(system.row_joint, on_loops)


# ---- variational steps on evaluations, as core/simulation/variational_step.hpp -------------------


def variational_step(
    evaluate: Evaluate,
    composition: Composition,
    state: State,
    acceleration: FloatArray,
    time: float,
    small: Scales,
) -> tuple[Solved, Pivot] | None:
    """Return the state at `time` and the smallest pivot on the way; None near singular poses."""
    dynamics = evaluate(state).dynamics
    system = dynamics.system
    if dynamics.is_planar:
        system = replace(system, inertia=dynamics.rotational_inertia)
    wrench = _momentum(system, acceleration) + bias_forces(system, state.velocity)
    worst, h = stabilization.NO_PIVOT, time - state.time
    try:
        for part in composition.parts:
            start = evaluate(state)
            start.position_correction(np.zeros(system.n_rows))  # makes the factors of this pose
            pivot = stabilization.smallest_pivot(start)
            reached = _substep(evaluate, system, state, wrench, part * h, small)
            if reached is None:
                return None
            state, wrench = reached
            worst = min(worst, pivot)
        state = replace(state, time=time)
        evaluation = evaluate(state)
        acceleration = evaluation.acceleration()
        end = Solved(state, acceleration, pivot=stabilization.smallest_pivot(evaluation))
    except SingularSystemError:
        return None
    return end, min(worst, end.pivot)


def _momentum(system: System, velocity: FloatArray) -> FloatArray:
    """Return I v (n_bodies, 6) in body coordinates."""
    return np.concatenate(
        [
            np.einsum("nij,nj->ni", system.inertia, velocity[:, :3]),
            system.mass[:, None] * velocity[:, 3:],
        ],
        axis=1,
    )


def _velocity(system: System, momentum: FloatArray) -> FloatArray:
    """Return I^-1 p (n_bodies, 6)."""
    angular = np.linalg.solve(system.inertia, momentum[:, :3, None])[:, :, 0]
    return np.concatenate([angular, momentum[:, 3:] / system.mass[:, None]], axis=1)


def _substep(
    evaluate: Evaluate, system: System, state: State, wrench: FloatArray, h: float, small: Scales
) -> tuple[State, FloatArray] | None:
    """Return the state after h, and the wrenches there."""
    momentum = _momentum(system, state.velocity) + 0.5 * h * wrench
    drifted = _drift(evaluate, system, state, momentum, h, small)
    if drifted is None:
        return None
    end, momentum = drifted
    turned = np.swapaxes(body_rotations(end), 1, 2) @ body_rotations(state)
    momentum, wrench = (_rotated(turned, forces) for forces in (momentum, wrench))
    velocity = _velocity(system, momentum + 0.5 * h * wrench)  # to second order, for dampers
    end = replace(end, velocity=velocity, time=state.time + h)
    wrench = _momentum(system, evaluate(end).acceleration()) + bias_forces(system, velocity)
    velocity, before = _velocity(system, momentum + 0.5 * h * wrench), math.inf
    for _ in range(_VELOCITY_CORRECTIONS):
        change = evaluate(replace(end, velocity=velocity)).velocity_correction()
        if not largest(change) < before:
            break
        velocity, before = velocity + change, 0.5 * largest(change)
    return replace(end, velocity=velocity), wrench


def _rotated(rotation: FloatArray, forces: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("nij,nkj->nki", rotation, forces.reshape(-1, 2, 3))).reshape(-1, 6)


def _drift(
    evaluate: Evaluate, system: System, state: State, momentum: FloatArray, h: float, small: Scales
) -> tuple[State, FloatArray] | None:
    """Return the poses after h, and momenta with the impulses at the start that close joints."""
    start, before = evaluate(state), math.inf
    for _ in range(_POSE_CORRECTIONS):
        angle = simulation.discrete_rotations(system.inertia, h * momentum[:, :3])
        shift = h * momentum[:, 3:] / system.mass[:, None]
        end = displaced(state, np.concatenate([angle, shift], axis=1))
        error = constraint_errors(system, replace(end, time=state.time + h))[0]
        ratio = float(np.max(np.abs(error) / small.tolerance, initial=0.0))
        is_slow = not ratio < _SINGULAR_CONTRACTION * before
        if ratio <= 1.0 or (is_slow and ratio <= _ROUNDED_ERROR_RATIO):
            return end, momentum
        if is_slow:
            return None
        before = ratio
        momentum = momentum + _momentum(system, start.position_correction(error)) / h
    return None
