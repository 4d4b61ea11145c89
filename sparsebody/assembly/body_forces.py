"""Forces on the bodies: gravity, loads, springs, dampers and efforts, elastic elements."""

from dataclasses import dataclass

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.kinematics.joint_motion import CoordinateMotion, JointMotion, body_rotations
from sparsebody.model.system import State, System, body_arrays


def bias_forces(system: System, velocity: FloatArray) -> FloatArray:
    """Return p = v x* (I v) (n_bodies, 6), moment first [N m, N], for v angular first [rad/s, m/s].

    All in body coordinates, with I = diag(I_c, m 1). Featherstone (2008), eq. (2.32) for x*.
    """
    return model.bias_forces(system.inertia, system.mass, velocity)


def applied_forces(
    system: System, state: State, motion: JointMotion, coordinates: CoordinateMotion
) -> FloatArray:
    """Return P T_a tau + f_x (n_bodies, 6) in body coordinates, all forces of the model.

    Gravity, external forces, and the springs, dampers and efforts on joints and between points.
    """
    force = model_loads(system, state, motion, coordinates)
    rotation = body_rotations(state)
    force[:, 3:] += system.mass[:, None] * np.einsum("nij,i->nj", rotation, system.gravity)
    return force


def model_loads(
    system: System, state: State, motion: JointMotion, coordinates: CoordinateMotion
) -> FloatArray:
    """Return the forces of the model except gravity, (n_bodies, 6) in body coordinates.

    Raises ModelError if the points of a point force coincide, or an effort is not finite.
    """
    force, rotation = np.zeros((system.n_bodies, 6)), body_rotations(state)
    loads, springs, lines = system.external_forces, system.joint_forces, system.point_forces
    if len(loads.body):
        parts = loads.wrench.reshape(-1, 2, 3)  # moments and forces
        in_body = np.einsum("nij,npi->npj", rotation[loads.body], parts)
        wrench = np.where(loads.in_world[:, None, None], in_body, parts)
        wrench[:, 0] += np.cross(loads.point, wrench[:, 1])
        np.add.at(force, loads.body, wrench.reshape(-1, 6))
    if len(springs.item):  # tau = u - k (q - q_0) - d qd
        q, qd = coordinates.value[springs.item], coordinates.rate[springs.item]
        effort = springs.efforts(state.time)
        tau = effort - springs.stiffness * (q - springs.rest) - springs.damping * qd
        wrench = coordinates.active_force[springs.item] * tau[:, None]
        add_joint_wrenches(system, motion, system.coordinates.joint[springs.item], wrench, force)
    if len(lines.first):
        arguments = lines.springs, lines.efforts(state.time), body_arrays(system, state)
        lines.check_directions(model.add_point_forces(*arguments, force))
    if len(system.elastic):
        stretch, elastic = elastic_motion(system, state), system.elastic
        on_sides = -np.einsum("ni,nisa->sna", stretch.force, stretch.rows)
        for body, of_side in zip((elastic.predecessor, elastic.successor), on_sides, strict=True):
            np.add.at(force, body[body >= 0], of_side[body >= 0])
    return force


def add_joint_wrenches(
    system: System, motion: JointMotion, joint: IntArray, wrench: FloatArray, force: FloatArray
) -> None:
    """Add wrenches (n, 6) in S of joints to their successors, the opposites to their predecessors.

    `force` (n_bodies, 6) is in body coordinates.
    """
    model.add_joint_wrenches(joint, system.joint_frames, motion.on_bodies, wrench, force)


@dataclass(frozen=True, eq=False)
class ElasticMotion:
    """Stretches z of compliant joints, bushings and beams, and the forces z + D dz/dt on them."""

    value: FloatArray  # (n, 6) z [sqrt(J)], zero beyond the rows of an element
    rate: FloatArray  # (n, 6) dz/dt
    force: FloatArray  # (n, 6) z + D dz/dt
    rows: FloatArray  # (n, 6, 2, 6) dz/dt per velocity of predecessor and successor

    @property
    def energy(self) -> float:
        """The sum of z'z / 2 [J]."""
        return 0.5 * float(np.sum(self.value**2))


def elastic_motion(system: System, state: State) -> ElasticMotion:
    """Return what elastic elements are stretched by, and what they resist with."""
    value, rate, rows = model.elastic_motion(system.elastic.arrays, body_arrays(system, state))
    damping = np.einsum("nij,nj->ni", system.elastic.damping, rate)
    return ElasticMotion(value, rate, value + damping, rows)
