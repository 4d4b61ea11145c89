"""The numeric phase: compiled loops over the tables of a Layout; nothing is searched or allocated.

K = L D L' with scalar D, positive in primal pivots and negative in dual ones. A panel holds V = L D
below the diagonal and 1 / D on it; `left` holds -L of the present panel, in the same places. Where
no earlier pivot has changed a primal one, it is a block of the matrix, whose inverse is given: then
the panel stays a part of A, and `left` holds it times the inverse.

Each step is made by a factory for a constant number of columns, so that its inner loops unroll; 0
stands for any number.
"""

# Indices are unsigned numbers of 32 and 64 bits, which numba mixes and mypy does not.
# mypy: disable-error-code="assignment, no-untyped-call, no-untyped-def, return-value"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.factorization.base import LARGEST_INVERSE
from sparsebody.factorization.block_ldl.layout import (
    A_ROW,
    BLOCK,
    COLUMN_STRIDE,
    COLUMNS,
    DUAL,
    FIRST_FILL,
    FIRST_OPENED,
    FIRST_TILE,
    FIRST_UPDATE,
    KIND,
    N_COLUMNS,
    N_ROWS,
    NATURAL,
    OWN,
    PADDED,
    PLACE,
    PRIMAL,
    ROW,
    ROW_STRIDE,
    SIDE,
    SIZE,
    START,
    STRIDE,
    TARGET_STRIDE,
    UNTOUCHED,
    Table,
)
from sparsebody.factorization.block_ldl.vectors import (
    add4,
    load4,
    multiply4,
    multiply_add4,
    store4,
    sum4,
    zero4,
)

SMALLEST_PIVOT = (
    1.0 / LARGEST_INVERSE
)  # relative to the diagonal before other dual pivots took from it

# No kernel owns an array, so none counts references: that would take a third of the time.
PHASE: dict[str, Any] = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "nsz"},  # keeps NaN and infinity
    "_nrt": False,
}
STEP = PHASE | {"forceinline": True}
_0, _1, _2, _3, _4 = (np.uintp(i) for i in range(5))


def _update_kernel(literal: int) -> Callable[..., None]:
    """Make the step that adds left V' to the later panels, tile by tile."""

    @njit(**STEP)
    def update(pivot, end, tiles, updates, values, left):
        size = np.uintp(literal) if literal else np.uintp(pivot[SIZE])
        start, stride, column = pivot[START], pivot[STRIDE], np.uintp(pivot[OWN])
        place = np.uintp(pivot[FIRST_UPDATE])
        for c in range(np.uintp(pivot[FIRST_TILE]), np.uintp(end)):
            target_stride, n = tiles[c, TARGET_STRIDE], tiles[c, COLUMNS]
            row = column
            for _ in range(c, end):
                a_0 = a_1 = a_2 = a_3 = zero4()
                at, of = start + row, column
                for _k in range(size):
                    rows = load4(values, at)
                    a_0 = multiply_add4(a_0, left[of], rows)
                    a_1 = multiply_add4(a_1, left[of + _1], rows)
                    a_2 = multiply_add4(a_2, left[of + _2], rows)
                    a_3 = multiply_add4(a_3, left[of + _3], rows)
                    at += stride
                    of += stride
                target = np.uintp(updates[place])
                store4(values, target, add4(load4(values, target), a_0))
                if n > _1:
                    target += target_stride
                    store4(values, target, add4(load4(values, target), a_1))
                if n > _2:
                    target += target_stride
                    store4(values, target, add4(load4(values, target), a_2))
                if n > _3:
                    target += target_stride
                    store4(values, target, add4(load4(values, target), a_3))
                place += _1
                row += _4
            column += _4

    return update


def _invert_kernel(literal: int) -> Callable[..., None]:
    """Make the step of a constant pivot: left = -inverse V; A D^-1 A' counts in `reference`."""

    @njit(**STEP)
    def invert(pivot, end, tiles, inverse, values, left, reference):
        size = np.uintp(literal) if literal else np.uintp(pivot[SIZE])
        start, stride = pivot[START], pivot[STRIDE]
        row = _0
        for c in range(np.uintp(pivot[FIRST_TILE]), np.uintp(end)):
            squares = load4(reference, tiles[c, ROW])
            to = row
            for k in range(size):
                total = zero4()
                at = start + row
                for other in range(size):
                    total = multiply_add4(total, -inverse[k, other], load4(values, at))
                    at += stride
                store4(left, to, total)
                squares = multiply_add4(squares, -1.0, multiply4(total, load4(values, start + to)))
                to += stride
            store4(reference, tiles[c, ROW], squares)
            row += _4

    return invert


