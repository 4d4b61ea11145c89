"""Keeping the joints closed while time goes on; the table STABILIZATIONS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.assembly.constraint import velocity_errors
from sparsebody.dynamics.forward import Evaluation
from sparsebody.equations.initial import mechanism_size
from sparsebody.errors import SingularSystemError
from sparsebody.kinematics.coordinates import coordinate_motion
from sparsebody.kinematics.loop_closure import position_errors
from sparsebody.kinematics.motion import joint_motion
from sparsebody.kinematics.poses import displaced
from sparsebody.model.system import State, System

Evaluate = Callable[[State], Evaluation]

_SAME_POSE = 1e-5  # twists below this [rad, m] leave the factors good enough to go on with
_CLOSED = 1e-12  # a smaller position error is rounding
_OPEN = 1e-9  # a larger one after all corrections means that rows are missing, or contradict
_TORN = 0.1  # [rad, sizes of the mechanism] that is no drift any more
_CORRECTIONS = 8


@dataclass(frozen=True, eq=False)
class Stabilized:
    """A state after a step, and the evaluation that serves as the first stage of the next one."""

    state: State
    evaluation: Evaluation
    correction: float  # largest change of a velocity [rad/s, m/s]: a measure of the local error


class OpenJointError(SingularSystemError):
    """The rows in use do not close all joints: the wrong ones were left out, or a drive blocks."""

    def __init__(self, message: str, opening: float, stabilized: Stabilized) -> None:
        super().__init__(message)
        self.opening = opening  # [rad, m]
        self.stabilized = stabilized  # what the rows in use can do


@dataclass(frozen=True)
class Stabilization:
    """One row of STABILIZATIONS."""

    stabilize: Callable[[Evaluate, State], Stabilized]  # done after every step
    uses_time_constant: bool = False  # Baumgarte's terms in every evaluation
    closes: bool = False  # takes out what errors there are


def unchanged(evaluate: Evaluate, state: State) -> Stabilized:
    """Return the state as it is."""
    return Stabilized(state, evaluate(state), 0.0)


def pulled(evaluate: Evaluate, state: State) -> Stabilized:
    """Return the state as it is, sure that Baumgarte's terms hold the joints.

    They do not hold rows that were left out, nor any at a singular pose.

    Raises
    ------
    OpenJointError
        If a joint is wide open, and opens further.
    """
    evaluation = evaluate(state)
    subspace, delta = evaluation.constraint.subspace, evaluation.position_error
    system = evaluation.dynamics.system
    size = np.linalg.norm(subspace[:, :3], axis=1)
    size += mechanism_size(system) * np.linalg.norm(subspace[:, 3:], axis=1)
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


def projected(evaluate: Evaluate, state: State) -> Stabilized:
    """Return the nearest state that closes the joints and obeys the drives.

    Pose first, then velocity, both least in the metric of the inertias. A correction is as small
    as the integrator's local error, so the factors of the first pose serve all corrections, and
    its acceleration the next step; only after a larger correction they are made again.

    Raises
    ------
    OpenJointError, SingularSystemError
        If the rows in use are too few, or dependent at this pose.
    """
    evaluation = evaluate(state)
    nearer = evaluation.dynamics.retracted(state)
    if nearer is not state:
        evaluation = Evaluation(evaluation.dynamics, nearer, evaluation.body_force)
    state, evaluation, moved_by, position_error = _pose_projected(evaluate, evaluation)
    system, total = evaluation.dynamics.system, 0.0
    for _ in range(_CORRECTIONS):
        # A change of velocity solves the same equations as a twist does.
        change = evaluation.position_correction(_velocity_errors(system, state))
        state = state.with_(velocity=state.velocity + change)
        total += largest(change)
        if moved_by * largest(change) <= _CLOSED * largest(state.velocity):
            break  # the pose of the factors is near enough
    stabilized = Stabilized(state, evaluation, total)
    _check_closed(position_error, stabilized)
    return stabilized


def _check_closed(error: FloatArray, stabilized: Stabilized) -> None:
    if largest(error) <= _OPEN:
        return
    system = stabilized.evaluation.dynamics.system
    joint = system.joint_names[system.row_joint[int(np.argmax(np.abs(error)))]]
    raise OpenJointError(
        f"joint {joint!r} cannot be closed at t = {stabilized.state.time:.6g} s: it stays "
        f"{largest(error):.1e} open; take smaller steps (stiff springs and dampers need them), "
        "or see whether a drive blocks",
        largest(error),
        stabilized,
    )


def _pose_projected(
    evaluate: Evaluate, evaluation: Evaluation
) -> tuple[State, Evaluation, float, FloatArray]:
    """Correct the pose by modified Newton steps.

    Returns the state, the evaluation in use, how far away it is, and the position errors left.
    """
    system, state = evaluation.dynamics.system, evaluation.state
    error, moved_by = evaluation.position_error, 0.0
    for _ in range(_CORRECTIONS):
        if largest(error) <= _CLOSED:
            break
        twist = evaluation.position_correction(error)
        trial = displaced(state, twist)
        trial_error = _position_errors(system, trial)
        if not largest(trial_error) < largest(error):
            break
        state, error, moved_by = trial, trial_error, moved_by + largest(twist)
        if moved_by > _SAME_POSE:
            evaluation, moved_by = evaluate(state), 0.0
    return state, evaluation, moved_by, error


def _position_errors(system: System, state: State) -> FloatArray:
    motion = joint_motion(system, state)
    return position_errors(system, state, motion, coordinate_motion(system, state, motion))


def _velocity_errors(system: System, state: State) -> FloatArray:
    motion = joint_motion(system, state)
    return velocity_errors(system, state, motion, coordinate_motion(system, state, motion))


def constraint_errors(system: System, state: State) -> tuple[FloatArray, FloatArray]:
    """Return the position and the velocity errors (n_rows,) of all constraint rows."""
    motion = joint_motion(system, state)
    coordinates = coordinate_motion(system, state, motion)
    return (
        position_errors(system, state, motion, coordinates),
        velocity_errors(system, state, motion, coordinates),
    )


def largest(array: FloatArray) -> float:
    """Return the largest magnitude, zero for an empty array."""
    return float(np.abs(array).max(initial=0.0))


STABILIZATIONS: dict[str, Stabilization] = {
    "projection": Stabilization(projected, closes=True),
    "baumgarte": Stabilization(pulled, uses_time_constant=True),
    "none": Stabilization(unchanged),
}
