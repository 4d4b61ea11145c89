"""Open chains, trees and the pendulum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.bodies import Box, Polyline
from sparsebody.model.frames import Frames, rotations, unit_quaternions
from sparsebody.model.gallery.parameters import (
    DOWN_Y,
    DOWN_Z,
    Vector,
    add_bars,
    add_hinge,
    check_at_least,
    check_between,
    named_joint,
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
from sparsebody.spatial import (
    quaternion_exponential,
    quaternion_from_rotation,
    quaternion_product,
    sphere_inertia,
)


def chain(
    bodies: int = 10,
    joint: Literal["revolute", "spherical"] = "revolute",
    length: float = 1.0,
    mass: float = 1.0,
    gravity: Vector = DOWN_Z,
) -> Mechanism:
    """Bars along x, the first joined to the world at the origin, at rest.

    Parameters
    ----------
    bodies : int
        Number of bars "bar-0", "bar-1", ...; "joint-i" is at the start of bar i.
    joint : str
        "revolute" (axes y and z in turn, beginning with y) or "spherical".
    length, mass : float
        Of a bar [m, kg]; its section is a twentieth of its length.
    gravity : (3,) floats
        [m/s^2].
    """
    check_at_least(1, bodies=bodies)
    check_between(0.0, math.inf, length=length, mass=mass)
    joint_type = named_joint(joint, "revolute", "spherical")
    mechanism = Mechanism("chain", gravity)
    along = np.array([1.0, 0.0, 0.0])
    end = np.arange(bodies + 1)[:, None] * length * along
    middle = (end[:-1] + end[1:]) / 2
    bar = add_bars(mechanism, "bar-{}", middle, along, length, mass=mass, width=length / 20)
    axis = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])[bar % 2]
    mechanism.add_joints("joint-{}", joint_type, bar - 1, bar, point=end[:-1], axis=axis)
    return mechanism


def pendulum(
    length: float = 1.0, mass: float = 1.0, radius: float = 1e-4, gravity: Vector = DOWN_Y
) -> Mechanism:
    """Point mass on a massless rod, level and at rest, IFToMM benchmark A01.

    Body "mass" starts at (-length, 0, 0); "pivot" is a revolute about z at the origin.

    Parameters
    ----------
    length, mass : float
        [m, kg].
    radius : float
        Of the mass, a ball [m]: no body is a point. It lengthens the period by radius^2 / (5
        length^2) of its value, 2e-9 by default.
    gravity : (3,) floats
        [m/s^2].

    References
    ----------
    IFToMM Library of Computational Benchmark Problems, A01.
    """
    check_between(0.0, float("inf"), length=length, mass=mass, radius=radius)
    mechanism = Mechanism("pendulum", gravity)
    mechanism.add_body(
        "mass",
        mass=mass,
        inertia=sphere_inertia(mass, radius),
        position=(-length, 0.0, 0.0),
        shape=Polyline(((0.0, 0.0, 0.0), (length, 0.0, 0.0))),
    )
    add_hinge(mechanism, "pivot", WORLD, "mass", (0.0, 0.0, 0.0), (length, 0.0, 0.0))
    return mechanism


RANDOM_TYPES = (Revolute(), Prismatic(), Cylindrical(), Planar(), Spherical(), Universal())


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
    q = np.asarray(0.1 * i * np.cos(i) * moving, dtype=float)
    motion = _poses(parent, frames, q)
    if moving:
        qd: FloatArray = 0.3 * np.sin(2 * i)
        motion |= _velocities(parent, motion["position"], motion["orientation"], qd)
    body = _add_links(mechanism, length, **motion)
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


def _poses(parent: IntArray, frames: Frames, q: FloatArray) -> dict[str, FloatArray]:
    """Poses of bodies that are turned by q [rad] about the z axes of their joints."""
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
    orientation = unit_quaternions(np.where(orientation[:, :1] < 0, -1, 1) * orientation)
    return {"position": position, "orientation": orientation}


def _velocities(
    parent: IntArray, position: FloatArray, orientation: FloatArray, qd: FloatArray
) -> dict[str, FloatArray]:
    """Velocities of these bodies when their joints turn at qd [rad/s]."""
    angular = _sums_to_root(rotations(orientation)[:, :, 2] * qd[:, None], parent)
    on_parent = (parent >= 0)[:, None]
    arm = position - np.where(on_parent, position[parent], 0.0)
    steps = np.cross(np.where(on_parent, angular[parent], 0.0), arm)
    return {"angular_velocity": angular, "linear_velocity": _sums_to_root(steps, parent)}


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
    same = len(shapes) == 1
    return mechanism.add_bodies(
        numbered("body-{}", np.arange(1, len(length) + 1)),
        mass=mass,
        inertia=(mass * length**2)[:, None] * np.array([0.0025, 1.015 / 12, 1.015 / 12]),
        center_of_mass=length[:, None] * [0.5, 0.0, 0.0],
        shape=shapes[length[0]] if same else [shapes[size] for size in length.tolist()],
        **motion,
    )


# ---- random trees ---------------------------------------------------------------------------


def _random_tree(bodies: int, moving: bool, rng: np.random.Generator, gravity: Vector) -> Mechanism:
    parent = np.array([-1] + [rng.integers(1, i) - 1 for i in range(2, bodies + 1)], dtype=np.intp)
    drawn = [_random_joint(rng) for _ in range(bodies)]
    kinds = [kind for kind, _ in drawn]
    of_frames = np.array([numbers[:12] for _, numbers in drawn])
    of_body = np.array([numbers[-10:] for _, numbers in drawn])
    frames = _random_frames(of_frames[:, :6], 0.5), _random_frames(of_frames[:, 6:], 0.5)
    motions = [_joint_motion(kind, 2.0 * numbers[12:-10] - 1.0, moving) for kind, numbers in drawn]
    mechanism = Mechanism("random-tree", gravity)
    number = np.arange(1, bodies + 1)
    body = _add_random_bodies(
        mechanism, numbered("body-{}", number), of_body, _placed(parent, *frames, motions)
    )
    mechanism.add_joints(
        numbered("joint-{}", number),
        kinds,
        parent,
        body,
        predecessor_frame=frames[0],
        successor_frame=frames[1],
    )
    return mechanism


def _random_joint(rng: np.random.Generator) -> tuple[JointType, FloatArray]:
    """A type, and numbers in [0, 1): 12 for its frames, some for its motion, 10 for its body."""
    pitch = float(rng.uniform(0.05, 0.2))
    kinds = (*RANDOM_TYPES, Helical(pitch=pitch))
    kind = kinds[rng.integers(len(kinds))]
    return kind, rng.random(22 + kind.n_velocities + min(kind.n_positions, 3))


def _random_frames(numbers: FloatArray, reach: float) -> Frames:
    """Frames of (n, 6) numbers in [0, 1): origins within `reach` along each axis."""
    return Frames(
        -reach + 2.0 * reach * numbers[:, :3],
        quaternion_exponential(-2.0 + 4.0 * numbers[:, 3:]),
    )


def _joint_motion(
    kind: JointType, numbers: FloatArray, moving: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(E, r) of a joint and v_J = S qd, from numbers in [-1, 1): velocities, then positions."""
    qd, q = numbers[: kind.n_velocities] * moving, numbers[kind.n_velocities :]
    if kind.n_positions == 4:  # spherical
        q = quaternion_exponential(q)
    return *kind.pose(q), kind.motion_subspace(q) @ qd