def _divide_kernel(literal: int) -> Callable[..., bool]:
    """Make the step of any other pivot: LDL' of it, V and left; tell whether it is regular."""

    @njit(**STEP)
    def divide(pivot, end, tiles, values, left, reference, block):
        size = np.uintp(literal) if literal else np.uintp(pivot[SIZE])
        start, stride = pivot[START], pivot[STRIDE]
        is_primal = pivot[KIND] == PRIMAL
        sign = 1.0 if is_primal else -1.0
        regular = True
        for k in range(size):
            for row in range(k, size):
                block[k * size + row] = values[start + k * stride + row]
        for k in range(size):
            diagonal = block[k * size + k]
            regular &= sign * diagonal > SMALLEST_PIVOT * reference[pivot[PADDED] + k]
            reciprocal = 1.0 / diagonal if diagonal != 0.0 else np.inf
            for row in range(k + _1, size):
                factor = block[k * size + row] * reciprocal
                for column in range(k + _1, row + _1):
                    block[column * size + row] -= factor * block[k * size + column]
            block[k * size + k] = reciprocal
        for k in range(size):
            reciprocal = block[k * size + k]
            values[start + k * stride + k] = reciprocal
            for row in range(k + _1, size):
                values[start + k * stride + row] = block[k * size + row]
                left[k * stride + row] = -reciprocal * block[k * size + row]
        row = np.uintp(pivot[OWN])
        for c in range(np.uintp(pivot[FIRST_TILE]), np.uintp(end)):
            squares = zero4()
            to = row
            for k in range(size):
                total = load4(values, start + to)
                at, of = start + row, k
                for _l in range(k):
                    total = multiply_add4(total, left[of], load4(values, at))
                    at += stride
                    of += stride
                store4(values, start + to, total)
                reciprocal = block[k * size + k]
                quotient = multiply_add4(zero4(), -reciprocal, total)
                store4(left, to, quotient)
                squares = multiply_add4(squares, -1.0, multiply4(quotient, total))
                to += stride
            if is_primal:
                square = add4(load4(reference, tiles[c, ROW]), squares)
                store4(reference, tiles[c, ROW], square)
            row += _4
        return regular

    return divide


_update, _update_3, _update_5, _update_6 = (_update_kernel(i) for i in (0, 3, 5, 6))
_invert, _invert_6 = _invert_kernel(0), _invert_kernel(6)
_divide, _divide_3, _divide_5, _divide_6 = (_divide_kernel(i) for i in (0, 3, 5, 6))


@njit(**STEP)
def _open(
    pivot: Table,
    last_fill: int,
    fills: Table,
    diagonal: FloatArray,
    rows: FloatArray,
    values: FloatArray,
    reference: FloatArray,
) -> bool:
    """Fill a panel with its part of the matrix; tell whether the diagonal is positive."""
    start, stride, size = np.uintp(pivot[START]), pivot[STRIDE], np.uintp(pivot[SIZE])
    for place in range(start, start + size * stride):
        values[place] = 0.0
    for row in range(np.uintp(pivot[PADDED]), pivot[PADDED] + size):
        reference[row] = 0.0
    for f in range(np.uintp(pivot[FIRST_FILL]), np.uintp(last_fill)):
        first, side, column = np.uintp(fills[f, A_ROW]), fills[f, SIDE], np.uintp(fills[f, PLACE])
        for c in range(np.uintp(fills[f, N_COLUMNS])):
            place = column
            for r in range(first, first + fills[f, N_ROWS]):
                values[place] += rows[r, side, c]
                place += fills[f, ROW_STRIDE]
            column += fills[f, COLUMN_STRIDE]
    positive = True
    if pivot[KIND] != DUAL:
        block = diagonal[pivot[BLOCK]]
        for k in range(size):
            positive &= block[k, k] > 0.0 and block[k, k] < np.inf
            if pivot[KIND] == PRIMAL:
                reference[pivot[PADDED] + k] = block[k, k]
                for r in range(size):
                    values[start + k * stride + r] = block[r, k]
    return positive


@njit(**PHASE)
def factorize(
    pivots: Table,
    tiles: Table,
    updates: Table,
    fills: Table,
    opened: Table,
    diagonal: FloatArray,
    inverse: FloatArray,
    rows: FloatArray,
    values: FloatArray,
    left: FloatArray,
    reference: FloatArray,
    block: FloatArray,
) -> int:
    """Fill `values` with the factors; return the position of the first bad pivot, or -1."""
    for j in range(np.uintp(len(pivots) - 1)):
        pivot, following = pivots[j], pivots[j + _1]
        for i in range(np.uintp(pivot[FIRST_OPENED]), np.uintp(following[FIRST_OPENED])):
            p = np.uintp(opened[i])
            last = pivots[p + _1, FIRST_FILL]
            if not _open(pivots[p], last, fills, diagonal, rows, values, reference):
                return np.intp(p)
        end, size = following[FIRST_TILE], np.intp(pivot[SIZE])
        if pivot[KIND] == UNTOUCHED:
            of_block = inverse[pivot[BLOCK]]
            if size == 6:
                _invert_6(pivot, end, tiles, of_block, values, left, reference)
            else:
                _invert(pivot, end, tiles, of_block, values, left, reference)
            regular = True
        elif size == 3:
            regular = _divide_3(pivot, end, tiles, values, left, reference, block)
        elif size == 5:
            regular = _divide_5(pivot, end, tiles, values, left, reference, block)
        elif size == 6:
            regular = _divide_6(pivot, end, tiles, values, left, reference, block)
        else:
            regular = _divide(pivot, end, tiles, values, left, reference, block)
        if not regular:
            return np.intp(j)
        if size == 3:
            _update_3(pivot, end, tiles, updates, values, left)
        elif size == 5:
            _update_5(pivot, end, tiles, updates, values, left)
        elif size == 6:
            _update_6(pivot, end, tiles, updates, values, left)
        else:
            _update(pivot, end, tiles, updates, values, left)
    return -1


