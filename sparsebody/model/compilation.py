"""Mechanism -> System: from names and user frames to flat arrays in body coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.model.bodies import RigidBody
from sparsebody.model.forces import ExternalForce, JointForce, PointForce
from sparsebody.model.frames import Frame
from sparsebody.model.joints import JOINT_TYPES
from sparsebody.model.mechanism import WORLD, Joint, Mechanism
from sparsebody.model.system import (
    ExternalForces,
    JointForces,
    JointGroup,
    PointForces,
    State,
    System,
    TrackedCoordinates,
)


def compile_mechanism(mechanism: Mechanism) -> System:
    """Return the System of a mechanism; `Mechanism.compile` is its public name."""
    bodies = list(mechanism.bodies.values())
    joints = list(mechanism.joints.values())
    if not bodies:
        raise ModelError(f"mechanism {mechanism.name!r} has no body; add one with add_body")
    index = {WORLD: -1} | {body.name: i for i, body in enumerate(bodies)}
    center = _stack([body.center_of_mass for body in bodies], 3)
    ends = np.array(
        [(index[joint.predecessor], index[joint.successor]) for joint in joints], dtype=np.intp
    ).reshape(-1, 2)
    first_row = np.concatenate(
        [[0], np.cumsum([joint.n_constraints for joint in joints], dtype=np.intp)]
    ).astype(np.intp)
    forces = list(mechanism.forces.values())
    joint_forces = [force for force in forces if isinstance(force, JointForce)]
    coordinates, item = _tracked_coordinates(joints, first_row, joint_forces)
    frames = [
        _frames([joint.predecessor_frame for joint in joints], ends[:, 0], center),
        _frames([joint.successor_frame for joint in joints], ends[:, 1], center),
    ]
    return System(
        name=mechanism.name,
        gravity=np.asarray(mechanism.gravity),
        body_names=tuple(body.name for body in bodies),
        mass=np.array([body.mass for body in bodies]),
        inertia=np.array([body.inertia for body in bodies]).reshape(-1, 3, 3),
        center_of_mass=center,
        freedoms=np.full(len(bodies), 6, dtype=np.intp),
        joint_names=tuple(joint.name for joint in joints),
        joint_types=tuple(joint.type for joint in joints),
        predecessor=ends[:, 0].copy(),
        successor=ends[:, 1].copy(),
        predecessor_rotation=frames[0][0],
        predecessor_point=frames[0][1],
        successor_rotation=frames[1][0],
        successor_point=frames[1][1],
        parameter=np.array([joint.type.parameter for joint in joints], dtype=float),
        first_row=first_row,
        subspace=_constant_subspaces(joints, first_row),
        groups=_groups(joints, coordinates),
        coordinates=coordinates,
        joint_forces=_joint_forces(joint_forces, item),
        point_forces=_point_forces(
            [force for force in forces if isinstance(force, PointForce)], index, center
        ),
        external_forces=_external_forces(
            [force for force in forces if isinstance(force, ExternalForce)], index, center
        ),
        initial_state=_initial_state(bodies, len(coordinates.joint)),
    )


def _stack(values: Sequence[Any], size: int) -> FloatArray:
    return np.array(values, dtype=float).reshape(-1, size)


def _initial_state(bodies: list[RigidBody], n_coordinates: int) -> State:
    """Poses and velocities of the centers of mass, from those of the user's frames."""
    rotation = np.array([body.rotation for body in bodies])
    arm = np.einsum("nij,nj->ni", rotation, _stack([body.center_of_mass for body in bodies], 3))
    angular = _stack([body.angular_velocity for body in bodies], 3)
    linear = _stack([body.linear_velocity for body in bodies], 3) + np.cross(angular, arm)
    velocity = np.concatenate(
        [np.einsum("nij,ni->nj", rotation, angular), np.einsum("nij,ni->nj", rotation, linear)],
        axis=1,
    )
    return State(
        position=_stack([body.position for body in bodies], 3) + arm,
        orientation=_stack([body.unit_quaternion for body in bodies], 4),
        velocity=velocity,
        coordinate=np.zeros(n_coordinates),
    )


