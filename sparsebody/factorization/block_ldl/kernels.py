"""The numeric phase: compiled loops over the tables of a Layout; nothing is searched or allocated.

[1 A'; A 0] = L D L' with scalar D, positive in primal pivots and negative in dual ones. Each block
size has its own copy of what happens at a pivot, made by a factory from the straight-line steps.
"""

# still used by sparsebody/dynamics/compiled, as are substitution.py and steps.py

# Indices are unsigned numbers of 32 and 64 bits, which numba mixes and mypy does not.
# mypy: disable-error-code="assignment, no-untyped-call, no-untyped-def, return-value"

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.factorization.block_ldl import steps
from sparsebody.factorization.block_ldl.layout import (
    A_ROW,
    BY_ROW,
    CONSTANT,
    CONSTANT_SIZES,
    FIRST_BELOW,
    FIRST_FILL,
    FIRST_OPENED,
    FIRST_UPDATE,
    KIND,
    LARGEST_BLOCK,
    N_COLUMNS,
    N_ROWS,
    NATURAL,
    OWN,
    PADDED,
    PLACE,
    PRIMAL,
    ROW,
    ROWS,
    SIDE,
    SIZE,
    START,
)
from sparsebody.factorization.block_ldl.layout import Storage as Storage
from sparsebody.factorization.block_ldl.layout import Tables as Tables
from sparsebody.factorization.prefetch import LARGE, prefetch

# No kernel owns an array, so none counts references: that would take a third of the time.
PHASE: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz"},  # keeps NaN and infinity
    "_nrt": False,
}
STEP = PHASE | {"forceinline": True}
LINE = 8  # numbers that memory gives at a time
_0, _1, _2 = (np.uintp(i) for i in range(3))

LARGEST = steps.LARGEST
REGULAR, DOUBTFUL = -1, -2  # what a factorization returns; see there
SHIFT = 2.0**-52  # of dual pivots, where one of them drowns in rounding


def switch(factory: Callable[[int], Any]) -> Any:
    """Make one step of the steps for blocks of 0 to LARGEST_BLOCK rows."""
    step_0, step_1, step_2, step_3, step_4, step_5, step_6 = map(factory, range(7))

    @njit(**STEP)
    def step(size, *arguments):
        if size == 6:
            step_6(*arguments)
        elif size == 5:
            step_5(*arguments)
        elif size == 3:
            step_3(*arguments)
        elif size == 2:
            step_2(*arguments)
        elif size == 1:
            step_1(*arguments)
        elif size == 4:
            step_4(*arguments)
        else:
            step_0(*arguments)

    return step


@njit(**STEP)
def block_lanes(n_rows):
    """Return the rows of storage of a block."""
    return np.uintp(4) if n_rows < 4 else np.uintp(8)


@njit(**STEP)
def in_window(row, window):
    """Return where a window keeps a padded row; blocks may stand out by 8."""
    return np.uintp(row) & np.uintp(window.size - 9)


# ---- memory that is asked for early -------------------------------------------------------------

PIVOTS, BELOW, FILLS, UPDATES, VALUES = 16, 48, 24, 256, 512  # lines, or entries, ahead
_fetch_pivots, _fetch_below, _fetch_fills, _fetch_updates, _fetch_values = (
    prefetch(distance) for distance in (10 * PIVOTS, 2 * BELOW, 6 * FILLS, UPDATES, VALUES)
)


@njit(**STEP)
def fetch_tables(tables, j):
    """Ask for what tables say of a pivot after the j-th."""
    _fetch_pivots(tables.pivots, np.uintp(10) * j)
    _fetch_below(tables.below, _2 * tables.pivots[j, FIRST_BELOW])
    _fetch_fills(tables.fills, np.uintp(6) * tables.pivots[j, FIRST_FILL])


@njit(**STEP)
def fetch_panel(values, pivot, following):
    """Ask for a panel after that of a pivot."""
    for place in range(np.uintp(pivot[START]), np.uintp(following[START]), np.uintp(LINE)):
        _fetch_values(values, place)
    for place in range(np.uintp(pivot[OWN]), np.uintp(following[OWN]), np.uintp(LINE)):
        _fetch_values(values, place)


# ---- what a panel starts as ------------------------------------------------------------------

_set_columns, _add_columns = (switch(partial(steps.copy_step, adds=adds)) for adds in (False, True))
_set_rows, _add_rows = (switch(partial(steps.transpose_step, adds=adds)) for adds in (False, True))
_begin_primal, _begin_dual = (
    switch(partial(steps.own_step, diagonal=diagonal)) for diagonal in (1.0, 0.0)
)