def _forward_kernel(literal: int) -> Callable[..., None]:
    """Make the step y = L^-1 y of a pivot; what it leaves in its rows is 1 / D times y."""

    @njit(**STEP)
    def forward(pivot, end, tiles, inverse, values, y, w):
        size = np.uintp(literal) if literal else np.uintp(pivot[SIZE])
        start, stride, own = pivot[START], pivot[STRIDE], pivot[PADDED]
        if pivot[KIND] == UNTOUCHED:
            block = inverse[pivot[BLOCK]]
            for k in range(size):
                total = 0.0
                for other in range(size):
                    total += block[k, other] * y[own + other]
                w[k] = total
        else:
            for k in range(size):
                total = y[own + k]
                at = start + k
                for other in range(k):
                    total -= values[at] * w[other]
                    at += stride
                w[k] = total * values[at]
                y[own + k] = w[k]
        row = start + pivot[OWN]
        for c in range(np.uintp(pivot[FIRST_TILE]), np.uintp(end)):
            total = load4(y, tiles[c, ROW])
            at = row
            for k in range(size):
                total = multiply_add4(total, -w[k], load4(values, at))
                at += stride
            store4(y, tiles[c, ROW], total)
            row += _4

    return forward


def _backward_kernel(literal: int) -> Callable[..., None]:
    """Make the step x = L'^-1 y of a pivot."""

    @njit(**STEP)
    def backward(pivot, end, tiles, inverse, values, y, w):
        size = np.uintp(literal) if literal else np.uintp(pivot[SIZE])
        start, stride, own = pivot[START], pivot[STRIDE], pivot[PADDED]
        for k in range(size):
            total = zero4()
            at = start + k * stride + pivot[OWN]
            for c in range(np.uintp(pivot[FIRST_TILE]), np.uintp(end)):
                total = add4(total, multiply4(load4(values, at), load4(y, tiles[c, ROW])))
                at += _4
            w[k] = sum4(total)
        if pivot[KIND] == UNTOUCHED:
            block = inverse[pivot[BLOCK]]
            for k in range(size):
                w[k] = y[own + k] - w[k]
            for k in range(size):
                total = 0.0
                for other in range(size):
                    total += block[k, other] * w[other]
                y[own + k] = total
        else:
            for i in range(size):
                k = size - _1 - i
                at = start + k * stride + k
                total = w[k]
                for other in range(_1, i + _1):
                    total += values[at + other] * y[own + k + other]
                y[own + k] -= values[at] * total

    return backward


_forward, _forward_3, _forward_5, _forward_6 = (_forward_kernel(i) for i in (0, 3, 5, 6))
_backward, _backward_3, _backward_5, _backward_6 = (_backward_kernel(i) for i in (0, 3, 5, 6))


@njit(**PHASE)
def solve(
    pivots: Table,
    tiles: Table,
    inverse: FloatArray,
    values: FloatArray,
    rhs: FloatArray,
    x: FloatArray,
    y: FloatArray,
    w: FloatArray,
) -> None:
    """Fill x (n_rows, k) with the solutions; y and w are work space, y in tiled order."""
    n = np.uintp(len(pivots) - 1)
    for column in range(rhs.shape[1]):
        for j in range(n):
            start, natural = pivots[j, PADDED], pivots[j, NATURAL]
            for a in range(np.uintp(pivots[j, SIZE])):
                y[start + a] = rhs[natural + a, column]
        for j in range(n):
            pivot, end = pivots[j], pivots[j + _1, FIRST_TILE]
            size = np.intp(pivot[SIZE])
            if size == 3:
                _forward_3(pivot, end, tiles, inverse, values, y, w)
            elif size == 5:
                _forward_5(pivot, end, tiles, inverse, values, y, w)
            elif size == 6:
                _forward_6(pivot, end, tiles, inverse, values, y, w)
            else:
                _forward(pivot, end, tiles, inverse, values, y, w)
        for i in range(n):
            j = n - _1 - i
            pivot, end = pivots[j], pivots[j + _1, FIRST_TILE]
            size = np.intp(pivot[SIZE])
            if size == 3:
                _backward_3(pivot, end, tiles, inverse, values, y, w)
            elif size == 5:
                _backward_5(pivot, end, tiles, inverse, values, y, w)
            elif size == 6:
                _backward_6(pivot, end, tiles, inverse, values, y, w)
            else:
                _backward(pivot, end, tiles, inverse, values, y, w)
            start, natural = pivot[PADDED], pivot[NATURAL]
            for a in range(np.uintp(pivot[SIZE])):
                x[natural + a, column] = y[start + a]
