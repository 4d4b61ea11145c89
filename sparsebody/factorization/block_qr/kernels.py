"""Householder reflections of small fronts, and substitution with what they leave: R."""

# Indices are unsigned numbers of 32 and 64 bits, which numba mixes and mypy does not.
# mypy: disable-error-code="assignment, no-untyped-call, no-untyped-def"

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.factorization.block_qr.layout import (
    BODY,
    COLUMN,
    COUNT,
    FIRST_CHILD,
    FIRST_COLUMN,
    FIRST_PART,
    KEPT,
    LANES,
    N_FIELDS,
    N_LEFT,
    N_PART_FIELDS,
    N_ROWS,
    ROW,
    SIDE,
    SIZE,
    START,
    STRIDE,
    TOP,
    WIDTH,
    Table,
)
from sparsebody.factorization.block_qr.steps import front_step
from sparsebody.factorization.prefetch import LARGE, prefetch

REGULAR = -1
_0, _1, FOUR = np.uintp(0), np.uintp(1), np.uintp(LANES)
NEGLIGIBLE = 1e-14  # of a column: what rounding leaves where nothing should be

KERNEL: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc"},
    "_nrt": False,  # views of arrays are not counted
}
STEP = KERNEL | {"forceinline": True}


# How far ahead memory is asked for, in entries: that of some eight fronts of planar joints.
VALUES, COLUMNS, FRONTS, PARTS, ROWS = 128, 64, 72, 112, 96
_fetch_value, _fetch_next_value = prefetch(VALUES), prefetch(VALUES + 8)
_fetch_column, _fetch_front = prefetch(COLUMNS), prefetch(FRONTS)
_fetch_part, _fetch_next_part = prefetch(PARTS), prefetch(PARTS + 16)
_fetch_row, _fetch_next_row = prefetch(ROWS), prefetch(ROWS + 8)
_fetch_value_before, _fetch_last_value_before = prefetch(-VALUES), prefetch(-VALUES - 8)
_fetch_column_before, _fetch_front_before = prefetch(-COLUMNS), prefetch(-FRONTS)

_front_2_3_8, _front_2_4_8, _front_2_5_8 = (front_step(2, m, 8) for m in range(3, 6))
_front_2_6_8, _front_2_7_8, _front_2_8_8 = (front_step(2, m, 8) for m in range(6, 9))
_front_2_3_4, _front_2_4_4 = (front_step(2, m, 4) for m in range(3, 5))


class Tables(NamedTuple):
    """The tables of a Layout."""

    fronts: Table
    columns: Table
    places: Table
    children: Table
    parts: Table


class Storage(NamedTuple):
    """What a factorization fills."""

    values: FloatArray  # R, the inverse of its diagonal in place of that
    front: FloatArray  # scratch
    stack: FloatArray  # rows left over


@njit(**STEP)
def _reflect(front, stride, n_rows, forces, t):
    """Make column t zero below row t; return what is there."""
    at, end = t * stride + t, n_rows * stride
    square, place = 0.0, at
    while place < end:
        square += front[place] * front[place]
        place += stride
    if square == 0.0:
        return 0.0
    top = front[at]
    pivot = -math.copysign(math.sqrt(square), top)
    front[at] = top - pivot
    share = -1.0 / (pivot * (top - pivot))
    total, own = 0.0, at
    for r in range(t, n_rows):
        total += front[own] * front[forces + r]
        own += stride
    total, own = total * share, at
    for r in range(t, n_rows):
        front[forces + r] -= front[own] * total
        own += stride
    first = (t + _1) // FOUR * FOUR
    while first < stride:
        a = b = c = d = 0.0
        place, own = t * stride + first, at
        while place < end:
            v = front[own]
            a += v * front[place]
            b += v * front[place + 1]
            c += v * front[place + 2]
            d += v * front[place + 3]
            place += stride
            own += stride
        a = 0.0 if first <= t else a * share  # columns that are done
        b = 0.0 if first + 1 <= t else b * share
        c = 0.0 if first + 2 <= t else c * share
        d *= share
        place, own = t * stride + first, at
        while place < end:
            v = front[own]
            front[place] -= v * a
            front[place + 1] -= v * b
            front[place + 2] -= v * c
            front[place + 3] -= v * d
            place += stride
            own += stride
        first += FOUR
    front[at] = pivot
    return pivot


@njit(**STEP)
def _carry(child, following, places, stack, front, stride, top, asked, forces):
    """Add what a child has left over, its rows to those from `top` on; return the next row."""
    at = np.uintp(child[KEPT])
    first, end = np.uintp(child[FIRST_COLUMN] + child[SIZE]), np.uintp(following[FIRST_COLUMN])
    for _ in range(np.uintp(child[N_LEFT])):
        for c in range(first, end):
            front[top * stride + np.uintp(places[c])] = stack[at]
            at += _1
        front[forces + top] = stack[at]
        at += _1
        top += _1
    for c in range(first, end):
        front[asked + np.uintp(places[c])] += stack[at]
        at += _1
    return top


