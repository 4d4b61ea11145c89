"""Random mechanisms that move parallel to a plane, for the tests."""

import numpy as np
from random_mechanisms import random_inertia, random_position, random_rotation, random_type

import sparsebody as sb
from sparsebody.spatial import plucker_parts, quaternion_from_rotation, rotation_about

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
        self.pose = {sb.WORLD: (np.eye(3), np.zeros(3))}

    def joint_axes(self, name):
        """Axes in the world of a joint frame that suits the plane."""
        turn = about("z", self.rng.uniform(-3, 3))
        if name == "prismatic":  # z across the normal, x or y along it
            turn = turn @ about("y", np.pi / 2) @ about("z", float(self.rng.choice([0, np.pi / 2])))
        elif self.rng.random() < 0.3:
            turn = turn @ about("x", np.pi)
        return self.Q @ turn

    def body_axes(self):
        return self.Q @ about("z", self.rng.uniform(-3, 3)) @ random_rotation(self.rng)

    def add_body(self, name, joint, prescribed=None):
        rng = self.rng
        parent = str(rng.choice(list(self.pose)))
        joint_type = random_type(rng, joint)
        R_p, x_p = self.pose[parent]
        near = sb.Frame(
            rng.normal(size=3), quaternion_from_rotation(R_p.T @ self.joint_axes(joint))
        )
        E, r = plucker_parts(joint_type.transform(random_position(rng, joint_type)))
        R_P, x_P = R_p @ near.rotation, x_p + R_p @ near.origin
        R_S, x_S, R = R_P @ E.T, x_P + R_P @ r, self.body_axes()
        far = sb.Frame(rng.normal(size=3), quaternion_from_rotation(R.T @ R_S))
        self.place(name, R, x_S - R @ far.origin)
        self.mechanism.add_joint(
            f"to {name}",
            joint_type,
            parent,
            name,
            predecessor_frame=near,
            successor_frame=far,
            prescribed=prescribed,
        )

    def place(self, name, R, x):
        rng, mass = self.rng, float(self.rng.uniform(0.5, 2.0))
        self.mechanism.add_body(
            name,
            mass=mass,
            inertia=random_inertia(rng, mass),
            center_of_mass=0.2 * rng.normal(size=3),
            position=x,
            orientation=quaternion_from_rotation(R),
            linear_velocity=self.Q @ [*rng.normal(size=2), 0.0],
            angular_velocity=self.Q @ [0.0, 0.0, rng.normal()],
        )
        self.pose[name] = R, x

    def close(self, name, joint):
        rng = self.rng
        joint_type = random_type(rng, joint)
        first, second = rng.choice(list(self.pose), size=2, replace=False)
        (R_p, x_p), (R_s, x_s) = self.pose[first], self.pose[second]
        axes = self.joint_axes(joint) if joint in HOLDING else random_rotation(rng)
        if joint == "point-on-plane" and rng.random() < 0.7:  # a line in the plane
            axes = self.joint_axes("prismatic")
        near = sb.Frame(rng.normal(size=3), quaternion_from_rotation(R_p.T @ axes))
        E, r = plucker_parts(joint_type.transform(random_position(rng, joint_type)))
        R_P, x_P = R_p @ near.rotation, x_p + R_p @ near.origin
        far = sb.Frame(R_s.T @ (x_P + R_P @ r - x_s), quaternion_from_rotation(R_s.T @ R_P @ E.T))
        self.mechanism.add_joint(
            name, joint_type, str(first), str(second), predecessor_frame=near, successor_frame=far
        )


def random_planar(seed, closing=CLOSING):
    rng = np.random.default_rng(seed)
    builder = Builder(rng)
    builder.add_body("b0", "revolute")  # which says which plane it is
    builder.pose.pop(sb.WORLD)  # so that not all bodies hang on the world
    for i in range(1, int(rng.integers(3, 9))):
        builder.add_body(f"b{i}", str(rng.choice(HOLDING, p=[0.7, 0.15, 0.05, 0.1])))
    builder.pose[sb.WORLD] = (np.eye(3), np.zeros(3))
    for k in range(int(rng.integers(0, 3))):
        builder.close(f"loop{k}", str(rng.choice(closing)))
    return builder.mechanism
