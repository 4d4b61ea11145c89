"""Householder reflections of small fronts, and substitution with what they leave: R."""

# Indices are unsigned numbers of 32 and 64 bits, which numba mixes and mypy does not.
# mypy: disable-error-code="assignment, no-untyped-call, no-untyped-def"

from __future__ import annotations

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
NEGLIGIBLE = 1e-14  # of a column: what rounding leaves where nothing should be

KERNEL: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc"},
    "boundscheck": False,
}


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
    square: FloatArray  # (n_dual_rows,) of each column's norm


@njit(**KERNEL)
def _reflect(front, stride, n_rows, t):
    """Make column t zero below row t; return what is there."""
    sigma, at = 0.0, t * stride + t
    top = front[at]
    for r in range(t + 1, n_rows):
        sigma += front[r * stride + t] ** 2
    if sigma == 0.0:
        return top
    pivot = -np.copysign(np.sqrt(top * top + sigma), top)
    front[at] = top - pivot
    share = -1.0 / (pivot * (top - pivot))
    for first in range((t + 1) // 4 * 4, stride, 4):
        a = b = c = d = 0.0
        for r in range(t, n_rows):
            v, place = front[r * stride + t], r * stride + first
            a += v * front[place]
            b += v * front[place + 1]
            c += v * front[place + 2]
            d += v * front[place + 3]
        if first <= t:  # columns that are done
            a = 0.0
            b = 0.0 if first + 1 <= t else b
            c = 0.0 if first + 2 <= t else c
        a, b, c, d = a * share, b * share, c * share, d * share
        for r in range(t, n_rows):
            v, place = front[r * stride + t], r * stride + first
            front[place] -= v * a
            front[place + 1] -= v * b
            front[place + 2] -= v * c
            front[place + 3] -= v * d
    front[at] = pivot
    return pivot


@njit(**KERNEL)
def factorize(tables: Tables, rows: FloatArray, storage: Storage) -> int:
    """Fill the storage for A (n_dual_rows, 2, width), with D = 1.

    Return REGULAR, or the first dual row that depends on others but for rounding.
    """
    fronts, columns, places, parts = tables.fronts, tables.columns, tables.places, tables.parts
    values, front, stack, square = storage.values, storage.front, storage.stack, storage.square
    square[:] = 0.0
    status = REGULAR
    for j in range(len(fronts) - 1):
        line, following = fronts[j], fronts[j + 1]
        size, n_rows, stride = np.intp(line[SIZE]), np.intp(line[N_ROWS]), np.intp(line[STRIDE])
        first_column = np.intp(line[FIRST_COLUMN])
        n_columns = np.intp(following[FIRST_COLUMN]) - first_column
        for a in range(n_rows * stride):
            front[a] = 0.0
        top = 0
        for child in tables.children[np.intp(line[FIRST_CHILD]) : np.intp(following[FIRST_CHILD])]:
            other = fronts[child]
            first = np.intp(other[FIRST_COLUMN]) + np.intp(other[SIZE])
            n_others = np.intp(fronts[child + 1, FIRST_COLUMN]) - first
            at = np.intp(other[KEPT])
            for _ in range(np.intp(other[N_LEFT])):
                for c in range(n_others):
                    front[top * stride + np.intp(places[first + c])] = stack[at + c]
                at += n_others
                top += 1
        for q in range(np.intp(line[FIRST_PART]), np.intp(following[FIRST_PART])):
            part = parts[q]
            at = np.intp(part[TOP]) * stride + np.intp(part[COLUMN])
            row, side = np.intp(part[ROW]), np.intp(part[SIDE])
            for i in range(np.intp(part[COUNT])):
                total = 0.0
                for a in range(np.intp(part[WIDTH])):
                    value = rows[row + i, side, a]
                    front[at + a * stride + i] += value
                    total += value * value
                square[row + i] += total
        for t in range(size):
            pivot = _reflect(front, stride, n_rows, t) if t < n_rows else 0.0
            k = np.intp(columns[first_column + t])
            if not pivot * pivot > NEGLIGIBLE**2 * square[k] and status == REGULAR:
                status = k
            at = np.intp(line[START]) + t * stride
            for c in range(stride):
                values[at + c] = front[t * stride + c]
            values[at + t] = 1.0 / pivot
        n_left = np.intp(line[N_LEFT])
        if n_rows - size > n_left:
            for t in range(size, n_columns):
                _reflect(front, stride, n_rows, t)
                for r in range(t + 1, n_rows):
                    front[r * stride + t] = 0.0
        at = np.intp(line[KEPT])
        for r in range(size, size + n_left):
            for c in range(size, n_columns):
                stack[at] = front[r * stride + c]
                at += 1
    return status


@njit(**KERNEL)
def substitute(tables: Tables, storage: Storage, x: FloatArray) -> None:
    """Replace x (n_dual_rows,) by (R' R)^-1 x = (A A')^-1 x."""
    fronts, columns, values = tables.fronts, tables.columns, storage.values
    n = len(fronts) - 1
    for j in range(n):
        line = fronts[j]
        size, stride = np.intp(line[SIZE]), np.intp(line[STRIDE])
        first, at = np.intp(line[FIRST_COLUMN]), np.intp(line[START])
        n_columns = np.intp(fronts[j + 1, FIRST_COLUMN]) - first
        for t in range(size):
            y = x[columns[first + t]] * values[at + t]
            x[columns[first + t]] = y
            for c in range(t + 1, n_columns):
                x[columns[first + c]] -= values[at + c] * y
            at += stride
    for i in range(n):
        j = n - 1 - i
        line = fronts[j]
        size, stride = np.intp(line[SIZE]), np.intp(line[STRIDE])
        first, at = np.intp(line[FIRST_COLUMN]), np.intp(line[START])
        n_columns = np.intp(fronts[j + 1, FIRST_COLUMN]) - first
        for s in range(size):
            t = size - 1 - s
            place = at + t * stride
            total = x[columns[first + t]]
            for c in range(t + 1, n_columns):
                total -= values[place + c] * x[columns[first + c]]
            x[columns[first + t]] = total * values[place + t]
