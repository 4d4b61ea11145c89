"""Linkages in the plane and in space: rows of loops, benchmarks with published motions."""

import math
from typing import Annotated, Any

import numpy as np

from sparsebody import errors, spatial
from sparsebody.arrays import FloatArray
from sparsebody.model.bodies import Box, Frame, Polyline, axes
from sparsebody.model.gallery import parameters as param
from sparsebody.model.gallery.parameters import Vector, add_bar, add_bars, add_revolute
from sparsebody.model.joints import PointOnPlane, Prismatic, Revolute, Spherical, Universal
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.names import interleaved, numbered
from sparsebody.model.time_functions import Sinusoid, SmoothStep


def four_bar(
    crank: param.Positive = 0.4,
    coupler: param.Positive = 1.0,
    rocker: param.Positive = 0.8,
    ground: param.Positive = 1.0,
    angle: float = 1.0,
    speed: float = 0.0,
    gravity: Vector = param.DOWN_Y,
) -> Mechanism:
    """Planar four-bar, crank and rocker: mobility 1, and 3 redundant rows as a spatial mechanism.

    "crank" turns about the origin, "rocker" about (ground, 0, 0); "coupler" goes from the end A of
    the crank to the end B of the rocker, to the left of the line from A to the rocker's pivot.
    Joints: "crank-pivot", "crank-pin", "rocker-pin", "rocker-pivot"; bars of 1 kg per metre. The
    default lengths let the crank go round (Grashof).

    `crank`, `coupler`, `rocker` and `ground` are lengths [m]; `angle` [rad] and `speed` [rad/s] are
    those of the crank from x. ModelError if the bars do not meet at this angle.
    """
    O, Q = np.zeros(3), np.array([ground, 0.0, 0.0])
    A = crank * np.array([math.cos(angle), math.sin(angle), 0.0])
    AQ = Q - A  # B is where circles about A and Q meet, left of the line between
    distance = float(np.linalg.norm(AQ))
    if not abs(coupler - rocker) < distance < coupler + rocker:
        raise errors.ModelError(
            f"angle is {angle}: coupler ({coupler} m) and rocker ({rocker} m) do not meet across "
            f"{distance:.6g} m; give another angle or other lengths"
        )
    along = (distance**2 + coupler**2 - rocker**2) / (2 * distance)
    B = A + (along * AQ + math.sqrt(coupler**2 - along**2) * _left(AQ)) / distance
    # coupler and rocker give the same velocity to B
    matrix = np.column_stack([_left(B - A), -_left(B - Q)])[:2]
    rates = np.linalg.solve(matrix, -speed * _left(A)[:2])
    mechanism = Mechanism("four-bar", gravity)
    for name, start, end, v, rate in (
        ("crank", O, A, np.zeros(3), speed),
        ("coupler", A, B, speed * _left(A), rates[0]),
        ("rocker", Q, B, np.zeros(3), rates[1]),
    ):
        mass, velocity = float(np.linalg.norm(end - start)), v + rate * _left(end - start) / 2
        motion = {"linear_velocity": velocity, "angular_velocity": (0.0, 0.0, rate)}
        add_bar(mechanism, name, start, end, mass=mass, **motion)
    a, b, c = crank / 2, coupler / 2, rocker / 2
    add_revolute(mechanism, "crank-pivot", WORLD, "crank", O, (-a, 0, 0))
    add_revolute(mechanism, "crank-pin", "crank", "coupler", (a, 0, 0), (-b, 0, 0))
    add_revolute(mechanism, "rocker-pin", "coupler", "rocker", (b, 0, 0), (c, 0, 0))
    add_revolute(mechanism, "rocker-pivot", WORLD, "rocker", Q, (-c, 0, 0))
    return mechanism


def _left(arm: FloatArray) -> FloatArray:
    """Velocity of the tip of an arm that turns left at 1 rad/s."""
    return np.array([-arm[1], arm[0], 0.0])


# Uniform slender rod of 1 kg and 1 m. The moment about its own axis does not enter the planar
# motion; it only has to be positive.
ROD_INERTIA: Vector = (1e-3, 1.0 / 12.0, 1.0 / 12.0)
START: Vector = (-0.5, 0.0, 0.0)  # ends of a rod in its frame [m]
END: Vector = (0.5, 0.0, 0.0)


