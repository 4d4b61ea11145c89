"""Rows of joints whose T varies on both bodies, in one native call."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsebody._core import dynamics
from sparsebody.arrays import FloatArray
from sparsebody.model.system import System

VaryingRows = dynamics.VaryingRows


def varying_arrays(system: System) -> dict[str, Any]:
    """Return the arrays of VaryingRows for a system of joints whose T varies.

    Filled are `rows` (k, 2, 6) of A and `asked` (k,), the right-hand side of A a.
    """
    names = (
        "predecessor",
        "successor",
        "predecessor_rotation",
        "predecessor_point",
        "successor_rotation",
        "successor_point",
        "first_row",
    )
    return {name: np.ascontiguousarray(getattr(system, name)) for name in names} | {
        "kind": system.joint_kind,
        "rows": np.zeros((system.n_rows, 2, 6)),
        "asked": np.zeros(system.n_rows),
    }


def fill_varying_rows(
    table: VaryingRows, position: FloatArray, orientation: FloatArray, velocity: FloatArray
) -> None:
    """Fill `rows` and `asked` at a state."""
    table.fill(position, orientation, velocity)
