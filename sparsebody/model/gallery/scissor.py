"""Scissor lift."""

from __future__ import annotations

import math

import numpy as np

from sparsebody.model.frames import Frame
from sparsebody.model.gallery.parameters import (
    DOWN_Z,
    Vector,
    add_bars,
    add_hinges,
    check_at_least,
    check_between,
)
from sparsebody.model.joints import PointOnPlane, Revolute
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.names import chained, interleaved, numbered
from sparsebody.model.time_functions import SmoothStep
from sparsebody.spatial import quaternion_exponential

TOWARDS_VIEWER: Vector = (0.0, -1.0, 0.0)  # of all hinges, so that bars seen from there turn left


def scissor(
    pairs: int = 10,
    angle: float = 0.4,
    drive: bool = False,
    lifted: float = 1.0,
    rise_time: float = 5.0,
    length: float = 1.0,
    mass: float = 1.0,
    compliance: float = 0.0,
    gravity: Vector = DOWN_Z,
) -> Mechanism:
    """Scissor lift: bars crossed in pairs in the xz plane, rising along z, at rest.

    Pair k: "left-k" rises from the lower left to the upper right, "right-k" from the lower right
    to the upper left; "middle-k" is the hinge where they cross. "outer-k-right" and "outer-k-left"
    join the upper ends of pair k to the lower ends of the next. "base" hinges the lower end of
    "left-0" to the world at the origin; its angle is that of the bars over the ground. "support"
    lets the lower end of "right-0" slide on the ground, a sphere on the plane z = 0: one row, for
    the hinges already keep all bars in their plane.

    So there are 2 pairs bodies, 3 pairs joints, 15 pairs - 4 rows (one more driven), mobility 1
    (driven: 0), and exactly 3 redundant rows for each of the pairs - 1 rhombi between the pairs;
    the loop through the ground has none.

    Parameters
    ----------
    pairs : int
        Number of crossed pairs.
    angle : float
        Of the bars over the ground at the start [rad], between 0 and pi/2.
    drive : bool
        Prescribe the base angle: smoothly from `angle` to `lifted`.
    lifted : float
        Angle at the end of the drive [rad].
    rise_time : float
        Duration of the drive [s].
    length, mass : float
        Of a bar [m, kg].
    compliance : float
        Of the rows of the hinges between bars [m/N, rad/(N m)]; zero is rigid.
    gravity : (3,) floats
        [m/s^2].
    """
    check_at_least(1, pairs=pairs)
    check_between(0.0, math.pi / 2, angle=angle, lifted=lifted)
    check_between(0.0, math.inf, length=length)
    mechanism = Mechanism("scissor", gravity)
    low, high = (-length / 2, 0.0, 0.0), (length / 2, 0.0, 0.0)
    _add_pairs(mechanism, pairs, angle, length, mass)
    _add_hinges(mechanism, pairs, low, high, compliance)
    _add_ground(mechanism, low, SmoothStep(angle, lifted, rise_time) if drive else None)
    return mechanism


def _add_pairs(mechanism: Mechanism, pairs: int, angle: float, length: float, mass: float) -> None:
    """Bars with the hinge axes as their z axes: "left-0", "right-0", "left-1", ..."""
    width, height = length * math.cos(angle), length * math.sin(angle)
    k = np.arange(pairs)
    middle = np.zeros((2 * pairs, 3))
    middle[:, 0] = width / 2
    middle[:, 2] = np.repeat((k + 0.5) * height, 2)
    add_bars(
        mechanism,
        interleaved(numbered("left-{}", k), numbered("right-{}", k)),
        middle,
        np.tile([[width, 0.0, height], [-width, 0.0, height]], (pairs, 1)),
        length,
        mass=mass,
        side=TOWARDS_VIEWER,
    )


def _add_hinges(
    mechanism: Mechanism, pairs: int, low: Vector, high: Vector, compliance: float
) -> None:
    """The middle hinge of each pair, then those that join it to the pair below."""
    k = np.arange(pairs)
    left, right = 2 * k, 2 * k + 1
    kept = np.r_[0, 3 : 3 * pairs]  # no pair below the first
    middle = (0.0, 0.0, 0.0)
    outer = (numbered(name, k[:-1]) for name in ("outer-{}-right", "outer-{}-left"))
    add_hinges(
        mechanism,
        chained(["middle-0"], interleaved(numbered("middle-{}", k[1:]), *outer)),
        np.stack([left, left - 2, right - 2], axis=1).ravel()[kept],
        np.stack([right, right, left], axis=1).ravel()[kept],
        np.tile([middle, high, high], (pairs, 1))[kept],
        np.tile([middle, low, low], (pairs, 1))[kept],
        compliance,
    )


def _add_ground(mechanism: Mechanism, low: Vector, motion: SmoothStep | None) -> None:
    mechanism.add_joint(
        "base",
        Revolute(),
        WORLD,
        "left-0",
        predecessor_frame=Frame((0, 0, 0), quaternion_exponential([math.pi / 2, 0, 0])),
        successor_frame=Frame(low),
        prescribed=motion,
    )
    mechanism.add_joint(
        "support",
        PointOnPlane(),
        WORLD,
        "right-0",
        predecessor_frame=Frame(),
        successor_frame=Frame(low),
    )
