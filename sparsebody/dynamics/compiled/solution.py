"""From a state to its accelerations in one compiled call; solutions are refined on demand."""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled.assembly import BODIES, assemble_part
from sparsebody.dynamics.compiled.chunks import BODY, JOINT, LEFT_BODY, LEFT_JOINT, PIVOT
from sparsebody.dynamics.compiled.residual import (
    PRIMAL,
    WRENCH,
    begin_residual,
    end_residual,
    fill_residual,
    largest,
    relative,
    residual,
)
from sparsebody.dynamics.compiled.workspace import INVERSE, MASS_INVERSE, Workspace
from sparsebody.factorization.block_ldl.kernels import (
    LINE,
    PHASE,
    REGULAR,
    SHIFT,
    Storage,
    Tables,
    eliminate,
    factorize,
)
from sparsebody.factorization.block_ldl.substitution import solve, substitute
from sparsebody.factorization.prefetch import LARGE, here
from sparsebody.spatial.tuples import (
    load_triangle,
    load_vector,
    scaled,
    store_vector,
    upper_times,
)

SMALL = 1e-9  # a relative residual that needs no second look once it is corrected
NOISE = 8 * 2.0**-52  # relative to wrenches: what their rounding leaves, however often corrected
ACCURATE = 1e-6  # relative size of a correction that no other has to follow
ROUGH = 1e-3  # one that tells of factors too rough to correct with
BAD_STATE = -(2**62)


@njit(**PHASE)
def _tables(f):
    return Tables(f.pivots, f.below, f.updates, f.fills, f.opened)


@njit(**PHASE)
def _storage(f):
    return Storage(f.values, f.padded, f.window, f.reference, f.left, f.right, f.parts)


@njit(**PHASE)
def improve(
    w: Workspace,
    tables: Tables,
    storage: Storage,
    right: FloatArray,
    steps: int,
    goal: float,
    is_exact: bool,
    is_shifted: bool,
    left: float,
) -> tuple[float, float]:
    """Refine w.x for a right-hand side; return its relative residual, and how far to trust it.

    The residual is in w.rest, and `left` is its relative size.

    At most `steps` corrections are made, and only if more is left than the goal. The first one,
    relative to the solution, is about the error of the factors, and each one multiplies the error
    by it, but for light bodies beside heavy ones, of which only the residual tells; where it is
    large, the factors are too rough to correct with. Shifted factors are those of a matrix without
    the motions that rounding hides, so there one correction is all that helps.

    Returns
    -------
    residual : float
        Or a bound of it, unless it is to be exact.
    change : float
        Relative size of the last correction, or what it lets expect of the next one.
    """
    rows, change = w.kept.rows, 0.0
    small = max(SMALL, NOISE * relative(largest(w.sizes, WRENCH), largest(w.sizes, PRIMAL)))
    for step in range(steps):
        if left <= goal:
            break
        gone = solve(tables, rows, storage, w.rest, 0.0, 1.0, w.x)
        change = gone / max(largest(w.sizes, PRIMAL), gone)
        if change > ROUGH and not is_shifted:
            break
        is_last, before = step == steps - 1 or change < ACCURATE or is_shifted, left
        if not is_last or is_exact or not left < small:
            left = residual(w, right)
        if is_last and (left < small or is_shifted or not left < before / 2):
            break
    return left, change


@njit(**PHASE)
def refine(
    w: Workspace, right: FloatArray, steps: int, goal: float, is_shifted: bool
) -> tuple[float, float]:
    """Fill w.x with the solution for a right-hand side; see `improve`."""
    tables, storage = _tables(w.factor), _storage(w.factor)
    solve(tables, w.kept.rows, storage, right, 1.0, 0.0, w.x)
    return improve(w, tables, storage, right, steps, goal, True, is_shifted, residual(w, right))


@njit(**PHASE)
def _fetch_result(body, i, acceleration, x, unit):
    """Ask for what is needed to give a body its user's number."""
    here(acceleration, np.uintp(6) * body)
    here(acceleration, np.uintp(6) * body + np.uintp(5))
    here(x, np.uintp(6) * i)
    here(unit, np.uintp(14) * i)
    here(unit, np.uintp(14) * i + np.uintp(LINE))


