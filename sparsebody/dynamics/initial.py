"""Initial assembly: the nearest consistent pose, and consistent velocities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import diags_array
from scipy.sparse.linalg import splu

from sparsebody.arrays import FloatArray
from sparsebody.assembly.constraint import ConstraintRows, constraint_rows
from sparsebody.assembly.kkt import KKTStructure, kkt_structure
from sparsebody.errors import AssemblyError, SingularSystemError
from sparsebody.kinematics.coordinates import coordinate_motion, prescribed_motion
from sparsebody.kinematics.loop_closure import position_errors, prescribed_velocities
from sparsebody.kinematics.motion import joint_motion
from sparsebody.kinematics.poses import displaced
from sparsebody.model.system import State, System, check_state
from sparsebody.sparse.saddle import saddle_csc

_CLOSED = 1e-12  # loop errors below this, relative to the size of the mechanism, count as closed
_ITERATIONS = 100


def consistent_state(system: System, state: State | None = None) -> State:
    """Return the nearest state that closes every joint and obeys every drive.

    The pose by damped Gauss-Newton steps on the joints' position errors, least in the metric of
    the inertias; then the velocity by one projection in the same metric.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        An approximate state; default: the initial poses and velocities of the model.

    Raises
    ------
    AssemblyError
        If the joints do not close, or the velocities cannot be made consistent (a drive works
        against a joint). The message names the worst joints and their errors.
    """
    state = system.initial_state if state is None else state
    check_state(system, state)
    if system.n_rows == 0:
        return _with_coordinates(system, state)
    structure = kkt_structure(system)
    state = _closed_pose(system, structure, state)
    return _with_coordinates(system, _consistent_velocity(system, structure, state))


def _with_coordinates(system: System, state: State) -> State:
    """Count whole turns of the joint coordinates, those of drives from the values they ask for."""
    coordinate = state.coordinate.copy()
    coordinate[system.coordinates.prescribed] = prescribed_motion(system, state.time)[:, 0]
    state = state.with_(coordinate=coordinate)
    motion = joint_motion(system, state)
    return state.with_(coordinate=coordinate_motion(system, state, motion).value)


def _rows_and_errors(system: System, state: State) -> tuple[ConstraintRows, FloatArray]:
    motion = joint_motion(system, state)
    coordinates = coordinate_motion(system, state, motion)
    return (
        constraint_rows(system, state, motion, coordinates),
        position_errors(system, state, motion, coordinates),
    )


def mechanism_size(system: System) -> float:
    """Return a typical length [m]: the mean distance of joints from the centers of mass."""
    arms = np.concatenate([system.successor_point, system.predecessor_point])
    moving = np.concatenate([system.successor, system.predecessor]) >= 0
    length = np.linalg.norm(arms[moving], axis=1)
    return float(length.mean()) if len(length) and length.any() else 1.0


def _least_norm(
    structure: KKTStructure, constraint: ConstraintRows, target: FloatArray, damping: float
) -> FloatArray:
    """Return the twists that solve A twist = target, damped, least in the metric of I."""
    matrix = structure.matrix(constraint)
    n = structure.pattern.n_primal_rows
    ends = structure.pattern.ends[matrix.row_block]
    scale = sum(  # diag(A I^-1 A'), the natural size of each row
        np.where(
            ends[:, side] >= 0,
            np.einsum("ra,rab,rb->r", row, matrix.inverse[ends[:, side]], row),
            0.0,
        )
        for side, row in enumerate(matrix.rows.transpose(1, 0, 2))
    )
    dual = np.concatenate([np.zeros(n), -damping * np.asarray(scale)])
    quasi_definite = (saddle_csc(matrix) + diags_array(dual)).tocsc()
    right = np.concatenate([np.zeros(n), target])
    try:
        factor = splu(quasi_definite)
    except RuntimeError as error:
        raise SingularSystemError("the damped loop equations are singular") from error
    return np.asarray(factor.solve(right)[:n]).reshape(-1, 6)


def _closed_pose(system: System, structure: KKTStructure, state: State) -> State:
    """Return the nearest pose that closes; where steps stall, one near by, in smaller steps."""
    goal = _CLOSED * max(1.0, mechanism_size(system))
    found, error = _least_squares_pose(system, structure, state, goal)
    if error > 1e3 * goal:
        found, error = min(
            (found, error), _turned_first(system, state, goal), key=lambda result: result[1]
        )
    if error > 1e3 * goal:
        raise AssemblyError(
            f"mechanism {system.name!r} does not close near the given pose: "
            + _worst_joints(system, _rows_and_errors(system, found)[1])
            + "; correct the poses of the bodies or the joint frames"
        )
    return found


def _turned_first(system: System, state: State, goal: float) -> tuple[State, float]:
    """Return a pose that closes, and its error, in the metric of equal bodies.

    What is bent in the equations are rotations, most of all of slender bodies: so nothing turns
    more easily than the rest, and the rows that turn bodies close first.
    """
    rows = _rows_and_errors(system, state)[0].subspace
    turning = np.any(rows[:, :3] != 0.0, axis=1)
    ball = mechanism_size(system) ** 2 * np.eye(3)
    equal = replace(
        system, mass=np.ones(system.n_bodies), inertia=np.tile(ball, (system.n_bodies, 1, 1))
    )
    error = np.inf
    for keep in (turning, np.ones_like(turning)):
        if keep.any():
            structure = kkt_structure(equal, keep)
            state, error = _least_squares_pose(system, structure, state, goal)
    return state, error


def _least_squares_pose(
    system: System, structure: KKTStructure, state: State, goal: float
) -> tuple[State, float]:
    """Return the pose with the least errors of the structure's rows, and the norm of these.

    Levenberg-Marquardt, undamped near the solution.
    """
    rows = structure.rows
    constraint, error = _rows_and_errors(system, state)
    norm = float(np.linalg.norm(error[rows]))
    damping = min(1e-2, norm * norm)
    for _ in range(_ITERATIONS):
        if np.abs(error[rows]).max() <= goal:
            break
        step = _least_norm(structure, constraint, -error[rows], max(damping, 1e-13))
        trial = displaced(state, step)
        trial_constraint, trial_error = _rows_and_errors(system, trial)
        trial_norm = float(np.linalg.norm(trial_error[rows]))
        if np.isfinite(trial_norm) and trial_norm < norm:
            stalled = trial_norm > 0.999 * norm and damping < 1e-12
            state, constraint, error, norm = trial, trial_constraint, trial_error, trial_norm
            damping = 0.1 * damping
            if stalled:
                break
        elif damping > 1e6 or norm <= 100.0 * goal:
            break
        else:
            damping = max(10.0 * damping, 1e-10)
    return state, norm


def _consistent_velocity(system: System, structure: KKTStructure, state: State) -> State:
    """Project the velocity; a few passes, because the damping leaves a trace."""
    asked = prescribed_velocities(system, state.time)
    for _ in range(5):
        constraint, _ = _rows_and_errors(system, state)
        gap = asked - constraint.velocity
        if np.abs(gap).max() <= 1e-13 * max(1.0, np.abs(state.velocity).max()):
            return state
        step = _least_norm(structure, constraint, gap, 1e-12)
        state = state.with_(velocity=state.velocity + step)
    gap = asked - _rows_and_errors(system, state)[0].velocity
    if np.abs(gap).max() > 1e-8 * max(1.0, np.abs(state.velocity).max()):
        raise AssemblyError(
            f"mechanism {system.name!r} has no consistent velocity: "
            + _worst_joints(system, gap)
            + "; a drive works against a joint"
        )
    return state


def _worst_joints(system: System, error: FloatArray, count: int = 3) -> str:
    """Name the joints with the largest errors, and how large they are."""
    largest = np.zeros(system.n_joints)
    np.maximum.at(largest, system.row_joint, np.abs(error))
    worst = np.argsort(-largest)[:count]
    named = [
        f"joint {system.joint_names[j]!r} is off by {largest[j]:.3g}"
        for j in worst
        if largest[j] > 0.01 * largest[worst[0]]
    ]
    return ", ".join(named) + " (m or rad)"
