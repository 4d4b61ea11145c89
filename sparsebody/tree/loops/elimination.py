"""x = G y + g, all solutions of K x = k, by Gaussian elimination. Featherstone (2008), sec. 8.8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.errors import ModelError, ShapeError

TOLERANCE = 1e-8  # of pivots, relative to the largest entry or to sizes that are given


@dataclass(frozen=True, eq=False)
class ExplicitForm:
    """x = G y + g, where y are the entries `independent` of x; K G = 0 and K g = k."""

    G: FloatArray  # (n, n - r)
    g: FloatArray  # (n,)
    independent: IntArray  # (n - r,) ascending
    dependent: IntArray  # (r,) in the order of the pivots
    rows: IntArray  # (r,) rows of K that are independent, in the order of the pivots

    @property
    def rank(self) -> int:
        """r, the rank of K."""
        return len(self.dependent)


def explicit_form(
    K: FloatArray,
    k: FloatArray,
    *,
    independent: Sequence[int] = (),
    mask: BoolArray | None = None,
    weight: FloatArray | None = None,
    row_size: FloatArray | None = None,
    tolerance: float = TOLERANCE,
) -> ExplicitForm:
    """Return G and g of the equations K x = k. Featherstone (2008), eq. (8.51).

    Parameters
    ----------
    K : (m, n) float array
        Any matrix; its rows may be dependent.
    k : (m,) float array
        In the range of K.
    independent : sequence of int
        Entries of x that must be among y; complete pivoting chooses the others.
    mask : (n,) bool array, optional
        Columns that are not zero; the others are not looked at, and belong to y.
    weight : (n,) float array, optional
        Natural sizes of the entries of x, which take units out of the choice of pivots.
    row_size : (m,) float array, optional
        Natural sizes of the rows of K times `weight`; default: the largest entry of all.
    tolerance : float
        A pivot below this is zero, relative to the size of its row.

    Raises
    ------
    ModelError
        If the entries given cannot be chosen independently.
    """
    K = np.asarray(K, dtype=float)
    m, n = K.shape
    if np.shape(k) != (m,):
        raise ShapeError(f"K is {K.shape} and k is {np.shape(k)}; k must be ({m},)")
    column = np.arange(n) if mask is None else np.flatnonzero(mask)
    size = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
    is_required = np.zeros(n, dtype=bool)
    is_required[list(independent)] = True
    work = K[:, column] * size[column]
    largest = np.full(m, np.abs(work).max(initial=0.0) or 1.0) if row_size is None else row_size
    work, right = np.ascontiguousarray(work / largest[:, None]), k / largest
    row_order, order = np.arange(m), np.arange(len(column))
    r = native.eliminate(work, right, is_required[column], tolerance, row_order, order)
    if r < 0:
        raise ModelError(
            f"the entries {list(independent)} of x are not independent: K x = k joins them"
        )
    dependent = column[order[:r]]
    is_free = np.ones(n, dtype=bool)
    is_free[dependent] = False
    free = np.flatnonzero(is_free)
    G, g = np.zeros((n, len(free))), np.zeros(n)
    G[free, np.arange(len(free))] = 1.0
    others = column[order[r:]]
    entries = -size[dependent, None] * work[:r, r:] / size[others]
    G[dependent[:, None], np.searchsorted(free, others)] = entries
    g[dependent] = size[dependent] * right[:r]
    return ExplicitForm(G, g, free, dependent, row_order[:r])