def n_four_bar(
    loops: param.Count = 40, speed: float = 1.0, gravity: Vector = param.DOWN_Y
) -> Mechanism:
    """Row of N parallelograms (IFToMM benchmark A02).

    "vertical-i", i = 0 ... N, stands on the ground at (i, 0, 0) and ends in point B_i at
    (i, 1, 0); "horizontal-i", i = 1 ... N, goes from B_{i-1} to B_i. Point B0 of the benchmark is
    the upper end of "vertical-0", (0.5, 0, 0) in its frame. All 2N + 1 rods are 1 m and 1 kg, all
    3N + 1 joints are revolutes about z: mobility 1 (N + 1 when all rods are in line), 3N
    redundant rows. The rods' joint angles are those between their x axes.

    `loops` is N; `speed` is the initial v_x of B0 [m/s].

        IFToMM Library of Computational Benchmark Problems, A02; Gonzalez et al. (2006).
    """
    mechanism = Mechanism("n-four-bar", gravity)
    i = np.arange(loops + 1)
    cell = [  # middle, direction, velocity and spin of "horizontal-i" and "vertical-i"
        [[-0.5, 1.0, 0.0], [1.0, 0.0, 0.0], [speed, 0.0, 0.0], [0.0, 0.0, 0.0]],
        [[0.0, 0.5, 0.0], [0.0, 1.0, 0.0], [speed / 2, 0.0, 0.0], [0.0, 0.0, -speed]],
    ]
    middle, along, velocity, spin = np.tile(cell, (len(i), 1, 1))[1:].transpose(1, 0, 2)
    middle[:, 0] += np.repeat(i, 2)[1:]
    names = interleaved(numbered("horizontal-{}", i), numbered("vertical-{}", i))[1:]
    motion = {"linear_velocity": velocity, "angular_velocity": spin}
    rod = add_bars(mechanism, names, middle, along, 1.0, inertia=ROD_INERTIA, **motion)
    vertical, horizontal = rod[0::2], rod[0::2] - 1
    ground = np.stack([i, 0 * i, 0 * i], axis=1)
    families: list[param.RevoluteFamily] = [
        ("ground-{}", i, -1, vertical, ground, START),
        ("node-{}-right", i - 1, vertical - 2, horizontal, END, START),
        ("node-{}-left", i, horizontal, vertical, END, END),
    ]
    param.add_revolute_cells(mechanism, families)
    return mechanism


def five_bar_array(
    loops: param.Count = 10,
    spacing: Annotated[float, param.between(0.0, 2.0)] = 1.5,
    gravity: Vector = param.DOWN_Y,
) -> Mechanism:
    """Row of N five-bar linkages on shared columns, in the xy plane, at rest.

    "column-i", i = 0 ... N, stands on the ground at (i spacing, 0, 0), 1 m high; "rise-i" and
    "fall-i", i = 1 ... N, of 1 m each, lead from the top of column i - 1 to an apex and down to the
    top of column i. So there are 3 N + 1 bodies of 1 kg, 4 N + 1 revolutes about z, N loops of five
    bars with the ground, mobility N + 1, and 3 N redundant rows of 5 (4 N + 1).

    `loops` is N; `spacing`, of the columns [m], is less than 2.
    """
    mechanism = Mechanism("five-bar-array", gravity)
    i = np.arange(loops + 1)
    rise = math.sqrt(1.0 - spacing**2 / 4)
    cell = [  # middle and direction
        [[-0.75 * spacing, 1.0 + rise / 2, 0.0], [spacing / 2, rise, 0.0]],
        [[-0.25 * spacing, 1.0 + rise / 2, 0.0], [spacing / 2, -rise, 0.0]],
        [[0.0, 0.5, 0.0], [0.0, 1.0, 0.0]],
    ]
    middle, along = np.tile(cell, (len(i), 1, 1))[2:].transpose(1, 0, 2)
    middle[:, 0] += np.repeat(i, 3)[2:] * spacing
    names = interleaved(*(numbered(name, i) for name in ("rise-{}", "fall-{}", "column-{}")))
    column = add_bars(mechanism, names[2:], middle, along, 1.0)[0::3]
    rising, falling = column - 2, column - 1
    ground = np.stack([i * spacing, 0.0 * i, 0.0 * i], axis=1)
    families: list[param.RevoluteFamily] = [
        ("ground-{}", i, -1, column, ground, START),
        ("left-{}", i, column - 3, rising, END, START),
        ("apex-{}", i, rising, falling, END, START),
        ("right-{}", i, falling, column, END, END),
    ]
    param.add_revolute_cells(mechanism, families)
    return mechanism


