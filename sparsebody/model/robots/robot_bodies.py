"""Rigid bodies of a robot file: bodies welded together are one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.model.bodies import Box, Cylinder, Shape, Sphere
from sparsebody.model.frames import Frame
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.robots.robot_file import RobotSource


def add_bodies(mechanism: Mechanism, source: RobotSource) -> None:
    """Add a body for every root; what is welded to the world has no inertia there and is left."""
    roots = list(source.roots)
    kind = source.mujoco.mjtObj.mjOBJ_XBODY
    velocity = np.zeros((len(roots), 6))  # of the body frames' origins, in world axes
    for root, v in zip(roots, velocity, strict=True):
        source.mujoco.mj_objectVelocity(source.model, source.data, kind, root, v, 0)
    inertias = [_inertia(source, members) for members in source.roots.values()]
    shapes = _shapes(source)
    mechanism.add_bodies(
        [source.body_names[root] for root in roots],
        mass=[mass for mass, _, _ in inertias],
        inertia=np.array([inertia for _, _, inertia in inertias]).reshape(-1, 3, 3),
        center_of_mass=np.array([center for _, center, _ in inertias]).reshape(-1, 3),
        position=source.data.xpos[roots],
        orientation=source.data.xquat[roots],
        angular_velocity=velocity[:, :3],
        linear_velocity=velocity[:, 3:],
        shape=[shapes.get(root) for root in roots],
    )


def _inertia(source: RobotSource, members: list[int]) -> tuple[float, FloatArray, FloatArray]:
    """Mass, center of mass and inertia about it of all members, in the frame of the root."""
    model = source.model
    frames = [source.frame(b, model.body_ipos[b], model.body_iquat[b]) for b in members]
    mass = np.array(model.body_mass[members])
    places = np.array([frame.origin for frame in frames])
    total = float(mass.sum())
    center = mass @ places / total if total > 0.0 else np.zeros(3)
    inertia = np.zeros((3, 3))
    for body, m, arm, frame in zip(members, mass, places - center, frames, strict=True):
        R = frame.rotation  # the principal axes
        inertia += (R * model.body_inertia[body]) @ R.T
        inertia += m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return total, center, 0.5 * (inertia + inertia.T)


def _shapes(source: RobotSource) -> dict[int, Shape]:
    """Return the first simple geom of each root as a shape for pictures."""
    model, shapes = source.model, {}
    for geom, body in enumerate(model.geom_bodyid.tolist()):
        make = _SHAPES.get(source.kind("mjtGeom", model.geom_type[geom]))
        if make is not None and (root := int(source.root[body])) not in shapes:
            frame = source.frame(body, model.geom_pos[geom], model.geom_quat[geom])
            shapes[root] = make([float(size) for size in model.geom_size[geom]], frame)
    return shapes


_SHAPES: dict[
    str, Callable[[list[float], Frame], Shape]
] = {  # MuJoCo's sizes are radii and half lengths
    "box": lambda size, frame: Box((2 * size[0], 2 * size[1], 2 * size[2]), frame),
    "sphere": lambda size, frame: Sphere(size[0], frame),
    "capsule": lambda size, frame: Cylinder(size[0], 2 * size[1], frame),
    "cylinder": lambda size, frame: Cylinder(size[0], 2 * size[1], frame),
}
