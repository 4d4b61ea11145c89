"""What a solution leaves of the equations of bodies and rows, and what that is measured against."""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled.assembly import BODIES, JOINTS, KERNEL, PHASE, ROWS
from sparsebody.dynamics.compiled.workspace import MARGIN, N_SIZES, Workspace
from sparsebody.factorization.block_ldl.kernels import LINE, switch
from sparsebody.factorization.prefetch import LARGE, prefetch
from sparsebody.factorization.straight import (
    folded,
    larger,
    straight_line,
    sums,
    zeros,
)

FREE = 1e-7  # part of the largest term from which on the motion of the free bodies matters

# Places of vectors of 8 sizes: the largest terms, the largest residual, and the sum of residuals,
# which is no number if one of them is none.
PRIMAL, DUAL, LEFT, TOTAL = 0, 24, 8, 16
WRENCH = 48  # place of the largest wrenches of joints, whose rounding bodies are left with


def _row_step(n_rows):
    """Make the step of the rows of one joint: what they leave, and their wrenches on two bodies."""
    lanes = 4 if n_rows < 4 else 8

    @straight_line()
    def step(
        rows, at, x, predecessor, successor, multipliers, wrench, p, s, right, row, rest, sizes
    ):
        on_p, on_s = x.load(predecessor, 8), x.load(successor, 8)
        t_p = [rows.load(at + 12 * k, 8, 6) for k in range(n_rows)]
        t_s = [rows.load(at + (12 * k + 6), 8, 6) for k in range(n_rows)]
        terms, parts = sizes.load(DUAL, 8), []
        for k in range(n_rows):
            of_p, of_s = t_p[k] * on_p, t_s[k] * on_s
            terms = larger(larger(terms, of_p), of_s)
            parts.append(folded(of_p + of_s))
        sizes.store(DUAL, terms)
        asked = right.load(row, lanes, n_rows)
        sizes.store(DUAL, larger(sizes.load(DUAL, lanes), asked))
        left = asked - sums(x, parts, lanes)
        rest.store(row, left, n_rows)
        worst, total = sizes.load(DUAL + LEFT, lanes), sizes.load(DUAL + TOTAL, lanes)
        sizes.store(DUAL + LEFT, larger(worst, left))
        sizes.store(DUAL + TOTAL, total + left)
        y = [x[multipliers + k] for k in range(n_rows)]
        wrenches = sizes.load(WRENCH, 8)
        for place, t in ((p, t_p), (s, t_s)):
            force = wrench.load(place, 8)
            for k in range(n_rows):
                force = force + t[k] * y[k]
            wrench.store(place, force)
            wrenches = larger(wrenches, force)
        sizes.store(WRENCH, wrenches)

    return step


@straight_line()
def _body_step(x, at, wrench, place, right, first, rest, sizes):
    """Take acceleration and wrench of the rows from the force on a body; forget the wrench."""
    inertial, given = x.load(at, 8, 6), right.load(first, 8, 6)
    left = given - inertial - wrench.load(place, 8)
    rest.store(first, left, 6)
    wrench.store(place, zeros(wrench, 8))
    sizes.store(PRIMAL, larger(larger(sizes.load(PRIMAL, 8), inertial), given))
    sizes.store(PRIMAL + LEFT, larger(sizes.load(PRIMAL + LEFT, 8), left))
    sizes.store(PRIMAL + TOTAL, sizes.load(PRIMAL + TOTAL, 8) + left)


_rows = switch(_row_step)
_fetch_row, _fetch_joint = prefetch(-12 * ROWS), prefetch(-JOINTS)  # residuals go backwards
_fetch_number, _fetch_wrench = prefetch(-6 * BODIES), prefetch(-8 * BODIES)


@njit(**KERNEL)
def _fill_rest_of_rows(
    n,
    predecessor,
    successor,
    first_row,
    rows,
    padded_x,
    right,
    wrench,
    rest,
    sizes,
    begin_joint,
    end_joint,
):
    """Fill rest = right - K x for the rows of joints; `wrench` of bodies gets their wrenches."""
    six, eight, margin = np.uintp(6), np.uintp(8), np.uintp(MARGIN)
    is_large = n > np.uintp(LARGE)
    for i in range(np.uintp(end_joint - begin_joint)):
        j = np.uintp(end_joint) - np.uintp(1) - i
        begin, end = np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])
        if is_large:
            for place in range(np.uintp(12) * begin, np.uintp(12) * end, np.uintp(LINE)):
                _fetch_row(rows, place)
            for vector in (rest, right):
                _fetch_number(vector, six * n + begin)
            for table in (predecessor, successor, first_row):
                _fetch_joint(table, j)
        p, s, row = np.uintp(predecessor[j]), np.uintp(successor[j]), six * n + begin
        on_p = margin + six * p if p < n else np.uintp(0)
        on_s = margin + six * s if s < n else np.uintp(0)
        _rows(
            end - begin,
            rows,
            np.uintp(12) * begin,
            padded_x,
            on_p,
            on_s,
            margin + row,
            wrench,
            eight * p,
            eight * s,
            right,
            row,
            rest,
            sizes,
        )
    for a in range(eight):
        wrench[eight * n + a] = 0.0


