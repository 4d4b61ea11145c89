"""Stabilization of constraints during a motion: projection, Baumgarte; table STABILIZATIONS."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators import KrylovEvaluator
from sparsebody.dynamics.forward import Evaluation, ForwardDynamics
from sparsebody.equations.initial_state import consistent_state
from sparsebody.equations.system_motion import SystemMotion, constraint_errors
from sparsebody.errors import AssemblyError, RankWarning, SingularSystemError
from sparsebody.factorization.krylov import DELTA
from sparsebody.kinematics.joint_motion import displaced
from sparsebody.model.system import State, System

Evaluate = Callable[[State], Evaluation]

_CLOSURE_TOLERANCE = 2e-15  # of rotations [rad], and of translations in sizes of the mechanism
_ROUNDING_TOLERANCE = np.finfo(float).eps  # of translations, relative to the farthest position
_OPEN_START_TOLERANCE = 0.02  # [rad, sizes of the mechanism] that the first step corrects
# Errors of positions [rad, sizes of the mechanism], and of velocities relative to the largest one,
# up to which the first step corrects a start without a trace: implicit ones make vibrations of more
_CORRECTED_ERROR, _CORRECTED_RATE = 1e-5, 1e-3
_NEGLIGIBLE_MOTION = 1e-9  # negligible motion in a step, relative to the mechanism's size
# In tolerances: a larger error after all corrections means missing or inconsistent rows
_OPEN_ERROR_RATIO = 1e6
_DRIFT_LIMIT = 0.1  # [rad, sizes of the mechanism] beyond which an error is not drift
_CORRECTIONS = 8
# Contraction of errors by a correction above which factors are made anew
_SLOW_CONTRACTION = 0.1
_VELOCITY_TOLERANCE = 1e-14  # of velocities, relative
_DAMPED_ERROR = 100.0  # damping: smaller singular values over position errors [1/rad, 1/m]
# Pivot of a row below which its drift is larger: projection alone keeps such a row
_WEAK_REMAINDER = 1e-6
_FIRST_DAMPING = 1e-4  # of corrections, relative to the squares of unit rows
_MOST_CORRECTIONS, _MOST_POLISHING = 40, 4
_ERROR_TOLERANCE = 1e-13  # [rad, m]


def row_sizes(system: System, state: State) -> FloatArray:
    """Return (n_rows,) errors that are as large as the mechanism: 1 rad, its typical length."""
    return SystemMotion(system, state).row_sizes(system.typical_length)


def check_is_closed(system: System, state: State) -> None:
    """Raise AssemblyError if a joint is open in the state from which a motion is to begin."""
    error = np.abs(constraint_errors(system, state)[0])
    sizes = row_sizes(system, state)
    if np.any(error > _OPEN_START_TOLERANCE * sizes):
        worst = int(np.argmax(error / sizes))
        raise AssemblyError(
            f"joint {system.joint_names[system.row_joint[worst]]!r} is open by {error[worst]:.3g} "
            "(m or rad) in the given state; close it with consistent_state(system, state)"
        )


def closed_start(system: System, state: State, step: float) -> tuple[State, str]:
    """Return the state from which a motion in steps [s] begins, and how it differs from `state`.

    It is `state`, with no message, or if joints are more open, or their velocities more wrong, than
    the first step corrects, the nearest consistent one. Raises AssemblyError if a joint is wide
    open, or no state near is consistent.
    """
    check_is_closed(system, state)
    size, length = row_sizes(system, state), system.typical_length
    error, rate = (largest(errors / size) for errors in constraint_errors(system, state))
    speed = max(largest(state.velocity[:, :3]), largest(state.velocity[:, 3:]) / length)
    speed = max(speed, _NEGLIGIBLE_MOTION / step)
    if error <= _CORRECTED_ERROR and rate <= _CORRECTED_RATE * speed:
        return state, ""
    message = (
        f"the given state has joints open by {error:.1e} of the mechanism's size, and velocities "
        f"that miss theirs by {rate / speed:.1e} of the largest: the motion begins in the nearest "
        "consistent state"
    )
    return consistent_state(system, state), message


class Scales(NamedTuple):
    """Tolerances of errors in a mechanism, and the velocity that counts as rest."""

    tolerance: FloatArray  # (n_rows,) position errors of joints that are closed [rad, m]; and
    # velocity errors for velocities of 1 rad/s or m/s
    negligible_speed: float = 0.0  # velocity that counts as rest [rad/s, m/s]

    def relative(self, correction: float, speed: float) -> float:
        """Return a correction of velocities relative to the largest of them."""
        return correction / max(speed, self.negligible_speed) if correction > 0.0 else 0.0


def scales(system: System, state: State, step: float = math.inf) -> Scales:
    """Return the tolerances in a mechanism, for steps [s]."""
    farthest = _ROUNDING_TOLERANCE * largest(state.position)
    tolerance = _CLOSURE_TOLERANCE * row_sizes(system, state) + farthest
    return Scales(tolerance, _NEGLIGIBLE_MOTION * system.typical_length / step)


def largest(array: FloatArray) -> float:
    """Return the largest magnitude, zero for an empty array."""
    return simulation.largest(array.ravel())


def largest_turn(system: System, twists: FloatArray) -> float:
    """Return the largest angular part, or linear one [m]; in sizes of a mechanism larger than 1 m.

    So that small distances along a motion are small in mechanisms of kilometres, too.
    """
    return max(largest(twists[:, :3]), largest(twists[:, 3:]) / max(1.0, system.typical_length))


# ---- states of steps ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Stabilized:
    """The state of a stage or of the end of a step, and its evaluation."""

    state: State
    evaluation: Evaluation
    correction: float  # largest change of a velocity, relative to it

    def solved(self) -> Solved:
        """Return the state with its acceleration."""
        acceleration = self.evaluation.acceleration()
        return Solved(self.state, acceleration, self.correction, smallest_pivot(self.evaluation))


class Pivot(NamedTuple):
    """A pivot of the factors, the sine of the angle between a row and the rows before it."""

    sine: float
    row: int  # constraint row; -1 for none


NO_PIVOT = Pivot(math.inf, -1)


def pivot_at(dynamics: ForwardDynamics, state: State) -> float:
    """Return the smallest pivot of the rows in use at a state, zero if they are dependent."""
    evaluation = dynamics.evaluate(state)
    try:
        evaluation.acceleration()
    except SingularSystemError:
        return 0.0
    return smallest_pivot(evaluation).sine


def smallest_pivot(evaluation: Evaluation) -> Pivot:
    """Return the smallest pivot of the newest factors; 1 where a factorization does not give it."""
    dynamics = evaluation.dynamics
    if dynamics.system.n_rows == 0:
        return NO_PIVOT
    return Pivot(*dynamics.evaluator.smallest_pivot())


class Solved(NamedTuple):
    """The state of a stage or of the end of a step, and its acceleration."""

    state: State
    acceleration: FloatArray
    correction: float = 0.0  # largest change of a velocity, relative to it
    pivot: Pivot = NO_PIVOT  # smallest of the factors


class OpenJointError(SingularSystemError):
    """The rows in use do not close all joints: wrong ones were left out, or motions conflict."""

    def __init__(self, message: str, position_error: float, stabilized: Stabilized) -> None:
        super().__init__(message)
        self.position_error = position_error  # the largest [rad, m]
        self.stabilized = stabilized  # the projection by the rows in use


@dataclass(frozen=True)
class Stabilization:
    """One row of STABILIZATIONS."""

    stabilize: Callable[[Evaluate, State, Scales], Stabilized]  # of stages and ends of steps
    uses_time_constant: bool = False  # Baumgarte's terms in every evaluation
    closes: bool = False  # corrects all errors


def unchanged(evaluate: Evaluate, state: State, small: Scales) -> Stabilized:
    """Return the state as it is."""
    return Stabilized(state, evaluate(state), 0.0)


def pulled(evaluate: Evaluate, state: State, small: Scales) -> Stabilized:
    """Return the state as it is, after a check that Baumgarte's terms hold the joints.

    They do not hold rows that were left out, nor any at a singular pose. Raises OpenJointError if a
    joint is wide open, and opens further.
    """
    evaluation = evaluate(state)
    delta, system = evaluation.position_error, evaluation.dynamics.system
    size = row_sizes(system, state)
    error = np.where(delta * evaluation.velocity_error > 0.0, np.abs(delta), 0.0)  # and growing
    if np.any(error > _DRIFT_LIMIT * size):
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
    """Return the nearest state that closes the joints and obeys prescribed motions, to rounding.

    Pose first, then velocity, both least in the metric of the inertias. Accelerations are taken at
    closed states only: where joints are open they depend on which body is called the predecessor,
    and at a distance d from a singular pose position errors e change them by e / d^2.

    `small` are by default the `scales` of the state. Raises OpenJointError or SingularSystemError
    if the rows in use are too few, or dependent at this pose.
    """
    evaluation = evaluate(state)
    nearer = evaluation.dynamics.retracted(state)
    if nearer is not state:  # put back within the displacement subgroups
        evaluation = Evaluation(evaluation.dynamics, nearer, evaluation.body_force)
    if small is None:
        small = scales(evaluation.dynamics.system, state)
    state, evaluation, (error, rate_error) = _pose_projected(evaluate, evaluation, small.tolerance)
    state, correction = _velocity_projected(evaluation, state, rate_error, small)
    stabilized = Stabilized(state, evaluate(state), correction)
    if largest(error / small.tolerance) > _OPEN_ERROR_RATIO:
        system = evaluation.dynamics.system
        worst = int(np.argmax(np.abs(error) / small.tolerance))
        raise OpenJointError(
            f"joint {system.joint_names[system.row_joint[worst]]!r} cannot be closed at "
            f"t = {state.time:.6g} s: it stays {largest(error):.1e} open; take smaller steps "
            '(stiff springs and dampers need them, or method="auto" or "generalized-alpha"), or '
            "see whether a prescribed motion blocks",
            largest(error),
            stabilized,
        )
    return stabilized


def _pose_projected(
    evaluate: Evaluate, evaluation: Evaluation, tolerance: FloatArray
) -> tuple[State, Evaluation, tuple[FloatArray, FloatArray]]:
    """Correct the pose by Newton steps, with the same factors as long as these do.

    Returns the state, the evaluation in use, and the errors left.
    """
    system, state = evaluation.dynamics.system, evaluation.state
    errors = constraint_errors(system, state)
    ratio = largest(errors[0] / tolerance)  # of errors to tolerances
    for _ in range(_CORRECTIONS):
        if ratio <= 1.0:
            break
        solver = evaluation.assembled()
        if isinstance(solver, KrylovEvaluator):
            # joints open by e have more independent rows than closed ones, with singular values of
            # the size of e: with all rows, motions along these are damped away
            damping = max((_DAMPED_ERROR * largest(errors[0])) ** 2, DELTA)
            twists = solver.damped_twists(errors[0], damping)
        else:
            twists = evaluation.position_correction(errors[0])
        trial = evaluation.dynamics.retracted(displaced(state, twists))
        trial_errors = constraint_errors(system, trial)
        trial_ratio = largest(trial_errors[0] / tolerance)
        if not trial_ratio < ratio:
            break
        is_slow = 1.0 < trial_ratio > _SLOW_CONTRACTION * ratio
        state, errors, ratio = trial, trial_errors, trial_ratio
        if is_slow or evaluation.dynamics.is_krylov:
            evaluation = evaluate(state)
    return state, evaluation, errors


def _velocity_projected(
    evaluation: Evaluation, state: State, error: FloatArray, small: Scales
) -> tuple[State, float]:
    """Correct the velocity with factors of a nearby pose; return the relative change as well.

    A dv = -(A v - k) has the matrix of A d = -delta, that of pose corrections.
    """
    total, before = 0.0, np.inf
    for _ in range(_CORRECTIONS):
        change = evaluation.position_correction(error)
        size = largest(change)
        if not size < before:
            break
        state, total = state.with_(velocity=state.velocity + change), total + size
        if size <= _VELOCITY_TOLERANCE * largest(state.velocity):
            break
        error, before = constraint_errors(evaluation.dynamics.system, state)[1], 0.5 * size
    return state, small.relative(total, largest(state.velocity))


STABILIZATIONS: dict[str, Stabilization] = {
    "projection": Stabilization(projected, closes=True),
    "baumgarte": Stabilization(pulled, uses_time_constant=True),
    "none": Stabilization(unchanged),
}


# ---- poses at which the rank changes -------------------------------------------------------------


def analyzed_at(dynamics: ForwardDynamics, state: State) -> ForwardDynamics:
    """Return dynamics of the same kind, with the rows that are independent at `state`.

    An uncertain choice is not reported: if wrong, joints open, and OpenJointError is raised.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        kind = "krylov" if dynamics.is_krylov else "remove"
        return dynamics.analyzed_at(state, redundancy=kind, rank_tolerance=_WEAK_REMAINDER)


