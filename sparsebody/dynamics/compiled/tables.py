"""From a System in the user's numbering to the arrays of Workspace and RowTable."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.compiled.given import GivenParts
from sparsebody.model.system import System
from sparsebody.sparse.etree import positions


def body_arrays(system: System, bodies: IntArray, inverse: FloatArray, k: int) -> dict[str, Any]:
    """Return the fields of a Workspace for `bodies`, the user's numbers in order, and k rows."""
    n = len(bodies)
    rotation = np.zeros((n + 1, 9))
    rotation[n, ::4] = 1.0
    return {
        "body": bodies.astype(np.uint32),
        "gravity": np.array(system.gravity, dtype=float),
        "mass": system.mass[bodies],
        "inertia": np.ascontiguousarray(system.inertia[bodies].reshape(n, 9)),
        "inverse": inverse,
        "position": np.zeros((n + 1, 3)),
        "rotation": rotation,
        "velocity": np.zeros((n + 1, 6)),
    } | {name: np.zeros(6 * n + k) for name in ("right", "x", "rest", "trial")}


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
    fixed = ~given.is_given[of_row]
    values[fixed, 1] = _rows_on_successors(system, rows[fixed], of_row[fixed])
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


def _rows_on_successors(system: System, rows: IntArray, joints: IntArray) -> FloatArray:
    """Return T' of rows that are constant on the successors, in body coordinates.

    Where the world is the successor, in world axes about the origin of S.
    """
    R, point = system.successor_rotation[joints], system.successor_point[joints]
    moment = np.einsum("nij,nj->ni", R, system.subspace[rows, :3])
    force = np.einsum("nij,nj->ni", R, system.subspace[rows, 3:])
    arm = np.where((system.successor[joints] >= 0)[:, None], point, 0.0)
    return np.concatenate([moment + np.cross(arm, force), force], axis=1)
