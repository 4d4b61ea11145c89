"""From a state of a planar mechanism to its accelerations in one compiled call."""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled.assembly import PHASE
from sparsebody.dynamics.compiled.planar import (
    GOOD,
    PlanarWorkspace,
    assemble_planar,
    unscramble_planar,
)
from sparsebody.dynamics.compiled.qr_solution import factorize_and_solve
from sparsebody.factorization.block_qr import REGULAR


@njit(**PHASE)
def accelerate_planar(
    w: PlanarWorkspace,
    position: FloatArray,
    orientation: FloatArray,
    velocity: FloatArray,
    load: FloatArray,
    given_rows: FloatArray,
    given: FloatArray,
    shift: FloatArray,
    acceleration: FloatArray,
    multiplier: FloatArray,
) -> tuple[int, int, float]:
    """Do a whole evaluation; return what assembly, factorization and solution return."""
    state = position, orientation, velocity
    found = assemble_planar(w, *state, load, given_rows, given, shift)
    if found != GOOD:
        return found, REGULAR, np.nan
    status, left = factorize_and_solve(
        w.factor, w.kept, w.body.size, w.right, multiplier.size > 0, w.x
    )
    if status != REGULAR:
        return found, status, left
    unscramble_planar(w, acceleration, multiplier)
    return found, status, left


@njit(**PHASE)
def accelerate_alone(
    w: PlanarWorkspace,
    position: FloatArray,
    orientation: FloatArray,
    velocity: FloatArray,
    acceleration: FloatArray,
) -> tuple[int, int, float]:
    """Do the same where nothing is given; each argument of a call costs time."""
    given = w.no_loads, w.no_rows, w.nothing, w.nothing
    return accelerate_planar(w, position, orientation, velocity, *given, acceleration, w.nothing)
