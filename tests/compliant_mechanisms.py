"""Mechanisms whose compliant joints, bushings and beams are deformed at random."""

import numpy as np

import sparsebody as sb
from sparsebody.spatial import quaternion_exponential

PARAMETERS = {"helical": 0.3, "constant-distance": 1.0}
STIFF = [name for name, kind in sb.JOINT_TYPES.items() if name != "free"]


def joint_type(name):
    """Return a joint type with its number, if it has one."""
    return sb.JOINT_TYPES[name](*([PARAMETERS[name]] if name in PARAMETERS else []))


def semidefinite(rng, n, rank=None):
    root = rng.normal(size=(n, n if rank is None else rank))
    return root @ root.T


def frames(rng, *positions):
    """Joint frames near two places, a little turned, predecessor first."""
    near, far = (
        sb.Frame(
            position + 0.1 * rng.normal(size=3), quaternion_exponential(0.15 * rng.normal(size=3))
        )
        for position in positions
    )
    return {"predecessor_frame": near, "successor_frame": far}


def spatial_chain():
    """A hinge about a skew axis, then a ball."""
    mechanism = sb.Mechanism("chain")
    mechanism.add_body("a", mass=1.0, inertia=[0.1, 0.2, 0.15], position=[0.5, 0, 0])
    mechanism.add_body("b", mass=2.0, inertia=[0.05, 0.1, 0.12], position=[1.0, 0.5, 0])
    mechanism.add_joint("A", sb.Revolute(), sb.WORLD, "a", point=[0, 0, 0], axis=[0.3, 1, 0.1])
    mechanism.add_joint("B", sb.Spherical(), "a", "b", point=[1, 0, 0])
    return mechanism


def deformed(seed, names, damping=False):
    """Bodies in a row, turned a little, with joints of all names open by some 0.2 m and 0.2 rad."""
    rng = np.random.default_rng(seed)
    mechanism = sb.Mechanism("deformed")
    n = len(names) + 3
    position = np.arange(n)[:, None] * [1.0, 0.2, -0.1]
    turn, linear, angular = (rng.normal(size=(n, 3, 3)) * [[0.1], [1.0], [1.0]]).swapaxes(0, 1)
    mechanism.add_bodies(
        "b{}",
        mass=1.0 + 0.1 * np.arange(n),
        inertia=[0.1, 0.12, 0.2],
        position=position,
        orientation=quaternion_exponential(turn),
        linear_velocity=linear,
        angular_velocity=angular,
    )
    ends = ["world", *mechanism.body_names]
    half = np.array([0.5, 0.1, -0.05])
    for k, name in enumerate(names):
        kind = joint_type(name)
        m = kind.n_constraints
        mechanism.add_joint(
            f"j{k}",
            kind,
            *ends[k : k + 2],
            **frames(rng, half if k else -half, -half),
            compliance=0.1 * semidefinite(rng, m) + 0.01 * np.eye(m),
            damping=semidefinite(rng, m) if damping else 0.0,
        )
    first, second, third = ends[-3:]
    bush = frames(rng, half, -half)
    mechanism.add_bushing("bush", first, second, **bush, stiffness=semidefinite(rng, 6, 4))
    mount = frames(rng, half, position[n - 2] + half) | {"stiffness": semidefinite(rng, 6)}
    resistance = semidefinite(rng, 6) if damping else 0.0
    mechanism.add_bushing("mount", second, "world", **mount, damping=resistance)
    beam = frames(rng, 0 * half, 0 * half)
    beam |= dict(zip(("E", "G", "A", "I_y", "I_z", "J"), rng.uniform(0.5, 2.0, 6), strict=True))
    resistance = 0.1 if damping else 0.0
    mechanism.add_beam("beam", second, third, length=1.0, **beam, damping=resistance)
    return mechanism
