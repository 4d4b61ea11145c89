"""Actuated joint coordinates: which they are, and their rows on the bodies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from sparsebody._core import joints
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.constraint import rows_on_bodies
from sparsebody.errors import ModelError
from sparsebody.kinematics.joint_motion import JointMotion, coordinate_poses
from sparsebody.model.system import System

Freedom: TypeAlias = str | tuple[str, int]  # a joint, or one of its velocity coordinates


@dataclass(frozen=True, eq=False)
class Actuators:
    """Velocity coordinates of joints that actuators act on, of tree and of loop joints alike."""

    joint: IntArray  # (p,) the system's numbers
    coordinate: IntArray  # (p,) which velocity coordinate of the joint
    names: Sequence[str]  # (p,) for people

    def __len__(self) -> int:
        return len(self.joint)


@dataclass(frozen=True, eq=False)
class ActuatorRows:
    """W' P' in body coordinates: W transmits the actuators' forces, W' S = 1 on each coordinate."""

    dual: FloatArray  # (p, 6) W' in S coordinates
    rows: FloatArray  # (p, 2, 6) B on the predecessor's and the successor's velocity
    rate: FloatArray  # (p,) B v, the rates of the coordinates
    velocity_product: FloatArray  # (p,) B a less the coordinates' accelerations


def actuators_of(system: System, actuated: Iterable[Freedom] | None = None) -> Actuators:
    """Return the actuated coordinates in the order given, or every freedom of every joint.

    Parameters
    ----------
    system : System
        The mechanism.
    actuated : iterable of str or (str, int), optional
        Joints, all of whose freedoms are meant, or joints with one of their velocity coordinates.

    Raises
    ------
    ModelError
        For a joint that is not there or has no such freedom, and for one that is named twice.
    """
    freedoms = np.array([kind.n_velocities for kind in system.joint_types], dtype=np.intp)
    if actuated is None:
        joint = np.repeat(np.arange(system.n_joints, dtype=np.intp), freedoms)
        first = np.concatenate([[0], np.cumsum(freedoms)])[:-1]
        coordinate = np.arange(len(joint)) - np.repeat(first, freedoms)
    else:
        named = [actuated] if isinstance(actuated, str) else actuated
        pairs = [pair for freedom in named for pair in _pairs(system, freedom)]
        joint, coordinate = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        _refuse_twice(system, joint, coordinate)
    names = _Names(system, joint, coordinate, freedoms)
    return Actuators(np.ascontiguousarray(joint), coordinate.astype(np.intp), names)


def _pairs(system: System, freedom: Freedom) -> list[tuple[int, int]]:
    """Joint and coordinate of what the user named."""
    name, *one = (freedom,) if isinstance(freedom, str) else freedom
    joint = system.joint(name)
    kind = system.joint_types[joint]
    if kind.n_velocities == 0:
        raise ModelError(
            f"joint {name!r} is {kind.name} and has no freedom to act on; name another"
        )
    if one and not (isinstance(one[0], int | np.integer) and 0 <= one[0] < kind.n_velocities):
        raise ModelError(
            f"joint {name!r} has no coordinate {one[0]!r}: it is {kind.name}, and its coordinates "
            f"count from 0 to {kind.n_velocities - 1}"
        )
    return [(joint, int(k)) for k in (one or range(kind.n_velocities))]


def _refuse_twice(system: System, joint: IntArray, coordinate: IntArray) -> None:
    order = np.lexsort([coordinate, joint])
    same = (np.diff(joint[order]) == 0) & (np.diff(coordinate[order]) == 0)
    if same.any():
        k = order[int(np.argmax(same))]
        raise ModelError(
            f"coordinate {coordinate[k]} of joint {system.joint_names[int(joint[k])]!r} is named "
            "twice among the actuated ones; name it once"
        )


class _Names(Sequence[str]):
    """Made when they are asked for: "hip", or "hip 2" where the joint has several freedoms."""

    def __init__(
        self, system: System, joint: IntArray, coordinate: IntArray, freedoms: IntArray
    ) -> None:
        self._system, self._joint, self._coordinate = system, joint, coordinate
        self._has_several = freedoms[joint] > 1

    def __len__(self) -> int:
        return len(self._joint)

    def __getitem__(self, k: int) -> str:  # type: ignore[override]
        name = self._system.joint_names[int(self._joint[k])]
        return f"{name} {self._coordinate[k]}" if self._has_several[k] else name


def actuator_rows(system: System, actuators: Actuators, motion: JointMotion) -> ActuatorRows:
    """Return the rows of the actuated coordinates at a pose."""
    joint = actuators.joint
    _, dual, drift = joints.coordinate_motions(
        joint, actuators.coordinate, coordinate_poses(system, motion), motion.velocity
    )
    return ActuatorRows(dual, *rows_on_bodies(system, joint, motion, dual, drift))


def released_drives(system: System, actuators: Actuators) -> tuple[IntArray, IntArray]:
    """Return the items of drives on actuated coordinates, and the actuators that replace them."""
    tracked, items = system.coordinates, system.coordinates.prescribed
    most = 6  # coordinates of a joint
    driven = most * tracked.joint[items] + tracked.index[items]
    acted = most * actuators.joint + actuators.coordinate
    _, of_drive, of_actuator = np.intersect1d(driven, acted, return_indices=True)
    return items[of_drive], of_actuator.astype(np.intp)


def without_drives(system: System, items: IntArray) -> System:
    """Return the system without some drives (their items); other rows keep their order."""
    if len(items) == 0:
        return system
    tracked = system.coordinates
    keep = np.ones(system.n_rows, dtype=np.bool_)
    keep[tracked.row[items]] = False
    before = np.concatenate([[0], np.cumsum(keep)]).astype(np.intp)
    row = np.where(tracked.row >= 0, before[tracked.row], -1)
    row[items] = -1
    released = set(items.tolist())
    motion = tuple(None if k in released else f for k, f in enumerate(tracked.motion))
    return replace(
        system,
        first_row=before[system.first_row],
        subspace_index=system.subspace_index[keep],
        coordinates=replace(tracked, row=row, motion=motion),
    )
