"""Substitution with the factors of a block LDL': products of small blocks with vectors."""

# Indices are unsigned numbers of 32 and 64 bits, which numba mixes and mypy does not.
# mypy: disable-error-code="assignment, no-untyped-call, no-untyped-def, return-value"

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray
from sparsebody.factorization.block_ldl import steps
from sparsebody.factorization.block_ldl.kernels import (
    PHASE,
    STEP,
    Matrix,
    Storage,
    Tables,
    _1,
    switch,
)
from sparsebody.factorization.block_ldl.layout import (
    BLOCK,
    CONSTANT,
    FIRST_BELOW,
    KIND,
    LANES,
    NATURAL,
    OWN,
    PADDED,
    ROW,
    SIZE,
    START,
)


def _backward_kernel(size: int, carried: bool) -> Any:
    """Make the step x = P^-1 (y - V' x) of a pivot."""
    n = np.uintp(size)
    begin_4, begin_8 = (steps.gather_step(size, lanes, True, carried) for lanes in (4, 8))
    add_4, add_8 = (steps.gather_step(size, lanes, False) for lanes in (4, 8))
    finish = steps.finish_step(size, carried)

    @njit(**STEP)
    def backward(pivot, end, below, values, x, parts):
        place, first = np.uintp(pivot[START]) + n * pivot[OWN], np.uintp(pivot[FIRST_BELOW])
        if below[first, LANES] == 4:
            begin_4(values, place, x, np.uintp(below[first, ROW]), parts)
        else:
            begin_8(values, place, x, np.uintp(below[first, ROW]), parts)
        place += n * below[first, LANES]
        for t in range(first + _1, end):
            if below[t, LANES] == 4:
                add_4(values, place, x, np.uintp(below[t, ROW]), parts)
            else:
                add_8(values, place, x, np.uintp(below[t, ROW]), parts)
            place += n * below[t, LANES]
        finish(x, np.uintp(pivot[PADDED]), parts)

    return backward


def _forward_kernel(size: int) -> Any:
    """Make the step y = P^-1 y of a pivot, after taking V times that from the rows below."""
    n = np.uintp(size)
    spread_4, spread_8 = (steps.spread_step(size, lanes) for lanes in (4, 8))
    divide, multiply = steps.divide_step(size), steps.multiply_step(size)

    @njit(**STEP)
    def forward(pivot, end, below, values, inverse, x):
        own, place = np.uintp(pivot[PADDED]), np.uintp(pivot[START]) + n * pivot[OWN]
        for t in range(np.uintp(pivot[FIRST_BELOW]), end):
            row = np.uintp(below[t, ROW])
            if below[t, LANES] == 4:
                spread_4(values, place, x, own, row)
            else:
                spread_8(values, place, x, own, row)
            place += n * below[t, LANES]
        if pivot[KIND] == CONSTANT:
            width = np.uintp(inverse.shape[2])
            multiply(inverse, width * width * pivot[BLOCK], width, x, own)
        else:
            divide(values, np.uintp(pivot[START]), x, own)

    return forward


_carried = switch(lambda size: _backward_kernel(max(size, 1), carried=True))
_backward = switch(lambda size: _backward_kernel(max(size, 1), carried=False))
_forward = switch(lambda size: _forward_kernel(max(size, 1)))


@njit(**PHASE)
def substitute(tables: Tables, storage: Storage, solution: FloatArray) -> None:
    """Fill solution (n_rows,) for the right-hand side that came with the factorization."""
    pivots, x = tables.pivots, storage.x
    n = np.uintp(len(pivots) - 1)
    for i in range(n):
        j = n - _1 - i
        pivot, end = pivots[j], np.uintp(pivots[j + _1, FIRST_BELOW])
        _carried(pivot[SIZE], pivot, end, tables.below, storage.values, x, storage.parts)
        padded, natural = pivot[PADDED], pivot[NATURAL]
        for a in range(np.uintp(pivot[SIZE])):
            solution[natural + a] = x[padded + a]


@njit(**PHASE)
def solve(
    tables: Tables, matrix: Matrix, storage: Storage, rhs: FloatArray, solution: FloatArray
) -> None:
    """Fill solution (n_rows, k) for the right-hand sides rhs (n_rows, k)."""
    pivots, below, x = tables.pivots, tables.below, storage.x
    n = np.uintp(len(pivots) - 1)
    for column in range(rhs.shape[1]):
        for j in range(n):
            padded, natural = pivots[j, PADDED], pivots[j, NATURAL]
            for a in range(np.uintp(pivots[j, SIZE])):
                x[padded + a] = rhs[natural + a, column]
        for j in range(n):
            pivot, end = pivots[j], np.uintp(pivots[j + _1, FIRST_BELOW])
            _forward(pivot[SIZE], pivot, end, below, storage.values, matrix.inverse, x)
        for i in range(n):
            j = n - _1 - i
            pivot, end = pivots[j], np.uintp(pivots[j + _1, FIRST_BELOW])
            _backward(pivot[SIZE], pivot, end, below, storage.values, x, storage.parts)
            padded, natural = pivot[PADDED], pivot[NATURAL]
            for a in range(np.uintp(pivot[SIZE])):
                solution[natural + a, column] = x[padded + a]