def four_bar_torus(
    rows: param.CountOfRing = 4, columns: param.CountOfRing = 5, gravity: Vector = param.DOWN_Y
) -> Mechanism:
    """Parallelograms in the xy plane whose rows and columns close to rings, at rest.

    Node (r, c) lies at p_r + q_c, sums of corners of two regular polygons with sides of 1 m;
    "row-r-c" is the bar of 1 kg from it to node (r, c + 1), "column-r-c" that to node (r + 1, c),
    the last one being followed by the first. At a node three joints connect four bars: "turn-r-c",
    "left-r-c" and "below-r-c" hold "column-r-c" and the bars that arrive along row and column to
    "row-r-c". "base" joins "row-0-0" to the world. One polygon is turned by half of the least
    angle between sides, so that no parallelogram is flat.

    There are 2 m n bodies (m rows, n columns), 3 m n + 1 revolutes about z and m n + 1 loops.
    Opposite sides of a parallelogram turn alike, so all bars of a row turn like those of the next:
    m + n rates, restricted by two equations for each of the two closed polygons. Hence the mobility
    is m + n - 4, and of 15 m n + 5 rows 3 m n + m + n + 1 are redundant: three for each loop, and
    m + n - 2 in the plane.

    `rows` and `columns` are m and n, the sides of the polygons.
    """
    mechanism = Mechanism("four-bar-torus", gravity)
    up, right = _sides(rows, math.pi / math.lcm(rows, columns, 2)), _sides(columns, 0.0)
    p, q = (np.cumsum(sides, axis=0) - sides for sides in (up, right))  # corners
    node = (p[:, None] + q[None]).reshape(-1, 3)
    r, c = np.indices((rows, columns)).reshape(2, -1)
    along = np.concatenate([right[c], up[r]])
    bars = add_bars(
        mechanism,
        [*numbered("row-{}-{}", r, c), *numbered("column-{}-{}", r, c)],
        np.tile(node, (2, 1)) + along / 2,
        along,
        1.0,
    )
    row, column = bars.reshape(2, -1)
    left, below = r * columns + (c - 1) % columns, (r - 1) % rows * columns + c
    names = ("turn-{}-{}", "left-{}-{}", "below-{}-{}")
    mechanism.add_joints(
        interleaved(*(numbered(name, r, c) for name in names)),
        Revolute(),
        np.repeat(row, 3),
        np.stack([column, row[left], column[below]], axis=1).ravel(),
        point=np.repeat(node, 3, axis=0),
        axis=(0.0, 0.0, 1.0),
    )
    add_revolute(mechanism, "base", WORLD, "row-0-0", node[0], (-0.5, 0.0, 0.0))
    return mechanism


def _sides(n: int, turn: float) -> FloatArray:
    """Sides (n, 3) of a regular polygon, 1 m each, the first along the x axis turned by `turn`."""
    angle = turn + 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)


TOWARDS_VIEWER: Vector = (0.0, -1.0, 0.0)  # the axes: angles grow anticlockwise


