"""Accelerations of all bodies from those of some joint coordinates."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sparsebody.arrays import ArrayLike, BoolArray, FloatArray
from sparsebody.dynamics.choice import choose_solver
from sparsebody.dynamics.inverse.sparse import decided, stacked_pattern
from sparsebody.equations.actuators import (
    Freedom,
    actuator_rows,
    actuators_of,
    released_drives,
    without_drives,
)
from sparsebody.equations.desired_motion import row_gaps
from sparsebody.equations.initial import consistent_state
from sparsebody.equations.inverse import TOLERANCE
from sparsebody.equations.system_motion import SystemMotion, checked_vectors
from sparsebody.errors import ModelError, MotionError
from sparsebody.factorization import analyze, refined_solve
from sparsebody.model.system import State, System, check_state
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix


def driven_accelerations(
    system: System,
    state: State | None = None,
    wanted: Mapping[Freedom, ArrayLike] | None = None,
    *,
    body_force: FloatArray | None = None,
) -> FloatArray:
    """Return the accelerations that joints allow with the given ones of joint coordinates.

    What is not given moves as freely as it may: the result is that of forward dynamics with drives
    on the given coordinates, so actuators on these alone can cause it.

    Parameters
    ----------
    system : System
        The mechanism.
    state : State, optional
        Poses and velocities; default: the consistent initial state.
    wanted : mapping of joints, or of (joint, coordinate), to floats
        Second derivatives of a joint's velocity coordinates, as many as it has, or of one
        [rad/s^2, m/s^2]; they count in place of a drive's.
    body_force : (n_bodies, 6) array, optional
        Additional wrenches about the centers of mass in body axes [N m, N].

    Returns
    -------
    (n_bodies, 6) float array
        Spatial accelerations in body coordinates, angular first [rad/s^2, m/s^2].

    Raises
    ------
    MotionError
        If the given accelerations contradict each other or the joints.
    """
    state = consistent_state(system) if state is None else state
    check_state(system, state)
    wanted = {} if wanted is None else wanted
    actuators = actuators_of(system, wanted)
    qdd = _values(system, wanted)
    system = without_drives(system, released_drives(system, actuators)[0])
    if body_force is not None:
        body_force = checked_vectors(system, body_force, "body_force")
    moving = SystemMotion(system, state, body_force)
    constraint = moving.constraint
    driven = actuator_rows(system, actuators, moving.joints)
    rows = np.concatenate([constraint.rows, driven.rows])
    gamma = np.concatenate([constraint.acceleration, qdd + driven.velocity_product])
    keep = decided(system, constraint.rows, actuators.joint, driven.rows).keep
    pattern = _kept(stacked_pattern(system, actuators.joint), keep)
    kept = SaddleMatrix(pattern, system.spatial_inertia, system.inverse_inertia, rows[keep])
    force = (moving.applied - moving.bias).ravel()
    choice = choose_solver(pattern, "auto", "auto")
    numeric = analyze(choice.factorization, pattern, choice.order).factorize(kept)
    x, _ = refined_solve(numeric, kept, np.concatenate([force, gamma[keep]]))
    acceleration = x[: len(force)].reshape(-1, 6)
    joint = np.concatenate([system.row_joint, actuators.joint])
    gap, scale = row_gaps(moving, acceleration, joint, rows, gamma)
    if np.abs(gap).max(initial=0.0) > TOLERANCE * scale:
        bad = int(np.argmax(np.abs(gap)))
        raise MotionError(
            "the wanted accelerations contradict each other at joint "
            f"{system.joint_names[int(joint[bad])]!r}, relatively by {abs(gap[bad]) / scale:.1e}; "
            "give those of independent coordinates only"
        )
    return acceleration


def _values(system: System, wanted: Mapping[Freedom, ArrayLike]) -> FloatArray:
    """The numbers in the order of actuators_of."""
    parts = [np.zeros(0)]
    for freedom, value in wanted.items():
        numbers = np.atleast_1d(np.asarray(value, dtype=float))
        name = freedom if isinstance(freedom, str) else freedom[0]
        n = system.joint_types[system.joint(name)].n_velocities if name == freedom else 1
        if numbers.shape != (n,) or not np.isfinite(numbers).all():
            raise ModelError(
                f"the acceleration wanted of joint {name!r} is {value!r}; give {n} finite "
                f"number{'s' if n > 1 else ''}"
            )
        parts.append(numbers)
    return np.concatenate(parts)


def _kept(pattern: BlockPattern, keep: BoolArray) -> BlockPattern:
    """Return the pattern with the kept rows only, blocks without any left out."""
    before = np.concatenate([[0], np.cumsum(keep)])
    sizes = np.diff(before[pattern.offsets[pattern.n_primal :] - pattern.n_primal_rows])
    primal = pattern.block_sizes[: pattern.n_primal]
    return BlockPattern(
        np.concatenate([primal, sizes[sizes > 0]]).astype(np.intp), pattern.ends[sizes > 0]
    )
