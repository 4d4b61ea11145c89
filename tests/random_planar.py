"""Random mechanisms that move parallel to a plane, for the tests."""

import numpy as np
from random_mechanisms import (
    add_joint,
    add_random_body,
    close_loop,
    other_end,
    pose,
    random_position,
    random_rotation,
    random_type,
)

import sparsebody as sb
from sparsebody.spatial import quaternion_from_rotation, rotation_about

HOLDING = ("revolute", "prismatic", "fixed", "planar")
CLOSING = (
    "revolute",
    "prismatic",
    "spherical",
    "point-on-plane",
    "point-on-line",
    "constant-distance",
    "cylindrical",
)


def about(axis, angle):
    return rotation_about(np.eye(3)["xyz".index(axis)], angle)


class Builder:
    """A mechanism parallel to the xy plane of Q, bodies and joints oriented as it happens."""

    def __init__(self, rng):
        self.rng = rng
        self.Q = random_rotation(rng)
        self.mechanism = sb.Mechanism("planar", gravity=3.0 * rng.normal(size=3))

    def joint_axes(self, name):
        """Axes in the world of a joint frame that suits the plane."""
        turn = about("z", self.rng.uniform(-3, 3))
        if name == "prismatic":  # z across the normal
            turn = turn @ about("y", np.pi / 2) @ about("z", self.rng.uniform(-3, 3))
        elif self.rng.random() < 0.3:
            turn = turn @ about("x", np.pi)
        return self.Q @ turn

    def frame(self, body, axes):
        """A joint frame at a random place of a body, with these axes in the world."""
        R = pose(self.mechanism, body)[0]
        return sb.Frame(self.rng.normal(size=3), quaternion_from_rotation(R.T @ axes))

    def add_body(self, name, joint, prescribed=None):
        rng = self.rng
        hosts = self.mechanism.body_names or [sb.WORLD]  # so that not all hang on the world
        parent = str(rng.choice(hosts))
        joint_type = random_type(rng, joint)
        near = self.frame(parent, self.joint_axes(joint))
        q = random_position(rng, joint_type)
        R_S, x_S = other_end(pose(self.mechanism, parent), near, joint_type, q)
        R = self.Q @ about("z", rng.uniform(-3, 3)) @ random_rotation(rng)
        far = sb.Frame(rng.normal(size=3), quaternion_from_rotation(R.T @ R_S))
        velocities = {
            "linear_velocity": self.Q @ [*rng.normal(size=2), 0.0],
            "angular_velocity": self.Q @ [0.0, 0.0, rng.normal()],
        }
        add_random_body(self.mechanism, rng, name, (R, x_S - R @ far.origin), **velocities)
        ends = parent, name
        add_joint(self.mechanism, f"to {name}", joint_type, ends, near, far, prescribed=prescribed)

    def close(self, name, joint):
        rng, bodies = self.rng, [*self.mechanism.body_names, sb.WORLD]
        joint_type = random_type(rng, joint)
        ends = [str(body) for body in rng.choice(bodies, size=2, replace=False)]
        axes = self.joint_axes(joint) if joint in HOLDING else random_rotation(rng)
        if joint == "point-on-plane" and rng.random() < 0.7:  # a line in the plane
            axes = self.joint_axes("prismatic")
        close_loop(self.mechanism, rng, name, joint_type, ends, self.frame(ends[0], axes))


def random_planar(seed, closing=CLOSING):
    rng = np.random.default_rng(seed)
    builder = Builder(rng)
    builder.add_body("b0", "revolute")  # which says which plane it is
    for i in range(1, int(rng.integers(3, 9))):
        builder.add_body(f"b{i}", str(rng.choice(HOLDING, p=[0.7, 0.15, 0.05, 0.1])))
    for k in range(int(rng.integers(0, 3))):
        builder.close(f"loop{k}", str(rng.choice(closing)))
    return builder.mechanism
