"""Torus of parallelograms."""

from __future__ import annotations

import math

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.model.gallery.parts import DOWN_Y, Vector, add_bars, add_hinge, check_at_least
from sparsebody.model.joints import Revolute
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.names import interleaved, numbered


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

    Parameters
    ----------
    rows, columns : int
        m and n, the sides of the polygons.
    gravity : (3,) floats
        [m/s^2].
    """
    check_at_least(3, rows=rows, columns=columns)
    mechanism = Mechanism("four-bar-torus", gravity)
    turn = math.pi / math.lcm(rows, columns, 2)
    p, q = _corners(_sides(rows, turn)), _corners(_sides(columns, 0.0))
    node = (p[:, None] + q[None]).reshape(-1, 3)
    r, c = np.indices((rows, columns)).reshape(2, -1)
    here = r * columns + c
    along = np.concatenate([_sides(columns, 0.0)[c], _sides(rows, turn)[r]])
    start = np.tile(node, (2, 1))
    bars = add_bars(
        mechanism,
        [*numbered("row-{}-{}", r, c), *numbered("column-{}-{}", r, c)],
        start + along / 2,
        along,
        1.0,
    )
    row, column = bars[: len(here)], bars[len(here) :]
    left = r * columns + (c - 1) % columns
    down = (r - 1) % rows * columns + c
    mechanism.add_joints(
        interleaved(
            *(numbered(name, r, c) for name in ("turn-{}-{}", "left-{}-{}", "below-{}-{}"))
        ),
        Revolute(),
        np.repeat(row, 3),
        np.stack([column, row[left], column[down]], axis=1).ravel(),
        point=np.repeat(node, 3, axis=0),
        axis=(0.0, 0.0, 1.0),
    )
    add_hinge(mechanism, "base", WORLD, "row-0-0", node[0], (-0.5, 0.0, 0.0))
    return mechanism


def _sides(n: int, turn: float) -> FloatArray:
    """Sides (n, 3) of a regular polygon, 1 m each, the first along the x axis turned by `turn`."""
    angle = turn + 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)


def _corners(sides: FloatArray) -> FloatArray:
    """Where each side starts, (n, 3)."""
    return np.asarray(np.cumsum(sides, axis=0) - sides)
