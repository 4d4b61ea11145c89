"""Bricard's mechanism."""

from __future__ import annotations

from sparsebody.model.gallery.parts import DOWN_Y, Vector, add_bar, check_between
from sparsebody.model.joints import Revolute
from sparsebody.model.mechanism import WORLD, Mechanism

CORNERS: tuple[Vector, ...] = (
    (0.0, 0.0, 0.0),
    (1.0, 0.0, 0.0),
    (1.0, -1.0, 0.0),
    (1.0, -1.0, 1.0),
    (0.0, -1.0, 1.0),
    (0.0, 0.0, 1.0),
)
AXES: tuple[Vector, ...] = (
    (0.0, 1.0, 0.0),
    (0.0, 0.0, 1.0),
    (1.0, 0.0, 0.0),
    (0.0, 1.0, 0.0),
    (0.0, 0.0, 1.0),
    (1.0, 0.0, 0.0),
)

POINTS = {"P3": ("rod-2", (0.5, 0.0, 0.0))}


def bricard(width: float = 0.1, gravity: Vector = DOWN_Y) -> Mechanism:
    """Six revolutes that move only by their special directions, IFToMM benchmark A04.

    "rod-i", i = 0 ... 4, of 1 m and 1 kg, goes from corner P_i to P_{i+1} of a path along the
    edges of the unit cube; "hinge-i" sits at P_i, about y, z, x, y, z, x in turn; hinges 0 and 5
    are on the world. Mobility 1 with one redundant row, which no structural count shows. The
    tracked point P3 is the end of "rod-2". At rest.

    Parameters
    ----------
    width : float
        Side of the rods' square section [m]; 0.1 on the published pages.
    gravity : (3,) floats
        [m/s^2].

    References
    ----------
    IFToMM Library of Computational Benchmark Problems, A04.
    """
    check_between(0.0, 1.0, width=width)
    mechanism = Mechanism("bricard", gravity)
    before = WORLD
    for i in range(5):
        rod = f"rod-{i}"
        # axis i lies across rod i
        add_bar(mechanism, rod, CORNERS[i], CORNERS[i + 1], width=width, side=AXES[i])
        mechanism.add_joint(f"hinge-{i}", Revolute(), before, rod, point=CORNERS[i], axis=AXES[i])
        before = rod
    mechanism.add_joint("hinge-5", Revolute(), WORLD, before, point=CORNERS[5], axis=AXES[5])
    return mechanism
