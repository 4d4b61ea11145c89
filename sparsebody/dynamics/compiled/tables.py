"""From a System in the user's numbering to the arrays of a SpatialEvaluation.

The inertia of a body is C C' + m, about its center of mass and in its axes. The vectors of (8.64)
are in units in which it is one: of a twist (C' w, sqrt(m) u), of a wrench (C^-1 n, f / sqrt(m)).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebody._core import dynamics
from sparsebody.arrays import FloatArray, IntArray, large_zeros
from sparsebody.dynamics.compiled.given import GivenParts
from sparsebody.model.system import System
from sparsebody.sparse.etree import positions

INERTIA_ROOTS, MASS_ROOT = [0, 2, 5], 12  # columns of a table of units: diagonal of C, sqrt(m)


def body_arrays(system: System, bodies: IntArray, unit: FloatArray, k: int) -> dict[str, Any]:
    """Return arrays of a SpatialEvaluation for `bodies`, the user's numbers in order; k rows."""
    n = len(bodies)
    rotation = large_zeros((n + 1, 9))
    rotation[n, ::4] = 1.0
    return {
        "body": bodies.astype(np.uint32),
        "gravity": np.array(system.gravity, dtype=float),
        "unit": unit,
        "position": large_zeros((n + 1, 3)),
        "rotation": rotation,
        "velocity": large_zeros((n + 1, 6)),
        "right": large_zeros(6 * n + k),
        "padded_x": large_zeros(6 * n + k + 2 * dynamics.MARGIN),
        "residual": large_zeros(6 * n + k),
        "wrench": large_zeros(8 * n + 8),
    }


def unit_table(system: System, bodies: IntArray) -> FloatArray:
    """Return (n + 1, 14): C, C^-1, sqrt(m) and its inverse of each body and of the world."""
    table = large_zeros((len(bodies) + 1, dynamics.UNIT_COLUMNS))
    dynamics.fill_units(system.mass, system.inertia, bodies, table)
    return table


def row_table(
    system: System, given: GivenParts, bodies: IntArray, unit: FloatArray, rows: IntArray
) -> tuple[dynamics.RowTable, FloatArray]:
    """Return a table of `rows`, the user's numbers, those of a joint together, and A (k, 2, 6).

    Rows that are constant on the successors are filled there.
    """
    n = len(bodies)
    of_row = system.row_joint[rows]
    starts = np.flatnonzero(np.diff(of_row, prepend=-1))
    joints = of_row[starts]
    new = np.append(positions(bodies), n).astype(np.uint32)  # n, also at -1, is the world
    values = large_zeros((len(rows), 2, 6))
    table = dynamics.RowTable(
        predecessor=new[system.predecessor[joints]],
        successor=new[system.successor[joints]],
        anchor=system.successor_point[joints],
        is_general=given.is_given[joints],
        first_row=np.append(starts, len(rows)).astype(np.uint32),
        user_row=rows.astype(np.uint32),
        general_row=given.sources(rows).astype(np.uint32),
        rows=values,
    )
    dynamics.fill_rows_on_successors(
        table,
        unit,
        system.row_joint,
        system.successor_rotation,
        system.successor_point,
        system.subspace,
    )
    return table, values
