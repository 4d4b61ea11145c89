"""Solutions with the factor R of a block QR, corrected until they are as good as they get."""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.experimental import structref

from sparsebody.arrays import FloatArray
from sparsebody.dynamics.compiled.assembly import KERNEL, PHASE
from sparsebody.dynamics.compiled.struct import Struct, register
from sparsebody.factorization.block_qr import BlockQRSymbolic
from sparsebody.factorization.block_qr.kernels import (
    REGULAR,
    Storage,
    Tables,
    factorize,
    substitute,
    substitute_back,
)
from sparsebody.factorization.block_qr.layout import Table
from sparsebody.factorization.prefetch import LARGE, prefetch

_fetch_row, _fetch_next_row = prefetch(96), prefetch(104)  # of some eight planar joints
Rows = Any  # a table of rows (k, 2, width): RowTable or PlanarRows
STEPS = 4  # corrections at most
ROUNDING = 1e-14  # a relative residual that none makes smaller
GOOD = 1e-12  # one that accelerations alone need not make smaller
ROUGH = 1e-3  # one that more than one has to follow


@register
class _QRType(types.StructRef):
    """The type of QR in compiled code."""


class QR(Struct):
    """The Tables and the Storage of a block QR, for k rows."""

    fronts: Table
    columns: Table
    places: Table
    children: Table
    parts: Table
    values: FloatArray
    front: FloatArray
    stack: FloatArray
    gap: FloatArray  # (k,) scratch
    nothing: FloatArray  # (0,)


structref.define_proxy(QR, _QRType, list(QR.__annotations__))


def qr_arrays(symbolic: BlockQRSymbolic | None) -> QR:
    """Return what compiled code needs of a block QR; next to nothing if there is none."""
    if symbolic is not None:
        storage = symbolic.storage
        arrays = symbolic.tables._asdict() | storage._asdict()
        return QR(**arrays, gap=np.zeros(symbolic.offsets[1][-1]), nothing=np.zeros(0))
    flat, table = np.zeros(0, dtype=np.uint32), np.zeros((0, 1), dtype=np.uint32)
    tables = Tables(fronts=table, columns=flat, places=flat, children=flat, parts=table)
    return QR(
        **tables._asdict(), **dict.fromkeys((*Storage._fields, "gap", "nothing"), np.zeros(0))
    )


def _gaps_kernel(width: int) -> Any:
    """Make the function that fills gap = A x - asked; terms of A free count as large ones, too."""
    size = np.uintp(width)

    @njit(**KERNEL)
    def gaps(predecessor, successor, first_row, rows, n, x, free, asked, gap):
        worst, largest, total = 0.0, 0.0, 0.0
        for j in range(np.uintp(predecessor.size)):
            p, s = np.uintp(predecessor[j]), np.uintp(successor[j])
            if predecessor.size > LARGE:
                place = np.uintp(first_row[j]) * (np.uintp(2) * size)
                _fetch_row(rows, place)
                _fetch_next_row(rows, place)
            for k in range(np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])):
                of_p, of_s, free_p, free_s = 0.0, 0.0, 0.0, 0.0
                if p < n:
                    for a in range(size):
                        of_p += rows[k, 0, a] * x[size * p + a]
                        free_p += rows[k, 0, a] * free[size * p + a]
                if s < n:
                    for a in range(size):
                        of_s += rows[k, 1, a] * x[size * s + a]
                        free_s += rows[k, 1, a] * free[size * s + a]
                left = of_p + of_s - asked[k]
                gap[k] = left
                total += left
                worst = max(worst, abs(left))
                largest = max(
                    largest, abs(of_p), abs(of_s), abs(asked[k]), abs(free_p), abs(free_s)
                )
        return worst + (total - total), largest

    return gaps


