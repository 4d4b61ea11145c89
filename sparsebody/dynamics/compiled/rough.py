"""Corrections by conjugate gradients, for factors that rounding has made rough.

In long mechanisms the softest motions of A A' drown in the rounding of its elimination: the factors
are right but in a few directions, each of which costs an iteration.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled.assembly import KERNEL
from sparsebody.dynamics.compiled.residual import LEFT, PRIMAL, largest, residual
from sparsebody.dynamics.compiled.workspace import Workspace
from sparsebody.factorization.block_ldl.kernels import Storage, Tables, switch
from sparsebody.factorization.block_ldl.straight import (
    folded,
    straight_line,
    sums,
)
from sparsebody.factorization.block_ldl.substitution import solve

ACCURATE = 1e-8  # relative error that no step has to follow
EXACT = 1e-9  # relative residual of the bodies that changes next to nothing in that of the rows
SMALL = 1e-7  # relative residual that needs no second look once it is corrected
MOST_CYCLES, CYCLE = 4, 2  # after so many steps the residual is computed anew


def _wrench_step(n_rows):
    """Make the step that adds the wrenches of one joint's rows on two bodies."""

    @straight_line()
    def step(rows, at, y, first, wrench, p, s):
        factors = [y[first + k] for k in range(n_rows)]
        for place, side in ((p, 0), (s, 6)):
            total = wrench.load(place, 8)
            for k in range(n_rows):
                total = total + rows.load(at + (12 * k + side), 8, 6) * factors[k]
            wrench.store(place, total)

    return step


def _product_step(n_rows):
    """Make the step that multiplies one joint's rows with what is given for two bodies."""
    lanes = 4 if n_rows < 4 else 8

    @straight_line()
    def step(rows, at, given, p, s, product, first):
        on_p, on_s = given.load(p, 8), given.load(s, 8)
        parts = [
            folded(rows.load(at + 12 * k, 8, 6) * on_p + rows.load(at + (12 * k + 6), 8, 6) * on_s)
            for k in range(n_rows)
        ]
        product.store(first, sums(given, parts, lanes), n_rows)

    return step


_add_wrenches, _multiply = switch(_wrench_step), switch(_product_step)


@njit(**KERNEL)
def _fill_product(n, predecessor, successor, first_row, rows, y, wrench, product):
    """Fill wrench = A' y and product = A A' y."""
    eight, twelve = np.uintp(8), np.uintp(12)
    for j in range(np.uintp(predecessor.size)):
        begin, end = np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])
        p, s = eight * predecessor[j], eight * successor[j]
        _add_wrenches(end - begin, rows, twelve * begin, y, begin, wrench, p, s)
    for a in range(eight):
        wrench[eight * n + a] = 0.0
    for j in range(np.uintp(predecessor.size)):
        begin, end = np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])
        p, s = eight * predecessor[j], eight * successor[j]
        _multiply(end - begin, rows, twelve * begin, wrench, p, s, product, begin)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _dot(x: FloatArray, y: FloatArray) -> float:
    total = 0.0
    for k in range(x.size):
        total += x[k] * y[k]
    return total


@njit(cache=True, error_model="numpy")
def _apply(w: Workspace, size: float, direction: FloatArray) -> float:
    """Take a step along the direction whose wrenches are in w.wrench; return how far bodies go."""
    n = w.body.size
    gone = 0.0
    for i in range(n):
        for a in range(6):
            change = size * w.wrench[8 * i + a]
            w.x[6 * i + a] -= change
            gone = max(gone, abs(change))
        for a in range(8):
            w.wrench[8 * i + a] = 0.0
    for k in range(direction.size):
        w.x[6 * n + k] += size * direction[k]
    return gone


@njit(cache=True, error_model="numpy")
def improve_roughly(
    w: Workspace, right: FloatArray, tables: Tables, storage: Storage, is_wanted: bool
) -> tuple[float, float]:
    """Correct w.x for a right-hand side until steps are small.

    Return the relative residual, or a bound of it unless `is_wanted`, and the relative error that
    the last steps let expect.

    References
    ----------
    Gould, Hribar and Nocedal (2001), SIAM J. Sci. Comput. 23:1376, with constraint preconditioner.
    """
    n, n_rows = 6 * w.body.size, w.kept.row.size
    kept, rows = w.kept, w.kept.rows.reshape(w.kept.rows.size)
    step, rest = np.zeros(w.x.size), w.rest[n:]
    direction, product = np.zeros(n_rows), np.zeros(n_rows)
    left, last, gone, is_settled = 1.0, 1.0, 1.0, False
    for _ in range(MOST_CYCLES):
        left = residual(w, right)
        is_exact = largest(w.sizes, PRIMAL + LEFT) <= EXACT * largest(w.sizes, PRIMAL)
        for k in range(n):  # what the bodies are short of, so that only rows are left
            w.x[k] += w.rest[k]
        if not is_exact:
            left = residual(w, right)
        for k in range(n):
            w.rest[k] = 0.0
        before, scale = 1.0, largest(w.sizes, PRIMAL)
        for iteration in range(CYCLE):
            solve(tables, kept.rows, storage, w.rest, 0.0, 0.0, step)
            power = -_dot(rest, step[n:])
            share = power / before if iteration > 0 else 0.0
            before = power
            for k in range(n_rows):
                direction[k] = step[n + k] + share * direction[k]
            _fill_product(
                np.uintp(w.body.size),
                kept.predecessor,
                kept.successor,
                kept.first_row,
                rows,
                direction,
                w.wrench,
                product,
            )
            curvature = _dot(direction, product)
            if not (curvature > 0.0 and power > 0.0):
                for k in range(w.wrench.size):
                    w.wrench[k] = 0.0
                return residual(w, right), gone * min(1.0, gone / last)
            size = power / curvature
            last, gone = gone, _apply(w, size, direction) / scale
            for k in range(n_rows):
                rest[k] += size * product[k]
            is_settled = gone * min(1.0, gone / last) <= ACCURATE  # steps shrink by such factors
            if is_settled:
                break
        if is_settled:
            break
    if is_wanted or not left < SMALL:
        left = residual(w, right)
    return left, gone * min(1.0, gone / last)
