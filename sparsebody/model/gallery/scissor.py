"""Scissor lift."""

from __future__ import annotations

import math

import numpy as np

from sparsebody.model.frames import Frame
from sparsebody.model.gallery.parameters import (
    DOWN_Z,
    HingeFamily,
    Vector,
    add_bars,
    add_hinge_cells,
    check_at_least,
    check_between,
)
from sparsebody.model.joints import PointOnPlane, Revolute
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.names import interleaved, numbered
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
    """Scissor lift of bars crossed in pairs, at rest; can be driven at its base.

    The bars lie in the xz plane and rise along z: of pair k "left-k" from the lower left to the
    upper right, "right-k" from the lower right to the upper left; "middle-k" is the hinge where
    they cross. "outer-k-right" and "outer-k-left" join the upper ends of pair k to the lower ends
    of the next. "base" hinges the lower end of "left-0" to the world at the origin; its angle is
    that of the bars over the ground. "support" lets the lower end of "right-0" slide on the ground,
    a sphere on the plane z = 0: one row, for the hinges already keep all bars in their plane.

    So there are 2 pairs bodies, 3 pairs joints, 15 pairs - 4 rows (one more driven), mobility 1
    (driven: 0), and exactly 3 redundant rows for each of the pairs - 1 rhombi between the pairs;
    the loop through the ground has none.

    `pairs` of bars start at `angle` over the ground [rad], between 0 and pi/2; `drive` prescribes
    the base angle, smoothly from `angle` to `lifted` [rad] within `rise_time` [s]. `length` and
    `mass` are those of a bar [m, kg], `compliance` that of the rows of the hinges between bars
    [m/N, rad/(N m)]; zero is rigid.
    """
    check_at_least(1, pairs=pairs)
    check_between(0.0, math.pi / 2, angle=angle, lifted=lifted)
    check_between(0.0, math.inf, length=length)
    mechanism = Mechanism("scissor", gravity)
    width, height = length * math.cos(angle), length * math.sin(angle)
    k = np.arange(pairs)
    center = np.zeros((2 * pairs, 3))
    center[:, 0] = width / 2
    center[:, 2] = np.repeat((k + 0.5) * height, 2)
    add_bars(
        mechanism,
        interleaved(numbered("left-{}", k), numbered("right-{}", k)),
        center,
        np.tile([[width, 0.0, height], [-width, 0.0, height]], (pairs, 1)),
        length,
        mass=mass,
        side=TOWARDS_VIEWER,
    )
    left, right = 2 * k, 2 * k + 1
    middle, low, high = (0.0, 0.0, 0.0), (-length / 2, 0.0, 0.0), (length / 2, 0.0, 0.0)
    families: list[HingeFamily] = [
        ("middle-{}", k, left, right, middle, middle),
        ("outer-{}-right", k - 1, left - 2, right, high, low),
        ("outer-{}-left", k - 1, right - 2, left, high, low),
    ]
    add_hinge_cells(mechanism, families, compliance)
    mechanism.add_joint(
        "base",
        Revolute(),
        WORLD,
        "left-0",
        predecessor_frame=Frame((0, 0, 0), quaternion_exponential([math.pi / 2, 0, 0])),
        successor_frame=Frame(low),
        prescribed=SmoothStep(angle, lifted, rise_time) if drive else None,
    )
    mechanism.add_joint("support", PointOnPlane(), WORLD, "right-0", successor_frame=Frame(low))
    return mechanism
