"""Mechanisms whose bodies move within displacement subgroups, for `subgroups.toml`."""

import numpy as np

import sparsebody as sb


def spherical_ladder(size: int, joint: str = "revolute") -> sb.Mechanism:
    """A ladder of bars on a sphere that grows slowly, hinged about axes through its center."""
    mechanism = sb.Mechanism("spherical ladder")
    angle, radius = np.linspace(0.0, size * np.pi / 20, size + 1), 1.0 + 0.002 * np.arange(size + 1)
    across = np.array([np.cos(angle), np.sin(angle), 0.0 * angle])
    corner = {
        rail: (radius * (np.cos(at) * across + [[0.0], [0.0], [np.sin(at)]])).T
        for rail, at in (("upper", 0.1), ("lower", -0.1))
    }
    for i in range(size):
        ends = {f"{rail}-{i}": x[i : i + 2] for rail, x in corner.items()}
        ends[f"rung-{i}"] = np.array([x[i + 1] for x in corner.values()])
        for name, points in ends.items():
            mechanism.add_body(name, mass=1.0, inertia=[0.05] * 3, position=points.mean(axis=0))
        for rail, x in corner.items():
            before = f"{rail}-{i - 1}" if i else sb.WORLD
            for name, pair, point in (
                (f"{rail}-hinge-{i}", (before, f"{rail}-{i}"), x[i]),
                (f"{rail}-end-{i}", (f"{rail}-{i}", f"rung-{i}"), x[i + 1]),
            ):
                axis = point / np.linalg.norm(point)
                mechanism.add_joint(name, sb.JOINT_TYPES[joint](), *pair, point=point, axis=axis)
    return mechanism


def gantries(size: int) -> sb.Mechanism:
    """Carriages on twin rails, with two slides each, each joined to the next by one more."""
    mechanism = sb.Mechanism("gantries")
    for i in range(size):
        at = np.array([float(i), 0.0, 0.0])
        for axis in "xyz":
            mechanism.add_body(f"{axis}-{i}", mass=1.0, inertia=[0.1, 0.1, 0.1], position=at)
        for name, ends, axis, x in (
            ("rail", (sb.WORLD, f"x-{i}"), 0, at),
            ("twin", (sb.WORLD, f"x-{i}"), 0, np.array([i, 1.0, 0.0])),
            ("bridge", (f"x-{i}", f"y-{i}"), 1, at),
            ("column", (f"y-{i}", f"z-{i}"), 2, at),
            ("link", (f"z-{i - 1}", f"z-{i}"), 0, at),
        ):
            if i or name != "link":
                mechanism.add_joint(
                    f"{name}-{i}", sb.Prismatic(), *ends, point=x, axis=np.eye(3)[axis]
                )
    return mechanism


def scissor_with_pendulums(size: int, pendulums: int = 5) -> sb.Mechanism:
    """A scissor lift, planar, with pendulums on ball joints, which are not."""
    mechanism = sb.build("scissor", pairs=size)
    bars = list(mechanism.bodies)
    for k in range(pendulums):
        bar = bars[7 * k % len(bars)]
        x = np.asarray(mechanism.body(bar).position)
        mechanism.add_body(f"bob-{k}", mass=0.3, inertia=[0.01] * 3, position=x - [0.0, 0.0, 0.4])
        mechanism.add_joint(f"ball-{k}", sb.Spherical(), bar, f"bob-{k}", point=x)
    return mechanism
