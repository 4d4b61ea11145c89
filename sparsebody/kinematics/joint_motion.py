"""Relative motion at the joints, tracked coordinates, displaced states, motion of points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sparsebody import errors
from sparsebody._core import joints, model
from sparsebody.arrays import ArrayLike, FloatArray, IntArray
from sparsebody.model.system import State, System, body_arrays
from sparsebody.spatial import rotation_from_quaternion


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

    def coordinates(
        self, system: System, joint: IntArray, index: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return values (n,), T_a (n, 6) and (dT_a/dt)' v_J (n,) of declared coordinates."""
        kind, parameter = system.coordinate_types
        poses = kind, self.rotation, self.translation, parameter
        return joints.coordinate_motions(joint, index, poses, self.velocity)


def body_rotations(state: State) -> FloatArray:
    """Return (n_bodies, 3, 3) rotations from body to world axes."""
    return model.rotations(state.orientation)


def joint_frames(system: System, state: State) -> tuple[tuple[FloatArray, FloatArray], ...]:
    """Return axes (n_joints, 3, 3) and origins (n_joints, 3) of P, and of S, in the world [m]."""
    R = np.concatenate([body_rotations(state), np.eye(3)[None]])
    center = np.concatenate([state.position, np.zeros((1, 3))])
    sides = (
        (system.predecessor, system.predecessor_rotation, system.predecessor_point),
        (system.successor, system.successor_rotation, system.successor_point),
    )
    return tuple(
        (R[body] @ rotation, center[body] + np.einsum("nij,nj->ni", R[body], point))
        for body, rotation, point in sides
    )


def joint_motion(system: System, state: State, threads: int = 1) -> JointMotion:
    """Return the relative motion at every joint. Featherstone (2008), (8.24) and (8.7).

    Positions enter only as differences between neighbours: nothing is lost far from the origin.
    """
    bodies = body_arrays(system, state)
    return JointMotion(*model.joint_motions(system.joint_frames, bodies, threads))


@dataclass(frozen=True, eq=False)
class CoordinateMotion:
    """Values and rates of the tracked coordinates, and T_a with qd = T_a' v_J and f = T_a tau."""

    value: FloatArray  # (n,) [rad] or [m]
    rate: FloatArray  # (n,)
    active_force: FloatArray  # (n, 6) T_a in S coordinates
    drift: FloatArray  # (n,) (dT_a/dt)' v_J


def coordinate_motion(system: System, state: State, motion: JointMotion) -> CoordinateMotion:
    """Return the motion of the tracked coordinates; angles continue those of the state."""
    tracked = system.coordinates
    value, active_force, drift = motion.coordinates(system, tracked.joint, tracked.index)
    turn = 2.0 * math.pi
    unwrapped = value + turn * np.round((state.coordinate - value) / turn)
    rate = np.einsum("na,na->n", active_force, motion.velocity[tracked.joint])
    return CoordinateMotion(np.where(tracked.is_angle, unwrapped, value), rate, active_force, drift)


def prescribed_motion(system: System, time: float) -> FloatArray:
    """Return (n_prescribed, 3): value, rate and acceleration of the prescribed coordinates.

    Raises the errors of `prescribed_motions`.
    """
    return prescribed_motions(system, [time])[0]


def prescribed_motions(system: System, times: Sequence[float]) -> FloatArray:
    """Return (k, n_prescribed, 3): value, rate and acceleration at k times.

    ModelError for the first one at which a function returns no three finite numbers.
    """
    tracked = system.coordinates
    motion = np.zeros((len(times), len(tracked.prescribed), 3))
    for of_time, time in zip(motion, times, strict=True):
        try:
            tracked.motions.fill(time, of_time)
        except (TypeError, ValueError) as error:
            raise errors.ModelError(
                f"a prescribed motion returns no (value, rate, acceleration) at t = {time:.6g} s"
            ) from error
    is_finite = np.isfinite(motion)
    if not is_finite.all():
        k, bad, _ = np.argwhere(~is_finite)[0]
        joint = system.joint_names[tracked.joint[tracked.prescribed[bad]]]
        raise errors.ModelError(
            f"the motion prescribed to joint {joint!r} is {motion[k, bad]} at "
            f"t = {times[k]:.6g} s; every number must be finite"
        )
    return motion


# ---- bodies and points --------------------------------------------------------------------------


