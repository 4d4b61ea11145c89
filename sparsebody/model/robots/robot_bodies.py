"""Rigid bodies of a robot file: bodies welded together are one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.bodies import Box, Cylinder, Shape, Sphere
from sparsebody.model.frames import Frame
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.robots.robot_file import RobotSource


def add_bodies(mechanism: Mechanism, source: RobotSource) -> None:
    """Add a body for every root; what is welded to the world has no inertia there and is left."""
    for root in sorted(set(source.root.tolist()) - {0}):
        members = np.flatnonzero(source.root == root)
        mass, center, inertia = _inertia(source, root, members)
        velocity = np.zeros(6)  # of the body frame's origin, in world axes
        kind = source.mujoco.mjtObj.mjOBJ_XBODY
        source.mujoco.mj_objectVelocity(source.model, source.data, kind, root, velocity, 0)
        mechanism.add_body(
            source.body_names[root],
            mass=mass,
            inertia=inertia,
            center_of_mass=center,
            position=source.data.xpos[root],
            orientation=source.data.xquat[root],
            angular_velocity=velocity[:3],
            linear_velocity=velocity[3:],
            shape=_shape(source, members),
        )


def _inertia(
    source: RobotSource, root: int, members: IntArray
) -> tuple[float, FloatArray, FloatArray]:
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


def _shape(source: RobotSource, members: IntArray) -> Shape | None:
    """Return the first simple geom as a shape for pictures."""
    model = source.model
    for geom in np.flatnonzero(np.isin(model.geom_bodyid, members)):
        make = _SHAPES.get(source.kind("mjtGeom", model.geom_type[geom]))
        if make is not None:
            body = int(model.geom_bodyid[geom])
            frame = source.frame(body, model.geom_pos[geom], model.geom_quat[geom])
            return make([float(size) for size in model.geom_size[geom]], frame)
    return None


_SHAPES: dict[
    str, Callable[[list[float], Frame], Shape]
] = {  # MuJoCo's sizes are radii and half lengths
    "box": lambda size, frame: Box((2 * size[0], 2 * size[1], 2 * size[2]), frame),
    "sphere": lambda size, frame: Sphere(size[0], frame),
    "capsule": lambda size, frame: Cylinder(size[0], 2 * size[1], frame),
    "cylinder": lambda size, frame: Cylinder(size[0], 2 * size[1], frame),
}
