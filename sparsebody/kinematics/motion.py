"""Relative motion at every joint, from the poses and velocities of the bodies."""

from __future__ import annotations

from dataclasses import dataclass

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

    @property
    def on_bodies(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """X_p (rotation and arm), v_J and v_p, as kernels take them."""
        return self.to_successor, self.arm, self.velocity, self.predecessor_velocity


def body_rotations(state: State) -> FloatArray:
    """Return (n_bodies, 3, 3) rotations from body to world axes."""
    return model.rotations(state.orientation)


def joint_poses(
    system: System, motion: JointMotion
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return kinds, E, r and parameters of the joints, as kernels take them."""
    return system.joint_kind, motion.rotation, motion.translation, system.parameter


def coordinate_poses(
    system: System, motion: JointMotion
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return the same with the types that state the coordinates, of compliant joints too."""
    kind, parameter = system.coordinate_types
    return kind, motion.rotation, motion.translation, parameter


def joint_motion(system: System, state: State, threads: int = 1) -> JointMotion:
    """Return the relative motion at every joint.

    Featherstone (2008), (8.24) for X_SP and (8.7) for v_J; positions enter only as differences
    between neighbours, so that nothing is lost far from the world's origin.
    """
    return JointMotion(
        *model.joint_motions(
            system.joint_frames, (state.position, state.orientation, state.velocity), threads
        )
    )
