"""Relative motion at every joint, and tracked coordinates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparsebody._core import joints, model
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.model.system import State, System


@dataclass(frozen=True, eq=False)
class JointMotion:
    """Relative poses and velocities at the joints.

    S and P are the joint frames on successor and predecessor; E rotates P to S coordinates.
    """

    rotation: FloatArray  # (n_joints, 3, 3) E
    translation: FloatArray  # (n_joints, 3) r: origin of S in P coordinates [m]
    to_successor: FloatArray  # (n_joints, 3, 3) predecessor's body axes to S coordinates
    arm: FloatArray  # (n_joints, 3) origin of S from the predecessor's com, in its body axes [m]
    velocity: FloatArray  # (n_joints, 6) v_J = v_s - v_p in S coordinates
    predecessor_velocity: FloatArray  # (n_joints, 6) v_p in S coordinates

    @property
    def on_bodies(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """X_p (rotation and arm), v_J and v_p, as kernels take them."""
        return self.to_successor, self.arm, self.velocity, self.predecessor_velocity


def body_rotations(state: State) -> FloatArray:
    """Return (n_bodies, 3, 3) rotations from body to world axes."""
    return model.rotations(state.orientation)


Poses = tuple[IntArray, FloatArray, FloatArray, FloatArray]


def joint_poses(system: System, motion: JointMotion) -> Poses:
    """Return kinds, E, r and parameters of the joints, as kernels take them."""
    return system.joint_kind, motion.rotation, motion.translation, system.parameter


def coordinate_poses(system: System, motion: JointMotion) -> Poses:
    """Return the same with the types that state the coordinates, of compliant joints too."""
    kind, parameter = system.coordinate_types
    return kind, motion.rotation, motion.translation, parameter


def joint_motion(system: System, state: State, threads: int = 1) -> JointMotion:
    """Return the relative motion at every joint. Featherstone (2008), (8.24) and (8.7).

    Positions enter only as differences between neighbours: nothing is lost far from the origin.
    """
    bodies = state.position, state.orientation, state.velocity
    return JointMotion(*model.joint_motions(system.joint_frames, bodies, threads))


@dataclass(frozen=True, eq=False)
class CoordinateMotion:
    """Values and rates of the tracked coordinates, and W with qd = W' v_J and f = W tau."""

    value: FloatArray  # (n,) [rad] or [m]
    rate: FloatArray  # (n,)
    dual: FloatArray  # (n, 6) W in S coordinates
    drift: FloatArray  # (n,) (dW/dt)' v_J


def coordinate_motion(system: System, state: State, motion: JointMotion) -> CoordinateMotion:
    """Return the motion of the tracked coordinates; angles continue those of the state."""
    tracked = system.coordinates
    if len(tracked.joint) == 0:
        return CoordinateMotion(np.zeros(0), np.zeros(0), np.zeros((0, 6)), np.zeros(0))
    value, dual, drift = joints.coordinate_motions(
        tracked.joint, tracked.index, coordinate_poses(system, motion), motion.velocity
    )
    turn = 2.0 * math.pi
    near = value + turn * np.round((state.coordinate - value) / turn)
    rate = np.einsum("na,na->n", dual, motion.velocity[tracked.joint])
    return CoordinateMotion(np.where(tracked.is_angle, near, value), rate, dual, drift)


def prescribed_motion(system: System, time: float) -> FloatArray:
    """Return (n_prescribed, 3): value, rate and acceleration of the prescribed coordinates.

    ModelError if a function returns anything but three finite numbers.
    """
    tracked = system.coordinates
    try:
        motion = tracked.motions(time)
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"a prescribed motion returns no (value, rate, acceleration) at t = {time:.6g} s"
        ) from error
    if not np.isfinite(motion).all():
        bad = int(np.argmin(np.isfinite(motion).all(axis=1)))
        joint = system.joint_names[tracked.joint[tracked.prescribed[bad]]]
        raise ModelError(
            f"the motion prescribed to joint {joint!r} is {motion[bad]} at t = {time:.6g} s; "
            "every number must be finite"
        )
    return motion
