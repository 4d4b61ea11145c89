"""Variational steps where the equations need Python: springs on joints, control, other solvers.

What `core/simulation/variational_step.hpp` does in one native call, on evaluations.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sparsebody._core import simulation
from sparsebody.arrays import FloatArray
from sparsebody.assembly.body_forces import bias_forces
from sparsebody.equations.system_motion import constraint_errors
from sparsebody.errors import SingularSystemError
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.kinematics.poses import displaced
from sparsebody.model.system import State, System
from sparsebody.simulation.constraint_errors import Scales, largest
from sparsebody.simulation.integrators.base import Composition
from sparsebody.simulation.stabilization import (
    NO_PIVOT,
    Evaluate,
    Pivot,
    Solved,
    smallest_pivot,
)

_POSE_CORRECTIONS, _VELOCITY_CORRECTIONS = 20, 8
_NEAR_SINGULAR = 0.3  # of an opening that a correction leaves: rows change much in a step
_ROUNDED = 100.0  # tolerances


def variational_step(
    evaluate: Evaluate,
    composition: Composition,
    state: State,
    acceleration: FloatArray,
    time: float,
    small: Scales,
) -> tuple[Solved, Pivot] | None:
    """Return the state at `time` and the smallest pivot on the way; None near singular poses."""
    system = evaluate(state).dynamics.system
    push = _momentum(system, acceleration) + bias_forces(system, state.velocity)
    worst, h = NO_PIVOT, time - state.time
    try:
        for part in composition.parts:
            pivot = smallest_pivot_at(evaluate, state)
            reached = _substep(evaluate, system, state, push, part * h, small)
            if reached is None:
                return None
            state, push = reached
            worst = min(worst, pivot)
        state = replace(state, time=time)
        evaluation = evaluate(state)
        end = Solved(state, evaluation.acceleration(), pivot=smallest_pivot(evaluation))
    except SingularSystemError:
        return None
    return end, min(worst, end.pivot)


def smallest_pivot_at(evaluate: Evaluate, state: State) -> Pivot:
    """Return the smallest pivot at a state, whose factors are then at hand."""
    evaluation = evaluate(state)
    evaluation.position_correction(np.zeros(evaluation.dynamics.system.n_rows))
    return smallest_pivot(evaluation)


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
    evaluate: Evaluate, system: System, state: State, push: FloatArray, h: float, small: Scales
) -> tuple[State, FloatArray] | None:
    """Return the state after h, and the wrenches there."""
    momentum = _momentum(system, state.velocity) + 0.5 * h * push
    drifted = _drift(evaluate, system, state, momentum, h, small)
    if drifted is None:
        return None
    end, momentum = drifted
    turned = np.swapaxes(body_rotations(end), 1, 2) @ body_rotations(state)
    momentum, push = (_rotated(turned, forces) for forces in (momentum, push))
    velocity = _velocity(system, momentum + 0.5 * h * push)  # to second order, for dampers
    end = replace(end, velocity=velocity, time=state.time + h)
    push = _momentum(system, evaluate(end).acceleration()) + bias_forces(system, velocity)
    velocity, before = _velocity(system, momentum + 0.5 * h * push), math.inf
    for _ in range(_VELOCITY_CORRECTIONS):
        change = evaluate(replace(end, velocity=velocity)).velocity_correction()
        if not largest(change) < before:
            break
        velocity, before = velocity + change, 0.5 * largest(change)
    return replace(end, velocity=velocity), push


def _rotated(rotation: FloatArray, forces: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("nij,nkj->nki", rotation, forces.reshape(-1, 2, 3))).reshape(-1, 6)


def _drift(
    evaluate: Evaluate, system: System, state: State, momentum: FloatArray, h: float, small: Scales
) -> tuple[State, FloatArray] | None:
    """Return the poses after h, and the momenta with the impulses at the start that close them."""
    start, before = evaluate(state), math.inf
    for _ in range(_POSE_CORRECTIONS):
        angle = simulation.discrete_rotations(system.inertia, h * momentum[:, :3])
        way = h * momentum[:, 3:] / system.mass[:, None]
        end = displaced(state, np.concatenate([angle, way], axis=1))
        error = constraint_errors(system, replace(end, time=state.time + h))[0]
        opening = float(np.max(np.abs(error) / small.tolerance, initial=0.0))
        is_slow = not opening < _NEAR_SINGULAR * before
        if opening <= 1.0 or (is_slow and opening <= _ROUNDED):
            return end, momentum
        if is_slow:
            return None
        before = opening
        momentum = momentum + _momentum(system, start.position_correction(error)) / h
    return None
