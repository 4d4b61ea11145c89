"""Bodies and joints of a robot file; welded bodies become one, and so do their joints."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from sparsebody import errors, spatial, tolerances
from sparsebody.arrays import ArrayLike, FloatArray, IntArray
from sparsebody.model import Box, CompoundShape, Cylinder, Frame, Frames, Mechanism, Mesh, Sphere
from sparsebody.model import joints as types
from sparsebody.model.bodies import Color, Shape, Solid, all_axes
from sparsebody.model.robots.robot_file import NO_ROTATION, RobotSource, unique_name


def add_bodies(mechanism: Mechanism, source: RobotSource) -> None:
    """Add a body for every root; what is welded to the world has no inertia there and is left."""
    roots = list(source.roots)
    kind = source.mujoco.mjtObj.mjOBJ_XBODY
    velocity = np.zeros((len(roots), 6))  # of the body frames' origins, in world axes
    for root, v in zip(roots, velocity, strict=True):
        source.mujoco.mj_objectVelocity(source.model, source.data, kind, root, v, 0)
    members = [body for of_root in source.roots.values() for body in of_root]
    group = np.repeat(np.arange(len(roots)), [len(of_root) for of_root in source.roots.values()])
    model, shapes = source.model, _shapes(source)
    frames = Frames.of([source.frame(b, model.body_ipos[b], model.body_iquat[b]) for b in members])
    R = frames.rotations  # of principal axes
    mass, center, inertia = spatial.summed_inertias(
        group,
        len(roots),
        model.body_mass[members],
        frames.origins,
        (R * model.body_inertia[members][:, None]) @ np.swapaxes(R, 1, 2),
    )
    mechanism.add_bodies(
        [source.body_names[root] for root in roots],
        mass=mass,
        inertia=inertia,
        center_of_mass=center,
        position=source.data.xpos[roots],
        orientation=source.data.xquat[roots],
        angular_velocity=velocity[:, :3],
        linear_velocity=velocity[:, 3:],
        shape=[shapes.get(root) for root in roots],
    )


def _shapes(source: RobotSource) -> dict[int, Shape]:
    """Return the geoms of each root as its shape for pictures.

    Those of the groups that MuJoCo shows by default, or all of a root that has none of them; no
    planes, height fields or signed distance fields. Capsules are without their round ends, and
    ellipsoids are meshes.
    """
    model, solids = source.model, defaultdict(list)
    is_shown = np.asarray(source.mujoco.MjvOption().geomgroup, dtype=bool)[model.geom_group]
    meshes = cache(partial(_mesh_arrays, model))
    for geom, body in enumerate(model.geom_bodyid.tolist()):
        root, kind = int(source.root[body]), source.kind("mjtGeom", model.geom_type[geom])
        if not root or (kind != "mesh" and kind not in _SHAPES):
            continue
        frame = source.frame(body, model.geom_pos[geom], model.geom_quat[geom])
        color, opacity = _color(model, geom)
        if kind == "mesh":
            solid: Solid = Mesh(*meshes(int(model.geom_dataid[geom])), frame)
        else:
            solid = _SHAPES[kind](model.geom_size[geom].tolist(), frame)
        solids[root].append((replace(solid, color=color), bool(is_shown[geom]) and opacity > 0.0))
    shapes: dict[int, Shape] = {}
    for root, pairs in solids.items():
        shown = [solid for solid, is_visual in pairs if is_visual] or [solid for solid, _ in pairs]
        shapes[root] = shown[0] if len(shown) == 1 else CompoundShape(tuple(shown))
    return shapes


def _color(model: Any, geom: int) -> tuple[Color | None, float]:
    """Return the color of a geom or of its material, None for MuJoCo's gray, and the opacity."""
    rgba, material = model.geom_rgba[geom], int(model.geom_matid[geom])
    if np.array_equal(rgba, _GRAY):
        if material < 0:
            return None, 1.0
        rgba = model.mat_rgba[material]
    red, green, blue, opacity = np.round(rgba.astype(float), 6).tolist()  # of single precision
    return (red, green, blue), opacity


