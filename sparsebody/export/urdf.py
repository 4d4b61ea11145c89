"""URDF: a tree of links and joints, joint coordinates zero at the exported pose."""

from collections import Counter
from typing import Final
from xml.etree import ElementTree as xml

import numpy as np
from scipy.spatial.transform import Rotation

from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError
from sparsebody.export.body_tree import NEVER, Notes, PosedMechanism, body_tree, numbers
from sparsebody.model.bodies import Box, Cylinder, Mesh, solids_of
from sparsebody.model.forces import JointForce

URDF_TYPES: Final = {
    "fixed": "fixed",
    "revolute": "continuous",
    "prismatic": "prismatic",
    "planar": "planar",
}
FAR: Final = 1e6  # [m, N, m/s] limits of a prismatic joint, which must have some
ROOT: Final = "world"


def urdf_document(at: PosedMechanism) -> tuple[xml.Element, Notes]:
    """Return a mechanism at a pose as URDF, and what the file cannot hold.

    ModelError names a joint of the tree that URDF has no type for.
    """
    system, notes = at.system, Notes()
    cost = np.array([1 if kind.name in URDF_TYPES else 2 for kind in at.joint_types], dtype=np.intp)
    cost[[kind.name == "free" for kind in at.joint_types]] = NEVER
    tree = body_tree(system, cost)  # of joints that URDF has; others close loops, left out
    root = xml.Element("robot", name=system.name)
    _add_settings(root, system.gravity)
    xml.SubElement(root, "link", name=ROOT)
    frames: dict[int, tuple[FloatArray, FloatArray]] = {-1: (np.eye(3), np.zeros(3))}
    for body in tree.order.tolist():
        j, parent = int(tree.joint[body]), int(tree.parent[body])
        _check_type(at, j)
        frames[body] = _link_frame(at, body, j)
        link = _add_link(root, at, body, frames[body])
        _add_visuals(link, at, body, frames[body], notes)
        _add_joint(root, at, (parent, body, j), (frames[parent], frames[body]))
    loops = [system.joint_names[j] for j in tree.loop_joints if at.joint_types[j].name != "free"]
    if loops:
        notes.add("loops cannot be held, these joints are left out", *loops)
    _note_others(at, notes)
    return root, notes


def _add_settings(root: xml.Element, gravity: FloatArray) -> None:
    """Add what MuJoCo's reader of URDF looks at; other readers pass over it."""
    settings = xml.SubElement(root, "mujoco")
    keep = {"fusestatic": "false", "balanceinertia": "false", "discardvisual": "false"}
    xml.SubElement(settings, "compiler", keep)
    xml.SubElement(settings, "option", gravity=numbers(gravity))


def _check_type(at: PosedMechanism, joint: int) -> None:
    if joint >= 0 and at.joint_types[joint].name not in URDF_TYPES:
        raise ModelError(
            f"joint {at.system.joint_names[joint]!r} is {at.joint_types[joint].name}; URDF has "
            f"only {', '.join(URDF_TYPES)} and free ones, so write MJCF (.xml)"
        )


def _link_frame(at: PosedMechanism, body: int, joint: int) -> tuple[FloatArray, FloatArray]:
    """Return axes and origin of a link in the world: on its joint, with the axes of the body.

    The axes of a planar joint's link are those of the joint, whose z axis readers count on.
    """
    if joint < 0 or at.joint_types[joint].name == "fixed":
        return at.rotation[body], at.origin[body]
    side = 1 if at.system.successor[joint] == body else 0  # S or P
    R, origin = (values[joint] for values in at.joint_frames[side])
    return (R if at.joint_types[joint].name == "planar" else at.rotation[body]), origin


def _origin(
    parent: tuple[FloatArray, FloatArray], R: FloatArray, point: FloatArray
) -> dict[str, str]:
    """Return a pose in the world as one in a frame: fixed angles about x, y, z, and a place."""
    R_parent, x_parent = parent
    turn = Rotation.from_matrix(R_parent.T @ R)
    angles = turn.as_euler("xyz", suppress_warnings=True)
    return {"xyz": numbers(R_parent.T @ (point - x_parent)), "rpy": numbers(angles)}


def _add_link(
    root: xml.Element, at: PosedMechanism, body: int, frame: tuple[FloatArray, FloatArray]
) -> xml.Element:
    system, R = at.system, at.rotation[body]
    name = system.body_names[body]
    link = xml.SubElement(root, "link", name=name)
    inertial = xml.SubElement(link, "inertial")
    xml.SubElement(inertial, "origin", _origin(frame, R, at.center[body]))
    xml.SubElement(inertial, "mass", value=numbers([system.mass[body]]))
    I = system.inertia[body]
    entries = {f"i{'xyz'[a]}{'xyz'[b]}": numbers([I[a, b]]) for a in range(3) for b in range(a, 3)}
    xml.SubElement(inertial, "inertia", entries)
    return link


