"""Trees: Featherstone's autoTree family, and random ones with random joints."""

from __future__ import annotations

import math

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.frames import Frame, Frames, rotations, unit_quaternions
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
from sparsebody.model.names import numbered
from sparsebody.model.shapes import Box, Polyline
from sparsebody.spatial import (
    box_inertia,
    quaternion_exponential,
    quaternion_from_rotation,
    quaternion_product,
)


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
    i = np.arange(1, bodies + 1)
    parent = np.floor((i - 2 + math.ceil(branching)) / branching).astype(np.intp) - 1
    length: FloatArray = np.power(taper, i - 1.0)
    frames = _parent_frames(parent, length, skew)
    q, qd = moving * np.stack([0.1 * i * np.cos(i), 0.3 * np.sin(2 * i)])
    body = _add_links(mechanism, length, **_motion(parent, frames, q, qd))
    mechanism.add_joints(
        numbered("joint-{}", i), Revolute(), parent, body, predecessor_frame=frames
    )
    return mechanism


def _parent_frames(parent: IntArray, length: FloatArray, skew: float) -> Frames:
    """Frames of the joints: at the end of the parent and turned, or the world's own."""
    on_parent = parent >= 0
    origin = np.zeros((len(parent), 3))
    origin[:, 0] = np.where(on_parent, length[parent], 0.0)
    turn = np.where(on_parent[:, None], quaternion_exponential([skew, 0.0, 0.0]), [1.0, 0, 0, 0])
    return Frames(origin, turn)


def _motion(
    parent: IntArray, frames: Frames, q: FloatArray, qd: FloatArray
) -> dict[str, FloatArray]:
    """Poses and velocities of bodies that turn about the z axes of their joints."""
    position, orientation = frames.origins.copy(), np.zeros((len(q), 4))
    orientation[:, 0], orientation[:, 3] = np.cos(q / 2), np.sin(q / 2)
    orientation = quaternion_product(frames.quaternions, orientation)
    ancestor = parent.copy()
    while (moves := np.flatnonzero(ancestor >= 0)).size:  # pose in the ancestor, farther each time
        a = ancestor[moves]
        turned = np.einsum("nij,nj->ni", rotations(orientation[a]), position[moves])
        position[moves] = position[a] + turned
        orientation[moves] = quaternion_product(orientation[a], orientation[moves])
        ancestor[moves] = ancestor[a]
    angular = _sums_to_root(rotations(orientation)[:, :, 2] * qd[:, None], parent)
    before = np.where((parent >= 0)[:, None], angular[parent], 0.0)
    arm = position - np.where((parent >= 0)[:, None], position[parent], 0.0)
    return {
        "position": position,
        "orientation": unit_quaternions(np.where(orientation[:, :1] < 0, -1, 1) * orientation),
        "angular_velocity": angular,
        "linear_velocity": _sums_to_root(np.cross(before, arm), parent),
    }


def _sums_to_root(values: FloatArray, parent: IntArray) -> FloatArray:
    """(n, 3) sums of `values` over each body and all those it hangs on."""
    sums, ancestor = values.copy(), parent.copy()
    while (moves := np.flatnonzero(ancestor >= 0)).size:
        a = ancestor[moves]
        sums[moves] += sums[a]
        ancestor[moves] = ancestor[a]
    return sums


def _add_links(mechanism: Mechanism, length: FloatArray, **motion: FloatArray) -> IntArray:
    mass = length**3
    shapes = {size: Polyline(((0.0, 0.0, 0.0), (size, 0.0, 0.0))) for size in set(length.tolist())}
    return mechanism.add_bodies(
        numbered("body-{}", np.arange(1, len(length) + 1)),
        mass=mass,
        inertia=(mass * length**2)[:, None] * np.array([0.0025, 1.015 / 12, 1.015 / 12]),
        center_of_mass=length[:, None] * [0.5, 0.0, 0.0],
        shape=[shapes[size] for size in length.tolist()],
        **motion,
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