@njit(**STEP)
def _open(pivot, following, tables, rows, rhs, values, reference):
    """Fill a panel with its part of the matrix."""
    size, own = np.uintp(pivot[SIZE]), np.uintp(pivot[OWN])
    is_primal, natural = pivot[KIND] == PRIMAL, np.uintp(pivot[NATURAL])
    row = in_window(pivot[PADDED], reference)
    if is_primal:
        _begin_primal(size, values, own, rhs, natural, reference, row)
    else:
        _begin_dual(size, values, own, rhs, natural, reference, row)
    fills, place = tables.fills, np.uintp(pivot[START])
    end = np.uintp(following[START])
    for f in range(np.uintp(pivot[FIRST_FILL]), np.uintp(following[FIRST_FILL])):
        at = np.uintp(fills[f, PLACE])
        if at < place:  # a joint of a body with itself
            _add_block(fills[f], rows, values)
            continue
        _clear(values, place, at)
        n_rows, n_columns = np.uintp(fills[f, N_ROWS]), np.uintp(fills[f, N_COLUMNS])
        _set_block(fills[f], rows, values)
        place = at + size * block_lanes(n_rows if fills[f, BY_ROW] else n_columns)
    _clear(values, place, end)


@njit(**STEP)
def _clear(values, begin, end):
    for place in range(begin, end):
        values[place] = 0.0


def _block_kernel(by_columns, by_rows):
    """Make the step that takes a block of A into a panel, as columns or as rows."""

    @njit(**STEP)
    def take(fill, rows, values):
        width, place = np.uintp(rows.shape[2]), np.uintp(fill[PLACE])
        at, stride = width * (_2 * fill[A_ROW] + fill[SIDE]), _2 * width
        n_rows, n_columns = np.uintp(fill[N_ROWS]), np.uintp(fill[N_COLUMNS])
        if fill[BY_ROW]:
            by_rows(n_rows, values, place, rows, at, stride, n_columns)
        else:
            by_columns(n_columns, values, place, rows, at, stride, n_rows)

    return take


_set_block = _block_kernel(_set_columns, _set_rows)
_add_block = _block_kernel(_add_columns, _add_rows)


# ---- elimination -----------------------------------------------------------------------------


def _update_kernel(size: int) -> Any:
    """Make the step that adds left V' to later panels, for one block of rows."""
    n = np.uintp(size)
    update_4, update_8 = (switch(partial(steps.update_step, size, lanes)) for lanes in (4, 8))

    @njit(**STEP)
    def update(first, t, pair, scratch, tables, storage):
        values, left, right = storage.values, storage.left, storage.right
        columns = _0
        for c in range(first, t + _1):
            target, n_columns = np.uintp(tables.updates[pair]), np.uintp(tables.below[c, ROWS])
            if tables.below[t, ROWS] < 4:
                update_4(n_columns, values, target, left, scratch, right, columns)
            else:
                update_8(n_columns, values, target, left, scratch, right, columns)
            columns += n * block_lanes(n_columns)
            pair += _1
        return pair

    return update


def _constant_kernel(size: int) -> Any:
    """Make the step of a primal pivot that nothing has changed: it is 1."""
    n = np.uintp(size)
    below = switch(lambda n_rows: steps.constant_step(size, n_rows))
    count_4, count_8 = (steps.reference_step(size, lanes) for lanes in (4, 8))
    update = _update_kernel(size)

    @njit(**STEP)
    def eliminate(pivot, end, tables, rows, rhs, storage):
        left, right = storage.left, storage.right
        width, natural = np.uintp(rows.shape[2]), np.uintp(pivot[NATURAL])
        scratch, first = _0, np.uintp(pivot[FIRST_BELOW])
        pair, fill = np.uintp(pivot[FIRST_UPDATE]), np.uintp(pivot[FIRST_FILL])
        for t in range(first, end):
            lanes = block_lanes(tables.below[t, ROWS])
            row = in_window(tables.below[t, ROW], storage.reference)
            at = width * (_2 * tables.fills[fill, A_ROW] + tables.fills[fill, SIDE])
            below(tables.below[t, ROWS], rows, at, _2 * width, rhs, natural, left, right, scratch)
            if lanes == 4:
                count_4(storage.reference, row, left, right, scratch)
            else:
                count_8(storage.reference, row, left, right, scratch)
            pair = update(first, t, pair, scratch, tables, storage)
            scratch += n * lanes
            fill += _1
        return True

    return eliminate


