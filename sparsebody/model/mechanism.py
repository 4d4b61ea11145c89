"""Mechanism: the body-joint graph that a user builds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import networkx as nx
import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.html_tables import counts_text, first_names, html_facts, lengths
from sparsebody.model import connections, time_functions
from sparsebody.model.bodies import BodyColumns, Frame, Frames, RigidBody, Shape, body_columns
from sparsebody.model.columns import Table, shown, vector
from sparsebody.model.connections import Joint, JointColumns, Motion
from sparsebody.model.forces import Beam, Bushing, ExternalForce, Force, JointForce, PointForce
from sparsebody.model.joints import ConstantDistance, JointType
from sparsebody.model.names import WORLD, Names, check_name, check_names, named

if TYPE_CHECKING:
    from sparsebody.model.system import System

__all__ = ["WORLD", "Joint", "Mechanism"]

F = TypeVar("F", bound=Force)
Ends = tuple[Any, Any]  # predecessors and successors, by name or number
InWorld = tuple[ArrayLike | None, ArrayLike | None, ArrayLike | None]  # point, axis, x axis
InBodies = tuple[connections.InBody, connections.InBody]

_NO_ENDS = np.zeros(0, dtype=np.intp)
NO_BODIES = body_columns(
    [], np.ones(3), None, **{name: np.zeros(shape) for name, shape in BodyColumns.SIZES.items()}
)
_NO_FRAMES = connections.frames_of_bodies("joints", [], None, None)
NO_JOINTS = connections.joint_columns([], [], (_NO_ENDS, _NO_ENDS), _NO_FRAMES, None)


class Mechanism:
    """Bodies and joints: the nodes and edges of a graph whose node "world" is fixed.

    They are added one by one, or many at once from arrays, in any mixture.

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
    >>> joint = pendulum.add_joint("pivot", sb.Revolute(), sb.WORLD, "bar", axis=[0, 1, 0])
    >>> pendulum.n_bodies, pendulum.n_joints
    (1, 1)
    """

    def __init__(self, name: str = "mechanism", gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        self.name = str(name)
        self.gravity: FloatArray = vector(gravity, "mechanism", "gravity")
        self.forces: dict[str, Force] = {}
        self._bodies = Table(NO_BODIES, BodyColumns.item)
        self._joints = Table(NO_JOINTS, self._joint)
        self._graph: nx.MultiDiGraph | None = None

    # ---- contents ---------------------------------------------------------------------------

    @property
    def bodies(self) -> dict[str, RigidBody]:
        """The moving bodies by name, in the order of declaration."""
        return self._bodies.items()

    @property
    def joints(self) -> dict[str, Joint]:
        """The joints by name, in the order of declaration."""
        return self._joints.items()

    @property
    def graph(self) -> nx.MultiDiGraph:
        """The body-joint graph, made on demand and frozen.

        Every node except "world" carries a `body` (RigidBody), every edge, from predecessor to
        successor with the joint's name as key, a `joint` (Joint).
        """
        if self._graph is None:
            graph = nx.MultiDiGraph()
            graph.add_node(WORLD)
            graph.add_nodes_from((name, {"body": body}) for name, body in self.bodies.items())
            graph.add_edges_from(
                (joint.predecessor, joint.successor, name, {"joint": joint})
                for name, joint in self.joints.items()
            )
            self._graph = nx.freeze(graph)
        return self._graph

    @property
    def body_names(self) -> Names:
        """Names of the moving bodies, in the order of declaration."""
        return self._bodies.names

    @property
    def joint_names(self) -> Names:
        """Names of the joints, in the order of declaration."""
        return self._joints.names

    @property
    def n_bodies(self) -> int:
        """Number of moving bodies."""
        return len(self._bodies)

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return len(self._joints)

    def body(self, name: str) -> RigidBody:
        """Return the body called `name`; ModelError if there is none."""
        if isinstance(name, str) and name == WORLD:
            raise ModelError(f"{WORLD!r} is the fixed node and no body; name a moving body")
        return self._bodies.find(name, "body")

    def joint(self, name: str) -> Joint:
        """Return the joint called `name`; ModelError if there is none."""
        return self._joints.find(name, "joint")

    def __repr__(self) -> str:
        return f"Mechanism({self.name!r}: {self.n_bodies} bodies, {self.n_joints} joints)"

    if not TYPE_CHECKING:  # type checkers tell of attributes that are not there

        def __getattr__(self, name: str) -> None:
            if name.startswith("_"):
                raise AttributeError(name)
            given = f"mechanism {self.name!r} has no {name!r}: it is not compiled"
            raise AttributeError(f"{given}; pass mechanism.compile(), a System")

    def _repr_html_(self) -> str:
        bodies, joints = self._bodies.columns(), self._joints.columns()
        count = np.bincount(joints.type_index, minlength=len(joints.types)).tolist()
        types: Counter[str] = Counter()
        for kind, n in zip(joints.types, count, strict=True):
            types[kind.name] += n
        holds = np.array([kind.n_velocities < 6 for kind in joints.types], bool)[joints.type_index]
        facts: dict[str, object] = {
            "bodies": f"{self.n_bodies}: {first_names(self.body_names)}",
            "joints": f"{self.n_joints}: {first_names(self.joint_names)}",
            "joint types": counts_text(types),
            "loops": connections.count_cycles(
                self.n_bodies, joints.predecessor[holds], joints.successor[holds]
            ),
        }
        if self.forces:
            facts["springs, loads, elements"] = f"{len(self.forces)}: {first_names(self.forces)}"
        if self.n_bodies:
            facts["mass"] = f"{bodies.mass.sum():.6g} kg"
            facts["extent of the body origins"] = lengths(np.ptp(bodies.position, axis=0))
        facts["gravity"] = f"{self.gravity.tolist()} m/s^2"
        return html_facts(f"Mechanism {self.name!r}", facts)

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
        """Add a body and return it.

        Parameters
        ----------
        name : str
            Its name in the mechanism.
        mass : float
            Mass [kg]. Zero mass or zero moments of inertia only in the cases that `compile` lists.
        inertia : (3, 3) or (3,) array_like
            About the center of mass in body axes [kg m^2]; (3,) for a diagonal.
        center_of_mass : (3,) array_like
            In the body frame [m].
        position, orientation : (3,) and (4,) array_like
            Pose of the body frame in the world: origin [m] and unit quaternion (w, x, y, z).
        linear_velocity, angular_velocity : (3,) array_like
            Of the body frame: of its origin [m/s], and angular [rad/s], both in world axes.
        shape : Shape, optional
            For pictures only.

        Raises
        ------
        ModelError
            If the name is taken, a number is not finite, the mass is negative, no distribution of
            mass has the inertia, the quaternion is not unit or the shape is not a Shape.
        """
        (index,) = self.add_bodies(
            [name],
            mass=mass,
            inertia=inertia,
            center_of_mass=center_of_mass,
            position=position,
            orientation=orientation,
            linear_velocity=linear_velocity,
            angular_velocity=angular_velocity,
            shape=shape,
        )
        return self._bodies[int(index)]

    def add_bodies(
        self,
        names: Sequence[str] | str,
        *,
        mass: ArrayLike,
        inertia: ArrayLike,
        center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
        position: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        linear_velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
        shape: Shape | Sequence[Shape | None] | None = None,
    ) -> IntArray:
        """Add n bodies and return their indices (n,), which `add_joints` takes in place of names.

        Each argument is what `add_body` takes, for all bodies, or n of it along a leading axis.

        Parameters
        ----------
        names : sequence of str, or str
            Such as a list or `numbered("bar-{}", range(n))`; "bar-{}" alone counts from 0.
        inertia : (3,), (n, 3), (1, 3, 3) or (n, 3, 3) array_like
            About the centers of mass in body axes [kg m^2]: moments, or tensors; (3, 3) are the
            moments of three bodies.
        mass, center_of_mass, position, orientation, linear_velocity, angular_velocity, shape
            As for `add_body`, with the leading axis or without.

        Raises
        ------
        ModelError
            Naming the first invalid body, what is wrong and the remedy; then none is added.

        Examples
        --------
        >>> mechanism = Mechanism("chain")
        >>> x = np.arange(4)[:, None] * [1.0, 0, 0]
        >>> bar = mechanism.add_bodies("bar-{}", mass=1.0, inertia=[0.01, 0.1, 0.1], position=x)
        >>> mechanism.body("bar-3").position
        array([3., 0., 0.])
        """
        arrays = {
            "mass": mass,
            "center_of_mass": center_of_mass,
            "position": position,
            "orientation": orientation,
            "linear_velocity": linear_velocity,
            "angular_velocity": angular_velocity,
        }
        sizes = {name: (value, len(BodyColumns.SIZES[name])) for name, value in arrays.items()}
        names = named(names, "bodies", **sizes)
        check_names(names, self._bodies.names, "body", reserved=WORLD)
        first = self.n_bodies
        if len(names):
            self._bodies.extend(names, body_columns(names, inertia, shape, **arrays))
            self._graph = None
        return np.arange(first, self.n_bodies)

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
        prescribed: Motion = None,
        compliance: ArrayLike = 0.0,
        damping: ArrayLike = 0.0,
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
            Origin of the joint frame in the world [m]; default: the origin of the successor's
            frame, or of the predecessor's if the successor is the world.
        axis, x_axis : (3,) array_like
            Directions of its z and x axis in the world; default z: the world's z axis, default x:
            that of the world, turned with z by the least rotation.
        predecessor_frame, successor_frame : Frame
            Joint frames in the frames of the bodies; where only one is given, the other is the
            body's own.
        prescribed : dict, number or time function
            Coordinates of the joint that are given functions of time, by their index; a number
            or function alone is meant for coordinate 0.
        compliance : float, (rows,) or (rows, rows) array_like
            C of the constraint rows: position error per constraint force [m/N, rad/(N m)],
            symmetric and positive semidefinite. There is a row for each column of
            `joint_type.constraint_force_subspace`; zero is rigid. A compliant row is a
            force, not a constraint, of the potential e' C^-1 e / 2 with the error e of the joint:
            it counts neither in the rank nor in the mobility. Explicit methods treat it as a
            spring, and need steps that resolve its oscillations; ``method="generalized-alpha"``
            solves [.., A'; A, -C] for errors and forces at once, which is well posed for C -> 0.
        damping : float, (rows,) or (rows, rows) array_like
            Of the compliant rows [N s/m, N m s/rad], likewise; rigid rows have none.

        Raises
        ------
        ModelError
            If the name is taken, a body does not exist, or an argument does not fit.
        """
        (index,) = self.add_joints(
            [name],
            joint_type if isinstance(joint_type, JointType) else [joint_type],
            [predecessor],
            [successor],
            point=point,
            axis=axis,
            x_axis=x_axis,
            predecessor_frame=predecessor_frame,
            successor_frame=successor_frame,
            prescribed=[prescribed],
            compliance=compliance if isinstance(compliance, int | float) else [compliance],
            damping=damping if isinstance(damping, int | float) else [damping],
        )
        return self._joints[int(index)]

    def add_joints(
        self,
        names: Sequence[str] | str,
        joint_type: JointType | Sequence[JointType],
        predecessor: str | int | Sequence[str] | IntArray,
        successor: str | int | Sequence[str] | IntArray,
        *,
        point: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        x_axis: ArrayLike | None = None,
        predecessor_frame: Frame | Frames | None = None,
        successor_frame: Frame | Frames | None = None,
        prescribed: Motion | Sequence[Motion] = None,
        compliance: ArrayLike | Sequence[ArrayLike | None] = 0.0,
        damping: ArrayLike | Sequence[ArrayLike | None] = 0.0,
    ) -> IntArray:
        """Add n joints and return their numbers (n,).

        Each argument is what `add_joint` takes, for all joints, or n of it along a leading axis.

        Parameters
        ----------
        names : sequence of str, or str
            As for `add_bodies`.
        predecessor, successor : (n,) int array, sequence of str, int or str
            Bodies by number (-1 is the world) or by name.
        predecessor_frame, successor_frame : Frame or Frames
            Joint frames in the frames of the bodies.
        joint_type, point, axis, x_axis, prescribed
            As for `add_joint`, with the leading axis or without; lists of joint types and motions.
        compliance, damping : float, or (n,), (n, rows) or (n, rows, rows) array_like
            Of the rows (see `add_joint`): a number for all joints, or n of what one joint takes.
            A leading axis of 1 holds for all.

        Raises
        ------
        ModelError
            Naming the first invalid joint, what is wrong and the remedy; then none is added.

        Examples
        --------
        >>> import sparsebody as sb
        >>> mechanism = sb.Mechanism("chain")
        >>> x = np.arange(4)[:, None] * [1.0, 0, 0]
        >>> bar = mechanism.add_bodies("bar-{}", mass=1.0, inertia=[1, 1, 1], position=x)
        >>> ball = mechanism.add_joints("ball-{}", sb.Spherical(), bar[:-1], bar[1:])
        >>> mechanism.joint("ball-2").successor
        'bar-3'
        """
        sizes = {"predecessor": (predecessor, 0), "successor": (successor, 0), "point": (point, 1)}
        names = named(names, "joints", **sizes)
        check_names(names, self._joints.names, "joint")
        first = self.n_joints
        if len(names):
            ends, frames = self._ends_and_frames(
                "joints",
                names,
                (predecessor, successor),
                (point, axis, x_axis),
                (predecessor_frame, successor_frame),
            )
            columns = connections.joint_columns(
                names, joint_type, ends, frames, prescribed, compliance, damping
            )
            self._joints.extend(names, columns)
            self._graph = None
        return np.arange(first, self.n_joints)

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

        A massless rod between spherical joints: a joint of type ConstantDistance.
        """
        frames = Frame(first_point), Frame(second_point)
        if length is None:
            start, end = (
                frame.origin if body == WORLD else self.body(body).to_world(frame.origin)
                for body, frame in zip((first, second), frames, strict=True)
            )
            length = float(np.linalg.norm(end - start))
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
        effort: float | time_functions.TimeFunction = 0.0,
    ) -> JointForce:
        """Add a spring, damper or actuator to a coordinate of a joint (see JointForce)."""
        force = JointForce(name, joint, coordinate, stiffness, rest, damping, effort)
        joint_type = self.joint(joint).type
        who = f"joint force {name!r} on joint {joint!r}"
        connections.check_coordinate(who, joint_type, force.coordinate)
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
        effort: float | time_functions.TimeFunction = 0.0,
    ) -> PointForce:
        """Add a spring, damper or actuator between points of two bodies (see PointForce)."""
        spring = stiffness, rest_length, damping
        force = PointForce(name, first, second, first_point, second_point, *spring, effort)
        connections.joint_ends("point forces", [name], [first], [second], self._bodies.names)
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

    def add_bushing(
        self,
        name: str,
        predecessor: str,
        successor: str,
        *,
        stiffness: ArrayLike,
        damping: ArrayLike = 0.0,
        point: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        x_axis: ArrayLike | None = None,
        predecessor_frame: Frame | None = None,
        successor_frame: Frame | None = None,
    ) -> Bushing:
        """Add a spring and damper on all six freedoms between frames of two bodies (see Bushing).

        Parameters
        ----------
        name : str
            Of the force.
        predecessor, successor : str
            Names of two bodies, or "world".
        stiffness, damping : float, (6,) or (6, 6) array_like
            In the axes of the frames, angular part first: symmetric, positive semidefinite.
        point, axis, x_axis, predecessor_frame, successor_frame
            The frames, as for `add_joint`.
        """
        ends, in_world = (predecessor, successor), (point, axis, x_axis)
        in_bodies = predecessor_frame, successor_frame
        frames = self._ends_and_frames("bushings", [name], ends, in_world, in_bodies)[1]
        first, second = (of_side[0] for of_side in frames)
        return self._add_force(Bushing(name, *ends, first, second, stiffness, damping))

    def add_beam(
        self,
        name: str,
        predecessor: str,
        successor: str,
        *,
        E: float,
        G: float,
        A: float,
        I_y: float,
        I_z: float,
        J: float,
        damping: float = 0.0,
        start: ArrayLike | None = None,
        end: ArrayLike | None = None,
        z_axis: ArrayLike | None = None,
        length: float | None = None,
        predecessor_frame: Frame | None = None,
        successor_frame: Frame | None = None,
    ) -> Beam:
        """Add a massless Euler-Bernoulli beam between two bodies (see Beam).

        Give its ends in the world at the initial pose, where it is then straight and without
        force: `start` on the predecessor and `end` on the successor; or the frames at its ends in
        the bodies, x along it, and its length.

        Parameters
        ----------
        name : str
            Of the force.
        predecessor, successor : str
            Names of two bodies, or "world".
        E, G : float
            Young's and shear modulus [N/m^2].
        A : float
            Area of the cross section [m^2].
        I_y, I_z, J : float
            Second moments of area about y and z, and the torsion constant [m^4].
        damping : float
            Ratio of the damping of all strains to their stiffness [s].
        start, end : (3,) array_like
            Ends in the world [m].
        z_axis : (3,) array_like
            Direction in the world whose part across the beam is its z axis; default: z of the
            world, or x for a beam within 26 degrees of z.
        length : float
            Without load [m].
        predecessor_frame, successor_frame : Frame
            At the ends, in the frames of the bodies.
        """
        who, ends = f"beam {name!r}", (predecessor, successor)
        if start is not None and end is not None and length is None:
            first, last = vector(start, who, "start"), vector(end, who, "end")
            along, length = last - first, float(np.linalg.norm(last - first))
            if not length > 0.0:
                raise ModelError(f"{who}: start and end are both {first.tolist()}; give two points")
            if z_axis is None:  # z of the world unless the beam is nearly vertical
                z_axis = (0.0, 0.0, 1.0) if abs(along[2]) < 0.9 * length else (1.0, 0.0, 0.0)
            across = vector(z_axis, who, "z axis")
            across = across - across @ along / length**2 * along
            poses: list[InWorld] = [(point, across, along) for point in (first, last)]
            in_bodies: InBodies = (None, None)
        elif None not in (length, predecessor_frame, successor_frame) and start is end is None:
            poses = [(None, None, None)] * 2
            in_bodies = predecessor_frame, successor_frame
        else:
            raise ModelError(f"{who}: give start and end, or length and the two frames")
        frames = (
            self._ends_and_frames("beams", [name], ends, pose, in_bodies)[1] for pose in poses
        )
        (first_frame, _), (_, second_frame) = frames
        section = E, G, A, I_y, I_z, J
        return self._add_force(
            Beam(name, *ends, first_frame[0], second_frame[0], length, *section, damping)  # type: ignore[arg-type]
        )

    # ---- compilation ------------------------------------------------------------------------

    def compile(self) -> System:
        """Return the immutable System of flat arrays that everything else computes with.

        A body without mass, or with zero moments of inertia, may be welded by rigid Fixed joints to
        another one or to the world: there it becomes part of that body, and neither it nor the weld
        is in the System. A point mass, without any moments, may also hang on Spherical
        or ConstantDistance joints at its center, where nothing turns it.

        Raises
        ------
        ModelError
            If there is no body, or one has a singular inertia that no other makes up for.
        """
        from sparsebody.model.compilation import compile_mechanism

        return compile_mechanism(self)

    @classmethod
    def of_columns(
        cls,
        like: Mechanism,
        bodies: tuple[Sequence[str], BodyColumns],
        joints: tuple[Sequence[str], JointColumns],
        forces: Iterable[Force] | None = None,
    ) -> Mechanism:
        """Return a mechanism of names and checked columns (arrays), all else as in `like`."""
        mechanism = cls(like.name, like.gravity)
        mechanism._bodies.extend(*bodies)
        mechanism._joints.extend(*joints)
        mechanism.forces = {f.name: f for f in (like.forces.values() if forces is None else forces)}
        return mechanism

    def columns(self) -> tuple[BodyColumns, JointColumns]:
        """Return bodies and joints as arrays, in the order of declaration."""
        return self._bodies.columns(), self._joints.columns()

    # ---- helpers ----------------------------------------------------------------------------

    def _add_force(self, force: F) -> F:
        check_name(force.name, "force")
        if force.name in self.forces:
            raise ModelError(f"force {force.name!r}: this name is taken; choose another")
        self.forces[force.name] = force
        return force

    def _ends_and_frames(
        self, what: str, names: Sequence[str], bodies: Ends, in_world: InWorld, in_bodies: InBodies
    ) -> tuple[tuple[IntArray, IntArray], tuple[Frames, ...]]:
        """Return the bodies that joints connect, and the joint frames on both of them.

        The frames are given in the bodies or in the world.
        """
        is_on_bodies = any(frame is not None for frame in in_bodies)
        if is_on_bodies and any(part is not None for part in in_world):
            who = shown(what, names)
            raise ModelError(f"{who}: give point and axis, or the two frames, not both")
        ends = connections.joint_ends(what, names, *bodies, self._bodies.names)
        if is_on_bodies:
            return ends, connections.frames_of_bodies(what, names, *in_bodies)
        position = self._poses("position", (0.0, 0.0, 0.0), ends)
        orientation = self._poses("orientation", (1.0, 0.0, 0.0, 0.0), ends)
        point, *axes = in_world
        if point is None:
            point = np.where((ends[1] < 0)[:, None], *position)
        poses = list(zip(position, orientation, strict=True))
        return ends, connections.frames_of_world(what, names, poses, point, *axes)

    def _poses(self, field: str, of_world: Sequence[float], ends: Ends) -> list[FloatArray]:
        """Return (n, 3) positions or (n, 4) orientations of predecessors and of successors."""
        poses = []
        for bodies in ends:
            # the world has no row: row 0 stands in for it
            rows, is_world = self._bodies.rows(field, np.maximum(bodies, 0)), bodies < 0
            if (rows[is_world] != of_world).any():
                rows = np.where(is_world[:, None], of_world, rows)
            poses.append(rows)
        return poses

    def _joint(self, columns: JointColumns, index: int, name: str) -> Joint:
        return columns.item(index, name, self._bodies.names)