def closed_by_all_rows(dynamics: ForwardDynamics, state: State) -> State:
    """Return the nearest state that closes all joints in position and velocity, at any rank.

    Where joints are open there are more independent rows than in closed poses. Raises
    OpenJointError if there is none near.
    """
    with_all = ForwardDynamics(dynamics.system, state, redundancy="krylov", reactions="basic")
    try:
        closed = projected(with_all.evaluate, state).state
    except OpenJointError:  # small singular values: corrections are too long
        closed = projected(with_all.evaluate, _nearly_closed(with_all, state)).state
    return _closed_to_rounding(with_all, closed)


def _closed_to_rounding(with_all: ForwardDynamics, state: State) -> State:
    """Return a state with errors down to rounding, for small singular values amplify errors."""
    error = constraint_errors(with_all.system, state)[0]
    for _ in range(_MOST_POLISHING):
        trial = displaced(state, with_all.evaluate(state).position_correction())
        trial_error = constraint_errors(with_all.system, trial)[0]
        if not largest(trial_error) < 0.5 * largest(error):
            break
        state, error = trial, trial_error
    return state


def _nearly_closed(with_all: ForwardDynamics, state: State) -> State:
    """Return the state after Levenberg-Marquardt steps on the position errors."""
    damping, error = _FIRST_DAMPING, constraint_errors(with_all.system, state)[0]
    for _ in range(_MOST_CORRECTIONS):
        if largest(error) <= _ERROR_TOLERANCE:
            break
        solver = with_all.evaluate(state).assembled()
        assert isinstance(solver, KrylovEvaluator)
        trial = displaced(state, solver.damped_twists(error, damping))
        trial_error = constraint_errors(with_all.system, trial)[0]
        is_better = largest(trial_error) < largest(error)
        damping = max(0.01 * damping, DELTA) if is_better else 100.0 * damping
        if is_better:
            state, error = trial, trial_error
    return state