def scissor(
    pairs: param.Count = 10,
    angle: param.AcuteAngle = 0.4,
    drive: bool = False,
    lifted: param.AcuteAngle = 1.0,
    rise_time: float = 5.0,
    length: param.Positive = 1.0,
    mass: float = 1.0,
    compliance: float = 0.0,
    gravity: Vector = param.DOWN_Z,
) -> Mechanism:
    """Scissor lift of bars crossed in pairs, at rest; can be driven at its base.

    The bars lie in the xz plane and rise along z: of pair k "left-k" from the lower left to the
    upper right, "right-k" from the lower right to the upper left; "middle-k" joins them where
    they cross. "outer-k-right" and "outer-k-left" join the upper ends of pair k to the lower ends
    of the next. "base" joins the lower end of "left-0" to the world at the origin; its angle is
    that of the bars over the ground. "support" lets the lower end of "right-0" slide on the ground,
    a sphere on the plane z = 0: one row, for the revolutes already keep all bars in their plane.

    So there are 2 pairs bodies, 3 pairs joints, 15 pairs - 4 rows (one more driven), mobility 1
    (driven: 0), and exactly 3 redundant rows for each of the pairs - 1 rhombi between the pairs;
    the loop through the ground has none.

    `pairs` of bars start at `angle` over the ground [rad], between 0 and pi/2; `drive` prescribes
    the base angle, smoothly from `angle` to `lifted` [rad] within `rise_time` [s]. `length` and
    `mass` are those of a bar [m, kg], `compliance` that of the rows of the joints between bars
    [m/N, rad/(N m)]; zero is rigid.
    """
    mechanism = Mechanism("scissor", gravity)
    width, height = length * math.cos(angle), length * math.sin(angle)
    k = np.arange(pairs)
    crossing = np.stack([0 * k + width / 2, 0.0 * k, (k + 0.5) * height], axis=1)
    along = np.tile([[width, 0.0, height], [-width, 0.0, height]], (pairs, 1))
    names = interleaved(numbered("left-{}", k), numbered("right-{}", k))
    center = np.repeat(crossing, 2, axis=0)
    add_bars(mechanism, names, center, along, length, mass=mass, side=TOWARDS_VIEWER)
    left, right = 2 * k, 2 * k + 1
    middle, low, high = (0.0, 0.0, 0.0), (-length / 2, 0.0, 0.0), (length / 2, 0.0, 0.0)
    families: list[param.RevoluteFamily] = [
        ("middle-{}", k, left, right, middle, middle),
        ("outer-{}-right", k - 1, left - 2, right, high, low),
        ("outer-{}-left", k - 1, right - 2, left, high, low),
    ]
    param.add_revolute_cells(mechanism, families, compliance)
    upright = Frame((0, 0, 0), spatial.quaternion_exponential([math.pi / 2, 0, 0]))
    base: dict[str, Any] = {"predecessor_frame": upright, "successor_frame": Frame(low)}
    base["prescribed"] = SmoothStep(angle, lifted, rise_time) if drive else None
    mechanism.add_joint("base", Revolute(), WORLD, "left-0", **base)
    mechanism.add_joint("support", PointOnPlane(), WORLD, "right-0", successor_frame=Frame(low))
    return mechanism


# ---- Andrews' squeezer ----------------------------------------------------------------------

Point = tuple[float, float]

# Fixed pivots A, B, the fixed end C of the spring, and the lengths of the test set [m].
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
D_LENGTH, DA, E_LENGTH, EA = 0.028, 0.0115, 0.02, 0.01421
RR, RA, SS, SA, SB, SC, SD = 0.007, 0.00092, 0.035, 0.01874, 0.01043, 0.018, 0.02
TA, TB, U, UA, UB, ZF, ZT, FA = 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421

SPRING = {"stiffness": 4530.0, "rest_length": 0.07785}  # from D to C [N/m, m]

BETA, THETA = -0.0617138900142764496358948458001, 0.0
GAMMA, DELTA = 0.455279819163070380255912382449, 0.487364979543842550225598953530
PHI, EPSILON = 0.222668390165885884674473185609, 1.23054744454982119249735015568
OMEGA = -PHI

O: Point = (0.0, 0.0)
F = (RR * math.cos(BETA), RR * math.sin(BETA))
G = (A[0] + ZT * math.cos(DELTA), A[1] + ZT * math.sin(DELTA))
H = (A[0] + U * math.sin(EPSILON), A[1] - U * math.cos(EPSILON))

