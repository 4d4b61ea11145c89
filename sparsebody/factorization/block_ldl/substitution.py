"""Substitution with the factors of a block LDL': products of small blocks with vectors."""

# Indices are unsigned numbers of 32 and 64 bits, which numba mixes and mypy does not.
# mypy: disable-error-code="assignment, no-untyped-call, no-untyped-def, return-value"

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.factorization.block_ldl import steps
from sparsebody.factorization.block_ldl.kernels import (
    BELOW,
    FILLS,
    LARGEST,
    LINE,
    PHASE,
    PIVOTS,
    STEP,
    VALUES,
    Storage,
    Tables,
    _1,
    _2,
    block_lanes,
    fetch_panel,
    fetch_tables,
    in_window,
    switch,
)
from sparsebody.factorization.block_ldl.layout import (
    A_ROW,
    CONSTANT,
    CONSTANT_SIZES,
    FIRST_BELOW,
    FIRST_FILL,
    FIRST_OPENED,
    KIND,
    N_ROWS,
    NATURAL,
    OWN,
    PADDED,
    PRIMAL,
    ROW,
    ROWS,
    SIDE,
    SIZE,
    START,
)
from sparsebody.factorization.prefetch import LARGE, prefetch

# ---- memory that is asked for early ------------------------------------------------------------

NUMBERS, ROW_NUMBERS = 128, 1024  # of a vector and of rows of A, ahead
_fetch_padded, _fetch_natural = prefetch(2 * NUMBERS), prefetch(NUMBERS)
_fetch_natural_before, _fetch_rows_before = prefetch(-NUMBERS), prefetch(-ROW_NUMBERS)
_fetch_pivots_before, _fetch_below_before = prefetch(-10 * PIVOTS), prefetch(-2 * BELOW)
_fetch_fills_before, _fetch_values_before = prefetch(-6 * FILLS), prefetch(-VALUES)


@njit(**STEP)
def _fetch_before(j, tables, rows, values, rhs, solution):
    """Ask for what a pivot before the j-th needs in a backward substitution."""
    pivot, pivots = tables.pivots[j], tables.pivots
    _fetch_pivots_before(pivots, np.uintp(10) * j)
    _fetch_below_before(tables.below, _2 * pivot[FIRST_BELOW])
    _fetch_fills_before(tables.fills, np.uintp(6) * pivot[FIRST_FILL])
    for place in range(np.uintp(pivot[START]), np.uintp(pivots[j + _1, START]), np.uintp(LINE)):
        _fetch_values_before(values, place)
    if pivot[KIND] == CONSTANT:
        width, following = np.uintp(rows.shape[2]), pivots[j + _1]
        for f in range(np.uintp(pivot[FIRST_FILL]), np.uintp(following[FIRST_FILL])):
            begin = width * _2 * tables.fills[f, A_ROW]
            end = begin + width * _2 * tables.fills[f, N_ROWS]
            for place in range(begin, end, np.uintp(LINE)):
                _fetch_rows_before(rows, place)
    natural = np.uintp(pivot[NATURAL])
    _fetch_natural_before(rhs, natural)
    _fetch_natural_before(solution, natural)


# ---- steps -------------------------------------------------------------------------------------


def _backward_kernel(size: int, carried: bool) -> Any:
    """Make the step x = P^-1 (y - V' x) of a pivot."""
    n = np.uintp(size)
    begin_4, begin_8 = (steps.gather_step(size, lanes, True, carried) for lanes in (4, 8))
    add_4, add_8 = (steps.gather_step(size, lanes, False) for lanes in (4, 8))
    finish = steps.finish_step(size, carried)

    @njit(**STEP)
    def backward(pivot, end, below, values, x, window, parts, solution):
        place, first = np.uintp(pivot[START]), np.uintp(pivot[FIRST_BELOW])
        row, natural = np.uintp(pivot[PADDED]), np.uintp(pivot[NATURAL])
        own = in_window(row, window)
        if below[first, ROWS] < 4:
            begin_4(values, place, window, in_window(below[first, ROW], window), parts)
        else:
            begin_8(values, place, window, in_window(below[first, ROW], window), parts)
        place += n * block_lanes(below[first, ROWS])
        for t in range(first + _1, end):
            if below[t, ROWS] < 4:
                add_4(values, place, window, in_window(below[t, ROW], window), parts)
            else:
                add_8(values, place, window, in_window(below[t, ROW], window), parts)
            place += n * block_lanes(below[t, ROWS])
        finish(window, own, x, row, parts, solution, natural)

    return backward