def _kernel(size: int) -> Any:
    """Make the step of any other pivot; it tells whether the pivot is safe."""
    n = np.uintp(size)
    primal, dual = steps.primal_pivot_step(size), steps.dual_pivot_step(size)
    below_4, below_8 = (steps.below_step(size, lanes) for lanes in (4, 8))
    count_4, count_8 = (steps.reference_step(size, lanes) for lanes in (4, 8))
    update = _update_kernel(size)

    @njit(**STEP)
    def eliminate(pivot, end, tables, shift, storage):
        values, left, right = storage.values, storage.left, storage.right
        reference, padded = storage.reference, in_window(pivot[PADDED], storage.reference)
        own, first = np.uintp(pivot[OWN]), np.uintp(pivot[FIRST_BELOW])
        is_primal = pivot[KIND] == PRIMAL
        if is_primal:
            is_safe = primal(values, own, reference, padded)
        else:
            if shift < 0.0:
                for k in range(n):
                    reference[padded + k] = 1.0
            is_safe = dual(values, own, reference, padded, abs(shift))
        scratch, place = _0, np.uintp(pivot[START])
        pair = np.uintp(pivot[FIRST_UPDATE])
        for t in range(first, end):
            lanes = block_lanes(tables.below[t, ROWS])
            row = in_window(tables.below[t, ROW], reference)
            if lanes == 4:
                below_4(values, own, place, left, right, scratch)
                if is_primal:
                    count_4(reference, row, left, right, scratch)
            else:
                below_8(values, own, place, left, right, scratch)
                if is_primal:
                    count_8(reference, row, left, right, scratch)
            pair = update(first, t, pair, scratch, tables, storage)
            scratch += n * lanes
            place += n * lanes
        return is_safe

    return eliminate


_constant_6, _constant_3 = (_constant_kernel(size) for size in CONSTANT_SIZES[::-1])
_step_1, _step_2, _step_3, _step_4, _step_5, _step_6 = map(_kernel, range(1, LARGEST_BLOCK + 1))


@njit(**PHASE)
def eliminate(
    tables: Tables,
    rows: FloatArray,
    rhs: FloatArray,
    shift: float,
    storage: Storage,
    begin: int,
    end: int,
) -> int:
    """Fill `values` with the factors, and with what the elimination makes of rhs.

    The pivots in [begin, end) are eliminated, those before them have been.

    Dual pivots are moved away from zero by `shift` times what they were before other dual ones took
    from them, or by -shift itself if that is negative. Return REGULAR or DOUBTFUL - position of the
    first pivot that may be nothing but rounding; without a shift the elimination ends there.
    """
    pivots, status = tables.pivots, REGULAR
    is_large = len(pivots) > LARGE
    for j in range(np.uintp(begin), np.uintp(end)):
        pivot, following = pivots[j], pivots[j + _1]
        if is_large:
            fetch_tables(tables, j)
            _fetch_updates(tables.updates, np.uintp(pivot[FIRST_UPDATE]))
            fetch_panel(storage.values, pivot, following)
        for i in range(np.uintp(pivot[FIRST_OPENED]), np.uintp(following[FIRST_OPENED])):
            p = np.uintp(tables.opened[i])
            if pivots[p, KIND] != CONSTANT:
                opened, after = pivots[p], pivots[p + _1]
                _open(opened, after, tables, rows, rhs, storage.values, storage.reference)
        last, size = np.uintp(following[FIRST_BELOW]), np.intp(pivot[SIZE])
        if pivot[KIND] == CONSTANT:
            if size == 6:
                is_safe = _constant_6(pivot, last, tables, rows, rhs, storage)
            else:
                is_safe = _constant_3(pivot, last, tables, rows, rhs, storage)
        elif size == 3:
            is_safe = _step_3(pivot, last, tables, shift, storage)
        elif size == 5:
            is_safe = _step_5(pivot, last, tables, shift, storage)
        elif size == 6:
            is_safe = _step_6(pivot, last, tables, shift, storage)
        elif size == 2:
            is_safe = _step_2(pivot, last, tables, shift, storage)
        elif size == 1:
            is_safe = _step_1(pivot, last, tables, shift, storage)
        else:
            is_safe = _step_4(pivot, last, tables, shift, storage)
        if not is_safe and status == REGULAR:
            status = DOUBTFUL - np.intp(j)
            if shift == 0.0:
                break
    return status


@njit(**PHASE, inline="always")
def factorize(tables: Tables, rows: FloatArray, rhs: FloatArray, storage: Storage) -> int:
    """Factorize, and where a pivot is doubtful once more with all dual ones shifted.

    Which pivots are shifted depends on nothing but the matrix.

    Parameters
    ----------
    rows : (n_dual_rows, 2, width) array
        A.
    rhs : (n_rows,) array
        The elimination is done to it as well.

    Returns
    -------
    status : int
        REGULAR, or DOUBTFUL - position of the first pivot that may be nothing but rounding.
    """
    n = len(tables.pivots) - 1
    status = eliminate(tables, rows, rhs, 0.0, storage, 0, n)
    if status != REGULAR:
        eliminate(tables, rows, rhs, SHIFT, storage, 0, n)
    return status
