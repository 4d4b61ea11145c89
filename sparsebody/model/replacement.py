"""A mechanism with other joints in place of some of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.errors import ModelError
from sparsebody.model.connections import JointColumns
from sparsebody.model.forces import JointForce
from sparsebody.model.frames import Frames
from sparsebody.model.joints import JointType
from sparsebody.model.mechanism import Mechanism
from sparsebody.spatial import quaternion_from_rotation

Substitute = tuple[JointType, FloatArray]  # and the axes (3, 3) of its frames in the old ones


def with_replaced_joints(
    mechanism: Mechanism, substitutes: Mapping[str, Substitute | None]
) -> Mechanism:
    """Return a copy of a mechanism with some joints of another type, or without them.

    Parameters
    ----------
    mechanism : Mechanism
        It stays as it is.
    substitutes : mapping of joint names to (type, turn) or None
        The new type, and the axes of both new joint frames in the old ones, whose origins they
        keep; None takes the joint away.

    Raises
    ------
    ModelError
        For a joint that is not there, or one whose coordinates are in use by a drive or a force.
    """
    in_use = {f.joint for f in mechanism.forces.values() if isinstance(f, JointForce)}
    for name in substitutes:
        joint = mechanism.joint(name)
        if joint.compliance.any():
            raise ModelError(
                f"joint {name!r}: has a compliance on its rows, so it cannot be replaced; take "
                "that away first"
            )
        if joint.prescribed or name in in_use:
            raise ModelError(
                f"joint {name!r}: its coordinates are in use by a drive or a force, so it cannot "
                "be replaced; take these away first"
            )
    bodies, joints = mechanism.columns()
    copy = Mechanism(mechanism.name, mechanism.gravity)
    copy.add_bodies(
        list(mechanism.body_names), **{f.name: getattr(bodies, f.name) for f in fields(bodies)}
    )
    place = {mechanism.joint_names.find(name): new for name, new in substitutes.items()}
    keep = np.array([place.get(j, 0) is not None for j in range(len(joints))], dtype=bool)
    types = [joints.types[k] for k in joints.type_index.tolist()]
    turns = np.tile(np.eye(3), (len(joints), 1, 1))
    for j, new in place.items():
        if new is not None:
            types[j], turns[j] = new
    kept = np.flatnonzero(keep).tolist()
    copy.add_joints(
        [mechanism.joint_names[j] for j in kept],
        [types[j] for j in kept],
        joints.predecessor[keep],
        joints.successor[keep],
        predecessor_frame=_turned(joints.predecessor_frame, turns, keep),
        successor_frame=_turned(joints.successor_frame, turns, keep),
        prescribed=[joints.prescribed.get(j) for j in kept],
        compliance=_row_matrices(joints.compliance, joints, kept),
        damping=_row_matrices(joints.damping, joints, kept),
    )
    copy.forces.update(mechanism.forces)
    return copy


def _row_matrices(
    matrices: FloatArray, joints: JointColumns, kept: list[int]
) -> list[FloatArray] | float:
    """Return the matrices on the rows of joints."""
    if not matrices.any():
        return 0.0
    sizes = [joints.types[joints.type_index[j]].n_constraints for j in kept]
    return [matrices[j, :n, :n] for j, n in zip(kept, sizes, strict=True)]


def _turned(frames: Frames, turns: FloatArray, keep: BoolArray) -> Frames:
    """Return the frames to keep; those that are not turned stay exactly as they are."""
    orientation = np.array(frames.quaternions)
    is_turned = np.any(turns != np.eye(3), axis=(1, 2))
    orientation[is_turned] = quaternion_from_rotation(
        frames.rotations[is_turned] @ turns[is_turned]
    )
    return Frames(frames.origins[keep], orientation[keep])
