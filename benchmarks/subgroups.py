"""Mechanisms whose bodies move within displacement subgroups, for `subgroups.toml`."""

import numpy as np

import sparsebody as sb


def spherical_ladder(size: int, joint: str = "revolute") -> sb.Mechanism:
    """A ladder of bars on a sphere that grows slowly, hinged about axes through its center."""
    mechanism = sb.Mechanism("spherical ladder")
    ones = {"mass": np.ones(size), "inertia": [0.05] * 3}
    angle, radius = np.linspace(0.0, size * np.pi / 20, size + 1), 1.0 + 0.002 * np.arange(size + 1)
    along = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    rails = [radius[:, None] * (np.cos(at) * along + [0, 0, np.sin(at)]) for at in (0.1, -0.1)]
    rungs = mechanism.add_bodies("rung-{}", position=(rails[0] + rails[1])[1:] / 2, **ones)
    for rail, x in zip(("upper", "lower"), rails, strict=True):
        bars = mechanism.add_bodies(rail + "-{}", position=(x[:-1] + x[1:]) / 2, **ones)
        hinges = ("hinge", np.append(-1, bars[:-1]), bars, x[:-1]), ("end", bars, rungs, x[1:])
        for name, *ends, point in hinges:
            kind, frame = sb.JOINT_TYPES[joint](), {"point": point, "axis": point}
            mechanism.add_joints(f"{rail}-{name}-{{}}", kind, *ends, **frame)
    return mechanism


def gantries(size: int) -> sb.Mechanism:
    """Carriages on twin rails, with two slides each, each joined to the next by one more."""
    mechanism, at = sb.Mechanism("gantries"), np.arange(size)[:, None] * np.array([1.0, 0.0, 0.0])
    solid = {"mass": np.ones(size), "inertia": [0.1, 0.1, 0.1], "position": at}
    x, y, z = (mechanism.add_bodies(axis + "-{}", **solid) for axis in "xyz")
    for name, first, second, axis, point in (
        ("rail-{}", -1, x, 0, at),
        ("twin-{}", -1, x, 0, at + np.eye(3)[1]),
        ("bridge-{}", x, y, 1, at),
        ("column-{}", y, z, 2, at),
        ("link-{}", z[:-1], z[1:], 0, at[1:]),
    ):
        frame = {"point": point, "axis": np.eye(3)[axis]}
        mechanism.add_joints(name, sb.Prismatic(), first, second, **frame)
    return mechanism


def scissor_with_pendulums(size: int, pendulums: int = 5) -> sb.Mechanism:
    """A scissor lift, planar, with pendulums on ball joints, which are not."""
    mechanism = sb.build("scissor", pairs=size)
    bars = 7 * np.arange(pendulums) % mechanism.n_bodies
    x = np.array([body.position for body in mechanism.bodies.values()])[bars]
    solid = {"mass": np.full(pendulums, 0.3), "inertia": [0.01] * 3}
    bobs = mechanism.add_bodies("bob-{}", position=x - [0.0, 0.0, 0.4], **solid)
    mechanism.add_joints("ball-{}", sb.Spherical(), bars, bobs, point=x)
    return mechanism
