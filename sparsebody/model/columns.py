"""Bodies and joints as columns: their fields with a leading axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.bodies import RigidBody
from sparsebody.model.connections import Joint
from sparsebody.model.frames import Frames
from sparsebody.model.joints import JointType
from sparsebody.model.names import Names
from sparsebody.model.time_functions import TimeFunction

ObjectArray = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class BodyColumns:
    """The fields of n rigid bodies; what is the same for all may be stored once (broadcast)."""

    mass: FloatArray  # (n,) [kg]
    inertia: FloatArray  # (n, 3, 3) about the centers of mass [kg m^2]
    center_of_mass: FloatArray  # (n, 3) in the body frames [m]
    position: FloatArray  # (n, 3) [m]
    orientation: FloatArray  # (n, 4) as given, unit to 1e-6
    linear_velocity: FloatArray  # (n, 3) [m/s]
    angular_velocity: FloatArray  # (n, 3) [rad/s]
    shape: ObjectArray  # (n,) Shape or None

    def __len__(self) -> int:
        return len(self.mass)

    def item(self, index: int, name: str) -> RigidBody:
        """Return one body."""
        body = object.__new__(RigidBody)  # its numbers are checked already
        object.__setattr__(body, "name", name)
        for field in fields(self):
            object.__setattr__(body, field.name, getattr(self, field.name)[index])
        object.__setattr__(body, "mass", float(self.mass[index]))
        return body

    @classmethod
    def of(cls, bodies: Sequence[RigidBody]) -> BodyColumns:
        """The columns of bodies that were added one by one."""
        shapes = np.empty(len(bodies), dtype=object)
        shapes[:] = [body.shape for body in bodies]
        sizes = {"mass": (), "inertia": (3, 3), "orientation": (4,)}
        numbers = [field.name for field in fields(cls) if field.name != "shape"]
        columns = {
            name: np.array([getattr(body, name) for body in bodies], dtype=float).reshape(
                -1, *sizes.get(name, (3,))
            )
            for name in numbers
        }
        return cls(**columns, shape=shapes)

    @classmethod
    def joined(cls, parts: Sequence[BodyColumns]) -> BodyColumns:
        """The columns of all parts in turn."""
        if len(parts) == 1:
            return parts[0]
        names = [field.name for field in fields(cls)]
        return cls(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in names})


@dataclass(frozen=True, eq=False)
class JointColumns:
    """The fields of n joints; what is the same for all may be stored once (broadcast)."""

    types: tuple[JointType, ...]
    type_index: IntArray  # (n,) into types
    predecessor: IntArray  # (n,) bodies, -1 for the world
    successor: IntArray
    predecessor_frame: Frames
    successor_frame: Frames
    prescribed: Mapping[int, Mapping[int, TimeFunction]]  # of those joints that have any

    def __len__(self) -> int:
        return len(self.type_index)

    def item(self, index: int, name: str, bodies: tuple[str, str]) -> Joint:
        """Return one joint."""
        return Joint(
            name,
            self.types[self.type_index[index]],
            *bodies,
            self.predecessor_frame[index],
            self.successor_frame[index],
            dict(self.prescribed.get(index, {})),
        )

    @classmethod
    def of(cls, joints: Sequence[Joint], bodies: Names) -> JointColumns:
        """The columns of joints that were added one by one; the world is no name of a body."""
        types, type_index = distinct_objects([joint.type for joint in joints])
        return cls(
            types,
            type_index,
            bodies.find_all(joint.predecessor for joint in joints),
            bodies.find_all(joint.successor for joint in joints),
            Frames.of([joint.predecessor_frame for joint in joints]),
            Frames.of([joint.successor_frame for joint in joints]),
            {j: joint.prescribed for j, joint in enumerate(joints) if joint.prescribed},
        )

    @classmethod
    def joined(cls, parts: Sequence[JointColumns]) -> JointColumns:
        """The columns of all parts in turn."""
        if len(parts) == 1:
            return parts[0]
        first_type = np.cumsum([0, *(len(part.types) for part in parts)])[:-1]
        starts = np.cumsum([0, *map(len, parts)]).tolist()
        return cls(
            tuple(kind for part in parts for kind in part.types),
            np.concatenate(
                [part.type_index + k for part, k in zip(parts, first_type, strict=True)]
            ),
            np.concatenate([part.predecessor for part in parts]),
            np.concatenate([part.successor for part in parts]),
            Frames.joined([part.predecessor_frame for part in parts]),
            Frames.joined([part.successor_frame for part in parts]),
            {
                start + j: motions
                for part, start in zip(parts, starts[:-1], strict=True)
                for j, motions in part.prescribed.items()
            },
        )


def distinct_objects(objects: Sequence[Any]) -> tuple[tuple[Any, ...], IntArray]:
    """Return the objects without repetition, and the place of each among them."""
    identity = np.fromiter(map(id, objects), np.intp, len(objects))
    _, first, place = np.unique(identity, return_index=True, return_inverse=True)
    return tuple(objects[i] for i in first.tolist()), place.astype(np.intp)
