"""Row of parallelograms: the N-four-bar benchmark."""

from __future__ import annotations

from sparsebody.model.gallery.parts import DOWN_Y, Vector, add_bar, add_hinge, check_at_least
from sparsebody.model.mechanism import WORLD, Mechanism

# Uniform slender rod of 1 kg and 1 m. The moment about its own axis does not enter the planar
# motion; it only has to be positive.
ROD_INERTIA: Vector = (1e-3, 1.0 / 12.0, 1.0 / 12.0)
START: Vector = (-0.5, 0.0, 0.0)  # ends of a rod in its frame [m]
END: Vector = (0.5, 0.0, 0.0)

POINTS = {"B0": ("vertical-0", END)}


def n_four_bar(loops: int = 40, speed: float = 1.0, gravity: Vector = DOWN_Y) -> Mechanism:
    """N parallelograms in a row, IFToMM benchmark A02.

    "vertical-i", i = 0 ... N, stands on the ground at (i, 0, 0) and ends in point B_i at
    (i, 1, 0); "horizontal-i", i = 1 ... N, goes from B_{i-1} to B_i. Point B0 of the benchmark is
    the upper end of "vertical-0", (0.5, 0, 0) in its frame. All 2N + 1 rods are 1 m and 1 kg, all
    3N + 1 joints are revolutes about z: mobility 1 (N + 1 when all rods are in line), 3N
    redundant rows. The rods' joint angles are those between their x axes.

    Parameters
    ----------
    loops : int
        N, the number of parallelograms.
    speed : float
        Initial v_x of B0 [m/s].
    gravity : (3,) floats
        [m/s^2].

    References
    ----------
    IFToMM Library of Computational Benchmark Problems, A02; Gonzalez et al. (2006).
    """
    check_at_least(1, loops=loops)
    mechanism = Mechanism("n-four-bar", gravity)
    for i in range(loops + 1):
        foot, top = (float(i), 0.0, 0.0), (float(i), 1.0, 0.0)
        if i:
            before = (float(i - 1), 1.0, 0.0)
            _add_rod(mechanism, f"horizontal-{i}", before, top, speed, 0.0)
        _add_rod(mechanism, f"vertical-{i}", foot, top, speed / 2, -speed)
        add_hinge(mechanism, f"ground-{i}", WORLD, f"vertical-{i}", foot, START)
        if i:
            _add_parallelogram_joints(mechanism, i)
    return mechanism


def _add_rod(
    mechanism: Mechanism, name: str, start: Vector, end: Vector, v_x: float, rate: float
) -> None:
    add_bar(
        mechanism,
        name,
        start,
        end,
        inertia=ROD_INERTIA,
        linear_velocity=(v_x, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, rate),
    )


def _add_parallelogram_joints(mechanism: Mechanism, i: int) -> None:
    """Hang horizontal i on the rods that already end in B_{i-1} and B_i."""
    rod, left, right = f"horizontal-{i}", f"vertical-{i - 1}", f"vertical-{i}"
    add_hinge(mechanism, f"node-{i - 1}-right", left, rod, END, START)
    add_hinge(mechanism, f"node-{i}-left", rod, right, END, END)
