"""Tracked joint coordinates: values with whole turns, rates, and their dual vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparsebody._core import joints
from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError
from sparsebody.kinematics.motion import JointMotion, coordinate_poses
from sparsebody.model.system import State, System


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

    Raises
    ------
    ModelError
        If a function returns anything but three finite numbers.
    """
    tracked = system.coordinates
    functions = [tracked.motion[item] for item in tracked.prescribed]
    values = [f(time) for f in functions if f is not None]
    try:
        motion = np.array(values, dtype=float).reshape(-1, 3)
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
