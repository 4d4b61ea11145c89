"""Four-bar linkages: one, in rows and on a torus; and rows of five-bar linkages."""

from __future__ import annotations

import math

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError
from sparsebody.model.gallery.parameters import (
    DOWN_Y,
    HingeFamily,
    Vector,
    add_bar,
    add_bars,
    add_hinge,
    add_hinge_cells,
    check_at_least,
    check_between,
)
from sparsebody.model.joints import Revolute
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.names import interleaved, numbered


def four_bar(
    crank: float = 0.4,
    coupler: float = 1.0,
    rocker: float = 0.8,
    ground: float = 1.0,
    angle: float = 1.0,
    speed: float = 0.0,
    gravity: Vector = DOWN_Y,
) -> Mechanism:
    """Planar crank and rocker with spatial hinges: mobility 1, and 3 redundant rows in space.

    "crank" turns about the origin, "rocker" about (ground, 0, 0); "coupler" goes from the end A of
    the crank to the end B of the rocker, to the left of the line from A to the rocker's pivot.
    Joints: "crank-pivot", "crank-pin", "rocker-pin", "rocker-pivot"; bars of 1 kg per metre. The
    default lengths let the crank go round (Grashof).

    `crank`, `coupler`, `rocker` and `ground` are lengths [m]; `angle` [rad] and `speed` [rad/s] are
    those of the crank from x. ModelError if the bars do not meet at this angle.
    """
    check_between(0.0, math.inf, crank=crank, coupler=coupler, rocker=rocker, ground=ground)
    O, Q = np.zeros(3), np.array([ground, 0.0, 0.0])
    A = crank * np.array([math.cos(angle), math.sin(angle), 0.0])
    B = _meeting_point(A, coupler, Q, rocker, angle)
    # coupler and rocker give the same velocity to B
    matrix = np.column_stack([_left(B - A), -_left(B - Q)])[:2]
    rates = np.linalg.solve(matrix, -speed * _left(A)[:2])
    mechanism = Mechanism("four-bar", gravity)
    for name, start, end, v, rate in (
        ("crank", O, A, np.zeros(3), speed),
        ("coupler", A, B, speed * _left(A), rates[0]),
        ("rocker", Q, B, np.zeros(3), rates[1]),
    ):
        add_bar(
            mechanism,
            name,
            start,
            end,
            mass=float(np.linalg.norm(end - start)),
            linear_velocity=v + rate * _left(end - start) / 2,
            angular_velocity=(0.0, 0.0, rate),
        )
    a, b, c = crank / 2, coupler / 2, rocker / 2
    add_hinge(mechanism, "crank-pivot", WORLD, "crank", O, (-a, 0, 0))
    add_hinge(mechanism, "crank-pin", "crank", "coupler", (a, 0, 0), (-b, 0, 0))
    add_hinge(mechanism, "rocker-pin", "coupler", "rocker", (b, 0, 0), (c, 0, 0))
    add_hinge(mechanism, "rocker-pivot", WORLD, "rocker", Q, (-c, 0, 0))
    return mechanism


def _left(arm: FloatArray) -> FloatArray:
    """Velocity of the tip of an arm that turns left at 1 rad/s."""
    return np.array([-arm[1], arm[0], 0.0])


def _meeting_point(
    A: FloatArray, coupler: float, Q: FloatArray, rocker: float, angle: float
) -> FloatArray:
    """Intersection, left of A -> Q, of the circles about A and Q."""
    gap = Q - A
    distance = float(np.linalg.norm(gap))
    if not abs(coupler - rocker) < distance < coupler + rocker:
        raise ModelError(
            f"angle is {angle}: coupler ({coupler} m) and rocker ({rocker} m) do not meet across "
            f"{distance:.6g} m; give another angle or other lengths"
        )
    along = (distance**2 + coupler**2 - rocker**2) / (2 * distance)
    across = math.sqrt(coupler**2 - along**2)
    return np.asarray(A + (along * gap + across * _left(gap)) / distance)


# Uniform slender rod of 1 kg and 1 m. The moment about its own axis does not enter the planar
# motion; it only has to be positive.
ROD_INERTIA: Vector = (1e-3, 1.0 / 12.0, 1.0 / 12.0)
START: Vector = (-0.5, 0.0, 0.0)  # ends of a rod in its frame [m]
END: Vector = (0.5, 0.0, 0.0)


