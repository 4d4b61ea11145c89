"""Closed ring of bars."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from sparsebody.model.gallery.parts import (
    DOWN_Y,
    Vector,
    add_bars,
    check_at_least,
    check_between,
    named_joint,
)
from sparsebody.model.mechanism import WORLD, Mechanism


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
