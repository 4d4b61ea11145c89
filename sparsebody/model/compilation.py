"""Mechanism -> System: from names and user frames to flat arrays in body coordinates."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray, Int32Array, IntArray, NDArray
from sparsebody.errors import ModelError
from sparsebody.model import elasticity, rigid_clusters, system
from sparsebody.model.bodies import BodyColumns, Frames, rotations, unit_quaternions
from sparsebody.model.columns import distinct
from sparsebody.model.connections import JointColumns
from sparsebody.model.forces import Beam, Bushing, ExternalForce, JointForce, PointForce
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.names import Names

Matrices = tuple[FloatArray, FloatArray]  # B (m, 6 or less) and D (m, m) of an elastic element


def compile_mechanism(mechanism: Mechanism) -> system.System:
    """Return the System of a mechanism; `Mechanism.compile` is its public name."""
    if not mechanism.n_bodies:
        raise ModelError(f"mechanism {mechanism.name!r} has no body; add one with add_body")
    mechanism = rigid_clusters.with_regular_inertias(mechanism)
    (bodies, declared), forces = mechanism.columns(), mechanism.forces.values()
    body_names, joint_names = mechanism.body_names.snapshot(), mechanism.joint_names.snapshot()
    center = _plain(bodies.center_of_mass)  # as kernels read it

    def all_of(kind: Any) -> list[Any]:
        return [force for force in forces if isinstance(force, kind)]

    joint_forces = all_of(JointForce)
    joints, of_compliant = _split_joints(declared, joint_names)
    first_row = _first_rows(joints)
    coordinates, items = _tracked_coordinates(declared, joint_names, first_row, joint_forces)
    subspace_rows, subspace_index = _constant_subspaces(joints, first_row)
    return system.System(
        name=mechanism.name,
        gravity=np.asarray(mechanism.gravity),
        body_names=body_names,
        mass=_plain(bodies.mass),
        inertia=_plain(bodies.inertia),
        center_of_mass=center,
        joint_names=joint_names,
        joint_types=tuple(map(joints.types.__getitem__, joints.type_index.tolist())),
        joint_kind=_of_type(joints, [joint_type.kind for joint_type in joints.types], np.intp),
        **_joint_frames(
            (joints.predecessor, joints.successor),
            (joints.predecessor_frame, joints.successor_frame),
            center,
        ),
        parameter=_of_type(joints, [joint_type.parameter for joint_type in joints.types], float),
        first_row=first_row,
        subspace_rows=subspace_rows,
        subspace_index=subspace_index,
        coordinates=coordinates,
        joint_forces=system.JointForces(
            labels=tuple(f"a force on joint {force.joint!r}" for force in joint_forces),
            item=items,
            **_columns(joint_forces, "stiffness", "rest", "damping"),
        ),
        point_forces=_point_forces(all_of(PointForce), body_names, center),
        external_forces=_external_forces(all_of(ExternalForce), body_names, center),
        elastic=_elements(mechanism, of_compliant, center),
        initial_state=_initial_state(bodies, center, len(coordinates.joint)),
        shapes=bodies.shape,
    )


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as evaluations keep it, contiguous and writeable; a copy of any other."""
    return np.require(array, requirements=["C", "W"])


def _of_type(joints: JointColumns, values: Sequence[Any], dtype: type) -> Any:
    """(n_joints,) what each joint has by its type."""
    return np.array(values, dtype=dtype)[joints.type_index]


def _first_rows(joints: JointColumns) -> IntArray:
    n_rows = np.zeros(len(joints) + 1, dtype=np.intp)
    n_rows[1:] = _of_type(joints, [kind.n_constraints for kind in joints.types], np.intp)
    for j, motions in joints.prescribed.items():
        n_rows[j + 1] += len(motions)
    return np.cumsum(n_rows, out=n_rows)


