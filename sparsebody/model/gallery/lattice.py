"""Grid of bodies."""

from __future__ import annotations

from itertools import product
from typing import Literal

import networkx as nx
import numpy as np

from sparsebody.errors import ModelError
from sparsebody.model.gallery.parts import DOWN_Z, Vector, check_at_least, named_joint
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.shapes import Box
from sparsebody.spatial import box_inertia

SIDES: Vector = (0.9, 0.9, 0.9)  # of a body [m]
Cell = tuple[int, int, int]
Pair = tuple[Cell, Cell]


def lattice(
    rows: int = 4,
    columns: int = 4,
    layers: int = 1,
    joint: Literal["spherical", "revolute", "universal"] = "spherical",
    keep: float = 1.0,
    seed: int = 0,
    gravity: Vector = DOWN_Z,
) -> Mechanism:
    """Cubes on a grid with a joint between neighbours, at rest.

    Cube "cube-r-c-l" of 0.9 m and 1 kg is centred at (c, r, l); joints sit half way between
    neighbours; "base" joins the corner cube to the world at (-0.5, 0, 0).

    Parameters
    ----------
    rows, columns, layers : int
        Number of cubes along y, x and z.
    joint : str
        "spherical", "revolute" (all axes along z) or "universal" (arms along x and y).
    keep : float
        Part of the joints to keep, from 0 to 1, besides those of a random spanning tree, which
        always stay: 0 gives a random tree, 1 the whole lattice.
    seed : int
        Of the random choice.
    gravity : (3,) floats
        [m/s^2].
    """
    check_at_least(1, rows=rows, columns=columns, layers=layers)
    check_at_least(0, seed=seed)
    if not 0.0 <= keep <= 1.0:
        raise ModelError(f"keep is {keep}; give a number from 0 to 1")
    joint_type = named_joint(joint, "spherical", "revolute", "universal")
    mechanism = Mechanism("lattice", gravity)
    cells = list(product(range(rows), range(columns), range(layers)))
    for cell in cells:
        mechanism.add_body(
            _name(cell),
            mass=1.0,
            inertia=box_inertia(1.0, SIDES),
            position=_place(cell),
            shape=Box(SIDES),
        )
    mechanism.add_joint("base", joint_type, WORLD, _name(cells[0]), point=(-0.5, 0.0, 0.0))
    for first, second in _kept(_neighbours(cells), keep, np.random.default_rng(seed)):
        middle = (np.array(_place(first)) + _place(second)) / 2
        name = f"{_name(first)}:{_name(second)}"
        mechanism.add_joint(name, joint_type, _name(first), _name(second), point=middle)
    return mechanism


def _name(cell: Cell) -> str:
    return f"cube-{cell[0]}-{cell[1]}-{cell[2]}"


def _place(cell: Cell) -> Vector:
    return (float(cell[1]), float(cell[0]), float(cell[2]))


def _neighbours(cells: list[Cell]) -> list[Pair]:
    there = set(cells)
    steps = ((0, 1, 0), (1, 0, 0), (0, 0, 1))
    return [
        (cell, other)
        for cell in cells
        for step in steps
        if (other := (cell[0] + step[0], cell[1] + step[1], cell[2] + step[2])) in there
    ]


def _kept(pairs: list[Pair], keep: float, rng: np.random.Generator) -> list[Pair]:
    """Return a random spanning tree and a random part of the other pairs, in the given order."""
    if keep == 1.0:
        return pairs
    joined = nx.utils.UnionFind()
    tree, others = [], []
    for index in rng.permutation(len(pairs)).tolist():
        first, second = pairs[index]
        if joined[first] == joined[second]:
            others.append(index)
        else:
            joined.union(first, second)
            tree.append(index)
    return [pairs[index] for index in sorted(tree + others[: round(keep * len(others))])]