@njit(**PHASE)
def unscramble(w: Workspace, acceleration: FloatArray, multiplier: FloatArray) -> None:
    """Give bodies and rows the user's numbers; multipliers get the sign of forces on successors."""
    body, row, x, unit = w.body, w.kept.row, w.x, w.unit
    for i in range(np.uintp(body.size)):
        b, first = np.uintp(body[i]), np.uintp(6) * i
        if body.size > LARGE:
            soon = min(i + np.uintp(BODIES), np.uintp(body.size - 1))
            _fetch_result(np.uintp(body[soon]), soon, acceleration, x, unit)
        angular = upper_times(load_triangle(unit, i, INVERSE), load_vector(x, first))
        store_vector(acceleration[b], 0, angular)
        linear = scaled(unit[i, MASS_INVERSE], load_vector(x, first + np.uintp(3)))
        store_vector(acceleration[b], 3, linear)
    if multiplier.size > 0:
        for k in range(row.size):
            multiplier[row[k]] = -x[6 * body.size + k]


@njit(**PHASE)
def factorize_assembled(w: Workspace) -> int:
    """Factorize what was assembled last; return what a factorization returns."""
    return factorize(_tables(w.factor), w.kept.rows, w.right, _storage(w.factor))


@njit(**PHASE)
def _assemble_and_factorize(
    w: Workspace,
    tables: Tables,
    storage: Storage,
    position: FloatArray,
    orientation: FloatArray,
    velocity: FloatArray,
    load: FloatArray,
    given_rows: FloatArray,
    given: FloatArray,
    shift: FloatArray,
) -> int:
    """Eliminate chunk by chunk what is assembled; return BAD_STATE or what a factorization does."""
    state, others = (position, orientation, velocity), (load, given_rows, given, shift)
    chunks, status = w.chunks, REGULAR
    for c in range(len(chunks) - 1):
        joints = chunks[c, JOINT], chunks[c + 1, JOINT]
        ranges = chunks[c, BODY], chunks[c + 1, BODY], *joints
        if not assemble_part(w, *state, *others, *ranges):
            return BAD_STATE
        if status == REGULAR:
            pivots = chunks[c, PIVOT], chunks[c + 1, PIVOT]
            status = eliminate(tables, w.kept.rows, w.right, 0.0, storage, *pivots)
    if status != REGULAR:
        eliminate(tables, w.kept.rows, w.right, SHIFT, storage, 0, chunks[-1, PIVOT])
    return status


@njit(**PHASE)
def _substitute_and_measure(w: Workspace, tables: Tables, storage: Storage) -> float:
    """Fill w.x with the solution that the elimination leaves; return its relative residual."""
    chunks, rows, right, x = w.chunks, w.kept.rows, w.right, w.x
    begin_residual(w)
    for c in range(len(chunks) - 2, -1, -1):
        pivots = chunks[c, PIVOT], chunks[c + 1, PIVOT]
        substitute(tables, rows, storage, right, x, *pivots)
        first_joint, end_joint = chunks[c, LEFT_JOINT], chunks[c + 1, LEFT_JOINT]
        first_body, end_body = chunks[c, LEFT_BODY], chunks[c + 1, LEFT_BODY]
        fill_residual(w, right, first_joint, end_joint, first_body, end_body)
    return end_residual(w, right)


@njit(**PHASE)
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
    goal: float,
    acceleration: FloatArray,
    multiplier: FloatArray,
) -> tuple[int, float, float]:
    """Do a whole evaluation; return BAD_STATE or what a factorization returns; see `improve`.

    Where no multipliers are asked for, the residual may be a bound.
    """
    tables, storage = _tables(w.factor), _storage(w.factor)
    status = _assemble_and_factorize(
        w, tables, storage, position, orientation, velocity, load, given_rows, given, shift
    )
    if status == BAD_STATE:
        return BAD_STATE, np.nan, np.nan
    is_exact, is_shifted = multiplier.size > 0, status != REGULAR
    left = _substitute_and_measure(w, tables, storage)
    left, change = improve(w, tables, storage, w.right, steps, goal, is_exact, is_shifted, left)
    unscramble(w, acceleration, multiplier)
    return status, left, change
