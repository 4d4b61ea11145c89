"""Spatial slider-crank."""

from __future__ import annotations

import numpy as np

from sparsebody.model.gallery.parts import DOWN_Z, Vector, add_bar
from sparsebody.model.joints import Prismatic, Revolute, Spherical, Universal
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.shapes import Box

POINTS = {"slider": ("slider", (0.0, 0.0, 0.0))}

PIVOT = np.array([0.0, 0.1, 0.12])  # of the crank [m]
PIN = np.array([0.0, 0.1, 0.20])  # crank and rod, at the start
SLIDER = np.array([0.2, 0.0, 0.0])  # at the start; the rod is 0.3 m long
X = np.array([1.0, 0.0, 0.0])  # axis of the crank and line of the slider


def slider_crank(speed: float = 6.0, gravity: Vector = DOWN_Z) -> Mechanism:
    """Spatial rigid slider-crank of the IFToMM library: mobility 1, no redundant row.

    "crank" (0.08 m, 0.12 kg) turns about x at (0, 0.1, 0.12) by "pivot" and starts along z;
    "pin" is a ball between it and "rod" (0.3 m, 0.5 kg); "wrist" is a universal joint between
    "slider" (2 kg) and rod, whose cross has one arm along the slide, fixed in the slider, and one
    fixed in the rod, perpendicular to it; "slide" is a prismatic joint along the x axis. Its
    coordinate is 0 at the start, where the slider is at x = 0.2 m. Published moments of inertia;
    centers of mass half way.

    Parameters
    ----------
    speed : float
        Initial rate of the crank about x [rad/s].
    gravity : (3,) floats
        [m/s^2].

    References
    ----------
    IFToMM Library of Computational Benchmark Problems; Gonzalez et al. (2006).
    """
    rod = SLIDER - PIN
    arm = np.cross(X, rod)  # of the cross, fixed in the rod: across the slide and across the rod
    pin_velocity = np.cross(speed * X, PIN - PIVOT)
    # velocity of the pin = v x + (a x + b arm) x (pin - slider)
    motions = np.column_stack([X, np.cross(X, -rod), np.cross(arm, -rod)])
    v, a, b = np.linalg.solve(motions, pin_velocity)
    mechanism = Mechanism("slider-crank", gravity)
    add_bar(
        mechanism,
        "crank",
        PIVOT,
        PIN,
        mass=0.12,
        inertia=(1e-5, 1e-4, 1e-4),
        side=X,
        linear_velocity=pin_velocity / 2,
        angular_velocity=speed * X,
    )
    add_bar(
        mechanism,
        "rod",
        PIN,
        SLIDER,
        mass=0.5,
        inertia=(4e-4, 4e-3, 4e-3),
        linear_velocity=(pin_velocity + v * X) / 2,
        angular_velocity=a * X + b * arm,
    )
    mechanism.add_body(
        "slider",
        mass=2.0,
        inertia=(1e-4, 1e-4, 1e-4),
        position=SLIDER,
        linear_velocity=v * X,
        shape=Box((0.04, 0.02, 0.02)),
    )
    mechanism.add_joint("pivot", Revolute(), WORLD, "crank", point=PIVOT, axis=X)
    mechanism.add_joint("pin", Spherical(), "crank", "rod", point=PIN)
    mechanism.add_joint(
        "wrist", Universal(), "slider", "rod", point=SLIDER, axis=np.cross(X, arm), x_axis=X
    )
    mechanism.add_joint("slide", Prismatic(), WORLD, "slider", point=SLIDER, axis=X)
    return mechanism