# Mass [kg], moment about z [kg m^2]; origin of the body's frame in the world [m], angle [rad]; and
# in the frame the mass center and the outline [m].
LINKS: dict[str, tuple[float, float, Point, float, Point, tuple[Point, ...]]] = {
    "K1": (0.04325, 2.194e-06, O, BETA, (RA, 0.0), (O, (RR, 0.0))),
    "K2": (0.00365, 4.41e-07, F, BETA + THETA, (-DA, 0.0), (O, (-D_LENGTH, 0.0))),
    "K3": (0.02373, 5.255e-06, B, GAMMA, (SB, -SA), (O, (0.0, -SS), (SD, -SC), O)),
    "K4": (0.00706, 5.667e-07, G, PHI + DELTA, (0.0, EA - E_LENGTH), (O, (0.0, -E_LENGTH))),
    "K5": (0.0705, 1.169e-05, A, DELTA, (TA, TB), (O, (TA, TB), (ZT, 0.0), O)),
    "K6": (0.00706, 5.667e-07, H, OMEGA + EPSILON, (ZF - FA, 0.0), (O, (ZF, 0.0))),
    "K7": (0.05498, 1.912e-05, A, EPSILON, (-UB, -UA), (O, (-UB, -UA), (0.0, -U), O)),
}
REVOLUTES: tuple[tuple[str, str, str, Point, Point], ...] = (
    ("O", WORLD, "K1", O, O),
    ("F", "K1", "K2", (RR, 0.0), O),
    ("B", WORLD, "K3", B, O),
    ("A5", WORLD, "K5", A, O),
    ("A7", WORLD, "K7", A, O),
    ("G", "K5", "K4", (ZT, 0.0), O),
    ("H", "K7", "K6", (0.0, -U), O),
    ("E3", "K2", "K3", (-D_LENGTH, 0.0), (0.0, -SS)),
    ("E4", "K2", "K4", (-D_LENGTH, 0.0), (0.0, -E_LENGTH)),
    ("E6", "K2", "K6", (-D_LENGTH, 0.0), (ZF, 0.0)),
)


def andrews(torque: float = 0.033, gravity: Vector = (0.0, 0.0, 0.0)) -> Mechanism:
    """Andrews' squeezer (IVP Test Set): seven planar bodies in three loops, driven, at rest.

    Bodies "K1" ... "K7" and lengths as in the Test Set for IVP Solvers, its initial angles too
    (those of the IFToMM library are rounded and give another motion). All ten joints are revolutes
    about z: "O" (world, K1; its angle is beta), "F" (K1, K2), "B" (world, K3), "A5" and "A7"
    (world, K5 and K7), "G" (K5, K4), "H" (K7, K6), and "E3", "E4", "E6" between K2 and K3, K4, K6
    at the common point E. Mobility 1, 9 redundant rows. A spring joins D on K3 to the fixed point
    C; a constant torque acts on K1. The moments about x and y do not matter and equal that about z.

    The angles of the test set are those of the bodies' x axes: beta (K1), beta + Theta (K2),
    gamma (K3), Phi + delta (K4), delta (K5), Omega + epsilon (K6), epsilon (K7).

    `torque` is that on K1 [N m].

        Hairer and Wanner, Solving ODEs II, VII.7; Test Set for IVP Solvers, problem Andrews.
    """
    mechanism = Mechanism("andrews", gravity)
    for name, (mass, moment, origin, angle, center, outline) in LINKS.items():
        mechanism.add_body(
            name,
            mass=mass,
            inertia=np.full(3, moment),
            center_of_mass=(*center, 0.0),
            position=(*origin, 0.0),
            orientation=spatial.quaternion_exponential([0.0, 0.0, angle]),
            shape=Polyline(tuple((x, y, 0.0) for x, y in outline)),
        )
    for name, first, second, first_point, second_point in REVOLUTES:
        add_revolute(mechanism, name, first, second, (*first_point, 0.0), (*second_point, 0.0))
    mechanism.add_joint_force("drive", "O", effort=torque)
    ends: dict[str, Any] = {"first_point": (*C, 0.0), "second_point": (SD, -SC, 0.0)}
    mechanism.add_point_force("spring", WORLD, "K3", **ends, **SPRING)
    return mechanism


