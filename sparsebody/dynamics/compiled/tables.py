"""From a System in the user's numbering to the arrays of Workspace and RowTable."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.dynamics.compiled.given import GivenParts
from sparsebody.dynamics.compiled.workspace import MARGIN, N_SIZES
from sparsebody.model.system import System
from sparsebody.sparse.etree import positions


def body_arrays(system: System, bodies: IntArray, k: int) -> dict[str, Any]:
    """Return the fields of a Workspace for `bodies`, the user's numbers in order, and k rows."""
    n = len(bodies)
    rotation = np.zeros((n + 1, 9))
    rotation[n, ::4] = 1.0
    padded_x = np.zeros(6 * n + k + 2 * MARGIN)
    return {
        "body": bodies.astype(np.uint32),
        "gravity": np.array(system.gravity, dtype=float),
        "mass": system.mass[bodies],
        "inertia": np.ascontiguousarray(system.inertia[bodies].reshape(n, 9)),
        "position": np.zeros((n + 1, 3)),
        "rotation": rotation,
        "velocity": np.zeros((n + 1, 6)),
        "padded_x": padded_x,
        "x": padded_x[MARGIN:-MARGIN],
        "wrench": np.zeros(8 * n + 8),
        "sizes": np.zeros(N_SIZES),
    } | {name: np.zeros(6 * n + k) for name in ("right", "rest", "trial")}


def row_arrays(
    system: System, given: GivenParts, bodies: IntArray, rows: IntArray
) -> dict[str, Any]:
    """Return the fields of a RowTable for `rows`, the user's numbers, those of a joint together."""
    n = len(bodies)
    of_row = system.row_joint[rows]
    starts = np.flatnonzero(np.diff(of_row, prepend=-1))
    joints = of_row[starts]
    new = np.append(positions(bodies), n).astype(np.uint32)  # n, also at -1, is the world
    values = np.zeros((len(rows), 2, 6))
    _fill_rows_on_successors(
        rows,
        of_row,
        given.is_given,
        system.successor,
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
    successor: IntArray,
    rotation: FloatArray,
    point: FloatArray,
    subspace: FloatArray,
    values: FloatArray,
) -> None:
    """Fill T' of rows that are constant on the successors, in body coordinates.

    Where the world is the successor, in world axes about the origin of S.
    """
    for k in range(rows.size):
        j, t, row = joint[k], subspace[rows[k]], values[k, 1]
        if is_given[j]:
            continue
        for a in range(3):
            for b in range(3):
                row[a] += rotation[j, a, b] * t[b]
                row[a + 3] += rotation[j, a, b] * t[b + 3]
        if successor[j] >= 0:
            x, f_0, f_1, f_2 = point[j], row[3], row[4], row[5]
            row[0] += x[1] * f_2 - x[2] * f_1
            row[1] += x[2] * f_0 - x[0] * f_2
            row[2] += x[0] * f_1 - x[1] * f_0