def _forward_kernel(size: int) -> Any:
    """Make the step y = P^-1 y of a pivot, after taking V times that from the rows below."""
    n = np.uintp(size)
    spread_4, spread_8 = (steps.spread_step(size, lanes) for lanes in (4, 8))
    divide = steps.divide_step(size)

    @njit(**STEP)
    def forward(pivot, end, below, values, x):
        own, place = np.uintp(pivot[PADDED]), np.uintp(pivot[START])
        for t in range(np.uintp(pivot[FIRST_BELOW]), end):
            row = np.uintp(below[t, ROW])
            if below[t, ROWS] < 4:
                spread_4(values, place, x, own, row)
            else:
                spread_8(values, place, x, own, row)
            place += n * block_lanes(below[t, ROWS])
        divide(values, np.uintp(pivot[OWN]), x, own)

    return forward


def _constant_forward_kernel(size: int) -> Any:
    """Make the step that takes V times the right-hand side of a pivot 1 from the rows below."""
    begin = steps.begin_step(size)
    subtract = switch(lambda n_rows: steps.subtract_step(size, n_rows))

    @njit(**STEP)
    def forward(pivot, end, tables, rows, rhs, x, parts):
        width, fill = np.uintp(rows.shape[2]), np.uintp(pivot[FIRST_FILL])
        begin(rhs, np.uintp(pivot[NATURAL]), 1.0, parts)
        for t in range(np.uintp(pivot[FIRST_BELOW]), end):
            at = width * (_2 * tables.fills[fill, A_ROW] + tables.fills[fill, SIDE])
            row = np.uintp(tables.below[t, ROW])
            subtract(tables.below[t, ROWS], rows, at, _2 * width, x, row, parts)
            fill += _1

    return forward


def _constant_backward_kernel(size: int) -> Any:
    """Make the step x = share of the right-hand side - V' x of a pivot 1; see `solve`."""
    begin = steps.begin_step(size)
    store, add = steps.end_step(size, False), steps.end_step(size, True)
    take = switch(lambda n_rows: steps.take_step(size, n_rows))

    @njit(**STEP)
    def backward(pivot, end, tables, rows, rhs, share, window, parts, weight, solution):
        width, fill = np.uintp(rows.shape[2]), np.uintp(pivot[FIRST_FILL])
        natural = np.uintp(pivot[NATURAL])
        begin(rhs, natural, share, parts)
        for t in range(np.uintp(pivot[FIRST_BELOW]), end):
            at = width * (_2 * tables.fills[fill, A_ROW] + tables.fills[fill, SIDE])
            row = in_window(tables.below[t, ROW], window)
            take(tables.below[t, ROWS], rows, at, _2 * width, window, row, parts)
            fill += _1
        if weight != 0.0:
            add(parts, solution, natural)
        else:
            store(parts, solution, natural)

    return backward


_carried = switch(lambda size: _backward_kernel(max(size, 1), carried=True))
_backward = switch(lambda size: _backward_kernel(max(size, 1), carried=False))
_forward = switch(lambda size: _forward_kernel(max(size, 1)))
_store_primal, _add_primal, _store_dual, _add_dual = (
    switch(partial(steps.result_step, adds=adds, is_primal=is_primal))
    for is_primal in (True, False)
    for adds in (False, True)
)
_forward_6, _forward_3 = (_constant_forward_kernel(size) for size in CONSTANT_SIZES[::-1])
_backward_6, _backward_3 = (_constant_backward_kernel(size) for size in CONSTANT_SIZES[::-1])


@njit(**STEP)
def _constant_backward(pivot, end, tables, rows, rhs, share, window, parts, weight, solution):
    if pivot[SIZE] == 6:
        _backward_6(pivot, end, tables, rows, rhs, share, window, parts, weight, solution)
    else:
        _backward_3(pivot, end, tables, rows, rhs, share, window, parts, weight, solution)


@njit(**STEP)
def _clear(after, window):
    """Zero what a window holds of the empty block, where NaN would stay for good."""
    first = in_window(after[PADDED], window)
    for place in range(first, first + np.uintp(8)):
        window[place] = 0.0


@njit(**STEP)
def _load(pivot, rhs, x):
    if pivot[KIND] != CONSTANT:
        padded, natural = np.uintp(pivot[PADDED]), np.uintp(pivot[NATURAL])
        for a in range(np.uintp(pivot[SIZE])):
            x[padded + a] = rhs[natural + a]


