"""From a state to its accelerations in one compiled call; solutions are refined on demand."""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled.assembly import assemble
from sparsebody.dynamics.compiled.residual import residual
from sparsebody.dynamics.compiled.workspace import Workspace
from sparsebody.factorization.block_ldl.kernels import (
    REGULAR,
    Matrix,
    Storage,
    Tables,
    factorize_safely,
)
from sparsebody.factorization.block_ldl.substitution import solve, substitute

ROUNDING = 1e-15  # a relative residual that no correction makes smaller
SMALL = 1e-9  # one that needs no second look once it is corrected
BAD_STATE = -(2**62)


@njit(cache=True)
def _tables(f):
    return Tables(f.pivots, f.below, f.updates, f.fills, f.opened)


@njit(cache=True)
def _matrix(f):
    return Matrix(f.diagonal, f.inverse, f.rows)


@njit(cache=True)
def _storage(f):
    return Storage(f.values, f.padded, f.reference, f.left, f.right, f.parts)


@njit(cache=True, error_model="numpy")
def improve(w: Workspace, right: FloatArray, steps: int, is_exact: bool) -> float:
    """Refine w.x for a right-hand side; return its relative residual, or a bound of it.

    At most `steps` corrections are made, and only if more is left than the rounding of the sums.
    """
    n_rows, f = right.size, w.factor
    tables, matrix, storage = _tables(f), _matrix(f), _storage(f)
    left = residual(w, right)
    for step in range(steps):
        if left <= ROUNDING:
            break
        solve(tables, matrix, storage, w.rest.reshape((n_rows, 1)), w.trial.reshape((n_rows, 1)))
        for k in range(n_rows):
            w.x[k] += w.trial[k]
        if step < steps - 1 or is_exact or not left < SMALL:
            left = residual(w, right)
    return left


@njit(cache=True, error_model="numpy")
def refine(w: Workspace, right: FloatArray, steps: int) -> float:
    """Fill w.x with the solution for a right-hand side; return its relative residual."""
    shape, f = (right.size, 1), w.factor
    solve(_tables(f), _matrix(f), _storage(f), right.reshape(shape), w.x.reshape(shape))
    return improve(w, right, steps, True)


@njit(cache=True, error_model="numpy")
def unscramble(w: Workspace, acceleration: FloatArray, multiplier: FloatArray) -> None:
    """Give bodies and rows the user's numbers; multipliers get the sign of forces on successors."""
    body, row, x = w.body, w.kept.row, w.x
    for i in range(body.size):
        b = body[i]
        for a in range(6):
            acceleration[b, a] = x[6 * i + a]
    if multiplier.size > 0:
        for k in range(row.size):
            multiplier[row[k]] = -x[6 * body.size + k]


@njit(cache=True, error_model="numpy")
def accelerate(
    w: Workspace,
    position: FloatArray,
    orientation: FloatArray,
    velocity: FloatArray,
    load: FloatArray,
    given_rows: FloatArray,
    given: FloatArray,
    shift: FloatArray,
    steps: int,
    acceleration: FloatArray,
    multiplier: FloatArray,
) -> tuple[int, float]:
    """Do a whole evaluation; return BAD_STATE or what a factorization returns, and the residual.

    Where no multipliers are asked for, the residual may be a bound.
    """
    state = position, orientation, velocity
    if not assemble(w, *state, load, given_rows, given, shift):
        return BAD_STATE, np.nan
    f = w.factor
    tables, storage = _tables(f), _storage(f)
    status = factorize_safely(tables, _matrix(f), w.right, storage)
    if status > REGULAR:
        return status, np.nan
    substitute(tables, storage, w.x)
    left = improve(w, w.right, steps, multiplier.size > 0)
    unscramble(w, acceleration, multiplier)
    return status, left
