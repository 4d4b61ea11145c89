"""Row of parallelograms: the N-four-bar benchmark."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.model.gallery.parts import DOWN_Y, Vector, add_bars, add_hinges, check_at_least
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.names import interleaved, numbered

# Uniform slender rod of 1 kg and 1 m. The moment about its own axis does not enter the planar
# motion; it only has to be positive.
ROD_INERTIA: Vector = (1e-3, 1.0 / 12.0, 1.0 / 12.0)
START: Vector = (-0.5, 0.0, 0.0)  # ends of a rod in its frame [m]
END: Vector = (0.5, 0.0, 0.0)

POINTS = {"B0": ("vertical-0", END)}


def n_four_bar(loops: int = 40, speed: float = 1.0, gravity: Vector = DOWN_Y) -> Mechanism:
    """N parallelograms in a row, IFToMM benchmark A02.

    "vertical-i", i = 0 ... N, stands on the ground at (i, 0, 0) and ends in point B_i at
    (i, 1, 0); "horizontal-i", i = 1 ... N, goes from B_{i-1} to B_i. Point B0 of the benchmark is
    the upper end of "vertical-0", (0.5, 0, 0) in its frame. All 2N + 1 rods are 1 m and 1 kg, all
    3N + 1 joints are revolutes about z: mobility 1 (N + 1 when all rods are in line), 3N
    redundant rows. The rods' joint angles are those between their x axes.

    Parameters
    ----------
    loops : int
        N, the number of parallelograms.
    speed : float
        Initial v_x of B0 [m/s].
    gravity : (3,) floats
        [m/s^2].

    References
    ----------
    IFToMM Library of Computational Benchmark Problems, A02; Gonzalez et al. (2006).
    """
    check_at_least(1, loops=loops)
    mechanism = Mechanism("n-four-bar", gravity)
    i = np.arange(loops + 1)
    rod = _add_rods(mechanism, i, speed)
    vertical, horizontal = rod[0::2], rod[0::2] - 1
    kept = np.r_[0, 3 : 3 * len(i)]  # nothing hangs to the left of the first rod
    world = np.full(len(i), -1)
    ground = np.stack([i, 0 * i, 0 * i], axis=1)
    nodes = numbered("node-{}-right", i - 1), numbered("node-{}-left", i)
    names = interleaved(numbered("ground-{}", i), *nodes)
    add_hinges(
        mechanism,
        [*names[:1], *names[3:]],
        np.stack([world, vertical - 2, horizontal], axis=1).ravel()[kept],
        np.stack([vertical, horizontal, vertical], axis=1).ravel()[kept],
        np.stack([ground, np.tile(END, (len(i), 1)), np.tile(END, (len(i), 1))], axis=1).reshape(
            -1, 3
        )[kept],
        np.tile([START, START, END], (len(i), 1))[kept],
    )
    return mechanism


def _add_rods(mechanism: Mechanism, i: IntArray, speed: float) -> IntArray:
    """Add "vertical-0", then "horizontal-i" and "vertical-i" in turn."""
    rods = len(i)
    middle = np.tile([[-0.5, 1.0, 0.0], [0.0, 0.5, 0.0]], (rods, 1))
    middle[:, 0] += np.repeat(i, 2)
    moving = np.tile([[speed, 0.0, 0.0], [speed / 2, 0.0, 0.0]], (rods, 1))
    turning = np.tile([[0.0, 0.0, 0.0], [0.0, 0.0, -speed]], (rods, 1))
    return add_bars(
        mechanism,
        interleaved(numbered("horizontal-{}", i), numbered("vertical-{}", i))[1:],
        middle[1:],
        np.tile([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], (rods, 1))[1:],
        1.0,
        inertia=ROD_INERTIA,
        linear_velocity=moving[1:],
        angular_velocity=turning[1:],
    )