PIVOT = np.array([0.0, 0.1, 0.12])  # of the crank [m]
PIN = np.array([0.0, 0.1, 0.20])  # crank and rod, at the start
SLIDER = np.array([0.2, 0.0, 0.0])  # at the start; the rod is 0.3 m long
X = np.array([1.0, 0.0, 0.0])  # axis of the crank and line of the slider


def slider_crank(speed: float = 6.0, gravity: Vector = param.DOWN_Z) -> Mechanism:
    """Spatial rigid slider-crank (IFToMM benchmark): mobility 1, no redundant row.

    "crank" (0.08 m, 0.12 kg) turns about x at (0, 0.1, 0.12) by "pivot" and starts along z;
    "pin" is a ball between it and "rod" (0.3 m, 0.5 kg); "wrist" is a universal joint between
    "slider" (2 kg) and rod, whose cross has one arm along the slide, fixed in the slider, and one
    fixed in the rod, perpendicular to it; "slide" is a prismatic joint along the x axis. Its
    coordinate is 0 at the start, where the slider is at x = 0.2 m. Published moments of inertia;
    centers of mass half way.

    `speed` is the initial rate of the crank about x [rad/s].

        IFToMM Library of Computational Benchmark Problems; Gonzalez et al. (2006).
    """
    rod = SLIDER - PIN
    arm = np.cross(X, rod)  # of the cross, fixed in the rod: across the slide and across the rod
    pin_velocity = np.cross(speed * X, PIN - PIVOT)
    # velocity of the pin = v x + (a x + b arm) x (pin - slider)
    motions = np.column_stack([X, np.cross(X, -rod), np.cross(arm, -rod)])
    v, a, b = np.linalg.solve(motions, pin_velocity)
    mechanism = Mechanism("slider-crank", gravity)
    solid: dict[str, Any] = {"mass": 0.12, "inertia": (1e-5, 1e-4, 1e-4), "side": X}
    motion = {"linear_velocity": pin_velocity / 2, "angular_velocity": speed * X}
    add_bar(mechanism, "crank", PIVOT, PIN, **solid, **motion)
    solid = {"mass": 0.5, "inertia": (4e-4, 4e-3, 4e-3)}
    motion = {"linear_velocity": (pin_velocity + v * X) / 2, "angular_velocity": a * X + b * arm}
    add_bar(mechanism, "rod", PIN, SLIDER, **solid, **motion)
    solid = {"mass": 2.0, "inertia": (1e-4, 1e-4, 1e-4), "shape": Box((0.04, 0.02, 0.02))}
    mechanism.add_body("slider", **solid, position=SLIDER, linear_velocity=v * X)
    mechanism.add_joint("pivot", Revolute(), WORLD, "crank", point=PIVOT, axis=X)
    mechanism.add_joint("pin", Spherical(), "crank", "rod", point=PIN)
    mechanism.add_joint(
        "wrist", Universal(), "slider", "rod", point=SLIDER, axis=np.cross(X, arm), x_axis=X
    )
    mechanism.add_joint("slide", Prismatic(), WORLD, "slider", point=SLIDER, axis=X)
    return mechanism


CORNERS = ((0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1))
AXES = ((0, 1, 0), (0, 0, 1), (1, 0, 0)) * 2


def bricard(
    width: Annotated[float, param.between(0.0, 1.0)] = 0.1, gravity: Vector = param.DOWN_Y
) -> Mechanism:
    """Bricard's 6R loop, movable by its special geometry only (IFToMM benchmark A04).

    "rod-i", i = 0 ... 4, of 1 m and 1 kg, goes from corner P_i to P_{i+1} of a path along the
    edges of the unit cube; "hinge-i" sits at P_i, about y, z, x, y, z, x in turn; joints 0 and 5
    are on the world. Mobility 1 with one redundant row, which no structural count shows. The
    tracked point P3 is the end of "rod-2". At rest.

    `width` is the side of the rods' square section [m]; 0.1 on the published pages.

        IFToMM Library of Computational Benchmark Problems, A04.
    """
    mechanism = Mechanism("bricard", gravity)
    before = WORLD
    for i in range(5):
        rod = f"rod-{i}"
        # axis i lies across rod i
        add_bar(mechanism, rod, CORNERS[i], CORNERS[i + 1], width=width, side=AXES[i])
        mechanism.add_joint(f"hinge-{i}", Revolute(), before, rod, point=CORNERS[i], axis=AXES[i])
        before = rod
    mechanism.add_joint("hinge-5", Revolute(), WORLD, before, point=CORNERS[5], axis=AXES[5])
    return mechanism