def displaced(state: State, twist: FloatArray) -> State:
    """Return the state with every body moved by a small twist in body coordinates.

    x += R u and q <- q exp(w), with the twist (w, u) (n_bodies, 6) and R of `state`.
    """
    position, orientation = model.displaced(state.position, state.orientation, twist)
    return State(position, orientation, state.velocity, state.coordinate, state.time)


def joint_positions(system: System, state: State) -> dict[str, FloatArray]:
    """Return the position coordinates of every joint by name, as its type documents them.

    Angles are in (-pi, pi], at loop joints too; those of an open joint are of its nearest closed
    pose.
    """
    motion = joint_motion(system, state)
    parts = system.joint_names, system.joint_types, motion.rotation, motion.translation
    return {name: kind.coordinates(E, r) for name, kind, E, r in zip(*parts, strict=True)}


def joint_velocities(system: System, state: State) -> dict[str, FloatArray]:
    """Return the velocity coordinates T_a' v_J of every joint by name [rad/s, m/s]."""
    motion = joint_motion(system, state)
    poses = motion.rotation, motion.translation
    parts = system.joint_names, system.joint_types, *poses, motion.velocity
    return {
        name: kind.active_force_subspace(kind.coordinates(E, r)).T @ v
        for name, kind, E, r, v in zip(*parts, strict=True)
    }


class BodyMotion(Protocol):
    """A State, or a Trajectory, whose arrays begin with an axis of records."""

    @property
    def position(self) -> FloatArray:
        """(..., n_bodies, 3)."""

    @property
    def orientation(self) -> FloatArray:
        """(..., n_bodies, 4)."""

    @property
    def velocity(self) -> FloatArray:
        """(..., n_bodies, 6)."""


def world_wrenches(system: System, motion: BodyMotion, joint_wrench: FloatArray) -> FloatArray:
    """Return joint wrenches (..., n_joints, 6) on successors in world axes, moment first [N m, N].

    About the origins of the successors' joint frames, at a state or all records of a trajectory;
    `joint_wrench` is that of `Accelerations`, or the trajectory's.
    """
    R = rotation_from_quaternion(motion.orientation)
    world = np.broadcast_to(np.eye(3), (*R.shape[:-3], 1, 3, 3))
    turn = np.concatenate([R, world], axis=-3)[..., system.successor, :, :]
    parts = joint_wrench.reshape(*joint_wrench.shape[:-1], 2, 3)
    of_world = np.einsum("...nab,nbc,...nkc->...nka", turn, system.successor_rotation, parts)
    return np.asarray(of_world.reshape(joint_wrench.shape))


def point_position(system: System, motion: BodyMotion, body: str, point: ArrayLike) -> FloatArray:
    """Return the world position (3,) of a point in the user's frame of a body [m].

    For a trajectory it is a path (n_records, 3).
    """
    i, arm = _arm(system, body, point)
    R = rotation_from_quaternion(motion.orientation[..., i, :])
    return np.asarray(motion.position[..., i, :] + R @ arm)


def point_velocity(system: System, motion: BodyMotion, body: str, point: ArrayLike) -> FloatArray:
    """Return the world velocity (3,), or (n_records, 3), of a point, as of `point_position`."""
    i, arm = _arm(system, body, point)
    R = rotation_from_quaternion(motion.orientation[..., i, :])
    w, u = np.split(motion.velocity[..., i, :], 2, axis=-1)
    return np.asarray(np.einsum("...ab,...b->...a", R, u + np.cross(w, arm)))


def linear_accelerations(state: State, acceleration: FloatArray) -> FloatArray:
    """Return (n_bodies, 3) accelerations of the centers of mass in the world [m/s^2].

    The spatial acceleration holds du/dt as the turning body sees it; the classical one is
    R (du/dt + w x u). Featherstone (2008), sec. 2.11.
    """
    w, u = state.velocity[:, :3], state.velocity[:, 3:]
    local = acceleration[:, 3:] + np.cross(w, u)
    return np.asarray(np.einsum("nij,nj->ni", body_rotations(state), local))


def _arm(system: System, body: str, point: ArrayLike) -> tuple[int, FloatArray]:
    """Return the index of a body, and a point of its user's frame from the center of mass."""
    i = system.body(body)
    return i, np.asarray(point, dtype=float) - system.center_of_mass[i]
