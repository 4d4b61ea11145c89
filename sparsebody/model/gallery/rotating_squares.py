"""Sheet of rotating squares."""

from __future__ import annotations

import math

from sparsebody.model.gallery.parts import (
    DOWN_Y,
    Vector,
    add_hinge,
    check_at_least,
    check_between,
    turned,
)
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.shapes import Polyline

THICKNESS = 0.1  # of a square of 1 m [m]

# Corners of a square that meet its neighbours, in units of half a side; squares turn left and
# right like the fields of a chessboard.
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
    for r in range(rows):
        for c in range(columns):
            center = (offset[0] + c * spacing, offset[1] + r * spacing, 0.0)
            _add_square(mechanism, r, c, center, -angle if (r + c) % 2 else angle, side, mass)
            if c:
                _join(mechanism, (r, c - 1), "right", (r, c), "left", side)
            if r:
                _join(mechanism, (r - 1, c), "top", (r, c), "bottom", side)
    add_hinge(mechanism, "base", WORLD, "square-0-0", (0, 0, 0), _corner("bottom", 0, side))
    return mechanism


def _corner(which: str, parity: int, side: float) -> Vector:
    x, y, _ = CORNERS[which][parity]
    return (side / 2 * x, side / 2 * y, 0.0)


def _add_square(
    mechanism: Mechanism, r: int, c: int, center: Vector, turn: float, side: float, mass: float
) -> None:
    across = mass * side**2 / 12
    thin = mass * (THICKNESS * side) ** 2 / 12
    h = side / 2
    mechanism.add_body(
        f"square-{r}-{c}",
        mass=mass,
        inertia=(across + thin, across + thin, 2 * across),
        position=center,
        orientation=turned(turn),
        shape=Polyline(((-h, -h, 0.0), (h, -h, 0.0), (h, h, 0.0), (-h, h, 0.0), (-h, -h, 0.0))),
    )


def _join(
    mechanism: Mechanism,
    first: tuple[int, int],
    first_corner: str,
    second: tuple[int, int],
    second_corner: str,
    side: float,
) -> None:
    names = [f"square-{r}-{c}" for r, c in (first, second)]
    ends = [
        _corner(which, sum(cell) % 2, side)
        for which, cell in ((first_corner, first), (second_corner, second))
    ]
    add_hinge(mechanism, f"{names[0]}-{first_corner}", *names, *ends)