@njit(**STEP)
def _copy(pivot, window, weight, solution, parts):
    size, natural = pivot[SIZE], np.uintp(pivot[NATURAL])
    place, is_primal = in_window(pivot[PADDED], window), pivot[KIND] == PRIMAL
    if weight != 0.0 and is_primal:
        _add_primal(size, window, place, solution, natural, parts)
    elif weight != 0.0:
        _add_dual(size, window, place, solution, natural, parts)
    elif is_primal:
        _store_primal(size, window, place, solution, natural, parts)
    else:
        _store_dual(size, window, place, solution, natural, parts)


@njit(**PHASE)
def substitute(
    tables: Tables,
    rows: FloatArray,
    storage: Storage,
    rhs: FloatArray,
    solution: FloatArray,
    begin: int,
    end: int,
) -> None:
    """Fill solution (n_rows,) for the right-hand side that came with the factorization.

    In the rows of the pivots in [begin, end), those after them being filled.
    """
    pivots, x, window, parts = tables.pivots, storage.x, storage.window, storage.parts
    is_large = len(pivots) > LARGE
    if end == len(pivots) - 1:
        _clear(pivots[end], window)
    for i in range(np.uintp(end - begin)):
        j = np.uintp(end) - _1 - i
        pivot, last = pivots[j], np.uintp(pivots[j + _1, FIRST_BELOW])
        if is_large:
            _fetch_before(j, tables, rows, storage.values, rhs, solution)
        if pivot[KIND] == CONSTANT:
            _constant_backward(pivot, last, tables, rows, rhs, 1.0, window, parts, 0.0, solution)
        else:
            values, below = storage.values, tables.below
            _carried(pivot[SIZE], pivot, last, below, values, x, window, parts, solution)


@njit(**PHASE)
def solve(
    tables: Tables,
    rows: FloatArray,
    storage: Storage,
    rhs: FloatArray,
    share: float,
    weight: float,
    solution: FloatArray,
) -> float:
    """Fill `solution` with that for a right-hand side (n_rows,) if `weight` is zero, else add it.

    Of the right-hand side of constant pivots only `share` is seen: 1.0, or 0.0 where it is zero.
    Return the largest entry of its primal part.
    """
    pivots, below, parts = tables.pivots, tables.below, storage.parts
    x, window, is_large = storage.x, storage.window, len(pivots) > LARGE
    n = np.uintp(len(pivots) - 1)
    for place in range(LARGEST, LARGEST + 8):
        parts[place] = 0.0
    for j in range(n):
        pivot, end = pivots[j], np.uintp(pivots[j + _1, FIRST_BELOW])
        if is_large:
            fetch_tables(tables, j)
            fetch_panel(storage.values, pivot, pivots[j + _1])
            _fetch_padded(x, np.uintp(pivot[PADDED]))
            _fetch_natural(rhs, np.uintp(pivot[NATURAL]))
        for i in range(np.uintp(pivot[FIRST_OPENED]), np.uintp(pivots[j + _1, FIRST_OPENED])):
            _load(pivots[np.uintp(tables.opened[i])], rhs, x)
        if pivot[KIND] != CONSTANT:
            _forward(pivot[SIZE], pivot, end, below, storage.values, x)
        elif share != 0.0:
            if pivot[SIZE] == 6:
                _forward_6(pivot, end, tables, rows, rhs, x, parts)
            else:
                _forward_3(pivot, end, tables, rows, rhs, x, parts)
    for place in range(np.uintp(pivots[n, PADDED]), np.uintp(x.size)):
        x[place] = 0.0  # of the empty block, where NaN would stay for good
    _clear(pivots[n], window)
    for i in range(n):
        j = n - _1 - i
        pivot, end = pivots[j], np.uintp(pivots[j + _1, FIRST_BELOW])
        if is_large:
            _fetch_before(j, tables, rows, storage.values, rhs, solution)
        if pivot[KIND] == CONSTANT:
            _constant_backward(
                pivot, end, tables, rows, rhs, share, window, parts, weight, solution
            )
        else:
            _backward(pivot[SIZE], pivot, end, below, storage.values, x, window, parts, solution)
            _copy(pivot, window, weight, solution, parts)
    found = 0.0
    for place in range(LARGEST, LARGEST + 8):
        found = max(found, parts[place])
    return found
