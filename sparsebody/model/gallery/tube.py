"""Tube: rails of bars closed around, joined to their neighbours at every ring."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from sparsebody.model.gallery.parts import DOWN_Z, Vector, check_at_least, check_size, named_joint
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.names import numbered
from sparsebody.model.shapes import Box
from sparsebody.spatial import box_inertia

SIDES: Vector = (0.9, 0.1, 0.1)  # of a bar [m]
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
