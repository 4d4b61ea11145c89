"""Ladders, tubes and rings of bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from sparsebody.model.bodies import Box
from sparsebody.model.gallery.parameters import (
    DOWN_Y,
    DOWN_Z,
    Vector,
    add_bars,
    check_at_least,
    check_between,
    check_size,
    named_joint,
)
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.names import chained, interleaved, numbered
from sparsebody.spatial import box_inertia

SIDES: Vector = (0.9, 0.1, 0.1)  # of a bar [m]


def ladder(
    rungs: int = 10,
    joint: Literal["spherical", "revolute"] = "spherical",
    disorder: float = 0.0,
    seed: int = 0,
    compliance: float = 0.0,
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
    compliance : float
        Of the rows of all joints [m/N, rad/(N m)]; zero is rigid.
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
        compliance=compliance,
    )
    return mechanism


def _joint_names(rungs: int) -> Sequence[str]:
    """Two rails and a rung in turn, with the base instead of the first rails."""
    s = np.arange(rungs)
    rails = (numbered(f"rail-{{}}-{side}", s[:-1]) for side in (0, 1))
    return chained(["base-0", "base-1", "rung-0"], interleaved(*rails, numbered("rung-{}", s[1:])))


_X: Vector = (1.0, 0.0, 0.0)


def tube(
    rings: int = 8,
    rails: int = 6,
    joint: Literal["spherical", "revolute"] = "spherical",
    gravity: Vector = DOWN_Z,
) -> Mechanism:
    """Rails of bars along x on a cylinder about it, a lattice that closes around, at rest.

    Bar "bar-s-r" of 0.9 x 0.1 x 0.1 m and 1 kg, s = 0 ... rings - 1, r = 0 ... rails - 1, has its
    center at x = s on a polygon with sides of 1 m; "rail-s-r" joins it to the next bar of its rail,
    "hoop-s-r" to that of the next rail, the first one following the last, and "base" bar-0-0 to the
    world at x = -0.5. So there are n = rings rails bodies and 2 n - rails + 1 joints.

    Parameters
    ----------
    rings, rails : int
        Number of bars along and around.
    joint : str
        "spherical", or "revolute" with all axes along x.
    gravity : (3,) floats
        [m/s^2].
    """
    check_at_least(1, rings=rings)
    check_at_least(3, rails=rails)
    check_size({"rings": rings, "rails": rails})
    joint_type = named_joint(joint, "spherical", "revolute")
    mechanism = Mechanism("tube", gravity)
    s, r = np.indices((rings, rails)).reshape(2, -1)
    angle, radius = 2 * np.pi * r / rails, 0.5 / math.sin(math.pi / rails)
    place = np.stack([s, radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    bar = mechanism.add_bodies(
        numbered("bar-{}-{}", s, r),
        mass=1.0,
        inertia=box_inertia(1.0, SIDES)[None],
        position=place,
        shape=Box(SIDES),
    )
    grid = bar.reshape(rings, rails)
    along, beside = grid[1:].ravel(), np.roll(grid, -1, axis=1).ravel()
    mechanism.add_joint("base", joint_type, WORLD, "bar-0-0", point=place[0] - [0.5, 0, 0], axis=_X)
    for name, first, second in (("rail", bar[: len(along)], along), ("hoop", bar, beside)):
        mechanism.add_joints(
            numbered(f"{name}-{{}}-{{}}", s[first], r[first]),
            joint_type,
            first,
            second,
            point=(place[first] + place[second]) / 2,
            axis=_X,
        )
    return mechanism


def ring(
    bodies: int = 12,
    joint: Literal["spherical", "revolute"] = "spherical",
    length: float = 1.0,
    mass: float = 1.0,
    gravity: Vector = DOWN_Y,
) -> Mechanism:
    """Bars joined to a regular polygon in the xy plane about the origin, at rest.

    "bar-i" goes from corner i to corner i + 1 and "joint-i" joins it to the one before at corner
    i; "base" joins the middle of "bar-0" to the world. Mobility 3 n - 3 with balls, without
    redundant rows; n - 2 with revolutes, 3 redundant rows.

    Parameters
    ----------
    bodies : int
        Number n of bars, 3 or more.
    joint : str
        "spherical", or "revolute" with all axes along z.
    length, mass : float
        Of a bar [m, kg].
    gravity : (3,) floats
        [m/s^2].
    """
    check_at_least(3, bodies=bodies)
    check_between(0.0, math.inf, length=length, mass=mass)
    joint_type = named_joint(joint, "spherical", "revolute")
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
