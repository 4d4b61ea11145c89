"""From right-hand side to solution in compiled code: how good it is, and corrections of it."""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled.assembly import KERNEL, assemble
from sparsebody.dynamics.compiled.workspace import Factor, Index, RowTable, Workspace
from sparsebody.factorization.block_ldl.kernels import factorize, solve
from sparsebody.factorization.block_ldl.vectors import (
    add4,
    load4,
    multiply4,
    multiply_add4,
    store4,
    sum4,
    zero4,
)
from sparsebody.spatial.tuples import (
    difference,
    load9,
    load_rotation,
    load_vector,
    scaled,
    store_vector,
    turned,
)

ROUNDING = 1e-15  # of a sum, relative to its largest term
WHOLE = -1  # no pivot is bad
BAD_STATE = -2


LAST_TWO = np.array([0.0, 0.0, 1.0, 1.0])
_0, _2 = np.uintp(0), np.uintp(2)


@njit(**KERNEL)
def residual(mass, inertia, inverse, predecessor, successor, first_row, rows, right, x, rest, free):
    """Fill rest = right - K x; return what its two halves are measured against, see `refine`.

    `rows` is flat; `free` is scratch, the accelerations of the bodies without constraints.
    """
    n = np.uintp(mass.size)
    n_6 = np.uintp(6) * n
    primal = dual = 0.0
    for i in range(n):
        first, last = np.uintp(6) * i, np.uintp(6) * i + np.uintp(3)
        moment = turned(load9(inertia, i), load_vector(x, first))
        force = scaled(mass[i], load_vector(x, last))
        turn, push = load_vector(right, first), load_vector(right, last)
        store_vector(rest, first, difference(turn, moment))
        store_vector(rest, last, difference(push, force))
        store_vector(free, first, turned(load_rotation(inverse[i]), turn))
        store_vector(free, last, scaled(inverse[i, 3, 3], push))
        for a in range(3):
            primal = max(primal, abs(moment[a]), abs(force[a]), abs(turn[a]), abs(push[a]))
    last_two = load4(LAST_TWO, _0)
    for j in range(np.uintp(predecessor.size)):
        begin, end = np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])
        for k in range(begin, end):
            rest[n_6 + k] = right[n_6 + k]
            free[n_6 + k] = 0.0
        for side in range(np.uintp(2)):
            body = np.uintp(predecessor[j]) if side == 0 else np.uintp(successor[j])
            if body == n:
                continue
            first = np.uintp(6) * body
            x_0, x_2 = load4(x, first), multiply4(last_two, load4(x, first + _2))
            free_0, free_2 = load4(free, first), multiply4(last_two, load4(free, first + _2))
            force_0 = force_2 = zero4()
            for k in range(begin, end):
                at = np.uintp(12) * k + np.uintp(6) * side
                row_0, row_2 = load4(rows, at), load4(rows, at + _2)
                rest[n_6 + k] -= sum4(add4(multiply4(row_0, x_0), multiply4(row_2, x_2)))
                felt = sum4(add4(multiply4(row_0, free_0), multiply4(row_2, free_2)))
                dual = max(dual, abs(felt))
                force_0 = multiply_add4(force_0, -x[n_6 + k], row_0)
                force_2 = multiply_add4(force_2, -x[n_6 + k], row_2)
            store4(rest, first, add4(load4(rest, first), force_0))
            force_2 = multiply4(last_two, force_2)
            store4(rest, first + _2, add4(load4(rest, first + _2), force_2))
        for k in range(begin, end):
            dual = max(dual, abs(right[n_6 + k]))
    return primal, dual


@njit(**KERNEL)
def largest(x, begin, end):
    """Return the largest magnitude of x[begin:end]; NaN or infinity if one is no number."""
    found = total = 0.0
    for k in range(np.uintp(begin), np.uintp(end)):
        found = max(found, abs(x[k]))
        total += x[k]
    return found + (total - total)


@njit(**KERNEL)
def relative(part, whole):
    """Return part / whole, and part where the whole is zero."""
    return part / whole if whole > 0.0 else part