def n_four_bar(loops: int = 40, speed: float = 1.0, gravity: Vector = DOWN_Y) -> Mechanism:
    """Row of N parallelograms (IFToMM benchmark A02).

    "vertical-i", i = 0 ... N, stands on the ground at (i, 0, 0) and ends in point B_i at
    (i, 1, 0); "horizontal-i", i = 1 ... N, goes from B_{i-1} to B_i. Point B0 of the benchmark is
    the upper end of "vertical-0", (0.5, 0, 0) in its frame. All 2N + 1 rods are 1 m and 1 kg, all
    3N + 1 joints are revolutes about z: mobility 1 (N + 1 when all rods are in line), 3N
    redundant rows. The rods' joint angles are those between their x axes.

    `loops` is N; `speed` is the initial v_x of B0 [m/s].

        IFToMM Library of Computational Benchmark Problems, A02; Gonzalez et al. (2006).
    """
    check_at_least(1, loops=loops)
    mechanism = Mechanism("n-four-bar", gravity)
    i = np.arange(loops + 1)
    # "vertical-0", then "horizontal-i" and "vertical-i" in turn
    rods = len(i)
    middle = np.tile([[-0.5, 1.0, 0.0], [0.0, 0.5, 0.0]], (rods, 1))
    middle[:, 0] += np.repeat(i, 2)
    rod = add_bars(
        mechanism,
        interleaved(numbered("horizontal-{}", i), numbered("vertical-{}", i))[1:],
        middle[1:],
        np.tile([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], (rods, 1))[1:],
        1.0,
        inertia=ROD_INERTIA,
        linear_velocity=np.tile([[speed, 0.0, 0.0], [speed / 2, 0.0, 0.0]], (rods, 1))[1:],
        angular_velocity=np.tile([[0.0, 0.0, 0.0], [0.0, 0.0, -speed]], (rods, 1))[1:],
    )
    vertical, horizontal = rod[0::2], rod[0::2] - 1
    ground = np.stack([i, 0 * i, 0 * i], axis=1)
    families: list[HingeFamily] = [
        ("ground-{}", i, -1, vertical, ground, START),
        ("node-{}-right", i - 1, vertical - 2, horizontal, END, START),
        ("node-{}-left", i, horizontal, vertical, END, END),
    ]
    add_hinge_cells(mechanism, families)
    return mechanism


def five_bar_array(loops: int = 10, spacing: float = 1.5, gravity: Vector = DOWN_Y) -> Mechanism:
    """Row of N five-bar linkages on shared columns, in the xy plane, at rest.

    "column-i", i = 0 ... N, stands on the ground at (i spacing, 0, 0), 1 m high; "rise-i" and
    "fall-i", i = 1 ... N, of 1 m each, lead from the top of column i - 1 to an apex and down to the
    top of column i. So there are 3 N + 1 bodies of 1 kg, 4 N + 1 revolutes about z, N loops of five
    bars with the ground, mobility N + 1, and 3 N redundant rows of 5 (4 N + 1).

    `loops` is N; `spacing`, of the columns [m], is less than 2.
    """
    check_at_least(1, loops=loops)
    check_between(0.0, 2.0, spacing=spacing)
    mechanism = Mechanism("five-bar-array", gravity)
    i = np.arange(loops + 1)
    rise = math.sqrt(1.0 - spacing**2 / 4)
    middle = np.tile(
        [
            [-0.75 * spacing, 1.0 + rise / 2, 0.0],
            [-0.25 * spacing, 1.0 + rise / 2, 0.0],
            [0.0, 0.5, 0.0],
        ],
        (len(i), 1),
    )
    middle[:, 0] += np.repeat(i, 3) * spacing
    names = interleaved(*(numbered(name, i) for name in ("rise-{}", "fall-{}", "column-{}")))
    directions = [[spacing / 2, rise, 0.0], [spacing / 2, -rise, 0.0], [0.0, 1.0, 0.0]]
    along = np.tile(directions, (len(i), 1))
    column = add_bars(mechanism, names[2:], middle[2:], along[2:], 1.0)[0::3]
    rising, falling = column - 2, column - 1
    ground = np.stack([i * spacing, 0.0 * i, 0.0 * i], axis=1)
    families: list[HingeFamily] = [
        ("ground-{}", i, -1, column, ground, START),
        ("left-{}", i, column - 3, rising, END, START),
        ("apex-{}", i, rising, falling, END, START),
        ("right-{}", i, falling, column, END, END),
    ]
    add_hinge_cells(mechanism, families)
    return mechanism


def four_bar_torus(rows: int = 4, columns: int = 5, gravity: Vector = DOWN_Y) -> Mechanism:
    """Parallelograms in the xy plane whose rows and columns close to rings, at rest.

    Node (r, c) lies at p_r + q_c, sums of corners of two regular polygons with sides of 1 m;
    "row-r-c" is the bar of 1 kg from it to node (r, c + 1), "column-r-c" that to node (r + 1, c),
    the last one being followed by the first. At a node three hinges join four bars: "turn-r-c",
    "left-r-c" and "below-r-c" hold "column-r-c" and the bars that arrive along row and column to
    "row-r-c". "base" hinges "row-0-0" to the world. One polygon is turned by half of the least
    angle between sides, so that no parallelogram is flat.

    There are 2 m n bodies (m rows, n columns), 3 m n + 1 revolutes about z and m n + 1 loops.
    Opposite sides of a parallelogram turn alike, so all bars of a row turn like those of the next:
    m + n rates, restricted by two equations for each of the two closed polygons. Hence the mobility
    is m + n - 4, and of 15 m n + 5 rows 3 m n + m + n + 1 are redundant: three for each loop, and
    m + n - 2 in the plane.

    `rows` and `columns` are m and n, the sides of the polygons.
    """
    check_at_least(3, rows=rows, columns=columns)
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
    add_hinge(mechanism, "base", WORLD, "row-0-0", node[0], (-0.5, 0.0, 0.0))
    return mechanism


def _sides(n: int, turn: float) -> FloatArray:
    """Sides (n, 3) of a regular polygon, 1 m each, the first along the x axis turned by `turn`."""
    angle = turn + 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
