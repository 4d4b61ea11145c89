"""What happens at one pivot, as straight-line code for every size of a block.

The panel of a pivot block P of s rows holds P itself, if earlier pivots changed it, and the blocks
V below it, each of them column by column with `lanes` rows of storage. The spare last one holds the
right-hand side, which the elimination carries along. Of P = L D L' its storage keeps L with 1 / D
in the place of the ones; that of V becomes -V P^-1, the only thing that substitution needs.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

from numba import types

from sparsebody.factorization.straight import (
    folded,
    for_each,
    gathered,
    larger,
    least,
    straight_line,
    sums,
    with_lane,
    zeros,
)

LARGEST = 24  # place in `parts` of 8 largest entries, after the sums
DOUBTFUL = 1e-13  # a pivot that may be nothing but rounding


def lanes_of(size: int) -> int:
    """Return the rows of storage of a block: all of its own, and a spare one; 4 for no block."""
    return 4 if size < 4 else 8


def primal_pivot_step(size):
    """Make the step L D L' = P of a positive definite pivot; tell if it is safe.

    Columns are taken in pairs, so that only every other division waits for the one before: of the
    second column, d2 - l^2 / d1 is (d1 d2 - l^2) / d1.
    """
    lanes = lanes_of(size)

    @straight_line(types.boolean)
    def step(values, place, reference, row):
        own = [values.load(place + k * lanes, lanes) for k in range(size)]
        is_safe = True

        def eliminate(k, reciprocal, first):
            for j in range(first, size):
                own[j] = own[j] - own[k] * own[k][j] * reciprocal
            values.store(place + k * lanes, with_lane(own[k] * reciprocal, k, reciprocal))

        for k in range(0, size, 2):
            diagonal = own[k][k]
            reciprocal = 1.0 / diagonal
            is_safe &= diagonal > DOUBTFUL * reference[row + k]
            if k + 1 < size:
                beside = own[k][k + 1]
                both = diagonal * own[k + 1][k + 1] - beside * beside
                is_safe &= both * reciprocal > DOUBTFUL * reference[row + (k + 1)]
                second = diagonal / both
                eliminate(k, reciprocal, k + 1)
                eliminate(k + 1, second, k + 2)
            else:
                eliminate(k, reciprocal, k + 1)
        return is_safe

    return step


def dual_pivot_step(size):
    """Make the step L D L' = P of a negative definite pivot; tell if it is safe.

    With a shift, relative to what the pivot was before other dual ones took from it, what is left
    of the matrix stays definite even where its eigenvalues are below rounding.
    """
    lanes = lanes_of(size)

    @straight_line(types.boolean)
    def step(values, place, reference, row, shift):
        own = [values.load(place + k * lanes, lanes) for k in range(size)]
        is_safe = True
        for k in range(size):
            scale = reference[row + k]
            diagonal = least(own[k][k], 0.0) - shift * scale
            is_safe &= -diagonal > DOUBTFUL * scale
            reciprocal = 1.0 / diagonal
            for j in range(k + 1, size):
                own[j] = own[j] - own[k] * own[k][j] * reciprocal
            values.store(place + k * lanes, with_lane(own[k] * reciprocal, k, reciprocal))
        return is_safe

    return step


def below_step(size, lanes):
    """Make the step of a block V below a pivot P: left = -V L'^-1 D^-1, right = V L'^-1."""
    own = lanes_of(size)

    @straight_line()
    def step(values, pivot, place, left, right, scratch):
        v = [values.load(place + k * lanes, lanes) for k in range(size)]
        minus = []
        for k in range(size):
            column = pivot + k * own
            for j in range(k + 1, size):
                v[j] = v[j] - v[k] * values[column + j]
            quotient = v[k] * -values[column + k]
            minus.append(with_lane(quotient, lanes - 1, -values[column + (own - 1)]))
            left.store(scratch + k * lanes, minus[k])
            right.store(scratch + k * lanes, v[k])
        for k in reversed(range(size)):
            for j in range(k):
                minus[j] = minus[j] - minus[k] * values[pivot + (j * own + k)]
            values.store(place + k * lanes, minus[k])

    return step


def constant_step(size, n_rows):
    """Make the step of a block V of A below a pivot 1: left = -V, right = V."""
    lanes = lanes_of(n_rows)

    @straight_line()
    def step(rows, at, stride, rhs, natural, left, right, scratch):
        for k in range(size):
            column = gathered(rows, [rows[at + stride * r + k] for r in range(n_rows)], lanes)
            v = with_lane(column, lanes - 1, rhs[natural + k])
            left.store(scratch + k * lanes, v * -1.0)
            right.store(scratch + k * lanes, v)

    return step


def reference_step(size, lanes):
    """Make the step that counts what a primal pivot adds to the diagonal of a block below it."""

    @straight_line()
    def step(reference, row, left, right, scratch):
        total = reference.load(row, lanes)
        for k in range(size):
            place = scratch + k * lanes
            total = total - left.load(place, lanes) * right.load(place, lanes)
        reference.store(row, total)

    return step


def own_step(size, diagonal):
    """Make the step that begins the own block of a panel: a diagonal, and the right-hand side."""
    lanes = lanes_of(size)

    @straight_line()
    def step(values, place, rhs, natural, reference, row):
        scale = zeros(reference, lanes)
        for k in range(lanes):
            scale = with_lane(scale, k, diagonal)
        reference.store(row, scale)
        for k in range(size):
            column = with_lane(zeros(values, lanes), lanes - 1, rhs[natural + k])
            values.store(place + k * lanes, with_lane(column, k, diagonal))

    return step


def copy_step(n_used, adds):
    """Make the step that sets a block of a panel to rows of A as its columns, or adds them."""
    lanes = lanes_of(n_used)

    @straight_line()
    def step(values, place, rows, at, stride, n_rows):
        def take_row(r):
            column = rows.load(at + stride * r, lanes, n_used)
            if adds:
                column = column + values.load(place + r * lanes, lanes)
            values.store(place + r * lanes, column)

        for_each(n_rows, take_row)

    return step


def transpose_step(n_rows, adds):
    """Make the step that sets a block of a panel to rows of A as its rows, or adds them."""
    lanes = lanes_of(n_rows)

    @straight_line()
    def step(values, place, rows, at, stride, n_columns):
        def take_column(k):
            column = gathered(rows, [rows[at + stride * r + k] for r in range(n_rows)], lanes)
            if adds:
                column = column + values.load(place + k * lanes, lanes)
            values.store(place + k * lanes, column)

        for_each(n_columns, take_column)

    return step


def update_step(size, lanes, n_columns):
    """Make the step that adds left V' to one block of a later panel, column by column."""
    column_lanes = lanes_of(n_columns)

    @straight_line()
    def step(values, target, left, scratch, right, columns):
        v = [left.load(scratch + k * lanes, lanes) for k in range(size)]
        for j in range(n_columns):
            total = values.load(target + j * lanes, lanes)
            for k in range(size):
                total = total + v[k] * right[columns + (column_lanes * k + j)]
            values.store(target + j * lanes, total)

    return step