@njit(**KERNEL)
def _fill_rest_of_bodies(padded_x, right, wrench, rest, sizes, begin, end):
    """Fill rest = right - K x for bodies; their `wrench` is zero between calls."""
    is_large = wrench.size > 8 * LARGE
    for back in range(np.uintp(end - begin)):
        i = np.uintp(end) - np.uintp(1) - back
        first = np.uintp(6) * i
        at = np.uintp(MARGIN) + first
        if is_large:
            _fetch_wrench(wrench, np.uintp(8) * i)
            _fetch_number(rest, first)
        _body_step(padded_x, at, wrench, np.uintp(8) * i, right, first, rest, sizes)


@njit(**KERNEL)
def largest(sizes, begin):
    """Return the largest of 8 sizes."""
    found = 0.0
    for place in range(np.uintp(begin), np.uintp(begin + 8)):
        found = max(found, sizes[place])
    return found


@njit(**KERNEL)
def _left(sizes, half):
    """Return the largest residual of a half; NaN if one is no number."""
    total = 0.0
    for place in range(np.uintp(half + TOTAL), np.uintp(half + TOTAL + 8)):
        total += sizes[place]
    return largest(sizes, half + LEFT) + (total - total)


@straight_line()
def _term_step(rows, at, x, first, sizes):
    """Compare the products of a row on one body and the entries of x there."""
    terms = rows.load(at, 8, 6) * x.load(first, 8, 6)
    sizes.store(DUAL, larger(sizes.load(DUAL, 8), terms))


@njit(**KERNEL)
def largest_term(predecessor, successor, first_row, rows, n, x, sizes):
    """Return the largest product of an entry of the rows and one of x; n is the world."""
    for place in range(np.uintp(DUAL), np.uintp(DUAL + 8)):
        sizes[place] = 0.0
    for j in range(np.uintp(predecessor.size)):
        for side in range(np.uintp(2)):
            body = np.uintp(predecessor[j]) if side == 0 else np.uintp(successor[j])
            if body == n:
                continue
            for k in range(np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])):
                at = np.uintp(6) * (np.uintp(2) * k + side)
                _term_step(rows, at, x, np.uintp(6) * body, sizes)
    return largest(sizes, DUAL)


@njit(**PHASE)
def residual(w: Workspace, right: FloatArray) -> float:
    """Fill w.rest with the residual of w.x; return its relative size.

    Forces and accelerations have different units, so each half has its own scale: the largest
    force; the largest product of an entry of a row and one of the solution, or where these vanish,
    as in equilibrium, of the accelerations that the bodies would have without constraints.
    """
    begin_residual(w)
    fill_residual(w, right, 0, w.kept.predecessor.size, 0, w.body.size)
    return end_residual(w, right)


@njit(**PHASE)
def begin_residual(w: Workspace) -> None:
    """Forget what was measured."""
    for place in range(N_SIZES):
        w.sizes[place] = 0.0


@njit(**PHASE)
def fill_residual(
    w: Workspace,
    right: FloatArray,
    first_joint: int,
    end_joint: int,
    first_body: int,
    end_body: int,
) -> None:
    """Fill w.rest for ranges of joints and bodies; the joints of the bodies have come before."""
    kept = w.kept
    _fill_rest_of_rows(
        np.uintp(w.body.size),
        kept.predecessor,
        kept.successor,
        kept.first_row,
        kept.rows.reshape(kept.rows.size),
        w.padded_x,
        right,
        w.wrench,
        w.rest,
        w.sizes,
        first_joint,
        end_joint,
    )
    _fill_rest_of_bodies(w.padded_x, right, w.wrench, w.rest, w.sizes, first_body, end_body)


@njit(**PHASE)
def end_residual(w: Workspace, right: FloatArray) -> float:
    """Return the relative size of a residual that is filled for all joints and bodies."""
    kept = w.kept
    terms, left = largest(w.sizes, DUAL), _left(w.sizes, DUAL)
    if not left <= FREE * terms:
        table = kept.predecessor, kept.successor, kept.first_row, kept.rows, w.body.size
        terms = max(terms, largest_term(*table, right, w.sizes))
    primal = relative(_left(w.sizes, PRIMAL), largest(w.sizes, PRIMAL))
    dual = relative(left, terms)
    return max(primal, dual) + 0.0 * (primal + dual)  # which is NaN if either is


@njit(**KERNEL)
def relative(part, whole):
    """Return part / whole, and part where the whole is zero."""
    return part / whole if whole > 0.0 else part
