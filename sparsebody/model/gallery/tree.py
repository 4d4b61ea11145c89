"""Trees: Featherstone's autoTree family, and random ones with random joints."""

from __future__ import annotations

import math

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.frames import Frame
from sparsebody.model.gallery.parts import (
    DOWN_Z,
    Placement,
    Vector,
    check_at_least,
    check_between,
    placed,
)
from sparsebody.model.joints import (
    Cylindrical,
    Helical,
    JointType,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.shapes import Box, Polyline
from sparsebody.spatial import box_inertia, quaternion_exponential, quaternion_from_rotation


def tree(
    bodies: int = 15,
    branching: float = 2.0,
    skew: float = 0.3,
    taper: float = 1.0,
    moving: bool = False,
    random: bool = False,
    seed: int = 0,
    gravity: Vector = DOWN_Z,
) -> Mechanism:
    """Tree of revolutes of the autoTree family, or a random tree with random joints.

    Body i = 1 ... n ("body-i") hangs on its parent, floor((i - 2 + ceil(branching)) / branching),
    by the revolute "joint-i" about its own z axis. Its frame is at the joint, its length, along x,
    is taper^(i-1) and its mass taper^(3 (i-1)); the center of mass is half way and the inertia
    about it m l^2 diag(0.0025, 1.015/12, 1.015/12). The joint sits at the end of the parent,
    turned by `skew` about x; joint 1 sits at the origin of the world.

    Parameters
    ----------
    bodies : int
        Number of bodies.
    branching : float
        Mean number of children of a body; 1 gives a chain.
    skew : float
        Angle between the joint axes of parent and child [rad].
    taper : float
        Ratio of the lengths of successive bodies.
    moving : bool
        Start at q_i = 0.1 i cos(i), qd_i = 0.3 sin(2i) instead of at rest at q = 0; a random tree
        gets random velocities.
    random : bool
        Instead of that family: parents, frames, joint types and positions, masses, all random;
        `branching`, `skew` and `taper` have no meaning then.
    seed : int
        Of the random numbers.
    gravity : (3,) floats
        [m/s^2].

    References
    ----------
    Featherstone, spatial_v2, autoTree.
    """
    check_at_least(1, bodies=bodies, branching=branching)
    check_at_least(0, seed=seed)
    check_between(0.0, 10.0, taper=taper)
    if random:
        return _random_tree(bodies, moving, np.random.default_rng(seed), gravity)
    branching = min(branching, bodies)  # a star, and no more
    mechanism = Mechanism("tree", gravity)
    places, length = [Placement()], [0.0]
    for i in range(1, bodies + 1):
        parent = math.floor((i - 2 + math.ceil(branching)) / branching)
        turn = quaternion_exponential([skew, 0.0, 0.0])
        frame = Frame() if parent == 0 else Frame((length[parent], 0.0, 0.0), turn)
        q, qd = (0.1 * i * math.cos(i), 0.3 * math.sin(2 * i)) if moving else (0.0, 0.0)
        place = placed(places[parent], Revolute(), frame, Frame(), np.array([q]), np.array([qd]))
        places.append(place)
        length.append(taper ** (i - 1))
        _add_link(mechanism, i, length[i], place)
        _add_joint(mechanism, i, parent, Revolute(), frame, Frame())
    return mechanism


def _add_link(mechanism: Mechanism, i: int, length: float, place: Placement) -> None:
    mass = length**3
    mechanism.add_body(
        f"body-{i}",
        mass=mass,
        inertia=mass * length**2 * np.array([0.0025, 1.015 / 12, 1.015 / 12]),
        center_of_mass=(length / 2, 0.0, 0.0),
        position=place.origin,
        orientation=quaternion_from_rotation(place.rotation),
        linear_velocity=place.linear,
        angular_velocity=place.angular,
        shape=Polyline(((0.0, 0.0, 0.0), (length, 0.0, 0.0))),
    )


def _add_joint(
    mechanism: Mechanism, i: int, parent: int, kind: JointType, before: Frame, after: Frame
) -> None:
    mechanism.add_joint(
        f"joint-{i}",
        kind,
        WORLD if parent == 0 else f"body-{parent}",
        f"body-{i}",
        predecessor_frame=before,
        successor_frame=after,
    )


# ---- random trees ---------------------------------------------------------------------------


def _random_tree(bodies: int, moving: bool, rng: np.random.Generator, gravity: Vector) -> Mechanism:
    mechanism = Mechanism("random-tree", gravity)
    places = [Placement()]
    for i, parent in enumerate(_random_parents(bodies, rng), start=1):
        kind = _random_joint_type(rng)
        frames = _random_frame(rng), _random_frame(rng)
        qd = rng.uniform(-1, 1, kind.n_velocities) * moving
        place = placed(places[parent], kind, *frames, _random_position(kind, rng), qd)
        places.append(place)
        _add_random_body(mechanism, i, place, rng)
        _add_joint(mechanism, i, int(parent), kind, *frames)
    return mechanism


def _random_parents(bodies: int, rng: np.random.Generator) -> IntArray:
    """Body 1 on the world, every other on one of those before it."""
    return np.array([0] + [rng.integers(1, i) for i in range(2, bodies + 1)], dtype=np.intp)


def _random_joint_type(rng: np.random.Generator) -> JointType:
    kinds = (
        Revolute(),
        Prismatic(),
        Cylindrical(),
        Planar(),
        Spherical(),
        Universal(),
        Helical(pitch=float(rng.uniform(0.05, 0.2))),
    )
    return kinds[rng.integers(len(kinds))]


def _random_position(kind: JointType, rng: np.random.Generator) -> FloatArray:
    if kind.n_positions == 4:  # a ball
        return quaternion_exponential(rng.uniform(-1, 1, 3))
    return rng.uniform(-1, 1, kind.n_positions)


def _random_frame(rng: np.random.Generator) -> Frame:
    return Frame(rng.uniform(-0.5, 0.5, 3), quaternion_exponential(rng.uniform(-2, 2, 3)))


def _add_random_body(
    mechanism: Mechanism, i: int, place: Placement, rng: np.random.Generator
) -> None:
    mass, sides = rng.uniform(0.5, 2.0), rng.uniform(0.2, 0.8, 3)
    center = Frame(rng.uniform(-0.2, 0.2, 3), quaternion_exponential(rng.uniform(-2, 2, 3)))
    mechanism.add_body(
        f"body-{i}",
        mass=mass,
        inertia=center.rotation @ box_inertia(mass, sides) @ center.rotation.T,
        center_of_mass=center.position,
        position=place.origin,
        orientation=quaternion_from_rotation(place.rotation),
        linear_velocity=place.linear,
        angular_velocity=place.angular,
        shape=Box((float(sides[0]), float(sides[1]), float(sides[2])), center),
    )
