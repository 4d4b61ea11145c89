"""Elastic beams: a straight one of many elements, and lattices of them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from sparsebody.model.bodies import Box
from sparsebody.model.gallery.parameters import DOWN_Z, Count, NotNegative, Positive, Vector
from sparsebody.model.joints import Fixed
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.names import numbered
from sparsebody.spatial import box_inertia

SHEAR = 1.0 / 2.6  # G / E of a Poisson ratio of 0.3


def rectangle(E: float, width: float, height: float) -> dict[str, Any]:
    """Return the properties of a beam of rectangular section, width along y, height along z.

    J by Young and Budynas (2002), Roark's Formulas, table 10.1.
    """
    a, b = max(width, height) / 2, min(width, height) / 2
    torsion = a * b**3 * (16 / 3 - 3.36 * b / a * (1 - b**4 / (12 * a**4)))
    return {
        "E": E,
        "G": SHEAR * E,
        "A": width * height,
        "I_y": width * height**3 / 12,
        "I_z": height * width**3 / 12,
        "J": torsion,
    }


def beam(
    elements: Count = 20,
    support: Literal["clamped", "free"] = "clamped",
    length: Positive = 1.0,
    width: Positive = 0.02,
    height: Positive = 0.01,
    E: Positive = 2.1e11,
    density: Positive = 7800.0,
    damping: NotNegative = 0.0,
    gravity: Vector = DOWN_Z,
) -> Mechanism:
    """Straight elastic beam along x, clamped or free, of Euler-Bernoulli elements, at rest.

    Bodies "node-0" ... "node-n" at equal distances carry its mass, those at the ends half as much
    as the others; "beam-k" joins node k - 1 to node k. Clamped, the world is node 0.

    `elements` is n; `support` is "clamped" at x = 0, or "free"; `length`, `width` and `height` are
    along x, y and z [m]. Young's modulus `E` [N/m^2] and `density` [kg/m^3] are those of steel;
    `damping` is that of all strains, over their stiffness [s].
    """
    mechanism = Mechanism("beam", gravity)
    piece = length / elements
    first = 1 if support == "clamped" else 0
    x = piece * np.arange(first, elements + 1)
    share = np.ones(len(x))
    share[-1] = 0.5
    share[0] = 0.5 if support == "free" else share[0]
    mass = density * width * height * piece * share
    moments = np.array([width**2 + height**2, height**2, width**2]) / 12
    mechanism.add_bodies(
        numbered("node-{}", range(first, elements + 1)),
        mass=mass,
        inertia=mass[:, None] * moments,
        position=x[:, None] * [1.0, 0.0, 0.0],
        shape=Box((piece, width, height)),
    )
    nodes = ([WORLD] if first else []) + list(mechanism.body_names)
    for k in range(elements):
        mechanism.add_beam(
            f"beam-{k + 1}",
            nodes[k],
            nodes[k + 1],
            start=(piece * k, 0.0, 0.0),
            end=(piece * (k + 1), 0.0, 0.0),
            damping=damping,
            **rectangle(E, width, height),
        )
    return mechanism


def compliant_lattice(
    rows: Count = 4,
    columns: Count = 4,
    pitch: Positive = 0.1,
    thickness: Positive = 0.005,
    E: Positive = 2e9,
    mass: Positive = 0.01,
    damping: NotNegative = 0.0,
    gravity: Vector = DOWN_Z,
) -> Mechanism:
    """Hanging grid of cubes in the xz plane, joined by elastic beams, at rest.

    Cube "cube-r-c", r counted downwards, is centred at (c, 0, -r) times the pitch; its side is
    half a pitch. Beams "across-r-c" and "down-r-c" lead to the next cube along x and down; "hold-c"
    fixes the cubes of row 0 to the world.

    `rows` and `columns` are cubes along z and x, at a distance of `pitch` [m], of `mass` each [kg];
    `thickness` is the side of the square section of all beams [m], `E` Young's modulus [N/m^2],
    `damping` that of all strains, over their stiffness [s].
    """
    mechanism = Mechanism("compliant-lattice", gravity)
    r, c = np.indices((rows, columns)).reshape(2, -1)
    place = pitch * np.stack([c, np.zeros(len(c)), -r], axis=1)
    side = (pitch / 2,) * 3
    mechanism.add_bodies(
        numbered("cube-{}-{}", r, c),
        mass=mass,
        inertia=box_inertia(mass, side)[None],
        position=place,
        shape=Box(side),
    )
    for column in range(columns):
        mechanism.add_joint(f"hold-{column}", Fixed(), WORLD, f"cube-0-{column}")
    section = rectangle(E, thickness, thickness)
    for name, step in (("across", (0, 1)), ("down", (1, 0))):
        for row, column in zip(r.tolist(), c.tolist(), strict=True):
            other = row + step[0], column + step[1]
            if other[0] < rows and other[1] < columns:
                start = np.array([column, 0.0, -row])
                along = np.array([step[1], 0.0, -step[0]])
                mechanism.add_beam(
                    f"{name}-{row}-{column}",
                    f"cube-{row}-{column}",
                    f"cube-{other[0]}-{other[1]}",
                    start=pitch * (start + along / 4),
                    end=pitch * (start + 3 * along / 4),
                    z_axis=(0.0, 1.0, 0.0),
                    damping=damping,
                    **section,
                )
    return mechanism
