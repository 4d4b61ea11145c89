"""Open chains and the pendulum."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from sparsebody.model.bodies import Polyline
from sparsebody.model.gallery.parameters import (
    DOWN_Y,
    DOWN_Z,
    Vector,
    add_bars,
    add_hinge,
    check_at_least,
    check_between,
    named_joint,
)
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.spatial import sphere_inertia


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


def pendulum(
    length: float = 1.0, mass: float = 1.0, radius: float = 1e-4, gravity: Vector = DOWN_Y
) -> Mechanism:
    """Point mass on a massless rod, level and at rest, IFToMM benchmark A01.

    Body "mass" starts at (-length, 0, 0); "pivot" is a revolute about z at the origin.

    Parameters
    ----------
    length, mass : float
        [m, kg].
    radius : float
        Of the mass, a ball [m]: no body is a point. It lengthens the period by radius^2 / (5
        length^2) of its value, 2e-9 by default.
    gravity : (3,) floats
        [m/s^2].

    References
    ----------
    IFToMM Library of Computational Benchmark Problems, A01.
    """
    check_between(0.0, float("inf"), length=length, mass=mass, radius=radius)
    mechanism = Mechanism("pendulum", gravity)
    mechanism.add_body(
        "mass",
        mass=mass,
        inertia=sphere_inertia(mass, radius),
        position=(-length, 0.0, 0.0),
        shape=Polyline(((0.0, 0.0, 0.0), (length, 0.0, 0.0))),
    )
    add_hinge(mechanism, "pivot", WORLD, "mass", (0.0, 0.0, 0.0), (length, 0.0, 0.0))
    return mechanism
