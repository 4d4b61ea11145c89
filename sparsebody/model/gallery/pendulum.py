"""Simple pendulum."""

from __future__ import annotations

from sparsebody.model.gallery.parts import DOWN_Y, Vector, add_hinge, check_between
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.shapes import Polyline
from sparsebody.spatial import sphere_inertia

POINTS = {"mass": ("mass", (0.0, 0.0, 0.0))}


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
