"""Lattices of cubes and sheets of rotating squares."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from sparsebody.arrays import IntArray
from sparsebody.errors import ModelError
from sparsebody.model.bodies import Box, Polyline
from sparsebody.model.gallery.parameters import (
    DOWN_Y,
    DOWN_Z,
    Vector,
    add_hinge,
    add_hinges,
    check_at_least,
    check_between,
    named_joint,
    turned,
)
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.names import numbered
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
    compliance: float = 0.0,
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
    compliance : float
        Of the rows of the joints between cubes [m/N, rad/(N m)]; zero is rigid.
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
        compliance=compliance,
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


THICKNESS = 0.1  # of a square of 1 m [m]

# Corners of a square that meet its neighbours, in units of half a side, of squares that are turned
# left and right like the fields of a chessboard.
CORNERS: dict[str, tuple[Vector, Vector]] = {
    "right": ((1, -1, 0), (1, 1, 0)),
    "left": ((-1, 1, 0), (-1, -1, 0)),
    "top": ((1, 1, 0), (-1, 1, 0)),
    "bottom": ((-1, -1, 0), (1, -1, 0)),
}


def rotating_squares(
    rows: int = 4,
    columns: int = 4,
    angle: float = math.pi / 8,
    side: float = 1.0,
    mass: float = 1.0,
    compliance: float = 0.0,
    gravity: Vector = DOWN_Y,
) -> Mechanism:
    """Squares hinged at their corners, in the xy plane, at rest.

    "square-r-c" is turned by `angle` where r + c is even and by -angle where it is odd; hinges
    ("square-r-c-right", "square-r-c-top") about z join it to the next column and the next row;
    "base" hinges a free corner of "square-0-0" to the world at the origin. A sheet of k x k has
    5 (2 k (k - 1) + 1) rows and mobility 2: the rotation about the base, and the one in which
    all squares turn against their neighbours; 4 k^2 - 10 k + 7 rows are redundant, three for each
    loop and (k - 2)^2 more in the plane. Grima and Evans (2000).

    Parameters
    ----------
    rows, columns : int
        Number of squares.
    angle : float
        Turn of the squares [rad], between 0 (closed) and pi/2 (closed again); at pi/4 the sheet
        is fully open, which is a singular pose.
    side, mass : float
        Of a square plate [m, kg].
    compliance : float
        Of the rows of the hinges between squares [m/N, rad/(N m)]; zero is rigid.
    gravity : (3,) floats
        [m/s^2].
    """
    check_at_least(1, rows=rows, columns=columns)
    check_between(0.0, math.pi / 2, angle=angle)
    check_between(0.0, math.inf, side=side)
    mechanism = Mechanism("rotating-squares", gravity)
    spacing = side * (math.cos(angle) + math.sin(angle))
    offset = side / 2 * (math.cos(angle) - math.sin(angle)), spacing / 2
    r, c = np.indices((rows, columns)).reshape(2, -1)
    parity = (r + c) % 2
    square = _add_squares(mechanism, r, c, parity, (offset, spacing, angle), side, mass)
    # each with the one to its left, then with the one below
    kept = np.stack([c > 0, r > 0], axis=1).ravel()
    before = np.stack([square - 1, square - columns], axis=1).ravel()[kept]
    after = np.repeat(square, 2)[kept]
    which = np.tile([0, 1], len(square))[kept]  # right and left, top and bottom
    corners = side / 2 * np.array([CORNERS[name] for name in CORNERS]).reshape(2, 2, 2, 3)
    add_hinges(
        mechanism,
        [
            f"square-{i}-{j}-{('right', 'top')[side]}"
            for i, j, side in zip(r[before], c[before], which, strict=True)
        ],
        before,
        after,
        corners[which, 0, parity[before]],
        corners[which, 1, parity[after]],
        compliance,
    )
    add_hinge(mechanism, "base", WORLD, "square-0-0", (0, 0, 0), corners[1, 1, 0])
    return mechanism


def _add_squares(
    mechanism: Mechanism,
    r: IntArray,
    c: IntArray,
    parity: IntArray,
    pose: tuple[tuple[float, float], float, float],
    side: float,
    mass: float,
) -> IntArray:
    """`pose` is the center of the first, the spacing [m] and the angle of turn."""
    offset, spacing, angle = pose
    across = mass * side**2 / 12
    thin = mass * (THICKNESS * side) ** 2 / 12
    h = side / 2
    return mechanism.add_bodies(
        numbered("square-{}-{}", r, c),
        mass=mass,
        inertia=(across + thin, across + thin, 2 * across),
        position=np.stack([offset[0] + c * spacing, offset[1] + r * spacing, 0.0 * c], axis=1),
        orientation=np.array([turned(angle), turned(-angle)])[parity],
        shape=Polyline(((-h, -h, 0.0), (h, -h, 0.0), (h, h, 0.0), (-h, h, 0.0), (-h, -h, 0.0))),
    )
