"""URDF: a tree of links and joints, joint coordinates zero at the exported pose."""

from dataclasses import dataclass, field
from xml.etree import ElementTree as xml

import numpy as np
from scipy.spatial.transform import Rotation

from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError
from sparsebody.export.body_tree import NEVER, Notes, PosedMechanism, body_tree, numbers
from sparsebody.model import bodies, forces

URDF_TYPES = {
    "fixed": "fixed",
    "revolute": "continuous",
    "prismatic": "prismatic",
    "planar": "planar",
}
FAR = 1e6  # [m, N, m/s] limits of a prismatic joint, which must have some
ROOT = "world"


Pose = tuple[FloatArray, FloatArray]  # axes and origin in the world


def urdf_document(at: PosedMechanism) -> tuple[xml.Element, Notes]:
    """Return a mechanism at a pose as URDF, and what the file cannot hold.

    ModelError names a joint of the tree that URDF has no type for.
    """
    document, system = UrdfDocument(at), at.system
    # a tree of least cost prefers joints that URDF has a type for; the others close loops
    cost = np.array([1 if kind.name in URDF_TYPES else 2 for kind in at.joint_types], dtype=np.intp)
    cost[[kind.name == "free" for kind in at.joint_types]] = NEVER
    tree = body_tree(system, cost)
    for body in tree.order.tolist():
        j = int(tree.joint[body])
        document.frames[body] = document.link_frame(body, j)
        document.add_link(body)
        document.add_joint(int(tree.parent[body]), body, j)
    loops = [system.joint_names[j] for j in tree.loop_joints if at.joint_types[j].name != "free"]
    if loops:
        document.notes.add("URDF has no loops, these joints are left out", *loops)
    document.note_others()
    return document.root, document.notes