def _initial_state(bodies: BodyColumns, center: FloatArray, n_coordinates: int) -> system.State:
    """Poses and velocities of the centers of mass, from those of the user's frames."""
    rotation = rotations(bodies.orientation)
    arm = np.einsum("nij,nj->ni", rotation, center)
    velocity = np.zeros((len(bodies), 6))
    angular, linear = bodies.angular_velocity, bodies.linear_velocity
    if distinct(angular).any() or distinct(linear).any():
        np.einsum("nij,ni->nj", rotation, angular, out=velocity[:, :3])
        np.einsum("nij,ni->nj", rotation, linear + np.cross(angular, arm), out=velocity[:, 3:])
    return system.State(
        position=np.ascontiguousarray(bodies.position + arm),
        orientation=np.array(unit_quaternions(bodies.orientation), order="C"),
        velocity=velocity,
        coordinate=np.zeros(n_coordinates),
    )


# ---- joints ---------------------------------------------------------------------------------


def _joint_frames(
    bodies: Sequence[IntArray], frames: Sequence[Frames], center: FloatArray
) -> dict[str, Any]:
    """Return bodies and frames (rotation, point from the center of mass) by the names of fields."""
    columns: dict[str, Any] = {}
    for side, body, of_side in zip(("predecessor", "successor"), bodies, frames, strict=True):
        columns[side] = _plain(body)
        columns[f"{side}_rotation"] = _plain(of_side.rotations)
        columns[f"{side}_point"] = _from_center(of_side.origins, body, center)
    return columns


def _from_center(points: Any, body: IntArray, center: FloatArray) -> FloatArray:
    """(n, 3) points in the frames of bodies, or of the world (-1), from the centers of mass."""
    from_center = np.array(points, dtype=float, order="C").reshape(-1, 3)
    if center.any():
        from_center -= np.append(center, np.zeros((1, 3)), axis=0)[body]
    return from_center


def _tracked_coordinates(
    joints: JointColumns, names: Names, first_row: IntArray, forces: list[JointForce]
) -> tuple[system.TrackedCoordinates, IntArray]:
    """Return the coordinates in use, and which of them each force acts on.

    The rows of prescribed ones follow those of T.
    """
    forced = [(names.find(force.joint), force.coordinate) for force in forces]
    prescribed = {(j, i) for j, motions in joints.prescribed.items() for i in motions}
    used = sorted(prescribed.union(forced))
    row = [
        first_row[j] + joints.type_of(j).n_constraints + list(joints.prescribed[j]).index(i)
        if (j, i) in prescribed
        else -1
        for j, i in used
    ]
    coordinates = system.TrackedCoordinates(
        joint=np.array([j for j, _ in used], dtype=np.intp),
        index=np.array([i for _, i in used], dtype=np.intp),
        is_angle=np.array([i in joints.type_of(j).angles for j, i in used], dtype=bool),
        row=np.array(row, dtype=np.intp),
        motion=tuple(joints.prescribed.get(j, {}).get(i) for j, i in used),
    )
    item = {pair: k for k, pair in enumerate(used)}
    return coordinates, np.array([item[pair] for pair in forced], dtype=np.intp)


def _constant_subspaces(joints: JointColumns, first_row: IntArray) -> tuple[FloatArray, Int32Array]:
    """Return the rows of T' that are constant in S, and which of them each constraint row is."""
    nothing = np.zeros((1, 6))  # of prescribed coordinates
    rows = [kind.neutral_rows * (not kind.has_varying_T) for kind in joints.types]
    subspaces = [nothing, *rows]
    start = np.cumsum([len(rows) for rows in subspaces])[:-1]
    first = start[joints.type_index] - first_row[:-1]
    index = np.repeat(first.astype(np.int32), np.diff(first_row))
    index += np.arange(len(index), dtype=np.int32)
    for j, motions in joints.prescribed.items():
        index[first_row[j + 1] - len(motions) : first_row[j + 1]] = 0
    return np.ascontiguousarray(np.concatenate(subspaces)), index


# ---- elastic elements -----------------------------------------------------------------------