def _placed(
    parent: IntArray,
    before: Frames,
    after: Frames,
    motions: list[tuple[FloatArray, FloatArray, FloatArray]],
) -> dict[str, FloatArray]:
    """Poses and velocities of bodies, level by level. Featherstone (2008), sec. 4.4."""
    n = len(parent)
    E, r, v_J = (np.array(part) for part in zip(*motions, strict=True))
    origin, linear, angular = np.zeros((3, n + 1, 3))  # the world last, at -1
    rotation = np.tile(np.eye(3), (n + 1, 1, 1))
    P, S, E = before.rotations, after.rotations, np.swapaxes(E, 1, 2)
    level = np.zeros(n, dtype=np.intp)
    for body in range(1, n):
        level[body] = level[parent[body]] + 1 if parent[body] >= 0 else 0
    for i in (np.flatnonzero(level == k) for k in range(level.max() + 1)):
        p = parent[i]
        to_world_P = rotation[p] @ P[i]
        to_world_S = to_world_P @ E[i]
        joint = origin[p] + _times(rotation[p], before.origins[i]) + _times(to_world_P, r[i])
        rotation[i] = to_world_S @ np.swapaxes(S[i], 1, 2)
        origin[i] = joint - _times(rotation[i], after.origins[i])
        angular[i] = angular[p] + _times(to_world_S, v_J[i, :3])
        at_joint = linear[p] + np.cross(angular[p], joint - origin[p])
        at_joint += _times(to_world_S, v_J[i, 3:])
        linear[i] = at_joint + np.cross(angular[i], origin[i] - joint)
    return {
        "position": origin[:n],
        "orientation": quaternion_from_rotation(rotation[:n]),
        "linear_velocity": linear[:n],
        "angular_velocity": angular[:n],
    }


def _times(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.einsum("nij,nj->ni", matrices, vectors)


def _add_random_bodies(
    mechanism: Mechanism, names: Sequence[str], numbers: FloatArray, motion: dict[str, FloatArray]
) -> IntArray:
    """Boxes of random masses, sides and frames, from (n, 10) numbers in [0, 1)."""
    mass, sides = 0.5 + 1.5 * numbers[:, 0], 0.2 + (0.8 - 0.2) * numbers[:, 1:4]
    frames = _random_frames(numbers[:, 4:], 0.2)
    R, squares = frames.rotations, sides**2
    moments = mass[:, None] / 12.0 * (squares.sum(axis=1, keepdims=True) - squares)
    return mechanism.add_bodies(
        names,
        mass=mass,
        inertia=(R * moments[:, None]) @ np.swapaxes(R, 1, 2),
        center_of_mass=frames.origins,
        shape=[Box(tuple(row), frames[i]) for i, row in enumerate(sides.tolist())],
        **motion,
    )
