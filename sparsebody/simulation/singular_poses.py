"""Poses where constraint rows lose rank: which rows to keep there, and how to leave them."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators import KrylovEvaluator
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.system_motion import constraint_errors
from sparsebody.errors import RankWarning
from sparsebody.factorization.krylov import DELTA
from sparsebody.kinematics.poses import displaced
from sparsebody.model.system import State
from sparsebody.simulation.constraint_errors import largest
from sparsebody.simulation.stabilization import OpenJointError, projected

WEAK = 1e-6  # remainder of a row that drift outweighs: it is held by closing the joints alone
FIRST_PART = 1e-3  # of a step, where a motion leaves a singular pose
GROWTH = 1.2  # of each part to the next one: what happens there has no scale but its own age
FIRST_DAMPING = 1e-4  # of corrections, relative to the squares of unit rows
MOST_CORRECTIONS, MOST_POLISHING = 40, 4
CLOSED = 1e-13  # [rad, m]
MOST_PARTS = 8  # of the steps after it


def analyzed_at(dynamics: ForwardDynamics, state: State) -> ForwardDynamics:
    """Return the same kind of dynamics with the rows that are independent at `state`.

    In doubt the likeliest ones: a wrong choice shows in joints that open.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        kind = "krylov" if dynamics.is_krylov else "remove"
        return dynamics.analyzed_at(state, redundancy=kind, rank_tolerance=WEAK)


def closed_by_all_rows(dynamics: ForwardDynamics, state: State) -> State:
    """Return the nearest state that closes all joints, and obeys them, whatever the rank there.

    A pose that drift has opened has more independent rows than the mechanism. Raises OpenJointError
    if there is none near.
    """
    with_all = ForwardDynamics(dynamics.system, state, redundancy="krylov", reactions="basic")
    try:
        closed = projected(with_all.evaluate, state).state
    except OpenJointError:  # soft motions would have to go far
        closed = projected(with_all.evaluate, _nearly_closed(with_all, state)).state
    return _closed_to_rounding(with_all, closed)


def _closed_to_rounding(with_all: ForwardDynamics, state: State) -> State:
    """Return a state with errors as small as they get: soft motions multiply what is left."""
    error = constraint_errors(with_all.system, state)[0]
    for _ in range(MOST_POLISHING):
        trial = displaced(state, with_all.evaluate(state).position_correction())
        trial_error = constraint_errors(with_all.system, trial)[0]
        if not largest(trial_error) < 0.5 * largest(error):
            break
        state, error = trial, trial_error
    return state


def _nearly_closed(with_all: ForwardDynamics, state: State) -> State:
    """Return a closed state as far as steps of Levenberg and Marquardt lead to one."""
    damping, error = FIRST_DAMPING, constraint_errors(with_all.system, state)[0]
    for _ in range(MOST_CORRECTIONS):
        if largest(error) <= CLOSED:
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


def moved_on(state: State, h: float) -> State:
    """Return where the velocity leads in a time h [s], which may be negative."""
    return replace(displaced(state, h * state.velocity), time=state.time + h)


def carried(state: State, acceleration: FloatArray, t: float) -> State:
    """Return where a constant acceleration (n_bodies, 6) leads in a time t [s]."""
    there = displaced(state, t * state.velocity + 0.5 * t**2 * acceleration)
    return replace(there, velocity=state.velocity + t * acceleration, time=state.time + t)


def growing_parts() -> list[float]:
    """Return times, as shares of a step, by which a motion leaves the pose it begins at."""
    n = math.ceil(math.log1p((GROWTH - 1.0) / FIRST_PART) / math.log(GROWTH))
    ends = [GROWTH**k - 1.0 for k in range(1, n + 1)]
    return [end / ends[-1] for end in ends]


def n_parts_after(age: float, step: float) -> int:
    """Return in how many parts to take a step `age` [s] after a singular pose was left."""
    if age <= 0.0:
        return MOST_PARTS
    return max(1, min(MOST_PARTS, math.ceil(step / ((GROWTH - 1.0) * age))))
