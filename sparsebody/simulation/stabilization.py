"""Keeping the joints closed while time goes on; the table STABILIZATIONS."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators import KrylovEvaluator
from sparsebody.dynamics.forward import Evaluation
from sparsebody.equations.system_motion import constraint_errors
from sparsebody.errors import SingularSystemError
from sparsebody.factorization.krylov import DELTA
from sparsebody.kinematics.poses import displaced
from sparsebody.model.system import State
from sparsebody.simulation.constraint_errors import (
    Scales,
    largest,
    row_sizes,
    scales,
)

Evaluate = Callable[[State], Evaluation]

_OPEN = 1e6  # tolerances; a larger error after all corrections: rows are missing, or contradict
_TORN = 0.1  # [rad, sizes of the mechanism] that is no drift any more
_CORRECTIONS = 8
_SLOW = 0.1  # of an error that a correction leaves: factors of the very pose are worth while
_ROUNDING = 1e-14  # of velocities, relative
_DAMPED = 100.0  # openings [1/rad, 1/m] up to which a singular value is damped away


@dataclass(frozen=True, eq=False)
class Stabilized:
    """The state of a stage or of the end of a step, and its evaluation."""

    state: State
    evaluation: Evaluation
    correction: float  # largest change of a velocity, relative to it


class Pivot(NamedTuple):
    """A pivot of the factors, the sine of the angle between a row and the rows before it."""

    sine: float
    row: int  # constraint row; -1 for none


NO_PIVOT = Pivot(math.inf, -1)


def smallest_pivot(evaluation: Evaluation) -> Pivot:
    """Return the smallest pivot of the newest factors; 1 where a factorization does not tell."""
    dynamics = evaluation.dynamics
    if dynamics.system.n_rows == 0:
        return NO_PIVOT
    sine, row = dynamics.evaluator.smallest_pivot()
    return Pivot(sine, row)


class Solved(NamedTuple):
    """The state of a stage or of the end of a step, and its acceleration."""

    state: State
    acceleration: FloatArray
    correction: float = 0.0  # largest change of a velocity, relative to it
    pivot: Pivot = NO_PIVOT  # smallest of the factors


def solved(stabilized: Stabilized) -> Solved:
    """Return the acceleration of a stabilized state."""
    acceleration = stabilized.evaluation.acceleration()
    pivot = smallest_pivot(stabilized.evaluation)
    return Solved(stabilized.state, acceleration, stabilized.correction, pivot)


class OpenJointError(SingularSystemError):
    """The rows in use do not close all joints: the wrong ones were left out, or a drive blocks."""

    def __init__(self, message: str, opening: float, stabilized: Stabilized) -> None:
        super().__init__(message)
        self.opening = opening  # [rad, m]
        self.stabilized = stabilized  # what the rows in use can do


@dataclass(frozen=True)
class Stabilization:
    """One row of STABILIZATIONS."""

    stabilize: Callable[[Evaluate, State, Scales], Stabilized]  # of stages and ends of steps
    uses_time_constant: bool = False  # Baumgarte's terms in every evaluation
    closes: bool = False  # takes out what errors there are


def unchanged(evaluate: Evaluate, state: State, small: Scales) -> Stabilized:
    """Return the state as it is."""
    return Stabilized(state, evaluate(state), 0.0)


def pulled(evaluate: Evaluate, state: State, small: Scales) -> Stabilized:
    """Return the state as it is, sure that Baumgarte's terms hold the joints.

    They do not hold rows that were left out, nor any at a singular pose. Raises OpenJointError if a
    joint is wide open, and opens further.
    """
    evaluation = evaluate(state)
    delta, system = evaluation.position_error, evaluation.dynamics.system
    size = row_sizes(system, state)
    error = np.where(delta * evaluation.velocity_error > 0.0, np.abs(delta), 0.0)  # and growing
    if np.any(error > _TORN * size):
        worst = int(np.argmax(error / size))
        raise OpenJointError(
            f"joint {system.joint_names[system.row_joint[worst]]!r} is {error[worst]:.1e} open at "
            f"t = {state.time:.6g} s: Baumgarte's terms do not hold it; take smaller steps, or the "
            "stabilization 'projection' (near singular poses)",
            float(error[worst]),
            Stabilized(state, evaluation, 0.0),
        )
    return Stabilized(state, evaluation, 0.0)


def projected(evaluate: Evaluate, state: State, small: Scales | None = None) -> Stabilized:
    """Return the nearest state that closes the joints and obeys the drives, to rounding.

    Pose first, then velocity, both least in the metric of the inertias. Accelerations are taken at
    closed states only: where joints are open they depend on which body is called the predecessor,
    and at a distance d from a singular pose openings e change them by e / d^2.

    `small` are by default the `scales` of the state. Raises OpenJointError or SingularSystemError
    if the rows in use are too few, or dependent at this pose.
    """
    evaluation = _retracted(evaluate(state))
    if small is None:
        small = scales(evaluation.dynamics.system, state)
    state, evaluation, errors = _pose_projected(evaluate, evaluation, small.tolerance)
    state, correction = _velocity_projected(evaluation, state, errors[1], small)
    stabilized = Stabilized(state, evaluate(state), correction)
    _check_closed(errors[0], small.tolerance, stabilized)
    return stabilized


def _retracted(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation where bodies are within their subgroups."""
    nearer = evaluation.dynamics.retracted(evaluation.state)
    if nearer is evaluation.state:
        return evaluation
    return Evaluation(evaluation.dynamics, nearer, evaluation.body_force)