def _add_visuals(
    link: xml.Element,
    at: PosedMechanism,
    body: int,
    frame: tuple[FloatArray, FloatArray],
    notes: Notes,
) -> None:
    """Add the solids of a body, except meshes, which URDF has in files of their own."""
    R, name = at.rotation[body], at.system.body_names[body]
    solids = solids_of(at.mechanism.body(name).shape)
    if any(isinstance(solid, Mesh) for solid in solids):
        notes.add("meshes are left out, MJCF (.xml) holds them", name)
    for solid in solids:
        if isinstance(solid, Mesh):
            continue
        visual = xml.SubElement(link, "visual")
        place = at.origin[body] + R @ solid.frame.origin
        xml.SubElement(visual, "origin", _origin(frame, R @ solid.frame.rotation, place))
        geometry = xml.SubElement(visual, "geometry")
        if isinstance(solid, Box):
            xml.SubElement(geometry, "box", size=numbers(solid.sides))
        elif isinstance(solid, Cylinder):
            size = {"radius": numbers([solid.radius]), "length": numbers([solid.length])}
            xml.SubElement(geometry, "cylinder", size)
        else:
            xml.SubElement(geometry, "sphere", radius=numbers([solid.radius]))
        if solid.color is not None:
            material = xml.SubElement(visual, "material", name="")
            xml.SubElement(material, "color", rgba=numbers([*solid.color, 1.0]))


def _add_joint(
    root: xml.Element,
    at: PosedMechanism,
    ends: tuple[int, int, int],
    frames: tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]],
) -> None:
    parent, body, j = ends
    R, origin = frames[1]
    kind = "floating" if j < 0 else URDF_TYPES[at.joint_types[j].name]
    name = f"free motion of {at.name(body)}" if j < 0 else at.system.joint_names[j]
    joint = xml.SubElement(root, "joint", name=name, type=kind)
    xml.SubElement(joint, "origin", _origin(frames[0], R, origin))
    xml.SubElement(joint, "parent", link=ROOT if parent < 0 else at.name(parent))
    xml.SubElement(joint, "child", link=at.name(body))
    if kind in ("fixed", "floating"):
        return
    direction = 1.0 if at.system.successor[j] == body else -1.0
    rotation, _ = at.joint_frames[1 if direction > 0.0 else 0]  # of S or P, to world axes
    axis = direction * rotation[j][:, 2]
    xml.SubElement(joint, "axis", xyz="0 0 1" if kind == "planar" else numbers(R.T @ axis))
    if kind == "prismatic":
        limits = {"lower": numbers([-FAR]), "upper": numbers([FAR])}
        xml.SubElement(
            joint, "limit", limits | {"effort": numbers([FAR]), "velocity": numbers([FAR])}
        )
    damping = sum(
        force.damping
        for force in at.mechanism.forces.values()
        if isinstance(force, JointForce) and force.joint == name
    )
    if damping and kind != "planar":
        xml.SubElement(joint, "dynamics", damping=numbers([damping]))


def _note_others(at: PosedMechanism, notes: Notes) -> None:
    """Note forces other than damping, compliance, prescribed coordinates and velocities."""
    joints = at.mechanism.columns()[1]
    prescribed = Counter(at.system.joint_names[j] for j in joints.prescribed)
    if prescribed:
        notes.add("prescribed motions are left out, their coordinates move freely", *prescribed)
    if joints.compliance.any():
        soft = np.flatnonzero(joints.compliance.any(axis=(1, 2))).tolist()
        names = (at.system.joint_names[j] for j in soft)
        notes.add("compliant joints are rigid in the file", *names)
    for name, force in at.mechanism.forces.items():
        kind = isinstance(force, JointForce) and at.joint_types[at.system.joint(force.joint)].name
        if kind not in ("revolute", "prismatic"):
            notes.add("forces other than those of revolute and prismatic joints are left out", name)
        elif force.stiffness or any(force.effort(at.state.time)):  # type: ignore[union-attr, operator]
            notes.add("stiffness and effort are left out, damping is written", name)
    if np.abs(at.state.velocity).max(initial=0.0) > 0.0:
        moving = np.flatnonzero(np.abs(at.state.velocity).max(axis=1) > 0.0)
        names = (at.system.body_names[i] for i in moving)
        notes.add("velocities are left out", *names)