def _mesh_arrays(model: Any, mesh: int) -> tuple[FloatArray, IntArray]:
    """Return vertices in the mesh's own frame, which geoms have, and triangles, read-only."""
    vertex, face = int(model.mesh_vertadr[mesh]), int(model.mesh_faceadr[mesh])
    vertices = model.mesh_vert[vertex : vertex + int(model.mesh_vertnum[mesh])].astype(float)
    triangles = model.mesh_face[face : face + int(model.mesh_facenum[mesh])].astype(np.intp)
    vertices.flags.writeable = triangles.flags.writeable = False
    return vertices, triangles


def _ellipsoid(size: list[float], frame: Frame) -> Mesh:
    """Return the hull of points on an ellipsoid, equally spread by the golden angle on a sphere."""
    k = np.arange(0.5, 120.0)
    z, angle = 1.0 - k / 60.0, (1.0 + np.sqrt(5.0)) * np.pi * k
    across = np.sqrt(1.0 - z * z)
    sphere = np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=1)
    triangles = ConvexHull(sphere).simplices
    is_inward = np.linalg.det(sphere[triangles]) < 0.0
    triangles[is_inward] = triangles[is_inward][:, ::-1]
    return Mesh(sphere * size, triangles, frame)


_GRAY = np.array([0.5, 0.5, 0.5, 1.0], dtype=np.float32)  # of a geom that says nothing
# MuJoCo's sizes are radii and half lengths.
_SHAPES: dict[str, Callable[[list[float], Frame], Solid]] = {
    "ellipsoid": _ellipsoid,
    "box": lambda size, frame: Box((2 * size[0], 2 * size[1], 2 * size[2]), frame),
    "sphere": lambda size, frame: Sphere(size[0], frame),
    "capsule": lambda size, frame: Cylinder(size[0], 2 * size[1], frame),
    "cylinder": lambda size, frame: Cylinder(size[0], 2 * size[1], frame),
}


# ---- joints ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FileJoint:
    """A joint of the file."""

    index: int
    name: str
    kind: str  # hinge, slide, ball or free
    anchor: FloatArray  # (3,) in the world at the initial pose [m]
    axis: FloatArray  # (3,)
    body_axis: FloatArray  # (3,) in the frame of the body at the reference pose


@dataclass(frozen=True, eq=False)
class Layout:
    """The joint that several joints of the file amount to; points and axes in world coordinates."""

    type: types.JointType
    point: FloatArray
    axis: ArrayLike = (0.0, 0.0, 1.0)
    x_axis: FloatArray | None = None
    coordinates: Mapping[int, tuple[int, float]] = field(default_factory=dict)
    """Joint of the file -> the coordinate that it is, and its sign."""
    fixed: tuple[int, ...] = ()
    """Coordinates that no joint of the file moves: prescribed as zero."""
    is_reversed: bool = False
    """The body that the joints of the file move is the predecessor."""


@dataclass(frozen=True)
class Coordinate:
    """A joint of the file in the mechanism: sign times a coordinate of a joint, from its start."""

    joint: str
    index: int
    sign: float


Coordinates = Mapping[int, Coordinate]  # by joint of the file