@njit(cache=True, error_model="numpy")
def refine(w: Workspace, kept: RowTable, f: Factor, right: FloatArray, steps: int) -> float:
    """Fill w.x with the solution for a right-hand side; return its residual.

    Forces and accelerations have different units, so each half of the residual has its own scale:
    the largest entry of the forces and of I a; that of the accelerations asked for and of those
    that the free bodies would have along the rows. At most `steps` corrections are made, and only
    if more is left than the rounding of the sums.
    """
    n, n_rows = 6 * w.mass.size, right.size
    system = w.mass, w.inertia, w.inverse, kept.predecessor, kept.successor, kept.first_row
    rows = kept.rows.reshape(kept.rows.size)
    _solve(f, right.reshape((n_rows, 1)), w.x.reshape((n_rows, 1)))
    primal, dual = residual(*system, rows, right, w.x, w.rest, w.trial)
    rest_primal, rest_dual = largest(w.rest, 0, n), largest(w.rest, n, n_rows)
    for _ in range(steps):
        left = max(
            relative(rest_primal, max(primal, largest(w.x, n, n_rows))),
            relative(rest_dual, max(dual, largest(w.x, 0, n))),
        )
        if not left > ROUNDING:
            break
        _solve(f, w.rest.reshape((n_rows, 1)), w.trial.reshape((n_rows, 1)))
        for k in range(n_rows):
            w.x[k] += w.trial[k]
        residual(*system, rows, right, w.x, w.rest, w.trial)
        rest_primal, rest_dual = largest(w.rest, 0, n), largest(w.rest, n, n_rows)
    return max(relative(rest_primal, primal), relative(rest_dual, dual))


@njit(cache=True, error_model="numpy")
def _solve(f: Factor, right: FloatArray, x: FloatArray) -> None:
    solve(f.pivots, f.tiles, f.inverse, f.values, right, x, f.work, f.block)


@njit(cache=True, error_model="numpy")
def unscramble(
    body: Index, row: Index, x: FloatArray, acceleration: FloatArray, multiplier: FloatArray
) -> None:
    """Give bodies and rows the user's numbers; multipliers get the sign of forces on successors."""
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
    kept: RowTable,
    f: Factor,
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
    """Do a whole evaluation; return WHOLE, BAD_STATE or the place of a bad pivot; the residual."""
    state = position, orientation, velocity
    if not assemble(w, kept, *state, load, given_rows, given, shift):
        return BAD_STATE, np.nan
    bad = factorize(
        f.pivots,
        f.tiles,
        f.updates,
        f.fills,
        f.opened,
        f.diagonal,
        f.inverse,
        kept.rows,
        f.values,
        f.left,
        f.work,
        f.block,
    )
    if bad != WHOLE:
        return bad, np.nan
    worst = refine(w, kept, f, w.right, steps)
    unscramble(w.body, kept.row, w.x, acceleration, multiplier)
    return WHOLE, worst


@njit(**KERNEL)
def largest_term(predecessor, successor, first_row, rows, n, x):
    """Return the largest product of an entry of the rows and one of x; n is the world."""
    found = 0.0
    for j in range(np.uintp(predecessor.size)):
        for side in range(np.uintp(2)):
            body = np.uintp(predecessor[j]) if side == 0 else np.uintp(successor[j])
            if body == n:
                continue
            for k in range(np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])):
                for a in range(6):
                    found = max(found, abs(rows[k, side, a] * x[np.uintp(6) * body + a]))
    return found


@njit(**KERNEL)
def largest_gap(predecessor, successor, first_row, rows, n, x, asked):
    """Return the largest difference between rows times x and what they ask for."""
    found = 0.0
    for j in range(np.uintp(predecessor.size)):
        for k in range(np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])):
            gap = asked[k]
            for side in range(np.uintp(2)):
                body = np.uintp(predecessor[j]) if side == 0 else np.uintp(successor[j])
                if body != n:
                    for a in range(6):
                        gap -= rows[k, side, a] * x[np.uintp(6) * body + a]
            found = max(found, abs(gap))
    return found


@njit(**KERNEL)
def free_accelerations(inverse, right, free):
    """Fill the accelerations that bodies without constraints would have."""
    for i in range(np.uintp(inverse.shape[0])):
        for a in range(6):
            total = 0.0
            for b in range(6):
                total += inverse[i, a, b] * right[np.uintp(6) * i + b]
            free[np.uintp(6) * i + a] = total


@njit(cache=True, error_model="numpy")
def violation(w: Workspace, kept: RowTable, left_out: RowTable, asked: FloatArray) -> float:
    """Return how far the solution violates the rows left out, which ask for `asked`.

    Relative to the largest term of any row, with the solution or with the bodies free.
    """
    n = w.mass.size
    free_accelerations(w.inverse, w.right, w.trial)
    kept_rows = kept.predecessor, kept.successor, kept.first_row, kept.rows, n
    rows = left_out.predecessor, left_out.successor, left_out.first_row, left_out.rows, n
    scale = max(largest(w.right, 6 * n, w.right.size), largest(asked, 0, asked.size))
    for x in (w.x, w.trial):
        scale = max(scale, largest_term(*kept_rows, x), largest_term(*rows, x))
    return relative(largest_gap(*rows, w.x, asked), scale)
