"""Poses that a mechanism can move to, and velocities that its joints allow."""

from __future__ import annotations

import numpy as np

from sparsebody.analysis.circulations import joint_sizes
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial import consistent_state
from sparsebody.kinematics.motion import joint_motion
from sparsebody.kinematics.poses import displaced
from sparsebody.model.system import State

TURN = 0.1  # [rad], and as a share of the sizes of the joints
MOST_STEPS = 10
CLOSED = 1e-11  # position error [rad, m], the smallest joint size being 1 m or less
STILL = 1e-9  # of a random velocity before joints take their part


def moving_state(dynamics: ForwardDynamics, state: State, seed: int = 0) -> State:
    """Return the state with a random velocity that the joints allow, of size one in the joints.

    Largest of relative angular velocities [rad/s] and of linear ones by the joints' sizes.
    """
    system = dynamics.system
    drawn = np.random.default_rng(seed).normal(size=(system.n_bodies, 6))
    sizes = joint_sizes(system)
    drawn[:, 3:] *= float(np.median(sizes)) if len(sizes) else 1.0
    moving = state.with_(velocity=drawn)
    for _ in range(2):
        change = dynamics.evaluate(moving).velocity_correction()
        moving = moving.with_(velocity=moving.velocity + change)
    before = _joint_speed(dynamics, state.with_(velocity=drawn))
    after = _joint_speed(dynamics, moving)
    if after <= STILL * before:
        return state.with_(velocity=np.zeros_like(state.velocity))
    return moving.with_(velocity=moving.velocity / after)


def nearby_state(dynamics: ForwardDynamics, state: State, seed: int = 0) -> State:
    """Return a state some way along a random motion, with joints closed and no velocity."""
    moving = moving_state(dynamics, state, seed)
    there = displaced(moving, TURN * moving.velocity)
    there = there.with_(velocity=np.zeros_like(there.velocity))
    goal = CLOSED * min(1.0, float(joint_sizes(dynamics.system).min(initial=1.0)))
    for _ in range(MOST_STEPS):
        evaluation = dynamics.evaluate(there)
        if float(np.abs(evaluation.position_error).max(initial=0.0)) <= goal:
            return there
        there = displaced(there, evaluation.position_correction())
    return consistent_state(dynamics.system, there)


def _joint_speed(dynamics: ForwardDynamics, state: State) -> float:
    """Return the largest relative velocity at a joint, or of a body without joints."""
    system = dynamics.system
    if not system.n_joints:
        return float(np.abs(state.velocity).max(initial=0.0))
    velocity = joint_motion(system, state).velocity.copy()
    velocity[:, 3:] /= joint_sizes(system)[:, None]
    return float(np.abs(velocity).max(initial=0.0))
