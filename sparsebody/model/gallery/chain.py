"""Open chain."""

from __future__ import annotations

import math
from typing import Literal

from sparsebody.model.gallery.parts import (
    DOWN_Z,
    Vector,
    add_bar,
    check_at_least,
    check_between,
    named_joint,
)
from sparsebody.model.mechanism import WORLD, Mechanism


def chain(
    bodies: int = 10,
    joint: Literal["revolute", "spherical"] = "revolute",
    length: float = 1.0,
    mass: float = 1.0,
    gravity: Vector = DOWN_Z,
) -> Mechanism:
    """Bars along x, the first joined to the world at the origin, at rest.

    Parameters
    ----------
    bodies : int
        Number of bars "bar-0", "bar-1", ...; "joint-i" is at the start of bar i.
    joint : str
        "revolute" (axes y and z in turn, beginning with y) or "spherical".
    length, mass : float
        Of a bar [m, kg]; its section is a twentieth of its length.
    gravity : (3,) floats
        [m/s^2].
    """
    check_at_least(1, bodies=bodies)
    check_between(0.0, math.inf, length=length, mass=mass)
    joint_type = named_joint(joint, "revolute", "spherical")
    mechanism = Mechanism("chain", gravity)
    before = WORLD
    for i in range(bodies):
        start, end = (i * length, 0, 0), ((i + 1) * length, 0, 0)
        bar = add_bar(mechanism, f"bar-{i}", start, end, mass=mass, width=length / 20)
        axis = (0, 1, 0) if i % 2 == 0 else (0, 0, 1)
        mechanism.add_joint(f"joint-{i}", joint_type, before, bar.name, point=start, axis=axis)
        before = bar.name
    return mechanism
