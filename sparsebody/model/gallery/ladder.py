"""Ladder: two rails of bars, joined to each other at every rung."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.model.gallery.parts import DOWN_Z, Vector, check_at_least, named_joint
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.shapes import Box
from sparsebody.spatial import box_inertia

SIDES: Vector = (0.9, 0.1, 0.1)  # of a bar [m]


def ladder(
    rungs: int = 10,
    joint: Literal["spherical", "revolute"] = "spherical",
    disorder: float = 0.0,
    seed: int = 0,
    gravity: Vector = DOWN_Z,
) -> Mechanism:
    """Two rails of bars along x with a joint between them at every rung, at rest.

    Bars "bar-s-r" of 0.9 x 0.1 x 0.1 m and 1 kg, s = 0 ... rungs - 1, r = 0, 1, have their
    centers at (s, r, 0); "rail-s-r" joins bar s to the next at (s + 0.5, r, 0), "rung-s" the two
    rails at (s, 0.5, 0), and "base-r" bar 0 to the world at (-0.5, r, 0). So there are 2 rungs
    bodies, 3 rungs joints and as many loops as rungs. Featherstone (2008), sec. 8.13, fig. 8.4.

    Parameters
    ----------
    rungs : int
        Number of pairs of bars.
    joint : str
        "spherical" (mobility 3 rungs), or "revolute" with all axes along z (mobility 0, and 3
        redundant rows for each loop).
    disorder : float
        Joints and mass centers move at random by up to this much along each axis [m]; with
        revolutes only in the plane.
    seed : int
        Of the random numbers.
    gravity : (3,) floats
        [m/s^2]. Along z nothing loads the rungs: tilt it to test the loops.
    """
    check_at_least(1, rungs=rungs)
    check_at_least(0.0, disorder=disorder)
    check_at_least(0, seed=seed)
    joint_type = named_joint(joint, "spherical", "revolute")
    rng = np.random.default_rng(seed)
    reach = disorder * np.array([1.0, 1.0, 0.0 if joint == "revolute" else 1.0])

    def place(x: float, y: float) -> FloatArray:
        return np.array([x, y, 0.0]) + rng.uniform(-1, 1, 3) * reach

    mechanism = Mechanism("ladder", gravity)
    before = [WORLD, WORLD]
    for s in range(rungs):
        bars = [f"bar-{s}-{r}" for r in (0, 1)]
        for r, bar in enumerate(bars):
            mechanism.add_body(
                bar,
                mass=1.0,
                inertia=box_inertia(1.0, SIDES),
                position=place(s, r),
                shape=Box(SIDES),
            )
        for r, bar in enumerate(bars):
            name = f"rail-{s - 1}-{r}" if s else f"base-{r}"
            mechanism.add_joint(name, joint_type, before[r], bar, point=place(s - 0.5, r))
        mechanism.add_joint(f"rung-{s}", joint_type, *bars, point=place(s, 0.5))
        before = bars
    return mechanism
