"""Ladder: two rails of bars, joined to each other at every rung."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from sparsebody.model.gallery.parts import DOWN_Z, Vector, check_at_least, named_joint
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.names import chained, interleaved, numbered
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
    s, r = np.arange(rungs, dtype=float)[:, None], np.array([0.0, 1.0])
    place = rng.uniform(-1, 1, (rungs, 5, 3)) * reach  # of two bars, their left joints, the rung
    place[:, :, 0] += np.hstack([s, s, s - 0.5, s - 0.5, s])
    place[:, :, 1] += np.hstack([r, r, 0.5])

    mechanism = Mechanism("ladder", gravity)
    bar = mechanism.add_bodies(
        interleaved(*(numbered(f"bar-{{}}-{side}", range(rungs)) for side in (0, 1))),
        mass=1.0,
        inertia=box_inertia(1.0, SIDES)[None],
        position=place[:, :2].reshape(-1, 3),
        shape=Box(SIDES),
    )
    left, right = bar[0::2], bar[1::2]
    mechanism.add_joints(
        _joint_names(rungs),
        joint_type,
        np.stack([left - 2, right - 2, left], axis=1).clip(-1).ravel(),  # -1 is the world
        np.stack([left, right, right], axis=1).ravel(),
        point=place[:, 2:].reshape(-1, 3),
    )
    return mechanism


def _joint_names(rungs: int) -> Sequence[str]:
    """Two rails and a rung in turn, with the base instead of the first rails."""
    s = np.arange(rungs)
    rails = (numbered(f"rail-{{}}-{side}", s[:-1]) for side in (0, 1))
    return chained(["base-0", "base-1", "rung-0"], interleaved(*rails, numbered("rung-{}", s[1:])))