def gather_step(size, lanes, is_first, carried=False):
    """Make the step that adds -P^-1 V' x of a block below to `parts`, or begins with it.

    With `carried`, the first block adds what the right-hand side has become, from its spare lane.
    """

    @straight_line()
    def step(values, place, x, row, parts):
        below = x.load(row, lanes)
        if is_first:  # where it is the empty block, a window holds others there
            below = with_lane(below, lanes - 1, -1.0 if carried else 0.0)
        for k in range(size):
            part = folded(values.load(place + k * lanes, lanes) * below)
            parts.store(4 * k, part if is_first else part + parts.load(4 * k, 4))

    return step


def finish_step(size, carried):
    """Make the step that sums `parts` up to the solution in the rows of a pivot."""
    lanes = lanes_of(size)

    @straight_line()
    def step(window, place, x, row, parts, solution, natural):
        total = sums(parts, [parts.load(4 * k, 4) for k in range(size)], lanes)
        if carried:
            solution.store(natural, total, size)
        else:
            total = total + x.load(row, lanes)
        window.store(place, total)

    return step


def result_step(size, adds, is_primal):
    """Make the step that stores the rows of a pivot in the solution, or adds them to it."""
    lanes = lanes_of(size)

    @straight_line()
    def step(window, place, solution, natural, parts):
        total = window.load(place, lanes, size)
        if is_primal:
            parts.store(LARGEST, larger(parts.load(LARGEST, lanes), total))
        if adds:
            total = total + solution.load(natural, lanes, size)
        solution.store(natural, total, size)

    return step


def spread_step(size, lanes):
    """Make the step that takes V P^-1 times the rows of a pivot from those of a block below."""

    @straight_line()
    def step(values, place, x, own, row):
        total = x.load(row, lanes)
        for k in range(size):
            total = total + values.load(place + k * lanes, lanes) * x[own + k]
        x.store(row, with_lane(total, lanes - 1, 0.0))

    return step


def divide_step(size):
    """Make the step that solves with a pivot L D L' in place."""
    lanes = lanes_of(size)

    @straight_line()
    def step(values, place, x, row):
        columns = [values.load(place + k * lanes, lanes) for k in range(size)]
        y = [x[row + k] for k in range(size)]
        for k in range(size):
            for j in range(k + 1, size):
                y[j] = y[j] - columns[k][j] * y[k]
        y = [columns[k][k] * y[k] for k in range(size)]
        for k in reversed(range(size)):
            for j in range(k):
                y[j] = y[j] - columns[j][k] * y[k]
        x.store(row, gathered(x, y, lanes))

    return step


def begin_step(size):
    """Make the step that begins `parts` with `share` of the rows of a pivot."""
    lanes = lanes_of(size)

    @straight_line()
    def step(rhs, natural, share, parts):
        parts.store(0, rhs.load(natural, lanes, size) * share)

    return step


def end_step(size, adds):
    """Make the step that stores `parts` as the solution of a pivot, or adds them to it."""
    lanes = lanes_of(size)

    @straight_line()
    def step(parts, solution, natural):
        total = parts.load(0, lanes)
        parts.store(LARGEST, larger(parts.load(LARGEST, lanes), total))
        if adds:
            total = total + solution.load(natural, lanes, size)
        solution.store(natural, total, size)

    return step


def take_step(size, n_rows):
    """Make the step that takes V' x of a block of A from `parts`."""
    lanes = lanes_of(size)

    @straight_line()
    def step(rows, at, stride, x, row, parts):
        total = parts.load(0, lanes)
        for r in range(n_rows):
            total = total - rows.load(at + stride * r, lanes, size) * x[row + r]
        parts.store(0, total)

    return step


def subtract_step(size, n_rows):
    """Make the step that takes V times `parts` of a block of A from the rows of that block."""
    lanes = lanes_of(size)

    @straight_line()
    def step(rows, at, stride, x, row, parts):
        given = parts.load(0, lanes)
        terms = [folded(rows.load(at + stride * r, lanes, size) * given) for r in range(n_rows)]
        total = x.load(row, lanes_of(n_rows))
        x.store(row, total - sums(x, terms, lanes_of(n_rows)))

    return step
