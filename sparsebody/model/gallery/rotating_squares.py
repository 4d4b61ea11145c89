"""Sheet of rotating squares."""

from __future__ import annotations

import math

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.model.gallery.parts import (
    DOWN_Y,
    Vector,
    add_hinge,
    add_hinges,
    check_at_least,
    check_between,
    turned,
)
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.names import numbered
from sparsebody.model.shapes import Polyline

THICKNESS = 0.1  # of a square of 1 m [m]

# Corners of a square that meet its neighbours, in units of half a side, of squares that are turned
# left and right like the fields of a chessboard.
CORNERS: dict[str, tuple[Vector, Vector]] = {
    "right": ((1, -1, 0), (1, 1, 0)),
    "left": ((-1, 1, 0), (-1, -1, 0)),
    "top": ((1, 1, 0), (-1, 1, 0)),
    "bottom": ((-1, -1, 0), (1, -1, 0)),
}


def rotating_squares(
    rows: int = 4,
    columns: int = 4,
    angle: float = math.pi / 8,
    side: float = 1.0,
    mass: float = 1.0,
    gravity: Vector = DOWN_Y,
) -> Mechanism:
    """Squares hinged at their corners, in the xy plane, at rest.

    "square-r-c" is turned by `angle` where r + c is even and by -angle where it is odd; hinges
    ("square-r-c-right", "square-r-c-top") about z join it to the next column and the next row;
    "base" hinges a free corner of "square-0-0" to the world at the origin. A sheet of k x k has
    5 (2 k (k - 1) + 1) rows and mobility 2: the rotation about the base, and the one in which
    all squares turn against their neighbours; 4 k^2 - 10 k + 7 rows are redundant, three for each
    loop and (k - 2)^2 more in the plane. Grima and Evans (2000).

    Parameters
    ----------
    rows, columns : int
        Number of squares.
    angle : float
        Turn of the squares [rad], between 0 (closed) and pi/2 (closed again); at pi/4 the sheet
        is fully open, which is a singular pose.
    side, mass : float
        Of a square plate [m, kg].
    gravity : (3,) floats
        [m/s^2].
    """
    check_at_least(1, rows=rows, columns=columns)
    check_between(0.0, math.pi / 2, angle=angle)
    check_between(0.0, math.inf, side=side)
    mechanism = Mechanism("rotating-squares", gravity)
    spacing = side * (math.cos(angle) + math.sin(angle))
    offset = side / 2 * (math.cos(angle) - math.sin(angle)), spacing / 2
    r, c = np.indices((rows, columns)).reshape(2, -1)
    parity = (r + c) % 2
    square = _add_squares(mechanism, r, c, parity, (offset, spacing, angle), side, mass)
    # each with the one to its left, then with the one below
    kept = np.stack([c > 0, r > 0], axis=1).ravel()
    before = np.stack([square - 1, square - columns], axis=1).ravel()[kept]
    after = np.repeat(square, 2)[kept]
    which = np.tile([0, 1], len(square))[kept]  # right and left, top and bottom
    corners = side / 2 * np.array([CORNERS[name] for name in CORNERS]).reshape(2, 2, 2, 3)
    add_hinges(
        mechanism,
        [
            f"square-{i}-{j}-{('right', 'top')[side]}"
            for i, j, side in zip(r[before], c[before], which, strict=True)
        ],
        before,
        after,
        corners[which, 0, parity[before]],
        corners[which, 1, parity[after]],
    )
    add_hinge(mechanism, "base", WORLD, "square-0-0", (0, 0, 0), corners[1, 1, 0])
    return mechanism


def _add_squares(
    mechanism: Mechanism,
    r: IntArray,
    c: IntArray,
    parity: IntArray,
    pose: tuple[tuple[float, float], float, float],
    side: float,
    mass: float,
) -> IntArray:
    """`pose` is the center of the first, the spacing [m] and the angle of turn."""
    offset, spacing, angle = pose
    across = mass * side**2 / 12
    thin = mass * (THICKNESS * side) ** 2 / 12
    h = side / 2
    return mechanism.add_bodies(
        numbered("square-{}-{}", r, c),
        mass=mass,
        inertia=(across + thin, across + thin, 2 * across),
        position=np.stack([offset[0] + c * spacing, offset[1] + r * spacing, 0.0 * c], axis=1),
        orientation=np.array([turned(angle), turned(-angle)])[parity],
        shape=Polyline(((-h, -h, 0.0), (h, -h, 0.0), (h, h, 0.0), (-h, h, 0.0), (-h, -h, 0.0))),
    )
