"""Mechanism: the body-joint graph that a user builds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import networkx as nx
import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.errors import ModelError
from sparsebody.model.bodies import RigidBody
from sparsebody.model.checks import vector
from sparsebody.model.forces import ExternalForce, Force, JointForce, PointForce
from sparsebody.model.frames import Frame, axes
from sparsebody.model.joints import ConstantDistance, JointType
from sparsebody.model.shapes import Shape
from sparsebody.model.time_functions import TimeFunction, time_function
from sparsebody.spatial import quaternion_from_rotation

if TYPE_CHECKING:
    from sparsebody.model.system import System

WORLD = "world"
F = TypeVar("F", bound=Force)


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


class Mechanism:
    """Bodies and joints as nodes and edges of a NetworkX multigraph.

    The node "world" is fixed. Every other node carries a `body` (RigidBody), every edge, from
    predecessor to successor with the joint's name as key, a `joint` (Joint).

    Parameters
    ----------
    name : str
        A name for files and plots.
    gravity : (3,) array_like
        Acceleration of gravity in world axes [m/s^2].

    Examples
    --------
    >>> import sparsebody as sb
    >>> pendulum = sb.Mechanism("pendulum")
    >>> bar = pendulum.add_body("bar", mass=1.0, inertia=[0.01, 0.1, 0.1], position=[0.5, 0, 0])
    >>> hinge = pendulum.add_joint("hinge", sb.Revolute(), sb.WORLD, "bar", axis=[0, 1, 0])
    >>> pendulum.n_bodies, pendulum.n_joints
    (1, 1)
    """

    def __init__(self, name: str = "mechanism", gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        self.name = str(name)
        self.gravity: FloatArray = vector(gravity, "mechanism", "gravity")
        self.graph: nx.MultiDiGraph = nx.MultiDiGraph()
        self.graph.add_node(WORLD)
        self.forces: dict[str, Force] = {}
        self._joints: dict[str, Joint] = {}

    # ---- what is there ----------------------------------------------------------------------

    @property
    def bodies(self) -> dict[str, RigidBody]:
        """The moving bodies by name, in the order of declaration."""
        return {name: data["body"] for name, data in self.graph.nodes(data=True) if name != WORLD}

    @property
    def joints(self) -> dict[str, Joint]:
        """The joints by name, in the order of declaration."""
        return dict(self._joints)

    @property
    def n_bodies(self) -> int:
        """Number of moving bodies."""
        return self.graph.number_of_nodes() - 1

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return len(self._joints)

    def body(self, name: str) -> RigidBody:
        """Return the body called `name`; ModelError if there is none."""
        if isinstance(name, str) and name == WORLD:
            raise ModelError(f"{WORLD!r} is the fixed node and no body; name a moving body")
        if not isinstance(name, str) or name not in self.graph:
            known = ", ".join(list(self.bodies)[:5]) or "none"
            raise ModelError(f"there is no body {name!r}; add_body it first (bodies: {known}, ...)")
        found: RigidBody = self.graph.nodes[name]["body"]
        return found

    def joint(self, name: str) -> Joint:
        """Return the joint called `name`; ModelError if there is none."""
        if not isinstance(name, str) or name not in self._joints:
            known = ", ".join(list(self._joints)[:5]) or "none"
            raise ModelError(f"there is no joint {name!r}; add_joint it first ({known}, ...)")
        return self._joints[name]

    def __repr__(self) -> str:
        return f"Mechanism({self.name!r}: {self.n_bodies} bodies, {self.n_joints} joints)"

    # ---- bodies and joints ------------------------------------------------------------------

    def add_body(
        self,
        name: str,
        *,
        mass: float,
        inertia: ArrayLike,
        center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        linear_velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
        shape: Shape | None = None,
    ) -> RigidBody:
        """Add a body (see RigidBody for the meaning of each argument) and return it."""
        self._check_name(name, "body")
        if name in self.graph:
            what = "the name of the fixed node" if name == WORLD else "taken by another body"
            raise ModelError(f"body {name!r}: this name is {what}; choose another")
        body = RigidBody(
            name,
            mass,
            inertia,
            center_of_mass,
            position,
            orientation,
            linear_velocity,
            angular_velocity,
            shape,
        )
        self.graph.add_node(name, body=body)
        return body

    def add_joint(
        self,
        name: str,
        joint_type: JointType,
        predecessor: str,
        successor: str,
        *,
        point: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        x_axis: ArrayLike | None = None,
        predecessor_frame: Frame | None = None,
        successor_frame: Frame | None = None,
        prescribed: Mapping[int, float | TimeFunction] | float | TimeFunction | None = None,
    ) -> Joint:
        """Connect two bodies.

        Give the joint frames either in the bodies (`predecessor_frame`, `successor_frame`), or in
        the world at the initial pose: `point`, `axis` (the z axis of the joint) and `x_axis`. Then
        both frames coincide at the initial pose, that is, the joint is at its zero position.

        Parameters
        ----------
        name : str
            Name of the joint.
        joint_type : JointType
            Such as Revolute() or Helical(pitch=0.01).
        predecessor, successor : str
            Names of two bodies, or "world". The joint moves the successor.
        point : (3,) array_like
            Origin of the joint frame in the world [m]; default: the successor's frame origin.
        axis, x_axis : (3,) array_like
            Directions of its z and x axis in the world; default z: the world's z axis.
        predecessor_frame, successor_frame : Frame
            Joint frames in the frames of the bodies.
        prescribed : dict, number or time function
            Coordinates of the joint that are given functions of time, by their index; a number
            or function alone is meant for coordinate 0.

        Raises
        ------
        ModelError
            If the name is taken, a body does not exist, or an argument does not fit.
        """
        self._check_name(name, "joint")
        who = f"joint {name!r}"
        if name in self._joints:
            raise ModelError(f"{who}: this name is taken by another joint; choose another")
        if not isinstance(joint_type, JointType):
            raise ModelError(f"{who}: type is {joint_type!r}; give a joint type such as Revolute()")
        for body in (predecessor, successor):
            if body not in self.graph:
                raise ModelError(f"{who}: there is no body {body!r}; add it with add_body first")
        if predecessor == successor:
            raise ModelError(f"{who}: connects {successor!r} to itself; give two bodies")
        in_world = point is not None or axis is not None or x_axis is not None
        in_bodies = predecessor_frame is not None or successor_frame is not None
        if in_world and in_bodies:
            raise ModelError(f"{who}: give point and axis, or the two frames, not both")
        for frame in (predecessor_frame, successor_frame):
            if not (frame is None or isinstance(frame, Frame)):
                raise ModelError(f"{who}: a joint frame is {frame!r}; give a Frame(position)")
        if not in_bodies:
            predecessor_frame, successor_frame = self._frames_at(
                who, predecessor, successor, point, axis, x_axis
            )
        joint = Joint(
            name,
            joint_type,
            predecessor,
            successor,
            predecessor_frame or Frame(),
            successor_frame or Frame(),
            _prescribed(who, joint_type, prescribed),
        )
        self.graph.add_edge(predecessor, successor, key=name, joint=joint)
        self._joints[name] = joint
        return joint

    def add_distance(
        self,
        name: str,
        first: str,
        second: str,
        *,
        first_point: ArrayLike = (0.0, 0.0, 0.0),
        second_point: ArrayLike = (0.0, 0.0, 0.0),
        length: float | None = None,
    ) -> Joint:
        """Keep two points (in body frames [m]) `length` apart; default: as they are at the start.

        A massless rod with ball ends: a joint of type ConstantDistance.
        """
        frames = Frame(first_point), Frame(second_point)
        if length is None:
            ends = self._to_world(first, frames[0]), self._to_world(second, frames[1])
            length = float(np.linalg.norm(ends[1] - ends[0]))
        return self.add_joint(
            name,
            ConstantDistance(length),
            first,
            second,
            predecessor_frame=frames[0],
            successor_frame=frames[1],
        )

    # ---- forces -----------------------------------------------------------------------------

    def add_joint_force(
        self,
        name: str,
        joint: str,
        *,
        coordinate: int = 0,
        stiffness: float = 0.0,
        rest: float = 0.0,
        damping: float = 0.0,
        effort: float | TimeFunction = 0.0,
    ) -> JointForce:
        """Add a spring, damper or actuator to a coordinate of a joint (see JointForce)."""
        force = JointForce(name, joint, coordinate, stiffness, rest, damping, effort)
        joint_type = self.joint(joint).type
        who = f"joint force {name!r} on joint {joint!r}"
        _check_coordinate(who, joint_type, force.coordinate)
        if force.stiffness and force.coordinate not in joint_type.scalar_positions:
            raise ModelError(
                f"{who}: coordinate {coordinate} of a {joint_type.name} joint has no position to "
                "stretch a spring; use dampers and efforts there, or add_point_force"
            )
        return self._add_force(force)

    def add_point_force(
        self,
        name: str,
        first: str,
        second: str,
        *,
        first_point: ArrayLike = (0.0, 0.0, 0.0),
        second_point: ArrayLike = (0.0, 0.0, 0.0),
        stiffness: float = 0.0,
        rest_length: float = 0.0,
        damping: float = 0.0,
        effort: float | TimeFunction = 0.0,
    ) -> PointForce:
        """Add a spring, damper or actuator between points of two bodies (see PointForce)."""
        force = PointForce(
            name,
            first,
            second,
            first_point,
            second_point,
            stiffness,
            rest_length,
            damping,
            effort,
        )
        for body in (first, second):
            if body != WORLD:
                self.body(body)
        if first == second:
            raise ModelError(f"point force {name!r}: acts within {first!r}; give two bodies")
        return self._add_force(force)

    def add_external_force(
        self,
        name: str,
        body: str,
        *,
        force: ArrayLike = (0.0, 0.0, 0.0),
        moment: ArrayLike = (0.0, 0.0, 0.0),
        point: ArrayLike | None = None,
        axes: str = "world",
    ) -> ExternalForce:
        """Add a constant force and moment to a body (see ExternalForce)."""
        self.body(body)
        return self._add_force(ExternalForce(name, body, force, moment, point, axes))

    # ---- what is made of it -----------------------------------------------------------------

    def compile(self) -> System:
        """Return the immutable System of flat arrays that everything else computes with.

        Raises
        ------
        ModelError
            If there is no body.
        """
        from sparsebody.model.compilation import compile_mechanism

        return compile_mechanism(self)

    # ---- helpers ----------------------------------------------------------------------------

    def _check_name(self, name: Any, what: str) -> None:
        if not isinstance(name, str) or not name:
            raise ModelError(f"the name of a {what} is {name!r}; give a non-empty string")

    def _add_force(self, force: F) -> F:
        self._check_name(force.name, "force")
        if force.name in self.forces:
            raise ModelError(f"force {force.name!r}: this name is taken; choose another")
        self.forces[force.name] = force
        return force

    def _to_world(self, body: str, frame: Frame) -> FloatArray:
        return frame.origin if body == WORLD else self.body(body).to_world(frame.origin)

    def _frames_at(
        self,
        who: str,
        predecessor: str,
        successor: str,
        point: ArrayLike | None,
        axis: ArrayLike | None,
        x_axis: ArrayLike | None,
    ) -> tuple[Frame, Frame]:
        """Frames in both bodies that coincide with a frame given in the world."""
        if point is None:
            anchor = successor if successor != WORLD else predecessor
            place = np.asarray(self.body(anchor).position)
        else:
            place = vector(point, who, "point")
        rotation = axes((0, 0, 1) if axis is None else axis, x_axis, who)
        frames = []
        for name in (predecessor, successor):
            if name == WORLD:
                frames.append(Frame(place, quaternion_from_rotation(rotation)))
            else:
                body = self.body(name)
                turned = quaternion_from_rotation(body.rotation.T @ rotation)
                frames.append(Frame(body.to_body(place), turned))
        return frames[0], frames[1]


def _check_coordinate(who: str, joint_type: JointType, coordinate: object) -> None:
    if not (isinstance(coordinate, int | np.integer) and 0 <= coordinate < joint_type.n_velocities):
        raise ModelError(
            f"{who}: coordinate is {coordinate!r}, but a {joint_type.name} joint has "
            f"{joint_type.n_velocities} (counted from 0)"
        )
    if joint_type.kernels.coordinate is None:
        raise ModelError(
            f"{who}: a {joint_type.name} joint has no named coordinates; use add_point_force"
        )


def _prescribed(
    who: str,
    joint_type: JointType,
    given: Mapping[int, float | TimeFunction] | float | TimeFunction | None,
) -> dict[int, TimeFunction]:
    if given is None:
        return {}
    items = given if isinstance(given, Mapping) else {0: given}
    functions = {}
    for coordinate in items:
        _check_coordinate(who, joint_type, coordinate)
    for coordinate, value in sorted(items.items()):
        if coordinate not in joint_type.scalar_positions:
            raise ModelError(
                f"{who}: coordinate {coordinate} of a {joint_type.name} joint has no position that "
                "could be prescribed"
            )
        functions[coordinate] = time_function(value, f"{who}, coordinate {coordinate}")
    return functions
