"""Bias forces of the bodies, wrenches of joints on them, and forces of elastic elements."""

from dataclasses import dataclass

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.kinematics.joint_motion import JointMotion
from sparsebody.model.system import State, System, body_arrays


def bias_forces(system: System, velocity: FloatArray) -> FloatArray:
    """Return p = v x* (I v) (n_bodies, 6), moment first [N m, N], for v angular first [rad/s, m/s].

    All in body coordinates, with I = diag(I_c, m 1). Featherstone (2008), eq. (2.32) for x*.
    """
    return model.bias_forces(system.inertia, system.mass, velocity)


def add_joint_wrenches(
    system: System, motion: JointMotion, joint: IntArray, wrench: FloatArray, force: FloatArray
) -> None:
    """Add wrenches (n, 6) in S of joints to their successors, the opposites to their predecessors.

    `force` (n_bodies, 6) is in body coordinates.
    """
    model.add_joint_wrenches(joint, system.joint_frames, motion.on_bodies, wrench, force)


@dataclass(frozen=True, eq=False)
class ElasticMotion:
    """Deformations z of compliant joints, bushings and beams, and the forces z + D dz/dt."""

    value: FloatArray  # (n, 6) z [sqrt(J)], zero beyond the rows of an element
    rate: FloatArray  # (n, 6) dz/dt
    force: FloatArray  # (n, 6) z + D dz/dt
    rows: FloatArray  # (n, 6, 2, 6) dz/dt per velocity of predecessor and successor


def elastic_motion(system: System, state: State) -> ElasticMotion:
    """Return the deformations of elastic elements, their rates, and forces against them."""
    value, rate, rows = model.elastic_motion(system.elastic.arrays, body_arrays(system, state))
    damping = np.einsum("nij,nj->ni", system.elastic.damping, rate)
    return ElasticMotion(value, rate, value + damping, rows)