def _frames(
    frames: list[Frame], body: IntArray, center: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Rotations, and origins seen from the centers of mass."""
    rotation = np.array([frame.rotation for frame in frames]).reshape(-1, 3, 3)
    origin = _stack([frame.origin for frame in frames], 3)
    return rotation, origin - np.where((body >= 0)[:, None], center[body], 0.0)


def _tracked_coordinates(
    joints: list[Joint], first_row: IntArray, forces: list[JointForce]
) -> tuple[TrackedCoordinates, dict[tuple[str, int], int]]:
    """Number the coordinates in use; the rows of prescribed ones follow those of T."""
    place = {joint.name: j for j, joint in enumerate(joints)}
    forced = {(place[force.joint], force.coordinate) for force in forces}
    given = {(j, i) for j, joint in enumerate(joints) for i in joint.prescribed}
    used = sorted(forced | given)
    row = [
        first_row[j] + joints[j].type.n_constraints + list(joints[j].prescribed).index(i)
        if (j, i) in given
        else -1
        for j, i in used
    ]
    coordinates = TrackedCoordinates(
        joint=np.array([j for j, _ in used], dtype=np.intp),
        index=np.array([i for _, i in used], dtype=np.intp),
        is_angle=np.array([i in joints[j].type.angles for j, i in used], dtype=bool),
        row=np.array(row, dtype=np.intp),
        motion=tuple(joints[j].prescribed.get(i) for j, i in used),
    )
    return coordinates, {(joints[j].name, i): item for item, (j, i) in enumerate(used)}


def _constant_subspaces(joints: list[Joint], first_row: IntArray) -> FloatArray:
    """T' of the types whose T does not vary in S; the rows of other types are filled later."""
    subspace = np.zeros((int(first_row[-1]), 6))
    cache: dict[Any, FloatArray] = {}
    for joint, row in zip(joints, first_row[:-1], strict=True):
        if joint.type.kernels.subspace is not None or joint.type.n_constraints == 0:
            continue
        if joint.type not in cache:
            zero = joint.type.coordinates(np.eye(3), np.zeros(3))
            cache[joint.type] = joint.type.constraint_force_subspace(zero).T
        subspace[row : row + joint.type.n_constraints] = cache[joint.type]
    return subspace


def _groups(joints: list[Joint], coordinates: TrackedCoordinates) -> tuple[JointGroup, ...]:
    groups = []
    for name, joint_type in JOINT_TYPES.items():
        members = [j for j, joint in enumerate(joints) if joint.type.name == name]
        if members:
            items = np.flatnonzero(np.isin(coordinates.joint, members))
            groups.append(
                JointGroup(name, joint_type.kernels, np.array(members, dtype=np.intp), items)
            )
    return tuple(groups)


def _joint_forces(forces: list[JointForce], item: dict[tuple[str, int], int]) -> JointForces:
    return JointForces(
        item=np.array([item[force.joint, force.coordinate] for force in forces], dtype=np.intp),
        stiffness=np.array([force.stiffness for force in forces], dtype=float),
        rest=np.array([force.rest for force in forces], dtype=float),
        damping=np.array([force.damping for force in forces], dtype=float),
        effort=tuple(force.effort for force in forces),  # type: ignore[misc]
    )


def _point_forces(
    forces: list[PointForce], index: dict[str, int], center: FloatArray
) -> PointForces:
    first = np.array([index[force.first] for force in forces], dtype=np.intp)
    second = np.array([index[force.second] for force in forces], dtype=np.intp)
    return PointForces(
        first=first,
        second=second,
        first_point=_from_center([force.first_point for force in forces], first, center),
        second_point=_from_center([force.second_point for force in forces], second, center),
        stiffness=np.array([force.stiffness for force in forces], dtype=float),
        rest_length=np.array([force.rest_length for force in forces], dtype=float),
        damping=np.array([force.damping for force in forces], dtype=float),
        effort=tuple(force.effort for force in forces),  # type: ignore[misc]
        names=tuple(force.name for force in forces),
    )


def _from_center(points: list[Any], body: IntArray, center: FloatArray) -> FloatArray:
    return _stack(points, 3) - np.where((body >= 0)[:, None], center[body], 0.0)


def _external_forces(
    forces: list[ExternalForce], index: dict[str, int], center: FloatArray
) -> ExternalForces:
    body = np.array([index[force.body] for force in forces], dtype=np.intp)
    point = [center[index[force.body]] if force.point is None else force.point for force in forces]
    wrench = [np.concatenate([force.moment, force.force]) for force in forces]
    return ExternalForces(
        body=body,
        wrench=_stack(wrench, 6),
        point=_stack(point, 3) - center[body],
        in_world=np.array([force.axes == "world" for force in forces], dtype=bool),
    )
