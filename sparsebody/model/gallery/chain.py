"""Open chain."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from sparsebody.model.gallery.parts import (
    DOWN_Z,
    Vector,
    add_bars,
    check_at_least,
    check_between,
    named_joint,
)
from sparsebody.model.mechanism import Mechanism


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
    along = np.array([1.0, 0.0, 0.0])
    end = np.arange(bodies + 1)[:, None] * length * along
    middle = (end[:-1] + end[1:]) / 2
    bar = add_bars(mechanism, "bar-{}", middle, along, length, mass=mass, width=length / 20)
    axis = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])[bar % 2]
    mechanism.add_joints("joint-{}", joint_type, bar - 1, bar, point=end[:-1], axis=axis)
    return mechanism
