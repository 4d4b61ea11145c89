"""Open chains, trees and the pendulum."""

import math
from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np

from sparsebody import spatial
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model import joints as types
from sparsebody.model.bodies import Box, Frame, Frames, Polyline
from sparsebody.model.gallery import parameters as param
from sparsebody.model.gallery.parameters import Vector, add_bars, add_revolute
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.names import numbered


def chain(
    bodies: param.Count = 10,
    joint: Literal["revolute", "spherical"] = "revolute",
    length: param.Positive = 1.0,
    mass: param.Positive = 1.0,
    gravity: Vector = param.DOWN_Z,
) -> Mechanism:
    """Open chain of bars along x, the first joined to the world at the origin, at rest.

    "joint-i" is at the start of "bar-i", i = 0 ... bodies - 1: revolutes about y and z in turn,
    beginning with y, or `joint` "spherical". `length` and `mass` are those of a bar [m, kg]; its
    section is a twentieth of its length.
    """
    joint_type = types.JOINT_TYPES[joint]()
    mechanism = Mechanism("chain", gravity)
    along = np.array([1.0, 0.0, 0.0])
    end = np.arange(bodies + 1)[:, None] * length * along
    middle = (end[:-1] + end[1:]) / 2
    bar = add_bars(mechanism, "bar-{}", middle, along, length, mass=mass, width=length / 20)
    axis = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])[bar % 2]
    mechanism.add_joints("joint-{}", joint_type, bar - 1, bar, point=end[:-1], axis=axis)
    return mechanism


def pendulum(
    length: param.Positive = 1.0,
    mass: param.Positive = 1.0,
    radius: param.Positive = 1e-4,
    gravity: Vector = param.DOWN_Y,
) -> Mechanism:
    """Simple pendulum (IFToMM benchmark A01): a mass on a massless rod, level and at rest.

    Body "mass" starts at (-length, 0, 0); "pivot" is a revolute about z at the origin.

    `length` [m] and `mass` [kg]; `radius` [m] is that of the mass, a ball: it lengthens the period
    by radius^2 / (5 length^2) of its value, 2e-9 by default.

        IFToMM Library of Computational Benchmark Problems, A01.
    """
    mechanism = Mechanism("pendulum", gravity)
    mechanism.add_body(
        "mass",
        mass=mass,
        inertia=spatial.sphere_inertia(mass, radius),
        position=(-length, 0.0, 0.0),
        shape=Polyline(((0.0, 0.0, 0.0), (length, 0.0, 0.0))),
    )
    add_revolute(mechanism, "pivot", WORLD, "mass", (0.0, 0.0, 0.0), (length, 0.0, 0.0))
    return mechanism


# ---- trees ----------------------------------------------------------------------------------


def tree(
    bodies: param.Count = 15,
    branching: Annotated[float, param.at_least(1)] = 2.0,
    skew: float = 0.3,
    taper: Annotated[float, param.between(0.0, 10.0)] = 1.0,
    moving: bool = False,
    random: bool = False,
    seed: param.Seed = 0,
    gravity: Vector = param.DOWN_Z,
) -> Mechanism:
    """Branching tree of revolutes of the autoTree family, or a random tree with random joints.

    Body i = 1 ... n ("body-i") hangs on its parent, floor((i - 2 + ceil(branching)) / branching),
    by the revolute "joint-i" about its own z axis. Its frame is at the joint, its length, along x,
    is taper^(i-1) and its mass taper^(3 (i-1)); the center of mass is half way and the inertia
    about it m l^2 diag(0.0025, 1.015/12, 1.015/12). The joint sits at the end of the parent,
    turned by `skew` about x; joint 1 sits at the origin of the world.

    `branching` is the mean number of children of a body (1 gives a chain), `skew` the angle between
    the joint axes of parent and child [rad], `taper` the ratio of the lengths of successive bodies.
    `moving` starts at q_i = 0.1 i cos(i), qd_i = 0.3 sin(2i) instead of at rest at q = 0; a random
    tree gets random velocities. `random` draws parents, frames, joint types and positions, and
    masses from `seed`, and ignores `branching`, `skew` and `taper`.

        Featherstone, spatial_v2, autoTree.
    """
    if random:
        return _random_tree(bodies, moving, np.random.default_rng(seed), gravity)
    branching = min(branching, bodies)  # a star, and no more
    mechanism = Mechanism("tree", gravity)
    i = np.arange(1, bodies + 1)
    parent = np.floor((i - 2 + math.ceil(branching)) / branching).astype(np.intp) - 1
    on_parent = parent >= 0
    length: FloatArray = np.power(taper, i - 1.0)
    origin, turn, q, v_J = *np.zeros((3, bodies, 3)), np.zeros((bodies, 6))
    origin[:, 0] = np.where(on_parent, length[parent], 0.0)
    turn[:, 0] = np.where(on_parent, skew, 0.0)
    frames = Frames(origin, spatial.quaternion_exponential(turn))
    q[:, 2], v_J[:, 2] = 0.1 * i * np.cos(i) * moving, 0.3 * np.sin(2 * i) * moving
    E = np.swapaxes(spatial.rotation_exponential(q), 1, 2)
    shapes = {size: Polyline(((0.0, 0.0, 0.0), (size, 0.0, 0.0))) for size in set(length.tolist())}
    has_one_shape, mass = len(shapes) == 1, length**3
    body = mechanism.add_bodies(
        numbered("body-{}", i),
        mass=mass,
        inertia=(mass * length**2)[:, None] * np.array([0.0025, 1.015 / 12, 1.015 / 12]),
        center_of_mass=length[:, None] * [0.5, 0.0, 0.0],
        shape=shapes[length[0]] if has_one_shape else [shapes[size] for size in length.tolist()],
        **_placed(parent, frames, Frames.repeated(Frame(), bodies), E, np.zeros_like(q), v_J),
    )
    mechanism.add_joints(
        numbered("joint-{}", i), types.Revolute(), parent, body, predecessor_frame=frames
    )
    return mechanism


