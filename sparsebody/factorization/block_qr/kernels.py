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
    COLUMN,
    COUNT,
    FIRST_CHILD,
    FIRST_COLUMN,
    FIRST_PART,
    KEPT,
    LANES,
    N_LEFT,
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
def _reflect(front, stride, n_rows, t):
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
def _carry(child, following, places, stack, front, stride, top):
    """Copy what a child has left over into the rows from `top` on; return the next row."""
    at = np.uintp(child[KEPT])
    first, end = np.uintp(child[FIRST_COLUMN] + child[SIZE]), np.uintp(following[FIRST_COLUMN])
    for _ in range(np.uintp(child[N_LEFT])):
        for c in range(first, end):
            front[top * stride + np.uintp(places[c])] = stack[at]
            at += _1
        top += _1
    return top


@njit(**STEP)
def _add_part(part, rows, front, stride):
    """Add the transpose of a block of A."""
    at = np.uintp(part[TOP]) * stride + np.uintp(part[COLUMN])
    row, side = np.uintp(part[ROW]), np.uintp(part[SIDE])
    if part[WIDTH] == 3:
        for i in range(np.uintp(part[COUNT])):
            for a in range(np.uintp(3)):
                front[at + a * stride + i] += rows[row + i, side, a]
    else:
        for i in range(np.uintp(part[COUNT])):
            for a in range(np.uintp(part[WIDTH])):
                front[at + a * stride + i] += rows[row + i, side, a]


@njit(**KERNEL)
def factorize(tables: Tables, rows: FloatArray, storage: Storage) -> int:
    """Fill the storage for A (n_dual_rows, 2, width), with D = 1.

    Return REGULAR, or the first dual row that depends on others but for rounding.
    """
    fronts, columns, values = tables.fronts, tables.columns, storage.values
    front, stack = storage.front, storage.stack
    status = REGULAR
    for j in range(np.uintp(len(fronts) - 1)):
        line, following = fronts[j], fronts[j + _1]
        size, n_rows = np.uintp(line[SIZE]), np.uintp(line[N_ROWS])
        stride, first = np.uintp(line[STRIDE]), np.uintp(line[FIRST_COLUMN])
        for place in range(n_rows * stride):
            front[place] = 0.0
        top = _0
        for q in range(np.uintp(line[FIRST_CHILD]), np.uintp(following[FIRST_CHILD])):
            child = np.uintp(tables.children[q])
            table = fronts[child], fronts[child + _1], tables.places
            top = _carry(*table, stack, front, stride, top)
        for q in range(np.uintp(line[FIRST_PART]), np.uintp(following[FIRST_PART])):
            _add_part(tables.parts[q], rows, front, stride)
        start = np.uintp(line[START])
        for t in range(size):
            pivot = _reflect(front, stride, n_rows, t) if t < n_rows else 0.0
            k = np.uintp(columns[first + t])
            square = 0.0
            for a in range(np.uintp(rows.shape[2])):
                square += rows[k, 0, a] ** 2 + rows[k, 1, a] ** 2
            if not pivot * pivot > NEGLIGIBLE**2 * square and status == REGULAR:
                status = np.intp(k)
            for c in range(stride):
                values[start + c] = front[t * stride + c]
            values[start + t] = 1.0 / pivot
            start += stride
        n_left, at = np.uintp(line[N_LEFT]), np.uintp(line[KEPT])
        n_columns = np.uintp(following[FIRST_COLUMN]) - first
        if n_rows > size + n_left:
            for t in range(size, n_columns):
                _reflect(front, stride, n_rows, t)
                for r in range(t + _1, n_rows):
                    front[r * stride + t] = 0.0
        for r in range(size, size + n_left):
            for c in range(size, n_columns):
                stack[at] = front[r * stride + c]
                at += _1
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
        for t in range(size):
            k = np.uintp(columns[first + t])
            y = x[k] * values[at + t]
            x[k] = y
            shift = at - first
            for c in range(first + t + _1, end):
                x[np.uintp(columns[c])] -= values[shift + c] * y
            at += stride
    for i in range(n):
        j = n - _1 - i
        line = fronts[j]
        size, stride = np.uintp(line[SIZE]), np.uintp(line[STRIDE])
        first, end = np.uintp(line[FIRST_COLUMN]), np.uintp(fronts[j + _1, FIRST_COLUMN])
        at = np.uintp(line[START]) + size * stride
        for s in range(size):
            t = size - _1 - s
            at -= stride
            k, shift = np.uintp(columns[first + t]), at - first
            total = x[k]
            for c in range(first + t + _1, end):
                total -= values[shift + c] * x[np.uintp(columns[c])]
            x[k] = total * values[at + t]
