"""Row of five-bar linkages."""

from __future__ import annotations

import math

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.gallery.parts import (
    DOWN_Y,
    Vector,
    add_bars,
    add_hinges,
    check_at_least,
    check_between,
)
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.names import interleaved, numbered

START: Vector = (-0.5, 0.0, 0.0)  # ends of a bar in its frame [m]
END: Vector = (0.5, 0.0, 0.0)


def five_bar_array(loops: int = 10, spacing: float = 1.5, gravity: Vector = DOWN_Y) -> Mechanism:
    """N five-bar linkages side by side in the xy plane, each sharing its columns; at rest.

    "column-i", i = 0 ... N, stands on the ground at (i spacing, 0, 0), 1 m high; "rise-i" and
    "fall-i", i = 1 ... N, of 1 m each, lead from the top of column i - 1 to an apex and down to the
    top of column i. So there are 3 N + 1 bodies of 1 kg, 4 N + 1 revolutes about z, N loops of five
    bars with the ground, mobility N + 1, and 3 N redundant rows of 5 (4 N + 1).

    Parameters
    ----------
    loops : int
        N, the number of five-bars.
    spacing : float
        Of the columns [m], less than 2.
    gravity : (3,) floats
        [m/s^2].
    """
    check_at_least(1, loops=loops)
    check_between(0.0, 2.0, spacing=spacing)
    mechanism = Mechanism("five-bar-array", gravity)
    i = np.arange(loops + 1)
    rise = math.sqrt(1.0 - spacing**2 / 4)
    names = interleaved(*(numbered(name, i) for name in ("rise-{}", "fall-{}", "column-{}")))
    directions = [[spacing / 2, rise, 0.0], [spacing / 2, -rise, 0.0], [0.0, 1.0, 0.0]]
    along = np.tile(directions, (len(i), 1))
    bars = add_bars(mechanism, names[2:], _middles(i, spacing, rise)[2:], along[2:], 1.0)
    column = bars[0::3]
    ground, rising, falling = column, column - 2, column - 1
    world = np.full(len(i), -1)
    kept = np.r_[0, 4 : 4 * len(i)]  # nothing leads to the first column
    place = np.stack([i * spacing, 0.0 * i, 0.0 * i], axis=1)
    ends = np.tile(END, (len(i), 1))
    hinges = ("ground-{}", "left-{}", "apex-{}", "right-{}")
    joints = interleaved(*(numbered(name, i) for name in hinges))
    add_hinges(
        mechanism,
        [*joints[:1], *joints[4:]],
        np.stack([world, column - 3, rising, falling], axis=1).ravel()[kept],
        np.stack([ground, rising, falling, column], axis=1).ravel()[kept],
        np.stack([place, ends, ends, ends], axis=1).reshape(-1, 3)[kept],
        np.tile([START, START, START, END], (len(i), 1))[kept],
    )
    return mechanism


def _middles(i: IntArray, spacing: float, rise: float) -> FloatArray:
    """Of "rise-i", "fall-i" and "column-i" in turn, (3 (N + 1), 3)."""
    middle = np.tile(
        [
            [-0.75 * spacing, 1.0 + rise / 2, 0.0],
            [-0.25 * spacing, 1.0 + rise / 2, 0.0],
            [0.0, 0.5, 0.0],
        ],
        (len(i), 1),
    )
    middle[:, 0] += np.repeat(i, 3) * spacing
    return middle
