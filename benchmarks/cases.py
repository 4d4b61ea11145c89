"""Mechanisms of studies, and the motions of those of `forward_dynamics.toml`.

All velocities are consistent in closed form, stay bounded in long mechanisms, and do not depend on
how bodies and joints are numbered.
"""

import math
from functools import cache
from pathlib import Path

import numpy as np

import sparsebody as sb
from sparsebody.arrays import ArrayLike
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.study.families import Problem
from sparsebody.study.plan import Study, read_study

FORWARD_DYNAMICS = Path(__file__).parent / "forward_dynamics.toml"
SPIN = 0.7  # [rad/s]


@cache
def forward_dynamics() -> Study:
    """Return the study of all mechanisms, sizes and engines."""
    return read_study(FORWARD_DYNAMICS)


def problem(name: str, n_bodies: int, seed: int = 0, shuffled: bool = False) -> Problem:
    """Return a ladder, scissor, lattice or chain of about so many bodies, at its moving state.

    Random are, by the seed: the lattice's joints, the velocities, the shuffling.
    """
    family = forward_dynamics().families[f"{name}-shuffled" if shuffled else name]
    return family.problem(family.build(n_bodies, seed).compile(), seed)


# ---- motions -------------------------------------------------------------------------------------


def _moving(system: sb.System, angular: ArrayLike, linear: ArrayLike) -> sb.State:
    """Return the initial pose with velocities (3, n) given in world axes [rad/s, m/s]."""
    state = system.initial_state
    to_world = body_rotations(state)
    parts = [np.einsum("nij,in->nj", to_world, part) for part in (angular, linear)]
    return state.with_(velocity=np.concatenate(parts, axis=1))


def ladder_motion(system: sb.System, seed: int) -> sb.State:
    """Pairs of bars swing about y like planks hinged to each other; bars spin about x in turn."""
    x, y = np.rint(system.initial_state.position[:, :2]).astype(int).T
    lift = np.random.default_rng((seed, 2)).uniform(-0.5, 0.5, x.max() + 2)
    lift[0] = 0.0  # of the line of hinges at x - 0.5, at the world first [m/s]
    spin, zero = SPIN * (-1.0) ** (x + y), np.zeros(len(x))
    angular = spin, lift[x] - lift[x + 1], zero
    return _moving(system, angular, (zero, zero, (lift[x] + lift[x + 1]) / 2))


def scissor_motion(system: sb.System, seed: int) -> sb.State:
    """It rises; the higher it is, the more slowly its bars turn."""
    axes = body_rotations(system.initial_state)
    along = np.where(axes[:, 0, 0] > 0.0, 1.0, -1.0)  # left bars rise to the right
    cosine, sine = np.abs(axes[:, 0, 0]), axes[:, 2, 0]
    rate, zero = SPIN / math.sqrt(system.n_bodies), np.zeros(system.n_bodies)
    rise = system.initial_state.position[:, 2] * cosine / sine * rate
    return _moving(system, (zero, -along * rate, zero), (-0.5 * sine * rate, zero, rise))


def lattice_motion(system: sb.System, seed: int) -> sb.State:
    """Neighbours turn in opposite directions; all drift so that the corner stays on its base."""
    cell = np.rint(system.initial_state.position).astype(int)
    spin = SPIN * np.array([0.6, -0.3, 0.74])
    angular = (-1.0) ** cell.sum(axis=1) * spin[:, None]
    drift = np.cross(spin, [0.5, 0.0, 0.0])[:, None]
    return _moving(system, angular, np.broadcast_to(drift, angular.shape))


def chain_motion(system: sb.System, seed: int) -> sb.State:
    """Each hinge turns at random, the velocities of the hinge points staying bounded."""
    rng = np.random.default_rng((seed, 2))
    bar = np.rint(system.initial_state.position[:, 0] - 0.5).astype(int)
    n = len(bar) + 3
    up, aside = rng.uniform(-0.5, 0.5, (2, n))  # of the points at x = 0, 1, 2, ...
    up[0] = 0.0
    up[1:-1:2] = (up[0:-2:2] + up[2::2]) / 2  # the slope changes at even points, about y
    aside[:2] = 0.0
    aside[2:-1:2] = (aside[1:-2:2] + aside[3::2]) / 2  # and at odd points about z
    zero = np.zeros(len(bar))
    angular = zero, up[bar] - up[bar + 1], aside[bar + 1] - aside[bar]
    linear = zero, (aside[bar] + aside[bar + 1]) / 2, (up[bar] + up[bar + 1]) / 2
    return _moving(system, angular, linear)


# ---- bodies that move within displacement subgroups, for `subgroups.toml` ------------------------


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
