"""Lattices of bars, cubes and squares, and elastic beams, straight or in lattices."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from scipy.sparse import coo_array, csgraph

from sparsebody.arrays import ArrayLike, IntArray
from sparsebody.model.bodies import Box, Polyline
from sparsebody.model.gallery import parameters as param
from sparsebody.model.gallery.parameters import Vector, add_bars, add_revolute, add_revolutes
from sparsebody.model.joints import JOINT_TYPES, Fixed
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.names import chained, interleaved, numbered
from sparsebody.spatial import box_inertia, quaternion_exponential

BAR: Vector = (0.9, 0.1, 0.1)  # sides [m]
CUBE: Vector = (0.9, 0.9, 0.9)
X: Vector = (1.0, 0.0, 0.0)
Share = Annotated[float, param.Range(lambda x: 0.0 <= x <= 1.0, "a number from 0 to 1")]
NAME = "cube-{}-{}-{}"


def ladder(
    rungs: param.Count = 10,
    joint: Literal["spherical", "revolute"] = "spherical",
    disorder: param.NotNegative = 0.0,
    seed: param.Seed = 0,
    compliance: float = 0.0,
    gravity: Vector = param.DOWN_Z,
) -> Mechanism:
    """Two rails of bars along x, joined at every rung, at rest; can be disordered.

    Bars "bar-s-r" of 0.9 x 0.1 x 0.1 m and 1 kg, s = 0 ... rungs - 1, r = 0, 1, have their
    centers at (s, r, 0); "rail-s-r" joins bar s to the next at (s + 0.5, r, 0), "rung-s" the two
    rails at (s, 0.5, 0), and "base-r" bar 0 to the world at (-0.5, r, 0). So there are 2 rungs
    bodies, 3 rungs joints and as many loops as rungs. Featherstone (2008), sec. 8.13, fig. 8.4.

    `joint` is "spherical" (mobility 3 rungs), or "revolute" with all axes along z (mobility 0, and
    3 redundant rows for each loop). Joints and mass centers move at random, by `seed`, by up to
    `disorder` along each axis [m], with revolutes only in the plane. `compliance` is that of the
    rows of all joints [m/N, rad/(N m)]; zero is rigid. Gravity along z loads no rung: tilt it to
    test the loops.
    """
    joint_type = JOINT_TYPES[joint]()
    rng = np.random.default_rng(seed)
    reach = disorder * np.array([1.0, 1.0, 0.0 if joint == "revolute" else 1.0])
    s, r = np.arange(rungs, dtype=float)[:, None], np.array([0.0, 1.0])
    x = rng.uniform(-1, 1, (rungs, 5, 3)) * reach  # of two bars, their left joints, the rung
    x[:, :, 0] += np.hstack([s, s, s - 0.5, s - 0.5, s])
    x[:, :, 1] += np.hstack([r, r, 0.5])

    mechanism = Mechanism("ladder", gravity)
    names = interleaved(*(numbered(f"bar-{{}}-{side}", range(rungs)) for side in (0, 1)))
    bar = _add_boxes(mechanism, names, BAR, x[:, :2].reshape(-1, 3), 1.0)
    left, right = bar[0::2], bar[1::2]
    # two rails and a rung in turn, with the base instead of the first rails
    k = np.arange(rungs)
    rails = (numbered(f"rail-{{}}-{side}", k[:-1]) for side in (0, 1))
    later = interleaved(*rails, numbered("rung-{}", k[1:]))
    mechanism.add_joints(
        chained(["base-0", "base-1", "rung-0"], later),
        joint_type,
        np.stack([left - 2, right - 2, left], axis=1).clip(-1).ravel(),  # -1 is the world
        np.stack([left, right, right], axis=1).ravel(),
        point=x[:, 2:].reshape(-1, 3),
        compliance=compliance,
    )
    return mechanism


def tube(
    rings: param.Count = 8,
    rails: param.CountOfRing = 6,
    joint: Literal["spherical", "revolute"] = "spherical",
    gravity: Vector = param.DOWN_Z,
) -> Mechanism:
    """Rails of bars along x, closed around a cylinder about it, at rest.

    Bar "bar-s-r" of 0.9 x 0.1 x 0.1 m and 1 kg, s = 0 ... rings - 1, r = 0 ... rails - 1, has its
    center at x = s on a polygon with sides of 1 m; "rail-s-r" joins it to the next bar of its rail,
    "hoop-s-r" to that of the next rail, the first one following the last, and "base" bar-0-0 to the
    world at x = -0.5. So there are n = rings rails bodies and 2 n - rails + 1 joints.

    `rings` and `rails` are bars along and around; `joint` is "spherical", or "revolute" with all
    axes along x.
    """
    joint_type = JOINT_TYPES[joint]()
    mechanism = Mechanism("tube", gravity)
    s, r = np.indices((rings, rails)).reshape(2, -1)
    angle, radius = 2 * np.pi * r / rails, 0.5 / math.sin(math.pi / rails)
    x = np.stack([s, radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    bar = _add_boxes(mechanism, numbered("bar-{}-{}", s, r), BAR, x, 1.0)
    grid = bar.reshape(rings, rails)
    along, beside = grid[1:].ravel(), np.roll(grid, -1, axis=1).ravel()
    mechanism.add_joint("base", joint_type, WORLD, "bar-0-0", point=x[0] - [0.5, 0, 0], axis=X)
    for name, first, second in (("rail", bar[: len(along)], along), ("hoop", bar, beside)):
        mechanism.add_joints(
            numbered(f"{name}-{{}}-{{}}", s[first], r[first]),
            joint_type,
            first,
            second,
            point=(x[first] + x[second]) / 2,
            axis=X,
        )
    return mechanism


def ring(
    bodies: param.CountOfRing = 12,
    joint: Literal["spherical", "revolute"] = "spherical",
    length: param.Positive = 1.0,
    mass: param.Positive = 1.0,
    gravity: Vector = param.DOWN_Y,
) -> Mechanism:
    """Closed regular polygon of bars in the xy plane about the origin, at rest.

    "bar-i" goes from corner i to corner i + 1 and "joint-i" joins it to the one before at corner
    i; "base" joins the middle of "bar-0" to the world. Mobility 3 n - 3 with spherical joints,
    without redundant rows; n - 2 with revolutes, 3 redundant rows.

    `bodies` is n, 3 or more; `joint` is "spherical", or "revolute" with all axes along z; `length`
    and `mass` are those of a bar [m, kg].
    """
    joint_type = JOINT_TYPES[joint]()
    mechanism = Mechanism("ring", gravity)
    radius = length / (2 * math.sin(math.pi / bodies))

    turn = 2 * math.pi * np.arange(bodies) / bodies
    corner = radius * np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    end = np.roll(corner, -1, axis=0)
    middle, along = (corner + end) / 2, end - corner
    bar = add_bars(mechanism, "bar-{}", middle, along, length, mass=mass, width=length / 20)
    mechanism.add_joint("base", joint_type, WORLD, "bar-0")
    mechanism.add_joints("joint-{}", joint_type, np.roll(bar, 1), bar, point=corner)
    return mechanism


def lattice(
    rows: param.Count = 4,
    columns: param.Count = 4,
    layers: param.Count = 1,
    joint: Literal["spherical", "revolute", "universal"] = "spherical",
    keep: Share = 1.0,
    disorder: param.NotNegative = 0.0,
    seed: param.Seed = 0,
    compliance: float = 0.0,
    gravity: Vector = param.DOWN_Z,
) -> Mechanism:
    """Grid of cubes in two or three dimensions, at rest; joints can be left out at random.

    Cube "cube-r-c-l" of 0.9 m and 1 kg is centred at (c, r, l); joints sit half way between
    neighbours; "base" joins the corner cube to the world at (-0.5, 0, 0).

    `rows`, `columns` and `layers` are cubes along y, x and z; `joint` is "spherical", "revolute"
    (all axes along z) or "universal" (arms along x and y). `keep` is the part of the joints to
    keep, from 0 to 1, besides those of a random spanning tree, which always stay: 0 gives a random
    tree, 1 the whole lattice. Joints move at random by up to `disorder` along each axis [m]; those
    with axes along z only in the plane. With spherical joints this is a pose in general position:
    without it the joints of a layer are in one plane, where the forces of its loops are not unique.
    `seed` is that of both choices, `compliance` that of the rows of the joints between cubes [m/N,
    rad/(N m)]; zero is rigid.
    """
    joint_type = JOINT_TYPES[joint]()
    mechanism = Mechanism("lattice", gravity)
    cell = np.indices((rows, columns, layers)).reshape(3, -1)
    x = cell[[1, 0, 2]].T.astype(float)
    cube = _add_boxes(mechanism, numbered(NAME, *cell), CUBE, x, 1.0)
    grid, pairs = cube.reshape(rows, columns, layers), np.full((3, 2, rows, columns, layers), -1)
    pairs[0, :, :, :-1] = grid[:, :-1], grid[:, 1:]  # each with the next along x, y and z in turn
    pairs[1, :, :-1] = grid[:-1], grid[1:]
    pairs[2, :, :, :, :-1] = grid[:, :, :-1], grid[:, :, 1:]
    first, second = pairs.reshape(3, 2, -1).transpose(1, 2, 0).reshape(2, -1)
    first, second = first[first >= 0], second[second >= 0]
    rng = np.random.default_rng(seed)
    chosen = _remaining_pairs(first, second, keep, rng)
    first, second = first[chosen], second[chosen]
    reach = disorder * np.array([1.0, 1.0, 0.0 if joint == "revolute" else 1.0])
    mechanism.add_joint("base", joint_type, WORLD, mechanism.body_names[0], point=(-0.5, 0.0, 0.0))
    mechanism.add_joints(
        numbered(f"{NAME}:{NAME}", *cell[:, first], *cell[:, second]),
        joint_type,
        first,
        second,
        point=(x[first] + x[second]) / 2 + reach * rng.uniform(-1, 1, (len(first), 3)),
        compliance=compliance,
    )
    return mechanism


def _remaining_pairs(
    first: IntArray, second: IntArray, keep: Share, rng: np.random.Generator
) -> IntArray:
    """Return which pairs stay: a random spanning tree and a random part of the others."""
    if keep == 1.0 or len(first) == 0:
        return np.arange(len(first))
    shuffled = rng.permutation(len(first))
    rank = np.empty(len(first), dtype=np.intp)
    rank[shuffled] = np.arange(1, len(first) + 1)
    size = int(max(first.max(), second.max())) + 1
    graph = coo_array((rank.astype(float), (first, second)), shape=(size, size))
    tree = shuffled[csgraph.minimum_spanning_tree(graph.tocsr()).data.astype(np.intp) - 1]
    others = shuffled[~np.isin(shuffled, tree)]
    return np.sort(np.concatenate([tree, others[: round(keep * len(others))]]))


THICKNESS = 0.1  # of a square of 1 m [m]

# Corners of a square that meet its neighbours, in units of half a side: (right, left) and (top,
# bottom), each of squares that are turned left and right like the fields of a chessboard.
CORNERS = np.array(
    [
        [[(1, -1, 0), (1, 1, 0)], [(-1, 1, 0), (-1, -1, 0)]],
        [[(1, 1, 0), (-1, 1, 0)], [(-1, -1, 0), (1, -1, 0)]],
    ]
)


def rotating_squares(
    rows: param.Count = 4,
    columns: param.Count = 4,
    angle: param.AcuteAngle = math.pi / 8,
    side: param.Positive = 1.0,
    mass: float = 1.0,
    compliance: float = 0.0,
    gravity: Vector = param.DOWN_Y,
) -> Mechanism:
    """Sheet of squares joined at their corners, in the xy plane, at rest.

    "square-r-c" is turned by `angle` where r + c is even and by -angle where it is odd; revolutes
    ("square-r-c-right", "square-r-c-top") about z join it to the next column and the next row;
    "base" joins a free corner of "square-0-0" to the world at the origin. A sheet of k x k has
    5 (2 k (k - 1) + 1) rows and mobility 2: the rotation about the base, and the one in which
    all squares turn against their neighbours; 4 k^2 - 10 k + 7 rows are redundant, three for each
    loop and (k - 2)^2 more in the plane. Grima and Evans (2000).

    `angle` is the turn of the squares [rad], between 0 (closed) and pi/2 (closed again); at pi/4
    the sheet is fully open, which is a singular pose. `side` and `mass` are those of a square plate
    [m, kg], `compliance` that of the rows of the joints between squares [m/N, rad/(N m)]; zero is
    rigid.
    """
    mechanism = Mechanism("rotating-squares", gravity)
    spacing = side * (math.cos(angle) + math.sin(angle))
    offset = side / 2 * (math.cos(angle) - math.sin(angle)), spacing / 2
    r, c = np.indices((rows, columns)).reshape(2, -1)
    parity = (r + c) % 2
    across, thin = mass * side**2 / 12, mass * (THICKNESS * side) ** 2 / 12
    turn = np.array([[0.0, 0.0, angle], [0.0, 0.0, -angle]])
    h = side / 2
    square = mechanism.add_bodies(
        numbered("square-{}-{}", r, c),
        mass=mass,
        inertia=(across + thin, across + thin, 2 * across),
        position=np.stack([offset[0] + c * spacing, offset[1] + r * spacing, 0.0 * c], axis=1),
        orientation=quaternion_exponential(turn)[parity],
        shape=Polyline(((-h, -h, 0.0), (h, -h, 0.0), (h, h, 0.0), (-h, h, 0.0), (-h, -h, 0.0))),
    )
    # each with the one to its left, then with the one below
    is_within = np.stack([c > 0, r > 0], axis=1).ravel()
    before = np.stack([square - 1, square - columns], axis=1).ravel()[is_within]
    after = np.repeat(square, 2)[is_within]
    which = np.tile([0, 1], len(square))[is_within]  # right and left, top and bottom
    corners = h * CORNERS
    words = np.array(["right", "top"])[which]
    parts = zip(r[before], c[before], words, strict=True)
    add_revolutes(
        mechanism,
        [f"square-{i}-{j}-{word}" for i, j, word in parts],
        before,
        after,
        corners[which, 0, parity[before]],
        corners[which, 1, parity[after]],
        compliance,
    )
    add_revolute(mechanism, "base", WORLD, "square-0-0", (0, 0, 0), corners[1, 1, 0])
    return mechanism


def _add_boxes(
    mechanism: Mechanism, names: Sequence[str], sides: Vector, position: ArrayLike, mass: float
) -> IntArray:
    """Add n boxes of one mass [kg] centred at (n, 3) [m]."""
    inertia = box_inertia(mass, sides)[None]
    solid: dict[str, Any] = {"mass": mass, "inertia": inertia, "shape": Box(sides)}
    return mechanism.add_bodies(names, **solid, position=position)


SHEAR = 1.0 / 2.6  # G / E of a Poisson ratio of 0.3


def rectangle(E: float, width: float, height: float) -> dict[str, Any]:
    """Return the properties of a beam of rectangular section, width along y, height along z.

    J by Young and Budynas (2002), Roark's Formulas, table 10.1.
    """
    a, b = max(width, height) / 2, min(width, height) / 2
    torsion = a * b**3 * (16 / 3 - 3.36 * b / a * (1 - b**4 / (12 * a**4)))
    return {
        "E": E,
        "G": SHEAR * E,
        "A": width * height,
        "I_y": width * height**3 / 12,
        "I_z": height * width**3 / 12,
        "J": torsion,
    }


def beam(
    elements: param.Count = 20,
    support: Literal["clamped", "free"] = "clamped",
    length: param.Positive = 1.0,
    width: param.Positive = 0.02,
    height: param.Positive = 0.01,
    E: param.Positive = 2.1e11,
    density: param.Positive = 7800.0,
    damping: param.NotNegative = 0.0,
    gravity: Vector = param.DOWN_Z,
) -> Mechanism:
    """Straight elastic beam along x, clamped or free, of Euler-Bernoulli elements, at rest.

    Bodies "node-0" ... "node-n" at equal distances carry its mass, those at the ends half as much
    as the others; "beam-k" joins node k - 1 to node k. Clamped, the world is node 0.

    `elements` is n; `support` is "clamped" at x = 0, or "free"; `length`, `width` and `height` are
    along x, y and z [m]. Young's modulus `E` [N/m^2] and `density` [kg/m^3] are those of steel;
    `damping` is that of all strains, over their stiffness [s].
    """
    mechanism = Mechanism("beam", gravity)
    piece = length / elements
    first = 1 if support == "clamped" else 0
    node = np.arange(first, elements + 1)
    share = np.where((node == 0) | (node == elements), 0.5, 1.0)
    mass = density * width * height * piece * share
    moments = np.array([width**2 + height**2, height**2, width**2]) / 12
    mechanism.add_bodies(
        numbered("node-{}", node),
        mass=mass,
        inertia=mass[:, None] * moments,
        position=(piece * node)[:, None] * [1.0, 0.0, 0.0],
        shape=Box((piece, width, height)),
    )
    nodes = ([WORLD] if first else []) + list(mechanism.body_names)
    for k in range(elements):
        mechanism.add_beam(
            f"beam-{k + 1}",
            nodes[k],
            nodes[k + 1],
            start=(piece * k, 0.0, 0.0),
            end=(piece * (k + 1), 0.0, 0.0),
            damping=damping,
            **rectangle(E, width, height),
        )
    return mechanism


def compliant_lattice(
    rows: param.Count = 4,
    columns: param.Count = 4,
    pitch: param.Positive = 0.1,
    thickness: param.Positive = 0.005,
    E: param.Positive = 2e9,
    mass: param.Positive = 0.01,
    damping: param.NotNegative = 0.0,
    gravity: Vector = param.DOWN_Z,
) -> Mechanism:
    """Hanging grid of cubes in the xz plane, joined by elastic beams, at rest.

    Cube "cube-r-c", r counted downwards, is centred at (c, 0, -r) times the pitch; its side is
    half a pitch. Beams "across-r-c" and "down-r-c" lead to the next cube along x and down; "hold-c"
    fixes the cubes of row 0 to the world.

    `rows` and `columns` are cubes along z and x, at a distance of `pitch` [m], of `mass` each [kg];
    `thickness` is the side of the square section of all beams [m], `E` Young's modulus [N/m^2],
    `damping` that of all strains, over their stiffness [s].
    """
    mechanism = Mechanism("compliant-lattice", gravity)
    r, c = np.indices((rows, columns)).reshape(2, -1)
    x = pitch * np.stack([c, np.zeros(len(c)), -r], axis=1)
    _add_boxes(mechanism, numbered("cube-{}-{}", r, c), (pitch / 2,) * 3, x, mass)
    for column in range(columns):
        mechanism.add_joint(f"hold-{column}", Fixed(), WORLD, f"cube-0-{column}")
    section = rectangle(E, thickness, thickness)
    for name, down, right in (("across", 0, 1), ("down", 1, 0)):
        along = np.array([right, 0.0, -down])
        for row, column in np.ndindex(rows - down, columns - right):
            start = np.array([column, 0.0, -row])
            mechanism.add_beam(
                f"{name}-{row}-{column}",
                f"cube-{row}-{column}",
                f"cube-{row + down}-{column + right}",
                start=pitch * (start + along / 4),
                end=pitch * (start + 3 * along / 4),
                z_axis=(0.0, 1.0, 0.0),
                damping=damping,
                **section,
            )
    return mechanism