def add_joints(
    mechanism: Mechanism, source: RobotSource, constants: Mapping[int, float]
) -> Coordinates:
    """Add a joint for every body that has some; return the coordinates of its hinges and slides.

    `constants` maps joints of the file to their constant distance from the initial position.
    """
    model, data = source.model, source.data
    coordinates: dict[int, Coordinate] = {}
    names, ends, layouts, motions = [], [], [], []
    for body in source.roots:
        first = int(model.body_jntadr[body])
        joints = [  # from the parent outwards
            FileJoint(
                joint,
                source.joint_names[joint],
                source.kind("mjtJoint", model.jnt_type[joint]),
                *(np.array(a[joint]) for a in (data.xanchor, data.xaxis, model.jnt_axis)),
            )
            for joint in range(first, first + int(model.body_jntnum[body]))
        ]
        layout = _screwed(source, _layout(source, body, joints))
        name = "+".join(joint.name for joint in joints)
        name = name if len(joints) == 1 else unique_name(name, source.joint_names)
        if len(joints) > 1 and not layout.coordinates:
            kind = layout.type.name
            source.note(f"joints made one {kind} joint, their coordinates are lost", repr(name))
        for j in {joint.index for joint in joints} & set(constants) - set(layout.coordinates):
            source.unsupported.append(f"the constant joint {source.joint_names[j]!r} in {name!r}")
        names.append(name)
        layouts.append(layout)
        pair = source.rigid_name(model.body_parentid[body]), source.body_names[body]
        ends.append(pair[::-1] if layout.is_reversed else pair)
        motions.append(dict.fromkeys(layout.fixed, 0.0))
        for j, (index, sign) in layout.coordinates.items():
            coordinates[j] = Coordinate(name, index, sign)
            if j in constants:
                motions[-1][index] = sign * constants[j]
    z = np.array([layout.axis for layout in layouts]).reshape(-1, 3)
    chosen = all_axes(z)[:, :, 0]  # where none is given
    x = [c if at.x_axis is None else at.x_axis for at, c in zip(layouts, chosen, strict=True)]
    mechanism.add_joints(
        names,
        [layout.type for layout in layouts],
        [predecessor for predecessor, _ in ends],
        [successor for _, successor in ends],
        point=np.array([layout.point for layout in layouts]).reshape(-1, 3),
        axis=z,
        x_axis=np.reshape(x, (-1, 3)),
        prescribed=motions,
    )
    return coordinates


def _layout(source: RobotSource, body: int, joints: list[FileJoint]) -> Layout:
    kinds = " ".join(sorted(joint.kind for joint in joints))
    make = COMBINATIONS.get(kinds)
    layout = make(joints) if make else None
    if layout is None:
        shown = ", ".join(f"{joint.name!r} ({joint.kind})" for joint in joints)
        raise errors.FileFormatError(
            f"{source.path}: body {source.body_names[body]!r} has the joints {shown}, which are no "
            "joint known here, and a massless body cannot stand between them; put a body with a "
            f"small mass there (known, some of them at right angles: {'; '.join(COMBINATIONS)})"
        )
    return layout


# ---- one function per combination: None where the axes do not fit ---------------------------


def _single(joint_type: types.JointType) -> Callable[[list[FileJoint]], Layout]:
    """Return the function that makes one joint of the file a joint of this type."""

    def layout(joints: list[FileJoint]) -> Layout:
        (joint,) = joints
        if joint_type.n_velocities > 1:
            return Layout(joint_type, joint.anchor)
        return Layout(joint_type, joint.anchor, joint.axis, None, {joint.index: (0, 1.0)})

    return layout


def _hinge_and_slide(joints: list[FileJoint]) -> Layout | None:
    """Cylindrical if the axes are parallel, otherwise planar with one translation fixed."""
    hinge, slide = _of_kind("hinge", joints)[0], _of_kind("slide", joints)[0]
    along = float(hinge.body_axis @ slide.body_axis)
    if np.linalg.norm(np.cross(hinge.body_axis, slide.body_axis)) <= tolerances.AXIS_TOLERANCE:
        coordinates = {hinge.index: (0, 1.0), slide.index: (1, float(np.sign(along)))}
        return Layout(types.Cylindrical(), hinge.anchor, hinge.axis, None, coordinates)
    if joints[0] is hinge or not _perpendicular(joints):  # a hinge that turns the slide
        return None
    coordinates = {slide.index: (0, 1.0), hinge.index: (2, 1.0)}
    return Layout(types.Planar(), hinge.anchor, hinge.axis, slide.axis, coordinates, fixed=(1,))


def _two_slides(joints: list[FileJoint]) -> Layout | None:
    """Planar with its angle fixed."""
    first, second = joints
    if not _perpendicular(joints):
        return None
    coordinates = {first.index: (0, 1.0), second.index: (1, 1.0)}
    normal = np.cross(first.axis, second.axis)
    return Layout(types.Planar(), first.anchor, normal, first.axis, coordinates, fixed=(2,))


