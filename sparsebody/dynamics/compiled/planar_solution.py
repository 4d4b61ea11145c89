"""From a state of a planar mechanism to its accelerations in one compiled call."""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled.assembly import KERNEL
from sparsebody.dynamics.compiled.planar import (
    GOOD,
    PlanarWorkspace,
    assemble_planar,
    unscramble_planar,
)
from sparsebody.factorization.block_qr.kernels import (
    REGULAR,
    Storage,
    Tables,
    factorize,
    substitute,
)

STEPS = 4  # corrections at most
ROUNDING = 1e-14  # a relative residual that none makes smaller
ROUGH = 1e-3  # one that more than one has to follow


@njit(cache=True)
def _tables(f):
    return Tables(f.fronts, f.columns, f.places, f.children, f.parts)


@njit(cache=True)
def _storage(f):
    return Storage(f.values, f.front, f.stack, f.square)


@njit(cache=True, error_model="numpy")
def factorize_planar(w: PlanarWorkspace) -> int:
    """Factorize what was assembled last; return what a factorization returns."""
    return factorize(_tables(w.factor), w.kept.rows, _storage(w.factor))


@njit(**KERNEL)
def _fill_gaps(predecessor, successor, first_row, rows, x, asked, gap):
    """Fill gap = A x - asked; return its largest entry and the largest term."""
    three, worst, largest, total = np.uintp(3), 0.0, 0.0, 0.0
    for j in range(np.uintp(predecessor.size)):
        p, s = three * np.uintp(predecessor[j]), three * np.uintp(successor[j])
        for k in range(np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])):
            on_p, on_s = rows[k, 0], rows[k, 1]
            of_p = on_p[0] * x[p] + on_p[1] * x[p + 1] + on_p[2] * x[p + 2]
            of_s = on_s[0] * x[s] + on_s[1] * x[s + 1] + on_s[2] * x[s + 2]
            left = of_p + of_s - asked[k]
            gap[k] = left
            total += left
            worst, largest = (
                max(worst, abs(left)),
                max(largest, abs(of_p), abs(of_s), abs(asked[k])),
            )
    return worst + (total - total), largest


@njit(**KERNEL)
def _subtract_forces(predecessor, successor, first_row, rows, y, n, x, multiplier):
    """Replace x by x - A' y and the multipliers by themselves plus y; n is the world."""
    three = np.uintp(3)
    for j in range(np.uintp(predecessor.size)):
        p, s = three * np.uintp(predecessor[j]), three * np.uintp(successor[j])
        for k in range(np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])):
            force = y[k]
            multiplier[k] += force
            for a in range(3):
                x[p + a] -= rows[k, 0, a] * force
                x[s + a] -= rows[k, 1, a] * force
    for a in range(3):
        x[three * n + a] = 0.0


@njit(cache=True, error_model="numpy")
def solve_planar(w: PlanarWorkspace, right: FloatArray, is_exact: bool) -> float:
    """Fill w.x with the solution for a right-hand side; return the relative residual of the rows.

    The equations of the bodies are kept to rounding. Every correction makes a residual smaller by
    about its own size, so that the one after it need not be computed, unless it is to be exact.
    """
    kept, x, gap, n = w.kept, w.x, w.gap, w.body.size
    table = kept.predecessor, kept.successor, kept.first_row, kept.rows
    tables, storage = _tables(w.factor), _storage(w.factor)
    multiplier, asked = x[3 * n + 3 :], right[3 * n :]
    for k in range(3 * n):
        x[k] = right[k]
    for k in range(3 * n, x.size):
        x[k] = 0.0
    before, scale = np.inf, 0.0  # the largest term, with the bodies free to begin with
    for step in range(STEPS + 1):
        worst, largest = _fill_gaps(*table, x, asked, gap)
        scale = max(scale, largest)
        left = worst / scale if scale > 0.0 else worst
        if step > 0 and (left <= ROUNDING or not left < before / 2):
            break
        substitute(tables, storage, gap)
        _subtract_forces(*table, gap, n, x, multiplier)
        if step > 0 and left < ROUGH and not is_exact:
            return left * left
        before = left if step > 0 else np.inf
    return left


@njit(cache=True, error_model="numpy")
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
    status = factorize_planar(w)
    if status != REGULAR:
        return found, status, np.nan
    left = solve_planar(w, w.right, multiplier.size > 0)
    unscramble_planar(w, acceleration, multiplier)
    return found, status, left
