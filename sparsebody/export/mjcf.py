"""MJCF: a mechanism as MuJoCo's model, a tree of bodies with equality constraints.

Reference pose and keyframe "initial" are the mechanism at one state. A loop joint that is no
equality constraint of MuJoCo leads to a copy of one of its bodies that is welded to the original;
both have a share of the inertia, so that the motion is the same.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from xml.etree import ElementTree as xml

import numpy as np

from sparsebody import errors, spatial
from sparsebody.arrays import FloatArray
from sparsebody.export import body_tree as trees
from sparsebody.export.body_tree import Notes, PosedMechanism, is_constant, numbers, value_at
from sparsebody.model import ConstantDistance, Helical, bodies
from sparsebody.model.forces import Beam, Bushing, ExternalForce, JointForce, PointForce

KEYFRAME = "initial"
LEAST_VERTICES = 4  # of a mesh that MuJoCo reads
DEEPEST = 490  # bodies within each other; MuJoCo's reader ends at 500 elements

# The joints of MJCF that make one of ours, from the predecessor outwards: their kind, the frame
# and the axis along which they move (balls have none), and the velocity coordinate that they are.
Part = tuple[str, str, int, int]
PARTS: dict[str, tuple[Part, ...]] = {
    "fixed": (),
    "revolute": (("hinge", "S", 2, 0),),
    "prismatic": (("slide", "S", 2, 0),),
    "helical": (("hinge", "S", 2, 0), ("slide", "S", 2, -1)),
    "cylindrical": (("hinge", "S", 2, 0), ("slide", "S", 2, 1)),
    "planar": (("slide", "P", 0, 0), ("slide", "P", 1, 1), ("hinge", "S", 2, 2)),
    "universal": (("hinge", "P", 0, 0), ("hinge", "S", 1, 1)),
    "spherical": (("ball", "S", -1, 0),),
    "point-on-line": (("slide", "P", 2, 3), ("ball", "S", -1, 0)),
    "point-on-plane": (("slide", "P", 0, 3), ("slide", "P", 1, 4), ("ball", "S", -1, 0)),
}
# Which joints the tree takes first: those that no equality constraint can be.
_FIRST, _LIKE_OTHERS = 1, 2
EQUALITIES = {"revolute": 3, "spherical": 4}  # cost of joints that may be one
WITHOUT_JOINT = ("free", "constant-distance")


@dataclass(frozen=True, eq=False)
class _Link:
    """A body, or a copy of one, on a joint that leads to it."""

    name: str
    body: int
    parent: int
    joint: int  # -1 where it moves freely in the world
    share: float  # of the inertia


@dataclass(eq=False)
class MjcfDocument:
    """The elements of the file while it is made, and what it cannot hold."""

    at: PosedMechanism
    notes: Notes = field(default_factory=Notes)

    def __post_init__(self) -> None:
        self.root = xml.Element("mujoco", model=self.at.system.name)
        # angles, inertias and limits as they are given
        settings = {"angle": "radian", "inertiafromgeom": "false", "autolimits": "true"}
        xml.SubElement(self.root, "compiler", settings)
        xml.SubElement(self.root, "option", gravity=numbers(self.at.system.gravity))
        self.world = xml.SubElement(self.root, "worldbody")
        sections = "asset", "tendon", "equality", "actuator"
        self.sections = {name: xml.Element(name) for name in sections}
        self.elements: dict[int, xml.Element] = {-1: self.world}  # of bodies, the world's too
        self.parts: dict[tuple[int, int], xml.Element] = {}  # of joints and their coordinates
        self.positions: dict[str, FloatArray] = {}  # by the name of an MJCF joint
        self.velocities: dict[str, FloatArray] = {}
        self.controls: list[float] = []
        self.meshes: dict[tuple[bytes, bytes], str] = {}  # names of assets
        self._taken: dict[str, set[str]] = defaultdict(set)

    # ---- what is where --------------------------------------------------------------------------

    @cached_property
    def tree(self) -> trees.BodyTree:
        """The tree of bodies, by joints with forces or prescribed motions if possible."""
        at, system = self.at, self.at.system
        cost = np.array([EQUALITIES.get(kind.name, _LIKE_OTHERS) for kind in at.joint_types])
        names = [kind.name for kind in at.joint_types]
        cost[system.coordinates.joint] = _LIKE_OTHERS
        cost[[name == "fixed" for name in names]] = _FIRST
        cost[[name in WITHOUT_JOINT for name in names]] = trees.NEVER
        tree = trees.body_tree(system, cost.astype(np.intp))
        if tree.depth.max(initial=0) > DEEPEST:
            deep = system.body_names[int(np.argmax(tree.depth))]
            raise errors.ModelError(
                f"body {deep!r} is {tree.depth.max()} joints from the world; MuJoCo reads bodies "
                f"within {DEEPEST} others, so write a smaller mechanism, or .json"
            )
        return tree

    @cached_property
    def copied(self) -> dict[int, int]:
        """The loop joints that lead to a copy, and the body that is copied."""
        system, acts = self.at.system, set(self.at.system.coordinates.joint.tolist())
        copied = {}
        for j in self.tree.loop_joints.tolist():
            kind = self.at.joint_types[j].name
            if kind in WITHOUT_JOINT or kind == "fixed" or (kind in EQUALITIES and j not in acts):
                continue
            ends = int(system.successor[j]), int(system.predecessor[j])
            copied[j] = ends[0] if ends[0] >= 0 else ends[1]
        return copied

    def unique(self, section: str, name: str) -> str:
        """Return `name`, or `name_2` and so on where a section of the file has it already."""
        taken, candidate, number = self._taken[section], name, 1
        while candidate in taken or (section == "body" and candidate == "world"):
            number += 1
            candidate = f"{name}_{number}"
        taken.add(candidate)
        return candidate

    def site(self, body: int, name: str, point: FloatArray, R: FloatArray | None = None) -> str:
        """Add a site on a body at a point of the world, with axes R there; return its name."""
        label, at = self.unique("site", name), self.at
        element = xml.SubElement(self.elements[body], "site", name=label)
        element.set("pos", numbers(at.in_body(body, point)))
        if R is not None:
            turn = spatial.quaternion_from_rotation(at.rotation[body].T @ R)
            element.set("quat", numbers(turn))
        return label

    # ---- bodies and joints ----------------------------------------------------------------------

    def add_bodies(self) -> None:
        """Add all bodies, each within its parent, and copies where loop joints need them."""
        system, tree = self.at.system, self.tree
        n_parts = Counter(self.copied.values())
        for name in system.body_names:
            self.unique("body", name)
        for body in tree.order.tolist():
            name, ends = system.body_names[body], (int(tree.parent[body]), int(tree.joint[body]))
            self.elements[body] = self._add_link(_Link(name, body, *ends, 1 / (1 + n_parts[body])))
        for j, body in self.copied.items():
            ends = int(system.predecessor[j]), int(system.successor[j])
            name = self.unique("body", f"{system.body_names[body]} at {system.joint_names[j]}")
            parent = ends[0] if ends[1] == body else ends[1]
            element = self._add_link(_Link(name, body, parent, j, 1.0 / (1 + n_parts[body])))
            pair = []  # of frames that are welded
            for owner, what in ((self.elements[body], "original"), (element, "copy")):
                pair.append(self.unique("site", f"{name}.{what}"))
                xml.SubElement(owner, "site", name=pair[-1])
            self._equality("weld", f"weld of {name}", site1=pair[0], site2=pair[1])

    def _add_link(self, link: _Link) -> xml.Element:
        at, parent, body = self.at, link.parent, link.body
        element = xml.SubElement(self.elements[parent], "body", name=link.name)
        element.set("pos", numbers(at.in_body(parent, at.origin[body])))
        turn = at.state.orientation[body]
        if parent >= 0:
            to_parent = spatial.quaternion_conjugate(at.state.orientation[parent])
            turn = spatial.quaternion_product(to_parent, turn)
        element.set("quat", numbers(turn))
        if link.joint >= 0:
            self._add_joint(element, link)
        else:
            name, state = self.unique("joint", f"free motion of {link.name}"), at.state
            xml.SubElement(element, "freejoint", name=name)
            self.positions[name] = np.concatenate([at.origin[body], state.orientation[body]])
            self.velocities[name] = np.concatenate([at.twist[body, 1], state.velocity[body, :3]])
        self._add_inertia(element, link)
        shape = at.mechanism.body(at.system.body_names[body]).shape
        for solid in bodies.solids_of(shape) if link.name == at.system.body_names[body] else ():
            self._add_geom(element, solid)
        return element

    def _add_geom(self, element: xml.Element, solid: bodies.Solid) -> None:
        """Add a solid of a body, which touches nothing."""
        what = {"type": solid.name}
        if isinstance(solid, bodies.Box):
            what["size"] = numbers(0.5 * np.asarray(solid.sides))
        elif isinstance(solid, bodies.Cylinder):
            what["size"] = numbers([solid.radius, 0.5 * solid.length])
        elif isinstance(solid, bodies.Mesh):
            if len(np.asarray(solid.vertices)) < LEAST_VERTICES:
                self.notes.add("meshes of three vertices are left out", element.get("name", ""))
                return
            what["mesh"] = self._mesh(solid, element.get("name", ""))
        else:
            what["size"] = numbers([solid.radius])
        pose = {
            "pos": numbers(solid.frame.origin),
            "quat": numbers(np.asarray(solid.frame.orientation)),
        }
        look = {} if solid.color is None else {"rgba": numbers([*solid.color, 1.0])}
        xml.SubElement(element, "geom", what | pose | look | {"contype": "0", "conaffinity": "0"})

    def _mesh(self, mesh: bodies.Mesh, body: str) -> str:
        """Return the name of a mesh's asset, which the first body that has it gives it."""
        if mesh.key not in self.meshes:
            name = self.meshes[mesh.key] = self.unique("mesh", body)
            face = " ".join(map(str, np.asarray(mesh.triangles).ravel().tolist()))
            vertex = numbers(np.asarray(mesh.vertices))
            # of a shell, MuJoCo accepts surfaces that enclose nothing
            about = {"name": name, "vertex": vertex, "face": face, "inertia": "shell"}
            xml.SubElement(self.sections["asset"], "mesh", about)
        return self.meshes[mesh.key]

    def _add_inertia(self, element: xml.Element, link: _Link) -> None:
        system, body = self.at.system, link.body
        moments, axes = np.linalg.eigh(link.share * system.inertia[body])
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        # of a lamina, the largest moment is the sum of the others, and MuJoCo takes no more
        while moments[2] > moments[0] + moments[1]:
            moments[2] = np.nextafter(moments[2], 0.0)
        xml.SubElement(
            element,
            "inertial",
            pos=numbers(system.center_of_mass[body]),
            quat=numbers(spatial.quaternion_from_rotation(axes)),
            mass=numbers([link.share * system.mass[body]]),
            diaginertia=numbers(moments),
        )

    def _add_joint(self, element: xml.Element, link: _Link) -> None:
        """Add the parts of a joint, from the parent outwards."""
        at, j, body = self.at, link.joint, link.body
        kind = at.joint_types[j]
        is_reversed = at.system.successor[j] != body
        (R_P, _), (R_S, origin_S) = at.joint_frames
        axes = {"P": R_P[j], "S": R_S[j]}
        anchor = numbers(at.in_body(body, origin_S[j]))
        parts = PARTS[kind.name]
        for part in reversed(parts) if is_reversed else parts:
            what, frame, column, coordinate = part
            name = self._part_name(j, part)
            joint = xml.SubElement(element, "joint", name=name, type=what, pos=anchor)
            self.parts[j, coordinate] = joint
            if what == "ball":
                w = at.twist[body, 0] - at.twist[link.parent, 0]
                self.positions[name] = np.array([1.0, 0.0, 0.0, 0.0])
                self.velocities[name] = at.rotation[body].T @ w
                continue
            axis = axes[frame][:, column] * (-1.0 if is_reversed else 1.0)
            joint.set("axis", numbers(at.rotation[body].T @ axis))
            q, v = at.coordinates[j]
            if coordinate < 0:  # the travel of a helical joint
                position, rate = kind.parameter * q[0], kind.parameter * v[0]
            else:
                first = kind.n_positions - kind.n_velocities
                position, rate = q[first + coordinate], v[coordinate]
            joint.set("ref", numbers([position]))
            self.positions[name], self.velocities[name] = np.array([position]), np.array([rate])
        if isinstance(kind, Helical):
            turn, slide = (self.parts[j, k].get("name", "") for k in (0, -1))
            coefficients = numbers([0.0, kind.pitch, 0.0, 0.0, 0.0])
            label = at.system.joint_names[j]
            self._equality("joint", label, joint1=slide, joint2=turn, polycoef=coefficients)

    def _part_name(self, j: int, part: Part) -> str:
        """Return the name of a joint, with the kind and coordinate where it has several parts."""
        name = self.at.system.joint_names[j]
        if len(PARTS[self.at.joint_types[j].name]) == 1:
            return self.unique("joint", name)
        what, _, _, coordinate = part
        is_numbered = what != "ball" and coordinate >= 0
        return self.unique("joint", f"{name}.{what}" + (f".{coordinate}" if is_numbered else ""))

    # ---- loops ----------------------------------------------------------------------------------

    def _equality(self, kind: str, name: str, **attributes: str) -> None:
        label = self.unique("equality", name)
        xml.SubElement(self.sections["equality"], kind, {"name": label} | attributes)

    def add_loops(self) -> None:
        """Add the loop joints that are equality constraints."""
        at, system = self.at, self.at.system
        for j in self.tree.loop_joints.tolist():
            kind, name = at.joint_types[j], system.joint_names[j]
            if j in self.copied or kind.name == "free":
                continue
            if kind.name == "revolute":  # two points on the axis
                self._connect(j, name, 0.0)
                self._connect(j, f"{name}, along its axis", system.typical_length)
            elif kind.name == "spherical":
                self._connect(j, name, 0.0)
            elif kind.name == "fixed":
                site1, site2 = self._pair(j, name)
                self._equality("weld", name, site1=site1, site2=site2)
            elif isinstance(kind, ConstantDistance):
                tendon, coefficients = self.unique("tendon", name), numbers(np.zeros(5))
                self._tendon(tendon, self._pair(j, name))
                self._equality("tendon", name, tendon1=tendon, polycoef=coefficients)

    def _pair(self, j: int, name: str, along: float = 0.0) -> tuple[str, str]:
        """Add a site at either frame of a joint, moved along z; return their names."""
        system = self.at.system
        ends = int(system.predecessor[j]), int(system.successor[j])
        first, second = (
            self.site(body, f"{name}.{side}", origin[j] + along * R[j][:, 2], R[j])
            for body, side, (R, origin) in zip(ends, "PS", self.at.joint_frames, strict=True)
        )
        return first, second

    def _connect(self, j: int, name: str, along: float) -> None:
        site1, site2 = self._pair(j, name, along)
        self._equality("connect", name, site1=site1, site2=site2)

    def _tendon(self, name: str, sites: tuple[str, str], **attributes: str) -> None:
        spatial = xml.SubElement(self.sections["tendon"], "spatial", {"name": name} | attributes)
        for site in sites:
            xml.SubElement(spatial, "site", site=site)

    # ---- forces and fixed coordinates -----------------------------------------------------------

    def add_forces(self) -> None:
        """Add springs, dampers, actuators and loads, and coordinates of constant value."""
        self._add_constant_coordinates()
        on_coordinates: dict[tuple[int, int], list[JointForce]] = defaultdict(list)
        for force in self.at.mechanism.forces.values():
            if isinstance(force, JointForce):
                joint = self.at.system.joint(force.joint)
                on_coordinates[joint, force.coordinate].append(force)
            elif isinstance(force, PointForce):
                self._add_point_force(force)
            elif isinstance(force, ExternalForce):
                self._add_external_force(force)
            else:
                what = "beams" if isinstance(force, Beam) else "bushings"
                assert isinstance(force, Beam | Bushing)
                self.notes.add(f"{what} are left out", force.name)
        for (j, coordinate), forces in on_coordinates.items():
            self._add_joint_forces(j, coordinate, forces)
        self.notes.add_compliant(self.at)

    def _add_constant_coordinates(self) -> None:
        """Hold coordinates that are prescribed as constant."""
        for j, motions in self.at.mechanism.columns()[1].prescribed.items():
            name = self.at.system.joint_names[j]
            for coordinate, motion in motions.items():
                part = self.parts.get((j, coordinate))
                if part is None or part.get("type") == "ball" or not is_constant(motion):
                    self.notes.add(
                        "prescribed motions are left out, their coordinates move freely", name
                    )
                    continue
                coefficients, label = numbers(np.zeros(5)), f"{name}, coordinate {coordinate}"
                joint = part.get("name", "")
                self._equality("joint", label, joint1=joint, polycoef=coefficients)

    def _add_joint_forces(self, j: int, coordinate: int, forces: list[JointForce]) -> None:
        """Add springs and dampers to an MJCF joint, and a motor for each effort."""
        part = self.parts.get((j, coordinate))
        if part is None or part.get("type") == "ball":
            names = (force.name for force in forces)
            self.notes.add("forces on coordinates that are no hinge or slide are left out", *names)
            return
        joint = part.get("name", "")
        stiffness, damping = sum(f.stiffness for f in forces), sum(f.damping for f in forces)
        preload = sum(f.stiffness * f.rest for f in forces)
        if damping < 0.0 or stiffness < 0.0 or (stiffness == 0.0 and preload != 0.0):
            affine = numbers([preload, -stiffness, -damping])
            kinds = {"gaintype": "fixed", "gainprm": "1", "biastype": "affine", "biasprm": affine}
            self._actuator("general", forces[0].name, 0.0, joint=joint, **kinds)
        elif stiffness or damping:
            part.set("stiffness", numbers([stiffness]))
            part.set("springref", numbers([preload / stiffness if stiffness else 0.0]))
            part.set("damping", numbers([damping]))
        for force in forces:
            if (effort := self._constant(force)) is not None:
                self._actuator("motor", force.name, effort, joint=joint)

    def _constant(self, force: JointForce | PointForce) -> float | None:
        """Return the effort at the time of the state; None if it is zero at all times."""
        effort = value_at(force.effort, self.at.state.time)
        if not is_constant(force.effort):
            time = f"t = {self.at.state.time:.6g} s"
            self.notes.add(f"efforts that vary in time have their values at {time}", force.name)
            return effort
        return effort or None

    def _actuator(self, kind: str, name: str, control: float, **attributes: str) -> None:
        label = self.unique("actuator", name)
        xml.SubElement(self.sections["actuator"], kind, {"name": label} | attributes)
        self.controls.append(control)

    def _add_point_force(self, force: PointForce) -> None:
        """Add a tendon between two points."""
        if force.stiffness < 0.0 or force.damping < 0.0:
            self.notes.add("point forces of negative stiffness or damping are left out", force.name)
            return
        label, points = f"point force {force.name!r}", self.at.system.point_forces
        k = points.labels.index(label)
        pair = self._point(force.name, 1, points.first[k], points.first_point[k])
        other = self._point(force.name, 2, points.second[k], points.second_point[k])
        name = self.unique("tendon", force.name)
        self._tendon(
            name,
            (pair, other),
            stiffness=numbers([force.stiffness]),
            damping=numbers([force.damping]),
            springlength=numbers([force.rest_length]),
        )
        if (effort := self._constant(force)) is not None:
            self._actuator("motor", force.name, effort, tendon=name)

    def _point(self, name: str, side: int, body: int, point: FloatArray) -> str:
        """Add a site at a point from the center of mass, in body axes; return its name."""
        at = self.at
        return self.site(int(body), f"{name}.{side}", at.center[body] + at.rotation[body] @ point)

    def _add_external_force(self, force: ExternalForce) -> None:
        """Add a motor at a site, measured in the axes of the world or of the body."""
        at, loads = self.at, self.at.system.external_forces
        k = loads.names.index(force.name)
        body, R = int(loads.body[k]), at.rotation[loads.body[k]]
        in_world = bool(loads.in_world[k])
        site = self.site(body, force.name, at.center[body] + R @ loads.point[k], R)
        reference = {}
        if in_world:
            reference["refsite"] = self.site(-1, f"{force.name}.axes", np.zeros(3), np.eye(3))
        wrench = np.concatenate([np.asarray(force.force), np.asarray(force.moment)])
        self._actuator("motor", force.name, 1.0, site=site, gear=numbers(wrench), **reference)

    # ---- the whole ------------------------------------------------------------------------------

    def finish(self) -> xml.Element:
        """Add what the sections hold, and the initial state; return the whole."""
        self.root.extend(section for section in self.sections.values() if len(section))
        in_order = [e.get("name", "") for e in self.world.iter() if e.tag.endswith("joint")]
        key = xml.SubElement(xml.SubElement(self.root, "keyframe"), "key", name=KEYFRAME)
        key.set("time", numbers([self.at.state.time]))
        for attribute, values in (("qpos", self.positions), ("qvel", self.velocities)):
            if in_order:
                key.set(attribute, numbers(np.concatenate([values[name] for name in in_order])))
        if self.controls:
            key.set("ctrl", numbers(self.controls))
        return self.root


def mjcf_document(at: PosedMechanism) -> tuple[xml.Element, Notes]:
    """Return a mechanism at a state as MJCF, and what the file cannot hold."""
    document = MjcfDocument(at)
    document.add_bodies()
    document.add_loops()
    document.add_forces()
    return document.finish(), document.notes
