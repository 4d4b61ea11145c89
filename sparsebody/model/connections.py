"""Joints between bodies: frames that coincide at the start, and prescribed coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError
from sparsebody.model.checks import distinct, stored_once
from sparsebody.model.frames import Frame, Frames, rotations
from sparsebody.model.joints import JointType
from sparsebody.model.time_functions import TimeFunction, time_function
from sparsebody.spatial import quaternion_from_rotation

Motion = Mapping[int, float | TimeFunction] | float | TimeFunction | None


@dataclass(frozen=True, eq=False)
class Joint:
    """An edge of the graph: the type, and a frame fixed in either body."""

    name: str
    type: JointType
    predecessor: str
    successor: str
    predecessor_frame: Frame = field(default_factory=Frame)  # in the predecessor's body frame
    successor_frame: Frame = field(default_factory=Frame)
    prescribed: Mapping[int, TimeFunction] = field(default_factory=dict)

    @property
    def n_constraints(self) -> int:
        """Constraint rows, those of prescribed coordinates included."""
        return self.type.n_constraints + len(self.prescribed)


def check_coordinate(who: str, joint_type: JointType, coordinate: object) -> None:
    """Raise ModelError unless the joint type has a velocity coordinate of this number."""
    if not (isinstance(coordinate, int | np.integer) and 0 <= coordinate < joint_type.n_velocities):
        raise ModelError(
            f"{who}: coordinate is {coordinate!r}, but a {joint_type.name} joint has "
            f"{joint_type.n_velocities} (counted from 0)"
        )
    if not joint_type.has_named_coordinates:
        raise ModelError(
            f"{who}: a {joint_type.name} joint has no named coordinates; use add_point_force"
        )


def prescribed_motions(who: str, joint_type: JointType, given: Motion) -> dict[int, TimeFunction]:
    """Return the functions of time of the coordinates that are prescribed."""
    if given is None:
        return {}
    items = given if isinstance(given, Mapping) else {0: given}
    functions = {}
    for coordinate in items:
        check_coordinate(who, joint_type, coordinate)
    for coordinate, value in sorted(items.items()):
        if coordinate not in joint_type.scalar_positions:
            raise ModelError(
                f"{who}: coordinate {coordinate} of a {joint_type.name} joint has no position that "
                "could be prescribed"
            )
        functions[coordinate] = time_function(value, f"{who}, coordinate {coordinate}")
    return functions


def frames_in_bodies(
    point: FloatArray, axes: FloatArray, position: FloatArray, orientation: FloatArray
) -> Frames:
    """Return frames given in the world as seen from the bodies that carry them.

    Parameters
    ----------
    point, axes : (n, 3), (n, 3, 3) float arrays
        Origins [m] of the frames in the world, and their axes as columns.
    position, orientation : (n, 3), (n, 4) float arrays
        Poses of the bodies: origins [m], and nearly unit quaternions, body to world.
    """
    to_body = np.swapaxes(rotations(stored_once(orientation)), 1, 2)
    turn = quaternion_from_rotation(distinct(to_body) @ distinct(axes))
    return Frames.trusted(
        np.einsum("nij,nj->ni", to_body, point - position),
        np.broadcast_to(turn, (len(point), 4)),
    )
