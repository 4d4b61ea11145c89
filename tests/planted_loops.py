"""Loops whose joints all move within one displacement subgroup, planted in other mechanisms."""

import numpy as np
from random_mechanisms import add_joint, add_random_body, frame_at, pose, random_rotation

import sparsebody as sb
from sparsebody.spatial import rotation_about

TYPES = {
    "rigid": ("fixed",),
    "rotation about a line": ("revolute",),
    "translation along a line": ("prismatic",),
    "helical": ("helical",),
    "planar translations": ("prismatic",),
    "cylindrical": ("revolute", "helical", "cylindrical", "prismatic"),
    "spherical": ("revolute", "revolute", "spherical", "universal"),
    "translational": ("prismatic", "prismatic", "fixed"),
    "planar": ("revolute", "revolute", "planar", "prismatic", "fixed"),
    "Schoenflies": ("revolute", "helical", "cylindrical", "planar", "prismatic", "prismatic"),
}
FREEDOMS = dict(zip(TYPES, (0, 1, 1, 1, 2, 2, 3, 3, 3, 4), strict=True))


def joint_axes(rng, kind, name, Q):
    """Axes of a joint that moves within the subgroup about, along or across z of Q."""
    turn = rotation_about([0, 0, 1], rng.uniform(-3, 3))
    tilt = rotation_about([1, 0, 0], np.pi / 2)
    if kind in ("rigid", "spherical"):
        return random_rotation(rng)
    if name == "prismatic" and kind in ("planar", "planar translations"):
        return Q @ turn @ tilt
    if name == "prismatic" and kind in ("translational", "Schoenflies"):
        which = (np.eye(3), tilt, rotation_about([0, 1, 0], np.pi / 2), Q)
        return which[int(rng.integers(4))] @ rotation_about([0, 0, 1], rng.uniform(-3, 3))
    return Q @ turn @ (rotation_about([1, 0, 0], np.pi) if rng.random() < 0.3 else np.eye(3))


def add_joint_within(mechanism, rng, name, ends, kind, Q, center):
    """Join two bodies where they are by a joint that moves within a subgroup."""
    type_name = str(rng.choice(TYPES[kind]))
    if kind == "planar translations":
        type_name = "prismatic"
    joint_type = sb.Helical(0.17) if type_name == "helical" else sb.JOINT_TYPES[type_name]()
    R = joint_axes(rng, kind, type_name, Q)
    is_about_center = kind in ("spherical", "rotation about a line", "helical", "cylindrical")
    x = center + (0.0 if is_about_center else 1.0) * rng.normal(size=3)
    if is_about_center and type_name not in ("spherical", "universal"):
        x = x + rng.normal() * R[:, 2]
    near, far = (frame_at(pose(mechanism, body), R, x) for body in ends)
    add_joint(mechanism, name, joint_type, ends, near, far)


def plant(mechanism, rng, name, kind, base, bodies, loops=1):
    """Add bodies that move within a subgroup relative to a base, in loops."""
    Q, center = random_rotation(rng), rng.normal(size=3)
    members = [base]
    for i in range(bodies):
        member = f"{name} {i}"
        position = random_rotation(rng), rng.normal(size=3)
        add_random_body(mechanism, rng, member, position)
        ends = members[-1 if rng.random() < 0.7 else int(rng.integers(len(members)))], member
        add_joint_within(mechanism, rng, f"{name} joint {i}", ends, kind, Q, center)
        members.append(member)
    for k in range(loops):
        first, second = rng.choice(len(members), size=2, replace=False)
        if k == 0:
            first, second = len(members) - 1, 0
        ends = members[first], members[second]
        add_joint_within(mechanism, rng, f"{name} loop {k}", ends, kind, Q, center)


def planted(seed):
    """Loops in one to four subgroups, on the world or on each other, and other loops around."""
    rng = np.random.default_rng(seed)
    mechanism = sb.Mechanism("planted", gravity=rng.normal(size=3))
    for k in range(int(rng.integers(1, 5))):
        base = str(rng.choice([sb.WORLD, *mechanism.bodies]))
        kind = str(rng.choice(list(TYPES)))
        counts = int(rng.integers(1, 4)), int(rng.integers(3))
        plant(mechanism, rng, f"{kind} {k}", kind, base, *counts)
    bodies = [sb.WORLD, *mechanism.bodies]
    for k in range(int(rng.integers(3))):
        ends = [str(body) for body in rng.choice(bodies, size=2, replace=False)]
        kind = str(rng.choice(["spherical", "planar", "Schoenflies"]))
        Q, center = random_rotation(rng), rng.normal(size=3)
        add_joint_within(mechanism, rng, f"other {k}", ends, kind, Q, center)
    return mechanism
