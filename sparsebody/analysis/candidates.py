"""What a joint's replacement would do about redundant wrenches, at one pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.analysis.circulations import (
    Circulations,
    circulations,
    cycle_wrenches,
    successor_frames,
)
from sparsebody.analysis.relaxations import Relaxation
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.kinematics.motion import JointMotion, joint_motion
from sparsebody.model.system import State, System

ROBUST = 0.05  # least singular value, of wrenches and freedoms of unit size


@dataclass(frozen=True, eq=False)
class Choice:
    """A relaxation of one joint."""

    joint: int
    relaxation: Relaxation


@dataclass(frozen=True, eq=False)
class Pose:
    """A mechanism at one pose: what circulates in its loops."""

    dynamics: ForwardDynamics
    state: State
    motion: JointMotion
    axes: FloatArray  # (n_joints, 3, 3) S to world
    origin: FloatArray  # (n_joints, 3) of S
    circulations: Circulations

    def wrenches(self, loop: int) -> dict[int, FloatArray]:
        """Return (6, dimension) what circulates at each joint of a loop, moments / its length."""
        wrench = cycle_wrenches(self.circulations, loop, self.axes, self.origin)
        joints = self.circulations.cycles[loop].tolist()
        return dict(zip(joints, wrench, strict=True))

    def extra(self, system: System, choice: Choice, length: float) -> FloatArray:
        """Return the new freedoms (n_removed, 6), (length * angular, linear), of unit size."""
        j = choice.joint
        freedoms = choice.relaxation.extra_at(
            system.joint_types[j], self.motion.rotation[j], self.motion.translation[j]
        )
        scaled = freedoms * ([length] * 3 + [1.0] * 3)
        return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))


def pose_at(system: System, state: State, dynamics: ForwardDynamics | None = None) -> Pose:
    """Return what choices are made by at a consistent state."""
    dynamics = dynamics or ForwardDynamics(system, state, reactions="basic")
    subspace = dynamics.evaluate(state).constraint.subspace
    axes, origin = successor_frames(system, state)
    motion = joint_motion(system, state)
    return Pose(dynamics, state, motion, axes, origin, circulations(system, state, subspace))


def clearness(work: FloatArray) -> float:
    """Return the least singular value of a matrix with no more rows than columns."""
    return float(np.linalg.svd(work, compute_uv=False)[-1])
