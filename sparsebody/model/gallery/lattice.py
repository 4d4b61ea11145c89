"""Grid of bodies."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from sparsebody.arrays import IntArray
from sparsebody.errors import ModelError
from sparsebody.model.gallery.parts import DOWN_Z, Vector, check_at_least, named_joint
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.names import numbered
from sparsebody.model.shapes import Box
from sparsebody.spatial import box_inertia

SIDES: Vector = (0.9, 0.9, 0.9)  # of a body [m]
NAME = "cube-{}-{}-{}"


def lattice(
    rows: int = 4,
    columns: int = 4,
    layers: int = 1,
    joint: Literal["spherical", "revolute", "universal"] = "spherical",
    keep: float = 1.0,
    disorder: float = 0.0,
    seed: int = 0,
    gravity: Vector = DOWN_Z,
) -> Mechanism:
    """Cubes on a grid with a joint between neighbours, at rest.

    Cube "cube-r-c-l" of 0.9 m and 1 kg is centred at (c, r, l); joints sit half way between
    neighbours; "base" joins the corner cube to the world at (-0.5, 0, 0).

    Parameters
    ----------
    rows, columns, layers : int
        Number of cubes along y, x and z.
    joint : str
        "spherical", "revolute" (all axes along z) or "universal" (arms along x and y).
    keep : float
        Part of the joints to keep, from 0 to 1, besides those of a random spanning tree, which
        always stay: 0 gives a random tree, 1 the whole lattice.
    disorder : float
        Joints move at random by up to this much along each axis [m]; those with axes along z only
        in the plane. With balls this is a pose in general position: without it the joints of a
        layer are in one plane, where the forces of its loops are not unique.
    seed : int
        Of the random choice, and of the places.
    gravity : (3,) floats
        [m/s^2].
    """
    check_at_least(1, rows=rows, columns=columns, layers=layers)
    check_at_least(0, seed=seed)
    check_at_least(0.0, disorder=disorder)
    if not 0.0 <= keep <= 1.0:
        raise ModelError(f"keep is {keep}; give a number from 0 to 1")
    joint_type = named_joint(joint, "spherical", "revolute", "universal")
    mechanism = Mechanism("lattice", gravity)
    cell = np.indices((rows, columns, layers)).reshape(3, -1)
    place = cell[[1, 0, 2]].T.astype(float)
    cube = mechanism.add_bodies(
        numbered(NAME, *cell),
        mass=1.0,
        inertia=box_inertia(1.0, SIDES)[None],
        position=place,
        shape=Box(SIDES),
    )
    first, second = _neighbours(cube.reshape(rows, columns, layers))
    rng = np.random.default_rng(seed)
    kept = _kept(first, second, keep, rng)
    first, second = first[kept], second[kept]
    reach = disorder * np.array([1.0, 1.0, 0.0 if joint == "revolute" else 1.0])
    mechanism.add_joint("base", joint_type, WORLD, mechanism.body_names[0], point=(-0.5, 0.0, 0.0))
    mechanism.add_joints(
        numbered(f"{NAME}:{NAME}", *cell[:, first], *cell[:, second]),
        joint_type,
        first,
        second,
        point=(place[first] + place[second]) / 2 + reach * rng.uniform(-1, 1, (len(first), 3)),
    )
    return mechanism


def _neighbours(cube: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs of cubes (rows, columns, layers), each with the next along x, y and z in turn."""
    pairs = np.full((3, 2, *cube.shape), -1)
    pairs[0, :, :, :-1] = cube[:, :-1], cube[:, 1:]
    pairs[1, :, :-1] = cube[:-1], cube[1:]
    pairs[2, :, :, :, :-1] = cube[:, :, :-1], cube[:, :, 1:]
    first, second = pairs.reshape(3, 2, -1).transpose(1, 2, 0).reshape(2, -1)
    return first[first >= 0], second[second >= 0]


def _kept(first: IntArray, second: IntArray, keep: float, rng: np.random.Generator) -> IntArray:
    """Return which pairs stay: a random spanning tree and a random part of the others."""
    if keep == 1.0 or len(first) == 0:
        return np.arange(len(first))
    shuffled = rng.permutation(len(first))
    rank = np.empty(len(first), dtype=np.intp)
    rank[shuffled] = np.arange(1, len(first) + 1)
    size = int(max(first.max(), second.max())) + 1
    graph = coo_array((rank.astype(float), (first, second)), shape=(size, size))
    tree = shuffled[minimum_spanning_tree(graph.tocsr()).data.astype(np.intp) - 1]
    others = shuffled[~np.isin(shuffled, tree)]
    return np.sort(np.concatenate([tree, others[: round(keep * len(others))]]))
