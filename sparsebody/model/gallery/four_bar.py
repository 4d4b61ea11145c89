"""Planar four-bar linkage."""

from __future__ import annotations

import math

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError
from sparsebody.model.gallery.parts import DOWN_Y, Vector, add_bar, add_hinge, check_between
from sparsebody.model.mechanism import WORLD, Mechanism


def four_bar(
    crank: float = 0.4,
    coupler: float = 1.0,
    rocker: float = 0.8,
    ground: float = 1.0,
    angle: float = 1.0,
    speed: float = 0.0,
    gravity: Vector = DOWN_Y,
) -> Mechanism:
    """Four bars and four revolutes about z: mobility 1, and 3 redundant rows in space.

    "crank" turns about the origin, "rocker" about (ground, 0, 0); "coupler" goes from the end A of
    the crank to the end B of the rocker, to the left of the line from A to the rocker's pivot.
    Joints: "crank-pivot", "crank-pin", "rocker-pin", "rocker-pivot"; bars of 1 kg per metre. The
    default lengths let the crank go round (Grashof).

    Parameters
    ----------
    crank, coupler, rocker, ground : float
        Lengths [m].
    angle : float
        Of the crank from x [rad].
    speed : float
        Initial rate of the crank [rad/s].
    gravity : (3,) floats
        [m/s^2].

    Raises
    ------
    ModelError
        If the bars do not meet at this crank angle.
    """
    positive = {"crank": crank, "coupler": coupler, "rocker": rocker, "ground": ground}
    check_between(0.0, math.inf, **positive)
    O, Q = np.zeros(3), np.array([ground, 0.0, 0.0])
    A = crank * np.array([math.cos(angle), math.sin(angle), 0.0])
    B = _meeting_point(A, coupler, Q, rocker, angle)
    rates = _rates(A, B, Q, speed)
    mechanism = Mechanism("four-bar", gravity)
    for name, start, end, v, rate in (
        ("crank", O, A, np.zeros(3), speed),
        ("coupler", A, B, speed * _left(A), rates[0]),
        ("rocker", Q, B, np.zeros(3), rates[1]),
    ):
        add_bar(
            mechanism,
            name,
            start,
            end,
            mass=float(np.linalg.norm(end - start)),
            linear_velocity=v + rate * _left(end - start) / 2,
            angular_velocity=(0.0, 0.0, rate),
        )
    a, b, c = crank / 2, coupler / 2, rocker / 2
    add_hinge(mechanism, "crank-pivot", WORLD, "crank", O, (-a, 0, 0))
    add_hinge(mechanism, "crank-pin", "crank", "coupler", (a, 0, 0), (-b, 0, 0))
    add_hinge(mechanism, "rocker-pin", "coupler", "rocker", (b, 0, 0), (c, 0, 0))
    add_hinge(mechanism, "rocker-pivot", WORLD, "rocker", Q, (-c, 0, 0))
    return mechanism


def _left(arm: FloatArray) -> FloatArray:
    """Velocity of the tip of an arm that turns left at 1 rad/s."""
    return np.array([-arm[1], arm[0], 0.0])


def _meeting_point(
    A: FloatArray, coupler: float, Q: FloatArray, rocker: float, angle: float
) -> FloatArray:
    """Intersection, left of A -> Q, of the circles about A and Q."""
    gap = Q - A
    distance = float(np.linalg.norm(gap))
    if not abs(coupler - rocker) < distance < coupler + rocker:
        raise ModelError(
            f"angle is {angle}: coupler ({coupler} m) and rocker ({rocker} m) do not meet across "
            f"{distance:.6g} m; give another angle or other lengths"
        )
    along = (distance**2 + coupler**2 - rocker**2) / (2 * distance)
    across = math.sqrt(coupler**2 - along**2)
    return np.asarray(A + (along * gap + across * _left(gap)) / distance)


def _rates(A: FloatArray, B: FloatArray, Q: FloatArray, speed: float) -> tuple[float, float]:
    """Rates of coupler and rocker: both give the same velocity to B."""
    matrix = np.column_stack([_left(B - A), -_left(B - Q)])[:2]
    coupler, rocker = np.linalg.solve(matrix, -speed * _left(A)[:2])
    return float(coupler), float(rocker)