def _check_closed(error: FloatArray, tolerance: FloatArray, stabilized: Stabilized) -> None:
    if largest(error / tolerance) <= _OPEN:
        return
    system = stabilized.evaluation.dynamics.system
    joint = system.joint_names[system.row_joint[int(np.argmax(np.abs(error) / tolerance))]]
    raise OpenJointError(
        f"joint {joint!r} cannot be closed at t = {stabilized.state.time:.6g} s: it stays "
        f"{largest(error):.1e} open; take smaller steps (stiff springs and dampers need them, "
        'or method="auto" or "generalized-alpha"), or see whether a drive blocks',
        largest(error),
        stabilized,
    )


def _pose_projected(
    evaluate: Evaluate, evaluation: Evaluation, tolerance: FloatArray
) -> tuple[State, Evaluation, tuple[FloatArray, FloatArray]]:
    """Correct the pose by Newton steps, with the same factors as long as these do.

    Returns the state, the evaluation in use, and the errors left.
    """
    system, state = evaluation.dynamics.system, evaluation.state
    errors = constraint_errors(system, state)
    opening = largest(errors[0] / tolerance)
    for _ in range(_CORRECTIONS):
        if opening <= 1.0:
            break
        moved = displaced(state, _closing_twists(evaluation, errors[0]))
        trial = evaluation.dynamics.retracted(moved)
        trial_errors = constraint_errors(system, trial)
        trial_opening = largest(trial_errors[0] / tolerance)
        if not trial_opening < opening:
            break
        is_slow = 1.0 < trial_opening > _SLOW * opening
        state, errors, opening = trial, trial_errors, trial_opening
        if is_slow or evaluation.dynamics.is_krylov:
            evaluation = evaluate(state)
    return state, evaluation, errors


def _closing_twists(evaluation: Evaluation, error: FloatArray) -> FloatArray:
    """Return the twists (n_bodies, 6) that close the joints to first order.

    Joints open by e have more independent rows than closed ones, with singular values of the size
    of e: with all rows, motions along these are damped away.
    """
    if not evaluation.dynamics.is_krylov:
        return evaluation.position_correction(error)
    solver = evaluation.assembled()
    assert isinstance(solver, KrylovEvaluator)
    return solver.damped_twists(error, max((_DAMPED * largest(error)) ** 2, DELTA))


def _velocity_projected(
    evaluation: Evaluation, state: State, error: FloatArray, small: Scales
) -> tuple[State, float]:
    """Correct the velocity with factors of a pose near by; return the relative change as well.

    A change of velocity solves the same equations as a twist does.
    """
    total, before = 0.0, np.inf
    for _ in range(_CORRECTIONS):
        change = evaluation.position_correction(error)
        size = largest(change)
        if not size < before:
            break
        state, total = state.with_(velocity=state.velocity + change), total + size
        if size <= _ROUNDING * largest(state.velocity):
            break
        error, before = constraint_errors(evaluation.dynamics.system, state)[1], 0.5 * size
    return state, small.relative(total, largest(state.velocity))


STABILIZATIONS: dict[str, Stabilization] = {
    "projection": Stabilization(projected, closes=True),
    "baumgarte": Stabilization(pulled, uses_time_constant=True),
    "none": Stabilization(unchanged),
}
