"""From a System in the user's numbering to the arrays of Workspace and RowTable."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray, large_zeros
from sparsebody.dynamics.compiled.given import GivenParts
from sparsebody.dynamics.compiled.workspace import (
    INVERSE,
    MARGIN,
    MASS_INVERSE,
    MASS_ROOT,
    N_SIZES,
    ROOT,
    WORLD_ROOT,
    Index,
)
from sparsebody.model.system import System
from sparsebody.sparse.etree import positions
from sparsebody.spatial.tuples import (
    load_triangle,
    load_vector,
    lower_times,
    scaled,
    store_vector,
)


def body_arrays(system: System, bodies: IntArray, unit: FloatArray, k: int) -> dict[str, Any]:
    """Return the fields of a Workspace for `bodies`, the user's numbers in order, and k rows."""
    n = len(bodies)
    rotation = large_zeros((n + 1, 9))
    rotation[n, ::4] = 1.0
    padded_x = large_zeros(6 * n + k + 2 * MARGIN)
    return {
        "body": bodies.astype(np.uint32),
        "gravity": np.array(system.gravity, dtype=float),
        "unit": unit,
        "position": large_zeros((n + 1, 3)),
        "rotation": rotation,
        "velocity": large_zeros((n + 1, 6)),
        "padded_x": padded_x,
        "x": padded_x[MARGIN:-MARGIN],
        "wrench": large_zeros(8 * n + 8),
        "sizes": np.zeros(N_SIZES),
    } | {name: large_zeros(6 * n + k) for name in ("right", "rest")}


def units(system: System, bodies: IntArray) -> FloatArray:
    """Return (n + 1, 14) the table `unit` of a Workspace."""
    table = large_zeros((len(bodies) + 1, 14))
    _fill_units(system.mass, system.inertia, bodies, table)
    return table


@njit(cache=True)
def _fill_units(mass: FloatArray, inertia: FloatArray, bodies: IntArray, table: FloatArray) -> None:
    n = len(bodies)
    for a in (ROOT, ROOT + 2, ROOT + 5, MASS_ROOT):
        table[n, a] = WORLD_ROOT
    for a in (INVERSE, INVERSE + 2, INVERSE + 5, MASS_INVERSE):
        table[n, a] = 1.0 / WORLD_ROOT
    for i in range(n):
        I, line = inertia[bodies[i]], table[i]
        c_0 = np.sqrt(I[0, 0])
        c_1, c_3 = I[1, 0] / c_0, I[2, 0] / c_0
        c_2 = np.sqrt(I[1, 1] - c_1 * c_1)
        c_4 = (I[2, 1] - c_1 * c_3) / c_2
        c_5 = np.sqrt(I[2, 2] - c_3 * c_3 - c_4 * c_4)
        line[ROOT], line[ROOT + 1], line[ROOT + 2] = c_0, c_1, c_2
        line[ROOT + 3], line[ROOT + 4], line[ROOT + 5] = c_3, c_4, c_5
        line[INVERSE], line[INVERSE + 2], line[INVERSE + 5] = 1.0 / c_0, 1.0 / c_2, 1.0 / c_5
        line[INVERSE + 1] = -c_1 / (c_0 * c_2)
        line[INVERSE + 3] = (c_1 * c_4 / c_2 - c_3) / (c_0 * c_5)
        line[INVERSE + 4] = -c_4 / (c_2 * c_5)
        line[MASS_ROOT] = np.sqrt(mass[bodies[i]])
        line[MASS_INVERSE] = 1.0 / line[MASS_ROOT]


def row_arrays(
    system: System, given: GivenParts, bodies: IntArray, unit: FloatArray, rows: IntArray
) -> dict[str, Any]:
    """Return the fields of a RowTable for `rows`, the user's numbers, those of a joint together."""
    n = len(bodies)
    of_row = system.row_joint[rows]
    starts = np.flatnonzero(np.diff(of_row, prepend=-1))
    joints = of_row[starts]
    new = np.append(positions(bodies), n).astype(np.uint32)  # n, also at -1, is the world
    values = large_zeros((len(rows), 2, 6))
    _fill_rows_on_successors(
        rows,
        of_row,
        given.is_given,
        new[system.successor],
        unit,
        system.successor_rotation,
        system.successor_point,
        system.subspace,
        values,
    )
    return {
        "predecessor": new[system.predecessor[joints]],
        "successor": new[system.successor[joints]],
        "anchor": system.successor_point[joints],
        "is_given": given.is_given[joints],
        "first_row": np.append(starts, len(rows)).astype(np.uint32),
        "row": rows.astype(np.uint32),
        "source": given.sources(rows).astype(np.uint32),
        "rows": values,
    }


@njit(cache=True)
def _fill_rows_on_successors(
    rows: IntArray,
    joint: IntArray,
    is_given: BoolArray,
    successor: Index,
    unit: FloatArray,
    rotation: FloatArray,
    point: FloatArray,
    subspace: FloatArray,
    values: FloatArray,
) -> None:
    """Fill T' of rows that are constant on the successors.

    Where the world is the successor, in world axes about the origin of S.
    """
    world = len(unit) - 1
    for k in range(rows.size):
        j, t, row = joint[k], subspace[rows[k]], values[k, 1]
        if is_given[j]:
            continue
        for a in range(3):
            for b in range(3):
                row[a] += rotation[j, a, b] * t[b]
                row[a + 3] += rotation[j, a, b] * t[b + 3]
        s = successor[j]
        if s != world:
            x, f_0, f_1, f_2 = point[j], row[3], row[4], row[5]
            row[0] += x[1] * f_2 - x[2] * f_1
            row[1] += x[2] * f_0 - x[0] * f_2
            row[2] += x[0] * f_1 - x[1] * f_0
        moment = lower_times(load_triangle(unit, s, INVERSE), load_vector(row, 0))
        store_vector(row, 0, moment)
        store_vector(row, 3, scaled(unit[s, MASS_INVERSE], load_vector(row, 3)))
