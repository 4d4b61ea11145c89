"""What the compiled evaluation reads and writes, numbered in elimination order.

The inertia I of a body is C C' + m, about its center of mass and in its axes. The vectors of (8.64)
are in units in which it is one: of a twist (C' w, sqrt(m) u), of a wrench (C^-1 n, f / sqrt(m)).

Bodies and joints are numbered anew by their places in the elimination order, so that an evaluation
walks through memory from one end to the other, however the user has numbered them.
"""

# numba's structref is untyped.
# mypy: disable-error-code="attr-defined, no-untyped-call"

from __future__ import annotations

import numpy as np
from numba import types
from numba.experimental import structref
from numpy.typing import NDArray

from sparsebody.arrays import BoolArray, FloatArray
from sparsebody.dynamics.compiled.struct import Struct, register

ROOT, INVERSE, MASS_ROOT, MASS_INVERSE = 0, 6, 12, 13  # C, C^-1, sqrt(m), its inverse in `unit`
WORLD_ROOT = 2.0**200  # of the world there: what rows hold at its end must not count in their norms
MARGIN, N_SIZES = 8, 56  # zeros before and after a solution; numbers that measure a residual
Index = NDArray[np.uint32]  # unsigned: a signed index costs a test for negative ones at each access


@register
class _RowTableType(types.StructRef):
    """The type of RowTable in compiled code."""


class RowTable(Struct):
    """Some rows of A, those of a joint in one piece: m joints, k rows."""

    predecessor: Index  # (m,) body, n for the world
    successor: Index  # (m,)
    anchor: FloatArray  # (m, 3) where the world is the successor: reference point of its rows [m]
    is_given: BoolArray  # (m,) whether rows are given, not carried over from the successor
    first_row: Index  # (m + 1,)
    row: Index  # (k,) the user's number of each row
    source: Index  # (k,) place of given rows among those that are given
    rows: FloatArray  # (k, 2, 6) on predecessor and successor


@register
class _FactorType(types.StructRef):
    """The type of Factor in compiled code."""


class Factor(Struct):
    """The Tables and the Storage of a block LDL' factorization."""

    pivots: Index
    below: Index
    updates: Index
    fills: Index
    opened: Index
    values: FloatArray
    padded: FloatArray
    window: FloatArray
    reference: FloatArray
    left: FloatArray
    right: FloatArray
    parts: FloatArray


@register
class _WorkspaceType(types.StructRef):
    """The type of Workspace in compiled code."""


class Workspace(Struct):
    """All that an evaluation needs: n bodies in a state, k kept rows, and the vectors of (8.64)."""

    kept: RowTable
    factor: Factor
    chunks: Index  # (n_chunks + 1, 5) see there

    body: Index  # (n,) the user's number of each body
    gravity: FloatArray  # (3,) [m/s^2]
    unit: FloatArray  # (n + 1, 14) of each body and the world, see above
    position: FloatArray  # (n + 1, 3) centers of mass in the world [m]; body n is the world
    rotation: FloatArray  # (n + 1, 9) from body to world axes
    velocity: FloatArray  # (n + 1, 6) in body coordinates [rad/s, m/s]
    right: FloatArray  # (6 n + k,) forces, then the accelerations asked for
    padded_x: FloatArray  # (6 n + k + 2 MARGIN,) zeros, x, zeros
    x: FloatArray  # (6 n + k,) accelerations, then multipliers with opposite signs
    rest: FloatArray  # (6 n + k,) residual
    wrench: FloatArray  # (8 n + 8,) scratch, zero between calls
    sizes: FloatArray  # (N_SIZES,) of terms and residuals


for _cls, _type in ((RowTable, _RowTableType), (Factor, _FactorType), (Workspace, _WorkspaceType)):
    structref.define_proxy(_cls, _type, list(_cls.__annotations__))