def _two_hinges(joints: list[FileJoint]) -> Layout | None:
    outer, inner = joints  # the axis of the outer one is fixed in the parent
    center = _common_point(joints)
    if center is None or not _perpendicular(joints):
        return None
    coordinates = {outer.index: (0, 1.0), inner.index: (1, 1.0)}
    normal = np.cross(outer.axis, inner.axis)
    return Layout(types.Universal(), center, normal, outer.axis, coordinates)


def _hinge_and_two_slides(joints: list[FileJoint]) -> Layout | None:
    """Planar, in the plane of the parent where the slides come first, else in that of the body."""
    hinge, (first, second) = _of_kind("hinge", joints)[0], _of_kind("slide", joints)
    if joints[1] is hinge or not _perpendicular(joints):
        return None
    sign = -1.0 if joints[0] is hinge else 1.0
    side = sign * float(np.sign(np.cross(hinge.axis, first.axis) @ second.axis))
    coordinates = {hinge.index: (2, 1.0), first.index: (0, 1.0), second.index: (1, side)}
    axes = sign * hinge.axis, sign * first.axis
    return Layout(types.Planar(), hinge.anchor, *axes, coordinates, is_reversed=sign < 0.0)


def _ball_and_slides(joints: list[FileJoint]) -> Layout | None:
    """A point on a line or a plane, of the parent where the slides come first, else of the body."""
    (ball,), slides = _of_kind("ball", joints), _of_kind("slide", joints)
    is_reversed = joints[0] is ball
    if not (is_reversed or joints[-1] is ball) or not _perpendicular(slides):
        return None
    sign = -1.0 if is_reversed else 1.0
    coordinates = {slide.index: (3 + k, 1.0) for k, slide in enumerate(slides)}
    axes = [sign * slide.axis for slide in slides]
    if len(slides) == 1:
        kind, axis, x_axis = types.PointOnLine(), axes[0], None
        return Layout(kind, ball.anchor, axis, x_axis, coordinates, is_reversed=is_reversed)
    normal = np.cross(axes[0], axes[1])
    on_plane = types.PointOnPlane()
    return Layout(on_plane, ball.anchor, normal, axes[0], coordinates, is_reversed=is_reversed)


def _three_hinges(joints: list[FileJoint]) -> Layout | None:
    center = _common_point(joints) if _perpendicular(joints) else None
    return None if center is None else Layout(types.Spherical(), center)


def _hinges_and_slides(joints: list[FileJoint]) -> Layout | None:
    fits = _perpendicular(_of_kind("slide", joints)) and _perpendicular(_of_kind("hinge", joints))
    return Layout(types.Free(), joints[-1].anchor) if fits else None


COMBINATIONS: dict[str, Callable[[list[FileJoint]], Layout | None]] = {
    "hinge": _single(types.Revolute()),
    "slide": _single(types.Prismatic()),
    "ball": _single(types.Spherical()),
    "free": _single(types.Free()),
    "hinge slide": _hinge_and_slide,
    "hinge hinge": _two_hinges,
    "slide slide": _two_slides,
    "hinge slide slide": _hinge_and_two_slides,
    "hinge hinge hinge": _three_hinges,
    "ball slide": _ball_and_slides,
    "ball slide slide": _ball_and_slides,
    "ball slide slide slide": _hinges_and_slides,
    "hinge hinge hinge slide slide slide": _hinges_and_slides,
}


def _of_kind(kind: str, joints: list[FileJoint]) -> list[FileJoint]:
    return [joint for joint in joints if joint.kind == kind]


def _perpendicular(joints: list[FileJoint]) -> bool:
    axes = np.array([joint.body_axis for joint in joints]).reshape(-1, 3)
    return bool(np.all(np.abs(axes @ axes.T - np.eye(len(axes))) < tolerances.AXIS_TOLERANCE))