@njit(**STEP)
def _leave(front, stride, size, n_left, n_columns, asked, forces, stack, at):
    """Put what is left over on the stack."""
    for r in range(size, size + n_left):
        for c in range(size, n_columns):
            stack[at] = front[r * stride + c]
            at += _1
        stack[at] = front[forces + r]
        at += _1
    for c in range(size, n_columns):
        stack[at] = front[asked + c]
        at += _1


@njit(**STEP)
def _add_part(part, rows, right, front, stride, forces):
    """Add the transpose of a block of A; the first one of a body brings its force."""
    top = np.uintp(part[TOP])
    at = top * stride + np.uintp(part[COLUMN])
    row, side = np.uintp(part[ROW]), np.uintp(part[SIDE])
    if part[WIDTH] == 3:
        for i in range(np.uintp(part[COUNT])):
            for a in range(np.uintp(3)):
                front[at + a * stride + i] += rows[row + i, side, a]
    else:
        for i in range(np.uintp(part[COUNT])):
            for a in range(np.uintp(part[WIDTH])):
                front[at + a * stride + i] += rows[row + i, side, a]
    if right.size > 0 and part[BODY] > 0:
        place = (np.uintp(part[BODY]) - _1) * np.uintp(rows.shape[2])
        for a in range(np.uintp(part[WIDTH])):
            front[forces + top + a] = right[place + a]


@njit(**STEP)
def _eliminate(front, size, n_rows, stride, n_left, n_columns, values, start, stack, at):
    """Do for a front of any shape what `front_step` does for small ones."""
    asked = n_rows * stride
    forces = asked + stride
    for t in range(size):
        pivot = _reflect(front, stride, n_rows, forces, t) if t < n_rows else 0.0
        inverse, place = 1.0 / pivot, start + t * stride
        reached = front[asked + t] * inverse
        for c in range(stride):
            values[place + c] = front[t * stride + c]
            front[asked + c] -= reached * front[t * stride + c]
        values[place + t] = inverse
        front[forces + t] -= reached
    if n_rows > size + n_left:
        for t in range(size, n_columns):
            _reflect(front, stride, n_rows, forces, t)
            for r in range(t + _1, n_rows):
                front[r * stride + t] = 0.0
    _leave(front, stride, size, n_left, n_columns, asked, forces, stack, at)


@njit(**STEP)
def _in_registers(size, n_rows, stride, front, values, start, stack, at, n_columns):
    """Do it for a small front; return whether there is code for its shape."""
    arguments = front, values, start, stack, at, n_columns - size
    if stride == 8 and size == 2:
        if n_rows == 3:
            _front_2_3_8(*arguments)
        elif n_rows == 4:
            _front_2_4_8(*arguments)
        elif n_rows == 5:
            _front_2_5_8(*arguments)
        elif n_rows == 6:
            _front_2_6_8(*arguments)
        elif n_rows == 7:
            _front_2_7_8(*arguments)
        elif n_rows == 8:
            _front_2_8_8(*arguments)
        else:
            return False
        return True
    if stride == 4 and size == 2:
        if n_rows == 3:
            _front_2_3_4(*arguments)
        elif n_rows == 4:
            _front_2_4_4(*arguments)
        else:
            return False
        return True
    return False


@njit(**STEP)
def _ask_ahead(tables, storage, rows, line, j):
    """Ask for the memory that later fronts will need."""
    _fetch_front(tables.fronts, j * np.uintp(N_FIELDS))
    _fetch_column(tables.columns, np.uintp(line[FIRST_COLUMN]))
    _fetch_column(tables.places, np.uintp(line[FIRST_COLUMN]))
    place = np.uintp(line[FIRST_PART]) * np.uintp(N_PART_FIELDS)
    _fetch_part(tables.parts, place)
    _fetch_next_part(tables.parts, place)
    _fetch_value(storage.values, np.uintp(line[START]))
    _fetch_next_value(storage.values, np.uintp(line[START]))
    row = np.uintp(tables.columns[np.uintp(line[FIRST_COLUMN])]) * np.uintp(2 * rows.shape[2])
    _fetch_row(rows, row)
    _fetch_next_row(rows, row)


