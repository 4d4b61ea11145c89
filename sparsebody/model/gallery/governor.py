"""Flyball governor."""

from __future__ import annotations

import math

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.model.frames import axes
from sparsebody.model.gallery.parts import DOWN_Z, Vector, add_bar, check_between
from sparsebody.model.joints import Prismatic, Revolute
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.shapes import Box, Polyline
from sparsebody.spatial import box_inertia, quaternion_from_rotation

LENGTH, WIDTH, DENSITY = 1.0, 0.01, 3000.0  # of shaft and rods [m, m, kg/m^3]
BAR_MASS = DENSITY * LENGTH * WIDTH**2  # 0.3 kg
BALL_MASS, SLIDER_MASS, SLIDER_SIDE = 5.0, 3.0, 0.1  # [kg, kg, m]
REACH, HEIGHT = 0.05, 1.0  # of the rods' pivots [m]
STIFFNESS, DAMPING, REST_LENGTH = 8e5, 4e4, 0.5  # [N/m, N s/m, m]

POINTS = {"slider": ("slider", (0.0, 0.0, 0.0))}


def governor(
    height: float = 0.5,
    angle: float = math.pi / 6,
    speed: float = 2.0 * math.pi,
    gravity: Vector = DOWN_Z,
) -> Mechanism:
    """Flyball governor, IFToMM benchmark A05; its loops close through stiff springs only.

    "shaft" turns about z ("bearing"), "slider" slides on it ("slide", 0 at the start), "right" and
    "left" are the rods, hinged to the shaft at (+-0.05, 0, 1) ("pivot-right", "pivot-left", about
    y); the ball of 5 kg, a point mass, at the end of each is part of it. Spring-dampers go from
    the sides (+-0.05, 0, s) of the slider to the middles of the rods. All turn together at the
    start: mobility 4, no loop of joints.

    Parameters
    ----------
    height : float
        Initial height s of the slider [m].
    angle : float
        Of the rods below the horizontal [rad].
    speed : float
        Initial rate about z [rad/s].
    gravity : (3,) floats
        [m/s^2].

    References
    ----------
    IFToMM Library of Computational Benchmark Problems, A05.
    """
    check_between(0.0, HEIGHT, height=height)
    spin = np.array([0.0, 0.0, speed])
    mechanism = Mechanism("governor", gravity)
    foot, top = (0, 0, 0), (0, 0, LENGTH)
    add_bar(
        mechanism,
        "shaft",
        foot,
        top,
        mass=BAR_MASS,
        width=WIDTH,
        side=(1, 0, 0),
        angular_velocity=spin,
    )
    mechanism.add_body(
        "slider",
        mass=SLIDER_MASS,
        inertia=box_inertia(SLIDER_MASS, [SLIDER_SIDE] * 3),
        position=(0.0, 0.0, height),
        angular_velocity=spin,
        shape=Box((SLIDER_SIDE, SLIDER_SIDE, SLIDER_SIDE)),
    )
    mechanism.add_joint("bearing", Revolute(), WORLD, "shaft", point=foot)
    mechanism.add_joint("slide", Prismatic(), "shaft", "slider", point=(0, 0, height))
    for name, side in (("right", 1.0), ("left", -1.0)):
        pivot = np.array([side * REACH, 0.0, HEIGHT])
        along = np.array([side * math.cos(angle), 0.0, -math.sin(angle)])
        _add_rod_with_ball(mechanism, name, pivot, along, spin)
        mechanism.add_joint(f"pivot-{name}", Revolute(), "shaft", name, point=pivot, axis=(0, 1, 0))
        mechanism.add_point_force(
            f"spring-{name}",
            "slider",
            name,
            first_point=(side * REACH, 0.0, 0.0),
            second_point=(LENGTH / 2, 0.0, 0.0),
            stiffness=STIFFNESS,
            rest_length=REST_LENGTH,
            damping=DAMPING,
        )
    return mechanism


def _add_rod_with_ball(
    mechanism: Mechanism, name: str, pivot: FloatArray, along: FloatArray, spin: FloatArray
) -> None:
    """Add a rod with its ball as one body; its frame is at the pivot, x along it."""
    mass = BAR_MASS + BALL_MASS
    center = (BAR_MASS * LENGTH / 2 + BALL_MASS * LENGTH) / mass
    spread = BAR_MASS * (center - LENGTH / 2) ** 2 + BALL_MASS * (LENGTH - center) ** 2
    inertia = box_inertia(BAR_MASS, [LENGTH, WIDTH, WIDTH]) + np.diag([0.0, spread, spread])
    mechanism.add_body(
        name,
        mass=mass,
        inertia=inertia,
        center_of_mass=(center, 0.0, 0.0),
        position=pivot,
        orientation=quaternion_from_rotation(axes((0, 1, 0), along, f"body {name!r}")),
        linear_velocity=np.cross(spin, pivot),
        angular_velocity=spin,
        shape=Polyline(((0.0, 0.0, 0.0), (LENGTH, 0.0, 0.0))),
    )
