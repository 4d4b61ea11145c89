"""Mechanisms whose bodies move within displacement subgroups, for `subgroups.toml`."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.model.gallery import build
from sparsebody.model.joints import JOINT_TYPES, Prismatic, Spherical
from sparsebody.model.mechanism import WORLD, Mechanism


def spherical_ladder(size: int, joint: str = "revolute") -> Mechanism:
    """A ladder of bars on a sphere that grows slowly, hinged about axes through its center."""
    mechanism, rungs, joint_type = Mechanism("spherical ladder"), size, JOINT_TYPES[joint]
    angle = np.linspace(0.0, rungs * np.pi / 20, rungs + 1)
    latitude = {"upper": 0.1, "lower": -0.1}
    corner = {
        rail: (1.0 + 0.002 * np.arange(rungs + 1))[:, None]
        * np.stack(
            [np.cos(angle) * np.cos(at), np.sin(angle) * np.cos(at), 0 * angle + np.sin(at)]
        ).T
        for rail, at in latitude.items()
    }

    def add_bar(name: str, ends: FloatArray) -> None:
        mechanism.add_body(
            name, mass=1.0, inertia=[0.05, 0.05, 0.05], position=np.mean(ends, axis=0)
        )

    def add_hinge(name: str, first: str, second: str, x: FloatArray) -> None:
        mechanism.add_joint(name, joint_type(), first, second, point=x, axis=x / np.linalg.norm(x))

    for i in range(rungs):
        for rail, x in corner.items():
            add_bar(f"{rail}-{i}", x[i : i + 2])
        add_bar(f"rung-{i}", np.array([x[i + 1] for x in corner.values()]))
    for i in range(rungs):
        for rail, x in corner.items():
            before = f"{rail}-{i - 1}" if i else WORLD
            add_hinge(f"{rail}-hinge-{i}", before, f"{rail}-{i}", x[i])
            add_hinge(f"{rail}-end-{i}", f"{rail}-{i}", f"rung-{i}", x[i + 1])
    return mechanism


def gantries(size: int) -> Mechanism:
    """Carriages on twin rails, with two slides each, each joined to the next by one more."""
    mechanism = Mechanism("gantries")
    for i in range(size):
        at = np.array([float(i), 0.0, 0.0])
        for axis in "xyz":
            mechanism.add_body(f"{axis}-{i}", mass=1.0, inertia=[0.1, 0.1, 0.1], position=at)
        for name, ends, axis, x in (
            ("rail", (WORLD, f"x-{i}"), 0, at),
            ("twin", (WORLD, f"x-{i}"), 0, np.array([i, 1.0, 0.0])),
            ("bridge", (f"x-{i}", f"y-{i}"), 1, at),
            ("column", (f"y-{i}", f"z-{i}"), 2, at),
            ("link", (f"z-{i - 1}", f"z-{i}"), 0, at),
        ):
            if i or name != "link":
                mechanism.add_joint(
                    f"{name}-{i}", Prismatic(), *ends, point=x, axis=np.eye(3)[axis]
                )
    return mechanism


def scissor_with_pendulums(size: int, pendulums: int = 5) -> Mechanism:
    """A scissor lift, planar, with pendulums on ball joints, which are not."""
    mechanism = build("scissor", pairs=size)
    bars = list(mechanism.bodies)
    for k in range(pendulums):
        bar = bars[7 * k % len(bars)]
        x = np.asarray(mechanism.body(bar).position)
        mechanism.add_body(
            f"bob-{k}", mass=0.3, inertia=[0.01, 0.01, 0.01], position=x - [0.0, 0.0, 0.4]
        )
        mechanism.add_joint(f"ball-{k}", Spherical(), bar, f"bob-{k}", point=x)
    return mechanism
