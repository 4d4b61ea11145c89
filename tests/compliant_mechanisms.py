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


def near(rng, place):
    return sb.Frame(
        place + 0.1 * rng.normal(size=3), quaternion_exponential(0.15 * rng.normal(size=3))
    )


def deformed(seed, names, damping=False):
    """Bodies in a row, turned a little, with joints of all names open by some 0.2 m and 0.2 rad."""
    rng = np.random.default_rng(seed)
    mechanism = sb.Mechanism("deformed")
    n = len(names) + 3
    place = np.arange(n)[:, None] * [1.0, 0.2, -0.1]
    for i in range(n):
        mechanism.add_body(
            f"b{i}",
            mass=1.0 + 0.1 * i,
            inertia=[0.1, 0.12, 0.2],
            position=place[i],
            orientation=quaternion_exponential(0.1 * rng.normal(size=3)),
            linear_velocity=rng.normal(size=3),
            angular_velocity=rng.normal(size=3),
        )
    ends = ["world", *(f"b{i}" for i in range(n))]
    half = np.array([0.5, 0.1, -0.05])
    for k, name in enumerate(names):
        kind = joint_type(name)
        m = kind.n_constraints
        mechanism.add_joint(
            f"j{k}",
            kind,
            ends[k],
            ends[k + 1],
            predecessor_frame=near(rng, half if k else -half),
            successor_frame=near(rng, -half),
            compliance=0.1 * semidefinite(rng, m) + 0.01 * np.eye(m),
            damping=semidefinite(rng, m) if damping else 0.0,
        )
    mechanism.add_bushing(
        "bush",
        f"b{n - 3}",
        f"b{n - 2}",
        predecessor_frame=near(rng, half),
        successor_frame=near(rng, -half),
        stiffness=semidefinite(rng, 6, 4),
    )
    mechanism.add_bushing(
        "mount",
        f"b{n - 2}",
        "world",
        predecessor_frame=near(rng, half),
        successor_frame=near(rng, place[n - 2] + half),
        stiffness=semidefinite(rng, 6),
        damping=semidefinite(rng, 6) if damping else 0.0,
    )
    mechanism.add_beam(
        "beam",
        f"b{n - 2}",
        f"b{n - 1}",
        length=1.0,
        predecessor_frame=near(rng, 0 * half),
        successor_frame=near(rng, 0 * half),
        **dict(zip(("E", "G", "A", "I_y", "I_z", "J"), rng.uniform(0.5, 2.0, 6), strict=True)),
        damping=0.1 if damping else 0.0,
    )
    return mechanism