def _common_point(joints: list[FileJoint]) -> FloatArray | None:
    """Return the world point nearest to all axes, or None if it is not on all of them."""
    arms = np.array([joint.anchor for joint in joints]) - joints[0].anchor
    across = np.array([np.eye(3) - np.outer(joint.axis, joint.axis) for joint in joints])
    shift = np.linalg.solve(across.sum(axis=0), np.einsum("nij,nj->i", across, arms))
    distances = np.linalg.norm(np.einsum("nij,nj->ni", across, shift - arms), axis=1)
    size = max(float(np.max(np.linalg.norm(arms, axis=1))), 1e-3)
    return joints[0].anchor + shift if distances.max() <= tolerances.AXIS_TOLERANCE * size else None


def _screwed(source: RobotSource, layout: Layout) -> Layout:
    """Return the layout of a cylindrical joint as helical where its hinge drives its slide."""
    if not isinstance(layout.type, types.Cylindrical):
        return layout
    by_coordinate = {index: (joint, sign) for joint, (index, sign) in layout.coordinates.items()}
    (hinge, _), (slide, sign) = by_coordinate[0], by_coordinate[1]
    for one, other, ratio in source.couplings.values():
        if (one, other) in ((slide, hinge), (hinge, slide)):
            pitch = sign * (ratio if one == slide else 1.0 / ratio)
            return replace(layout, type=types.Helical(pitch), coordinates={hinge: (0, 1.0)})
    return layout


def constant_joints(source: RobotSource) -> dict[int, float]:
    """Return the joints of constant coordinate, as the distance from their initial position.

    Couplings of joints or tendons are reported as unsupported.
    """
    model, constants = source.model, {}
    for equality in source.active_equalities:
        kind = source.kind("mjtEq", model.eq_type[equality])
        if kind in ("connect", "weld"):
            continue
        if equality in source.couplings or equality in source.constant_tendons:
            continue
        joint, other = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
        coefficients = model.eq_data[equality, :5]
        if kind != "joint":
            source.unsupported.append(f"the {kind} equality {source.label('equality', equality)!r}")
        elif other >= 0 and np.any(coefficients[1:] != 0.0):
            source.unsupported.append(
                f"the coupling of joint {source.joint_names[joint]!r} to joint "
                f"{source.joint_names[other]!r} with the coefficients {coefficients.tolist()}"
            )
        else:
            index = model.jnt_qposadr[joint]
            constants[joint] = float(model.qpos0[index] + coefficients[0] - source.data.qpos[index])
    return constants


def add_loop_joints(mechanism: Mechanism, source: RobotSource) -> None:
    """Add a spherical joint for every `connect`, a fixed one for every `weld`.

    Both are rigid: `solref` and `solimp` set accelerations with which the solver closes a gap,
    whatever the bodies weigh, so that they say nothing of a stiffness of the joint.
    """
    model = source.model
    for equality in source.active_equalities:
        kind = source.kind("mjtEq", model.eq_type[equality])
        if kind not in ("connect", "weld"):
            continue
        name, data = source.label("equality", equality), np.array(model.eq_data[equality])
        ids = [int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])]
        is_ball = kind == "connect" or data[10] == 0.0  # a weld without torque holds a point only
        if source.kind("mjtObj", model.eq_objtype[equality]) == "site":
            bodies = [int(model.site_bodyid[site]) for site in ids]
            poses = [(model.site_pos[site], model.site_quat[site]) for site in ids]
        else:
            bodies = ids
            points = (data[:3], data[3:6]) if kind == "connect" else (data[3:6], data[:3])
            turn = NO_ROTATION if kind == "connect" else data[6:10]
            poses = [(points[0], turn), (points[1], NO_ROTATION)]
        first, second = (source.frame(b, *at) for b, at in zip(bodies, poses, strict=True))
        ends = [source.rigid_name(body) for body in bodies]
        if ends[0] == ends[1]:
            source.note("equality constraints within one rigid body are left out", repr(name))
            continue
        if kind == "weld" and data[10] not in (0.0, 1.0):
            source.note("welds are rigid here, so their torquescale has no meaning", repr(name))
        mechanism.add_joint(
            unique_name(name, [*mechanism.joint_names, *source.joint_names]),
            types.Spherical() if is_ball else types.Fixed(),
            *ends,
            predecessor_frame=first,
            successor_frame=second,
        )