LENGTH, WIDTH, DENSITY = 1.0, 0.01, 3000.0  # of shaft and rods [m, m, kg/m^3]
BAR_MASS = DENSITY * LENGTH * WIDTH**2  # 0.3 kg
BALL_MASS, SLIDER_MASS, SLIDER_SIDE = 5.0, 3.0, 0.1  # [kg, kg, m]
REACH, HEIGHT = 0.05, 1.0  # of the rods' pivots [m]
SPRINGS = {"stiffness": 8e5, "damping": 4e4, "rest_length": 0.5}  # [N/m, N s/m, m]


def governor(
    height: Annotated[float, param.between(0.0, HEIGHT)] = 0.5,
    angle: float = math.pi / 6,
    speed: float = 2.0 * math.pi,
    gravity: Vector = param.DOWN_Z,
) -> Mechanism:
    """Flyball governor (IFToMM benchmark A05); its loops close through stiff springs only.

    "shaft" turns about z ("bearing"), "slider" slides on it ("slide", 0 at the start), "right" and
    "left" are the rods, on the shaft at (+-0.05, 0, 1) ("pivot-right", "pivot-left", about
    y); the ball of 5 kg, a point mass, at the end of each is part of it. Spring-dampers go from
    the sides (+-0.05, 0, s) of the slider to the middles of the rods. All turn together at the
    start: mobility 4, no loop of joints.

    `height` is the initial height s of the slider [m], `angle` that of the rods below the
    horizontal [rad], `speed` the initial rate about z [rad/s].

        IFToMM Library of Computational Benchmark Problems, A05.
    """
    spin = np.array([0.0, 0.0, speed])
    mechanism = Mechanism("governor", gravity)
    foot, top = (0, 0, 0), (0, 0, LENGTH)
    bar = {"mass": BAR_MASS, "width": WIDTH, "side": (1, 0, 0)}
    add_bar(mechanism, "shaft", foot, top, **bar, angular_velocity=spin)
    mechanism.add_body(
        "slider",
        mass=SLIDER_MASS,
        inertia=spatial.box_inertia(SLIDER_MASS, [SLIDER_SIDE] * 3),
        position=(0.0, 0.0, height),
        angular_velocity=spin,
        shape=Box((SLIDER_SIDE,) * 3),
    )
    mechanism.add_joint("bearing", Revolute(), WORLD, "shaft", point=foot)
    mechanism.add_joint("slide", Prismatic(), "shaft", "slider", point=(0, 0, height))
    # a rod with its ball is one body; its frame is at the pivot, x along it
    mass = BAR_MASS + BALL_MASS
    center = (BAR_MASS * LENGTH / 2 + BALL_MASS * LENGTH) / mass
    spread = BAR_MASS * (center - LENGTH / 2) ** 2 + BALL_MASS * (LENGTH - center) ** 2
    inertia = spatial.box_inertia(BAR_MASS, [LENGTH, WIDTH, WIDTH]) + np.diag([0.0, spread, spread])
    for name, side in (("right", 1.0), ("left", -1.0)):
        pivot = np.array([side * REACH, 0.0, HEIGHT])
        along = np.array([side * math.cos(angle), 0.0, -math.sin(angle)])
        mechanism.add_body(
            name,
            mass=mass,
            inertia=inertia,
            center_of_mass=(center, 0.0, 0.0),
            position=pivot,
            orientation=spatial.quaternion_from_rotation(axes((0, 1, 0), along, f"body {name!r}")),
            linear_velocity=np.cross(spin, pivot),
            angular_velocity=spin,
            shape=Polyline(((0.0, 0.0, 0.0), (LENGTH, 0.0, 0.0))),
        )
        mechanism.add_joint(f"pivot-{name}", Revolute(), "shaft", name, point=pivot, axis=(0, 1, 0))
        ends: dict[str, Any] = {"first_point": (side * REACH, 0, 0)}
        ends["second_point"] = LENGTH / 2, 0, 0
        mechanism.add_point_force(f"spring-{name}", "slider", name, **ends, **SPRINGS)
    return mechanism