@dataclass(eq=False)
class UrdfDocument:
    """The elements of the file while it is made, and notes of what it cannot hold."""

    at: PosedMechanism
    notes: Notes = field(default_factory=Notes)

    def __post_init__(self) -> None:
        self.root = xml.Element("robot", name=self.at.system.name)
        # what MuJoCo's reader of URDF looks at; other readers pass over it
        settings = xml.SubElement(self.root, "mujoco")
        keep = {"fusestatic": "false", "balanceinertia": "false", "discardvisual": "false"}
        xml.SubElement(settings, "compiler", keep)
        xml.SubElement(settings, "option", gravity=numbers(self.at.system.gravity))
        xml.SubElement(self.root, "link", name=ROOT)
        self.frames: dict[int, Pose] = {-1: (np.eye(3), np.zeros(3))}  # of links

    def link_frame(self, body: int, joint: int) -> Pose:
        """Return axes and origin of a link in the world: on its joint, with the axes of the body.

        The axes of a planar joint's link are those of the joint, whose z axis readers count on.
        """
        at, kind = self.at, self.at.joint_types[joint].name if joint >= 0 else "fixed"
        if kind not in URDF_TYPES:
            raise ModelError(
                f"joint {at.system.joint_names[joint]!r} is {kind}; URDF has only "
                f"{', '.join(URDF_TYPES)} and free ones, so write MJCF (.xml)"
            )
        if kind == "fixed":
            return at.rotation[body], at.origin[body]
        side = 1 if at.system.successor[joint] == body else 0  # S or P
        R, origin = (values[joint] for values in at.joint_frames[side])
        return (R if kind == "planar" else at.rotation[body]), origin

    def _origin(self, link: int, R: FloatArray, point: FloatArray) -> dict[str, str]:
        """Return a pose in the world as one in a link: fixed angles about x, y, z, and a place."""
        axes, origin = self.frames[link]
        angles = Rotation.from_matrix(axes.T @ R).as_euler("xyz", suppress_warnings=True)
        return {"xyz": numbers(axes.T @ (point - origin)), "rpy": numbers(angles)}

    def add_link(self, body: int) -> None:
        """Add a body, with its solids except meshes, which URDF has in files of their own."""
        at, system, R = self.at, self.at.system, self.at.rotation[body]
        name, I = system.body_names[body], system.inertia[body]
        link = xml.SubElement(self.root, "link", name=name)
        inertial = xml.SubElement(link, "inertial")
        xml.SubElement(inertial, "origin", self._origin(body, R, at.center[body]))
        xml.SubElement(inertial, "mass", value=numbers([system.mass[body]]))
        pairs = [(a, b) for a in range(3) for b in range(a, 3)]
        moments = {f"i{'xyz'[a]}{'xyz'[b]}": numbers([I[a, b]]) for a, b in pairs}
        xml.SubElement(inertial, "inertia", moments)
        solids = bodies.solids_of(at.mechanism.body(name).shape)
        if any(isinstance(solid, bodies.Mesh) for solid in solids):
            self.notes.add("meshes are left out, MJCF (.xml) holds them", name)
        for solid in solids:
            if isinstance(solid, bodies.Mesh):
                continue
            visual = xml.SubElement(link, "visual")
            position = at.origin[body] + R @ solid.frame.origin
            xml.SubElement(visual, "origin", self._origin(body, R @ solid.frame.rotation, position))
            geometry = xml.SubElement(visual, "geometry")
            if isinstance(solid, bodies.Box):
                xml.SubElement(geometry, "box", size=numbers(solid.sides))
            elif isinstance(solid, bodies.Cylinder):
                size = {"radius": numbers([solid.radius]), "length": numbers([solid.length])}
                xml.SubElement(geometry, "cylinder", size)
            else:
                xml.SubElement(geometry, "sphere", radius=numbers([solid.radius]))
            if solid.color is not None:
                material = xml.SubElement(visual, "material", name="")
                xml.SubElement(material, "color", rgba=numbers([*solid.color, 1.0]))

    def add_joint(self, parent: int, body: int, j: int) -> None:
        """Add the joint that leads to a body, -1 where it moves freely in the world."""
        at, (R, origin) = self.at, self.frames[body]
        kind = "floating" if j < 0 else URDF_TYPES[at.joint_types[j].name]
        name = f"free motion of {at.name(body)}" if j < 0 else at.system.joint_names[j]
        joint = xml.SubElement(self.root, "joint", name=name, type=kind)
        xml.SubElement(joint, "origin", self._origin(parent, R, origin))
        xml.SubElement(joint, "parent", link=ROOT if parent < 0 else at.name(parent))
        xml.SubElement(joint, "child", link=at.name(body))
        if kind in ("fixed", "floating"):
            return
        direction = 1.0 if at.system.successor[j] == body else -1.0
        rotation, _ = at.joint_frames[1 if direction > 0.0 else 0]  # of S or P, to world axes
        axis = direction * rotation[j][:, 2]
        xml.SubElement(joint, "axis", xyz="0 0 1" if kind == "planar" else numbers(R.T @ axis))
        if kind == "prismatic":
            limits = {"lower": -FAR, "upper": FAR, "effort": FAR, "velocity": FAR}
            xml.SubElement(joint, "limit", {key: numbers([x]) for key, x in limits.items()})
        damping = sum(
            force.damping
            for force in at.mechanism.forces.values()
            if isinstance(force, forces.JointForce) and force.joint == name
        )
        if damping and kind != "planar":
            xml.SubElement(joint, "dynamics", damping=numbers([damping]))

    def note_others(self) -> None:
        """Note what is left out: prescribed motions, compliance, forces but damping, velocities."""
        at, notes = self.at, self.notes
        prescribed = [at.system.joint_names[j] for j in at.mechanism.columns()[1].prescribed]
        if prescribed:
            notes.add("prescribed motions are left out, their coordinates move freely", *prescribed)
        notes.add_compliant(at)
        for name, force in at.mechanism.forces.items():
            on_axis = isinstance(force, forces.JointForce) and (
                at.joint_types[at.system.joint(force.joint)].name in ("revolute", "prismatic")
            )
            if not on_axis:
                what = "forces other than those of revolute and prismatic joints are left out"
                notes.add(what, name)
            elif force.stiffness or any(force.effort(at.state.time)):  # type: ignore[union-attr, operator]
                notes.add("stiffness and effort are left out, damping is written", name)
        moving = np.flatnonzero(np.abs(at.state.velocity).max(axis=1) > 0.0)
        if len(moving):
            notes.add("velocities are left out", *(at.system.body_names[i] for i in moving))
