"""Relative motion at every joint, from the poses and velocities of the bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from sparsebody._core import model
from sparsebody.arrays import FloatArray, IntArray
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


# still used by dynamics/compiled/varying.py
@njit(cache=True, inline="always")
def rotation_matrix(quaternion: FloatArray, R: FloatArray) -> None:
    """Fill R (3, 3), body to world, from a unit quaternion (w, x, y, z)."""
    w, x, y, z = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    R[0, 0] = 1.0 - 2.0 * (y * y + z * z)
    R[0, 1] = 2.0 * (x * y - w * z)
    R[0, 2] = 2.0 * (x * z + w * y)
    R[1, 0] = 2.0 * (x * y + w * z)
    R[1, 1] = 1.0 - 2.0 * (x * x + z * z)
    R[1, 2] = 2.0 * (y * z - w * x)
    R[2, 0] = 2.0 * (x * z - w * y)
    R[2, 1] = 2.0 * (y * z + w * x)
    R[2, 2] = 1.0 - 2.0 * (x * x + y * y)


def body_rotations(state: State) -> FloatArray:
    """Return (n_bodies, 3, 3) rotations from body to world axes."""
    return model.rotations(state.orientation)


def joint_motion(system: System, state: State) -> JointMotion:
    """Return the relative motion at every joint.

    Featherstone (2008), (8.24) for X_SP and (8.7) for v_J; positions enter only as differences
    between neighbours, so that nothing is lost far from the world's origin.
    """
    return JointMotion(
        *model.joint_motions(
            *system.joint_frames, state.position, state.orientation, state.velocity
        )
    )


# still used by dynamics/compiled/varying.py, dynamics/tree/coordinates.py
@njit(cache=True)
def fill_joint_motion(
    predecessor: IntArray,
    successor: IntArray,
    predecessor_rotation: FloatArray,
    predecessor_point: FloatArray,
    successor_rotation: FloatArray,
    successor_point: FloatArray,
    position: FloatArray,
    rotation: FloatArray,
    velocity: FloatArray,
    E: FloatArray,
    r: FloatArray,
    to_successor: FloatArray,
    arm: FloatArray,
    joint_velocity: FloatArray,
    predecessor_velocity: FloatArray,
) -> None:
    """Fill the arrays of a JointMotion; poses and velocities of bodies, -1 for the world."""
    one, zero = np.zeros((3, 3)), np.zeros(6)
    one[0, 0] = one[1, 1] = one[2, 2] = 1.0
    world_S, between = np.empty((3, 3)), np.empty(3)
    for j in range(predecessor.size):
        p, s = predecessor[j], successor[j]
        R_p = rotation[p] if p >= 0 else one
        R_s = rotation[s] if s >= 0 else one
        v_p = velocity[p] if p >= 0 else zero
        v_s = velocity[s] if s >= 0 else zero
        for a in range(3):
            between[a] = 0.0
            if s >= 0:
                between[a] += position[s, a]
            if p >= 0:
                between[a] -= position[p, a]
            for b in range(3):
                between[a] += R_s[a, b] * successor_point[j, b]
                total = 0.0
                for c in range(3):
                    total += R_s[a, c] * successor_rotation[j, c, b]
                world_S[a, b] = total  # S to world axes
        for a in range(3):
            arm[j, a] = R_p[0, a] * between[0] + R_p[1, a] * between[1] + R_p[2, a] * between[2]
            for b in range(3):
                total = 0.0
                for c in range(3):
                    total += world_S[c, a] * R_p[c, b]
                to_successor[j, a, b] = total
        G = to_successor[j]
        for a in range(3):
            total = 0.0
            for b in range(3):
                total += predecessor_rotation[j, b, a] * (arm[j, b] - predecessor_point[j, b])
            r[j, a] = total
            for b in range(3):
                total = 0.0
                for c in range(3):
                    total += G[a, c] * predecessor_rotation[j, c, b]
                E[j, a, b] = total
        for a in range(3):  # v_p and v_s at the origin of S
            angular, linear, of_s, lin_s = 0.0, 0.0, 0.0, 0.0
            for b in range(3):
                c, d = (b + 1) % 3, (b + 2) % 3
                at_p = v_p[3 + b] + v_p[c] * arm[j, d] - v_p[d] * arm[j, c]
                at_s = v_s[3 + b] + v_s[c] * successor_point[j, d] - v_s[d] * successor_point[j, c]
                angular += G[a, b] * v_p[b]
                linear += G[a, b] * at_p
                of_s += successor_rotation[j, b, a] * v_s[b]
                lin_s += successor_rotation[j, b, a] * at_s
            predecessor_velocity[j, a], predecessor_velocity[j, a + 3] = angular, linear
            joint_velocity[j, a], joint_velocity[j, a + 3] = of_s - angular, lin_s - linear