N_LEGS = 6
HALF_GAP = math.radians(15.0)  # of the pairs in which the legs meet base and platform
THICKNESS = 0.05  # of the platform [m]
PLATFORM_MASS, LOWER_MASS, UPPER_MASS = 10.0, 1.0, 0.5  # [kg]


def stewart(
    drive: bool = False,
    base_radius: param.Positive = 1.0,
    platform_radius: param.Positive = 0.6,
    height: param.Positive = 1.0,
    stiffness: float = 5000.0,
    damping: float = 100.0,
    amplitude: float = 0.1,
    frequency: float = 0.5,
    gravity: Vector = param.DOWN_Z,
) -> Mechanism:
    """Platform on six legs of universal, prismatic and spherical joints, on springs or driven.

    Leg k = 0 ... 5: "universal-k" on the world in the plane z = 0, "lower-k", "slide-k" (its
    coordinate is the lengthening since the start), "upper-k", "ball-k" on "platform" in the plane
    z = height. The legs start in pairs 30 degrees apart, at 0, 120 and 240 degrees on the base and
    60, 180 and 300 on the platform, and join nearest neighbours. 13 bodies, 5 loops, 72 rows
    without redundancy: mobility 6, or 0 driven.

    `drive` prescribes all legs' lengths instead of springs in them: leg k lengthens by `amplitude`
    [m] (cos(2 pi `frequency` [Hz] t) - 1) cos(k pi / 3). `base_radius`, `platform_radius` and
    `height` [m]; `stiffness` and `damping` are those of the spring in each leg [N/m, N s/m],
    without force at the start.
    """
    mechanism = Mechanism("stewart", gravity)
    center = np.array([0.0, 0.0, height])
    feet, heads = _ring(base_radius, 0.0), _ring(platform_radius, math.pi / 3)
    heads = np.roll(heads, 1, axis=0) + center  # the nearest to each foot
    outline = [*(heads - center), heads[0] - center]
    mechanism.add_body(
        "platform",
        mass=PLATFORM_MASS,
        inertia=spatial.cylinder_inertia(PLATFORM_MASS, platform_radius, THICKNESS),
        position=center,
        shape=Polyline(tuple((float(x), float(y), float(z)) for x, y, z in outline)),
    )
    rate = 2 * math.pi * frequency
    for k in range(N_LEGS):
        size = amplitude * math.cos(k * math.pi / 3)
        motion = Sinusoid(size, rate, math.pi / 2, -size) if drive else None  # starts at rest
        foot, head, lower, upper = feet[k], heads[k], f"lower-{k}", f"upper-{k}"
        along = head - foot
        across = np.cross((0.0, 0.0, 1.0), along)
        add_bar(mechanism, lower, foot, foot + 0.6 * along, mass=LOWER_MASS, side=across)
        short = {"mass": UPPER_MASS, "width": 0.03, "side": across}
        add_bar(mechanism, upper, head - 0.6 * along, head, **short)
        in_leg = {"axis": along, "x_axis": across}
        mechanism.add_joint(f"universal-{k}", Universal(), WORLD, lower, point=foot, **in_leg)
        middle = foot + 0.5 * along
        mechanism.add_joint(
            f"slide-{k}", Prismatic(), lower, upper, point=middle, prescribed=motion, **in_leg
        )
        mechanism.add_joint(f"ball-{k}", Spherical(), upper, "platform", point=head)
        if not drive:
            spring: dict[str, Any] = {"stiffness": stiffness, "damping": damping}
            mechanism.add_joint_force(f"spring-{k}", f"slide-{k}", **spring)
    return mechanism


def _ring(radius: float, first: float) -> FloatArray:
    """Three pairs of points about the angles first, first + 120 and first + 240 degrees."""
    angles = [
        first + pair * 2 * math.pi / 3 + side * HALF_GAP for pair in range(3) for side in (-1, 1)
    ]
    return np.array([(radius * math.cos(a), radius * math.sin(a), 0.0) for a in angles])