def _forces_kernel(width: int) -> Any:
    """Make the function that takes A' y from x and adds y to the multipliers."""
    size = np.uintp(width)

    @njit(**KERNEL)
    def forces(predecessor, successor, first_row, rows, n, y, x, multiplier):
        for j in range(np.uintp(predecessor.size)):
            p, s = np.uintp(predecessor[j]), np.uintp(successor[j])
            if predecessor.size > LARGE:
                place = np.uintp(first_row[j]) * (np.uintp(2) * size)
                _fetch_row(rows, place)
                _fetch_next_row(rows, place)
            for k in range(np.uintp(first_row[j]), np.uintp(first_row[j + np.uintp(1)])):
                force = y[k]
                multiplier[k] += force
                if p < n:
                    for a in range(size):
                        x[size * p + a] -= rows[k, 0, a] * force
                if s < n:
                    for a in range(size):
                        x[size * s + a] -= rows[k, 1, a] * force

    return forces


_gaps_3, _gaps_6 = map(_gaps_kernel, (3, 6))
_forces_3, _forces_6 = map(_forces_kernel, (3, 6))


@njit(**PHASE)
def _storage(f):
    return Storage(f.values, f.front, f.stack)


@njit(**PHASE)
def _tables(f):
    return Tables(f.fronts, f.columns, f.places, f.children, f.parts)


@njit(**PHASE)
def factorize_by_qr(f: QR, kept: Rows) -> int:
    """Factorize what was assembled last; return what a factorization returns."""
    return factorize(_tables(f), kept.rows, f.nothing, _storage(f), f.gap)


@njit(**PHASE)
def factorize_and_solve(
    f: QR, kept: Rows, n: int, right: FloatArray, is_exact: bool, x: FloatArray
) -> tuple[int, float]:
    """Do both at once; return what a factorization returns, and the residual of `solve_by_qr`."""
    status = factorize(_tables(f), kept.rows, right, _storage(f), f.gap)
    if status != REGULAR:
        return status, np.nan
    return status, _solve(f, kept, n, right, is_exact, True, x)[0]


@njit(**PHASE)
def solve_by_qr(
    f: QR, kept: Rows, n: int, right: FloatArray, is_exact: bool, x: FloatArray
) -> tuple[float, float]:
    """Fill x with the solution for a right-hand side and n bodies.

    The equations of the bodies are kept to rounding. Every correction makes the residual of the
    rows smaller by about its own size, so that the one after it need not be computed.

    Returns
    -------
    residual : float
        Relative residual of the rows, or an estimate unless it is to be exact.
    first : float
        The same before the first correction: how rough the factor is.
    """
    return _solve(f, kept, n, right, is_exact, False, x)


@njit(**PHASE)
def _solve(f, kept, n, right, is_exact, is_begun, x):
    """Solve, from the start or from where a factorization with the right-hand side has left off."""
    width, gap = kept.rows.shape[2], f.gap
    table = kept.predecessor, kept.successor, kept.first_row, kept.rows, np.uintp(n)
    tables, storage = _tables(f), _storage(f)
    multiplier, asked = x[width * n :], right[width * n :]
    for k in range(width * n):
        x[k] = right[k]
    for k in range(width * n, x.size):
        x[k] = 0.0
    enough = GOOD if is_begun and not is_exact else ROUNDING
    before, scale, first = np.inf, 0.0, 0.0  # the largest term, with the bodies free, too
    left = 0.0
    for step in range(STEPS + 1):
        if step > 0 or not is_begun:
            if width == 3:
                worst, largest = _gaps_3(*table, x, right, asked, gap)
            else:
                worst, largest = _gaps_6(*table, x, right, asked, gap)
            scale = max(scale, largest)
            left = worst / scale if scale > 0.0 else worst
            if step == 1:
                first = left
            if step > 0 and (left <= enough or not left < before / 2):
                break
            substitute(tables, storage, gap)
        else:
            substitute_back(tables, storage, gap)
        if width == 3:
            _forces_3(*table, gap, x, multiplier)
        else:
            _forces_6(*table, gap, x, multiplier)
        if step > 0 and left < ROUGH and not is_exact:
            return left * left, first
        before = left if step > 0 else np.inf
    return left, first