def _placed(
    parent: IntArray, P: Frames, S: Frames, E: FloatArray, r: FloatArray, v_J: FloatArray
) -> dict[str, FloatArray]:
    """Poses and velocities of bodies on parents, by joint frames P and S at poses (E, r) with v_J.

    Poses and velocities are added up along the paths to the root by pointer jumping, over ancestors
    at distance 1, 2, 4, ... Featherstone (2008), sec. 4.4.
    """
    R_p, R_s = P.rotations, S.rotations
    # to the parent, then to the world
    rotation = R_p @ np.swapaxes(E, 1, 2) @ np.swapaxes(R_s, 1, 2)
    origin = P.origins + _times(R_p, r) - _times(rotation, S.origins)
    for moves, a in _ancestors(parent):
        origin[moves] = origin[a] + _times(rotation[a], origin[moves])
        rotation[moves] = rotation[a] @ rotation[moves]
    from_joint = -_times(rotation, S.origins)
    spin, slip = (_times(rotation @ R_s, part) for part in (v_J[:, :3], v_J[:, 3:]))
    angular = _sums_to_root(spin, parent)
    on_parent = (parent >= 0)[:, None]
    arm = np.where(on_parent, origin - origin[parent], 0.0)
    steps = np.cross(np.where(on_parent, angular[parent], 0.0), arm)
    linear = _sums_to_root(steps + slip + np.cross(spin, from_joint), parent)
    orientation = spatial.quaternion_from_rotation(rotation)
    return {
        "position": origin,
        "orientation": orientation,
        "linear_velocity": linear,
        "angular_velocity": angular,
    }


def _ancestors(parent: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield bodies that have an ancestor at distance 1, 2, 4, ..., and these ancestors."""
    ancestor = parent.copy()
    while (moves := np.flatnonzero(ancestor >= 0)).size:
        yield moves, ancestor[moves]
        ancestor[moves] = ancestor[ancestor[moves]]


def _sums_to_root(values: FloatArray, parent: IntArray) -> FloatArray:
    """(n, 3) sums of `values` over each body and its ancestors."""
    sums = values.copy()
    for moves, a in _ancestors(parent):
        sums[moves] += sums[a]
    return sums


def _times(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.einsum("nij,nj->ni", matrices, vectors)


_RANDOM = ("revolute", "prismatic", "cylindrical", "planar", "spherical", "universal")
RANDOM_TYPES = tuple(types.JOINT_TYPES[name]() for name in _RANDOM)


def _random_tree(bodies: int, moving: bool, rng: np.random.Generator, gravity: Vector) -> Mechanism:
    """Boxes of random masses, sides and frames, on random parents."""
    parent = np.array([-1] + [rng.integers(1, i) - 1 for i in range(2, bodies + 1)], dtype=np.intp)
    kinds, numbers = list[types.JointType](), list[FloatArray]()
    for _ in range(bodies):
        known = (*RANDOM_TYPES, types.Helical(pitch=float(rng.uniform(0.05, 0.2))))
        kinds.append(kind := known[rng.integers(len(known))])
        # in [0, 1): 12 for the frames of the joint, some for its motion, 10 for its body
        numbers.append(rng.random(22 + kind.n_velocities + min(kind.n_positions, 3)))
    of_frames = np.array([row[:12] for row in numbers])
    of_body = np.array([row[-10:] for row in numbers])
    P, S = (_random_frames(part, 0.5) for part in np.hsplit(of_frames, 2))
    motions = (_joint_motion(*joint, moving) for joint in zip(kinds, numbers, strict=True))
    E, r, v_J = (np.array(part) for part in zip(*motions, strict=True))
    mass, sides = 0.5 + 1.5 * of_body[:, 0], 0.2 + (0.8 - 0.2) * of_body[:, 1:4]
    frames = _random_frames(of_body[:, 4:], 0.2)
    R, squares = frames.rotations, sides**2
    moments = mass[:, None] / 12.0 * (squares.sum(axis=1, keepdims=True) - squares)
    mechanism = Mechanism("random-tree", gravity)
    number = np.arange(1, bodies + 1)
    body = mechanism.add_bodies(
        numbered("body-{}", number),
        mass=mass,
        inertia=(R * moments[:, None]) @ np.swapaxes(R, 1, 2),
        center_of_mass=frames.origins,
        shape=[Box(tuple(row), frames[i]) for i, row in enumerate(sides.tolist())],
        **_placed(parent, P, S, E, r, v_J),
    )
    mechanism.add_joints(
        numbered("joint-{}", number), kinds, parent, body, predecessor_frame=P, successor_frame=S
    )
    return mechanism


def _random_frames(numbers: FloatArray, reach: float) -> Frames:
    """Frames of (n, 6) numbers in [0, 1): origins within `reach` along each axis."""
    turn = spatial.quaternion_exponential(-2.0 + 4.0 * numbers[:, 3:])
    return Frames(-reach + 2.0 * reach * numbers[:, :3], turn)


def _joint_motion(
    kind: types.JointType, numbers: FloatArray, moving: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(E, r) of a joint and v_J = S qd, from its numbers, those of velocities first."""
    numbers = 2.0 * numbers[12:-10] - 1.0
    qd, q = numbers[: kind.n_velocities] * moving, numbers[kind.n_velocities :]
    if kind.n_positions == 4:  # spherical
        q = spatial.quaternion_exponential(q)
    return *kind.pose(q), kind.motion_subspace(q) @ qd