@njit(**KERNEL)
def factorize(
    tables: Tables, rows: FloatArray, right: FloatArray, storage: Storage, y: FloatArray
) -> int:
    """Fill the storage for A (n_dual_rows, 2, width), with D = 1.

    With a right-hand side (n_primal * width + n_dual_rows,), forces f and then accelerations b that
    are asked for, fill y (n_dual_rows,) with Q' f - R'^-1 b, of which `substitute_back` makes
    (A A')^-1 (A f - b). Q' f has no error but rounding, as R'^-1 (A f) would have.

    Return REGULAR, or the first dual row that depends on others but for rounding.
    """
    fronts, columns, values = tables.fronts, tables.columns, storage.values
    front, stack = storage.front, storage.stack
    n_forces = np.uintp(right.size) - np.uintp(rows.shape[0])
    status, n = REGULAR, np.uintp(len(fronts) - 1)
    for j in range(n):
        line, following = fronts[j], fronts[j + _1]
        if n > LARGE:
            _ask_ahead(tables, storage, rows, line, j)
        size, n_rows = np.uintp(line[SIZE]), np.uintp(line[N_ROWS])
        stride, first = np.uintp(line[STRIDE]), np.uintp(line[FIRST_COLUMN])
        asked = n_rows * stride  # a row that is no part of the front
        forces = asked + stride  # a column that is none
        for place in range(forces + n_rows):
            front[place] = 0.0
        top = _0
        for q in range(np.uintp(line[FIRST_CHILD]), np.uintp(following[FIRST_CHILD])):
            child = np.uintp(tables.children[q])
            table = fronts[child], fronts[child + _1], tables.places
            top = _carry(*table, stack, front, stride, top, asked, forces)
        for q in range(np.uintp(line[FIRST_PART]), np.uintp(following[FIRST_PART])):
            _add_part(tables.parts[q], rows, right, front, stride, forces)
        for t in range(np.uintp(size if right.size > 0 else 0)):
            front[asked + t] += right[n_forces + np.uintp(columns[first + t])]
        n_left, at, start = np.uintp(line[N_LEFT]), np.uintp(line[KEPT]), np.uintp(line[START])
        n_columns = np.uintp(following[FIRST_COLUMN]) - first
        if not (
            n_rows == size + n_left
            and _in_registers(size, n_rows, stride, front, values, start, stack, at, n_columns)
        ):
            _eliminate(front, size, n_rows, stride, n_left, n_columns, values, start, stack, at)
        for t in range(size):
            k, inverse = np.uintp(columns[first + t]), values[start + t * stride + t]
            square = 0.0
            for a in range(np.uintp(rows.shape[2])):
                square += rows[k, 0, a] ** 2 + rows[k, 1, a] ** 2
            if not NEGLIGIBLE**2 * square * inverse * inverse < 1.0 and status == REGULAR:
                status = np.intp(k)
            if right.size > 0:
                y[k] = front[forces + t]
    return status


@njit(**KERNEL)
def substitute(tables: Tables, storage: Storage, x: FloatArray) -> None:
    """Replace x (n_dual_rows,) by (R' R)^-1 x = (A A')^-1 x."""
    fronts, columns, values = tables.fronts, tables.columns, storage.values
    n = np.uintp(len(fronts) - 1)
    for j in range(n):
        line = fronts[j]
        size, stride = np.uintp(line[SIZE]), np.uintp(line[STRIDE])
        first, at = np.uintp(line[FIRST_COLUMN]), np.uintp(line[START])
        end = np.uintp(fronts[j + _1, FIRST_COLUMN])
        if n > LARGE:
            _fetch_front(fronts, j * np.uintp(N_FIELDS))
            _fetch_column(columns, first)
            _fetch_value(values, at)
            _fetch_next_value(values, at)
        for t in range(size):
            k = np.uintp(columns[first + t])
            y = x[k] * values[at + t]
            x[k] = y
            shift = at - first
            for c in range(first + t + _1, end):
                x[np.uintp(columns[c])] -= values[shift + c] * y
            at += stride
    substitute_back(tables, storage, x)


@njit(**KERNEL)
def substitute_back(tables: Tables, storage: Storage, x: FloatArray) -> None:
    """Replace x (n_dual_rows,) by R^-1 x."""
    fronts, columns, values = tables.fronts, tables.columns, storage.values
    n = np.uintp(len(fronts) - 1)
    for i in range(n):
        j = n - _1 - i
        line = fronts[j]
        size, stride = np.uintp(line[SIZE]), np.uintp(line[STRIDE])
        first, end = np.uintp(line[FIRST_COLUMN]), np.uintp(fronts[j + _1, FIRST_COLUMN])
        at = np.uintp(line[START]) + size * stride
        if n > LARGE:
            _fetch_front_before(fronts, j * np.uintp(N_FIELDS))
            _fetch_column_before(columns, first)
            _fetch_value_before(values, at)
            _fetch_last_value_before(values, at)
        for s in range(size):
            t = size - _1 - s
            at -= stride
            k, shift, c = np.uintp(columns[first + t]), at - first, end - _1
            total = x[k]
            while c > first + t:  # the newest ones last
                total -= values[shift + c] * x[np.uintp(columns[c])]
                c -= _1
            x[k] = total * values[at + t]
