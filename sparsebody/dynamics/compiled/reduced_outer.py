"""Multipliers of the rows that keep bodies within their displacement subgroups.

There is a joint for every such body that does so, nearer to the world than the body. Where all
other wrenches on a body are known, the equation of motion gives the whole wrench of that joint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.compiled.outer import rows_and_needs, take
from sparsebody.model.system import State, System


class OuterTree(NamedTuple):
    """Bodies within subgroups, from the world outwards, and the joints that hold them there."""

    bodies: IntArray  # (m,)
    joint: IntArray  # (m,)
    n_rows: IntArray  # (m,) of these joints, without those of drives


def fill_tree_multipliers(
    system: System,
    tree: OuterTree,
    state: State,
    body_force: FloatArray | None,
    acceleration: FloatArray,
    multiplier: FloatArray,
) -> None:
    """Fill the multipliers (n_rows,) of the joints of a tree; those of kept rows are given."""
    rows, need = rows_and_needs(system, state, body_force, acceleration)
    ends = system.predecessor, system.successor
    _fill(*tree, *ends, system.row_joint, system.first_row, rows, need, multiplier)


@njit(cache=True)
def _fill(
    bodies: IntArray,
    joint: IntArray,
    n_rows: IntArray,
    predecessor: IntArray,
    successor: IntArray,
    row_joint: IntArray,
    first_row: IntArray,
    rows: FloatArray,
    need: FloatArray,
    multiplier: FloatArray,
) -> None:
    """`need` is what the wrenches of all constraints on each body have to add up to."""
    for k in range(len(row_joint)):
        take(k, row_joint[k], multiplier[k], predecessor, successor, rows, need)
    for place in range(len(bodies) - 1, -1, -1):
        body, j, n = bodies[place], joint[place], n_rows[place]
        side = 1 if successor[j] == body else 0
        matrix = np.empty((6, n))
        for c in range(n):
            for a in range(6):
                matrix[a, c] = rows[first_row[j] + c, side, a]
        length = _length(matrix)
        right = need[body].copy()
        for a in range(3):  # moments in units of forces
            right[a] /= length
            for c in range(n):
                matrix[a, c] /= length
        found = np.linalg.lstsq(matrix, right)[0]
        for c in range(n):
            k = first_row[j] + c
            multiplier[k] += found[c]
            take(k, j, found[c], predecessor, successor, rows, need)


@njit(cache=True)
def _length(matrix: FloatArray) -> float:
    """Return the size of the moments of wrenches (6, n) by that of their forces; 1 for none."""
    moment, force = 0.0, 0.0
    for c in range(matrix.shape[1]):
        for a in range(3):
            moment = max(moment, abs(matrix[a, c]))
            force = max(force, abs(matrix[a + 3, c]))
    return moment / force if moment > 0.0 and force > 0.0 else 1.0