def _split_joints(joints: JointColumns, names: Names) -> tuple[JointColumns, dict[int, Matrices]]:
    """Return the joints with their rigid rows alone, and B and D of the compliant ones."""
    is_any = distinct(joints.compliance).any()
    compliant = np.flatnonzero(joints.compliance.any(axis=(1, 2))).tolist() if is_any else []
    types, index = list(joints.types), np.array(joints.type_index)
    made: dict[Any, tuple[int, Matrices]] = {}
    matrices: dict[int, Matrices] = {}
    for j in compliant:
        declared = joints.compliance[j], joints.damping[j]
        key = int(joints.type_index[j]), *(matrix.tobytes() for matrix in declared)
        if key not in made:
            rigid, B, D = elasticity.split(f"joint {names[j]!r}", joints.type_of(j), *declared)
            if rigid not in types:
                types.append(rigid)
            made[key] = types.index(rigid), (B, D)
        index[j], matrices[j] = made[key]
    return replace(joints, types=tuple(types), type_index=index), matrices


def _elements(
    mechanism: Mechanism, of_joints: dict[int, Matrices], center: FloatArray
) -> elasticity.ElasticElements:
    """Return the compliant joints with their matrices, then bushings and beams, as elements."""
    joints, names = mechanism.columns()[1], mechanism.joint_names
    others = [force for force in mechanism.forces.values() if isinstance(force, Bushing | Beam)]
    compliant, matrices = np.array([*of_joints], dtype=np.intp), list(of_joints.values())
    for bushing in others:
        stiffness, viscosity = bushing.matrices
        B = elasticity.square_root(stiffness)
        inverse = np.linalg.pinv(B)  # e = B^+ z
        matrices.append((B, inverse.T @ viscosity @ inverse))
    n, types, none = len(others), [joints.type_of(j) for j in of_joints], np.zeros(6)
    bodies, frames = [], []
    for side in ("predecessor", "successor"):
        ends = mechanism.body_names.find_all(getattr(other, side) for other in others)
        bodies.append(np.append(getattr(joints, side)[compliant], ends))
        side += "_frame"
        on_others = Frames.of([getattr(other, side) for other in others])
        frames.append(Frames.joined([getattr(joints, side)[compliant], on_others]))
    root, damping = np.zeros((2, len(matrices), 6, 6))
    for k, (B, D) in enumerate(matrices):
        root[k, : len(B), : B.shape[1]], damping[k, : len(D), : len(D)] = B, D
    return elasticity.ElasticElements(
        names=(*(names[j] for j in of_joints), *(other.name for other in others)),
        joint=np.append(compliant, [-1] * n).astype(np.intp),
        **_joint_frames(bodies, frames, center),
        kind=np.array([*(kind.kind for kind in types), *[elasticity.LOGARITHM] * n], dtype=np.intp),
        parameter=np.array([*(kind.parameter for kind in types), *[0.0] * n]),
        n_rows=np.array([len(B) for B, _ in matrices], dtype=np.intp),
        rest=np.array([*[none] * len(types), *(other.rest for other in others)]).reshape(-1, 6),
        root=root,
        damping=damping,
    )


# ---- forces ---------------------------------------------------------------------------------


def _columns(forces: Sequence[Any], *names: str) -> dict[str, Any]:
    """Return constants of springs, dampers and actuators as columns, and their efforts."""
    columns = {name: np.array([getattr(f, name) for f in forces], dtype=float) for name in names}
    return {**columns, "effort": tuple(force.effort for force in forces)}


def _point_forces(forces: list[PointForce], names: Names, center: FloatArray) -> system.PointForces:
    first = names.find_all(force.first for force in forces)
    second = names.find_all(force.second for force in forces)
    return system.PointForces(
        first=first,
        second=second,
        first_point=_from_center([force.first_point for force in forces], first, center),
        second_point=_from_center([force.second_point for force in forces], second, center),
        labels=tuple(f"point force {force.name!r}" for force in forces),
        **_columns(forces, "stiffness", "rest_length", "damping"),
    )


def _external_forces(
    forces: list[ExternalForce], names: Names, center: FloatArray
) -> system.ExternalForces:
    body = names.find_all(force.body for force in forces)
    points = [
        center[i] if force.point is None else force.point
        for i, force in zip(body, forces, strict=True)
    ]
    wrenches = [np.concatenate([force.moment, force.force]) for force in forces]
    return system.ExternalForces(
        body=body,
        wrench=np.array(wrenches, dtype=float).reshape(-1, 6),
        point=_from_center(points, body, center),
        in_world=np.array([force.axes == "world" for force in forces], dtype=bool),
        names=tuple(force.name for force in forces),
    )
