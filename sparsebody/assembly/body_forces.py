"""Forces on the bodies: gravity, velocity products, springs, dampers, actuators, loads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.point_forces import add_point_forces
from sparsebody.errors import ModelError
from sparsebody.kinematics.coordinates import CoordinateMotion
from sparsebody.kinematics.motion import JointMotion, body_rotations
from sparsebody.model.system import State, System
from sparsebody.model.time_functions import TimeFunction


def bias_forces(system: System, velocity: FloatArray) -> FloatArray:
    """Return the velocity-product force of every body, p = v x* (I v).

    Parameters
    ----------
    system : System
        Inertias diag(I_c, m 1) in body coordinates.
    velocity : (n_bodies, 6) float array
        Spatial velocities in body coordinates, angular part first [rad/s, m/s].

    Returns
    -------
    (n_bodies, 6) float array
        Bias forces in body coordinates, moment first [N m, N].

    References
    ----------
    Featherstone (2008), eq. (2.32) for x*.
    """
    force = np.empty_like(velocity)
    _bias_forces(system.inertia, system.mass, velocity, force)
    return force


@njit(cache=True)
def _bias_forces(
    inertia: FloatArray, mass: FloatArray, velocity: FloatArray, force: FloatArray
) -> None:
    momentum = np.empty(3)
    for i in range(velocity.shape[0]):
        w, u = velocity[i, :3], velocity[i, 3:]  # u x m u = 0 at the center of mass
        for a in range(3):
            momentum[a] = (
                inertia[i, a, 0] * w[0] + inertia[i, a, 1] * w[1] + inertia[i, a, 2] * w[2]
            )
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            force[i, a] = w[b] * momentum[c] - w[c] * momentum[b]
            force[i, a + 3] = mass[i] * (w[b] * u[c] - w[c] * u[b])


def applied_forces(
    system: System, state: State, motion: JointMotion, coordinates: CoordinateMotion
) -> FloatArray:
    """Return P T_a tau + f_x (n_bodies, 6) in body coordinates: all that the model prescribes.

    Gravity, external forces, and the springs, dampers and efforts on joints and between points.
    """
    force = model_loads(system, state, motion, coordinates)
    rotation = body_rotations(state)
    force[:, 3:] += system.mass[:, None] * np.einsum("nij,i->nj", rotation, system.gravity)
    return force


def model_loads(
    system: System, state: State, motion: JointMotion, coordinates: CoordinateMotion
) -> FloatArray:
    """Return the same without gravity."""
    force = np.zeros((system.n_bodies, 6))
    if len(system.external_forces.body):
        _add_external_forces(system, body_rotations(state), force)
    if len(system.joint_forces.item):
        _add_joint_forces(system, state, motion, coordinates, force)
    if len(system.point_forces.first):
        names = system.point_forces.names
        effort = _efforts(
            system.point_forces.effort, state.time, lambda k: f"point force {names[k]!r}"
        )
        add_point_forces(system, state, body_rotations(state), effort, force)
    return force


def _add_external_forces(system: System, rotation: FloatArray, force: FloatArray) -> None:
    loads = system.external_forces
    turned = rotation[loads.body]
    moment, push = (
        np.where(
            loads.in_world[:, None], np.einsum("nij,ni->nj", turned, loads.wrench[:, part]), given
        )
        for part, given in ((slice(0, 3), loads.wrench[:, :3]), (slice(3, 6), loads.wrench[:, 3:]))
    )
    wrench = np.concatenate([moment + np.cross(loads.point, push), push], axis=1)
    np.add.at(force, loads.body, wrench)


def _efforts(
    functions: Sequence[TimeFunction], time: float, who: Callable[[int], str]
) -> FloatArray:
    """Values of the time functions; `who` names the k-th force in an error."""
    efforts = np.array([function(time)[0] for function in functions])
    if not np.isfinite(efforts).all():
        bad = int(np.argmin(np.isfinite(efforts)))
        raise ModelError(
            f"the effort of {who(bad)} is {efforts[bad]} at t = {time:.6g} s; it must be finite"
        )
    return efforts


def joint_force_values(system: System, state: State, coordinates: CoordinateMotion) -> FloatArray:
    """Return tau (n_joint_forces,) of springs, dampers and efforts on joint coordinates."""
    springs = system.joint_forces
    q, qd = coordinates.value[springs.item], coordinates.rate[springs.item]
    joint = system.coordinates.joint[springs.item]
    effort = _efforts(
        springs.effort, state.time, lambda k: f"a force on joint {system.joint_names[joint[k]]!r}"
    )
    return np.asarray(effort - springs.stiffness * (q - springs.rest) - springs.damping * qd)


def add_joint_wrenches(
    system: System,
    motion: JointMotion,
    joint: IntArray,
    wrench: FloatArray,
    force: FloatArray,
) -> None:
    """Add wrenches (n, 6) in S of the given joints to the successors, their opposites to the rest.

    `force` (n_bodies, 6) is in body coordinates.
    """
    _add_joint_wrenches(
        joint,
        system.predecessor,
        system.successor,
        system.successor_rotation,
        system.successor_point,
        motion.to_successor,
        motion.arm,
        wrench,
        force,
    )


@njit(cache=True)
def _add_joint_wrenches(
    joint: IntArray,
    predecessor: IntArray,
    successor: IntArray,
    successor_rotation: FloatArray,
    successor_point: FloatArray,
    to_successor: FloatArray,
    arm: FloatArray,
    wrench: FloatArray,
    force: FloatArray,
) -> None:
    n, f = np.empty(3), np.empty(3)
    for k in range(joint.size):
        j = joint[k]
        for side in range(2):
            body = successor[j] if side == 1 else predecessor[j]
            if body < 0:
                continue
            R = successor_rotation[j] if side == 1 else to_successor[j].T
            point = successor_point[j] if side == 1 else arm[j]
            sign = 1.0 if side == 1 else -1.0
            for a in range(3):
                n[a] = R[a, 0] * wrench[k, 0] + R[a, 1] * wrench[k, 1] + R[a, 2] * wrench[k, 2]
                f[a] = R[a, 0] * wrench[k, 3] + R[a, 1] * wrench[k, 4] + R[a, 2] * wrench[k, 5]
            for a in range(3):
                b, c = (a + 1) % 3, (a + 2) % 3
                force[body, a] += sign * (n[a] + point[b] * f[c] - point[c] * f[b])
                force[body, a + 3] += sign * f[a]


def _add_joint_forces(
    system: System,
    state: State,
    motion: JointMotion,
    coordinates: CoordinateMotion,
    force: FloatArray,
) -> None:
    item = system.joint_forces.item
    tau = joint_force_values(system, state, coordinates)
    wrench = coordinates.dual[item] * tau[:, None]
    add_joint_wrenches(system, motion, system.coordinates.joint[item], wrench, force)
