"""Whether a doubtful pivot means that a row depends on others, or only that rounding hides it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsebody._core import factorization
from sparsebody.arrays import FloatArray
from sparsebody.sparse.pattern import BlockPattern

DEPENDENT = 1e-14  # |A' y| over |A|' |y|: nothing is left of this combination of rows but rounding
MOST_ITERATIONS = 4


def useless_row(pattern: BlockPattern, rows: FloatArray) -> int:
    """Return the first row of A (n_dual_rows, 2, width) that is zero or not finite, or -1."""
    return factorization.vanishing_row((pattern.offsets, pattern.ends), rows)


def is_dependent(
    pattern: BlockPattern,
    rows: FloatArray,
    solve: Callable[[FloatArray], FloatArray],
    row: int,
) -> bool:
    """Return whether rows of A cancel in a combination y that holds dual row `row`.

    Inverse iteration with the shifted factors turns y towards the smallest singular value of A'. A
    value that is small, as in long mechanisms, is not zero: A' y can be told from rounding although
    y' A A' y, which the pivots see, cannot.

    Parameters
    ----------
    pattern : BlockPattern
        Of [1 A'; A 0].
    rows : (n_dual_rows, 2, width) float array
        A.
    solve : function of (n_rows,) float array
        With factors of the matrix whose vanishing pivots were shifted away from zero.
    row : int
        Counted from the first dual one.
    """
    n = pattern.n_primal_rows
    y = np.zeros(pattern.n_rows)
    y[n + row] = 1.0
    for _ in range(MOST_ITERATIONS):
        y = solve(y)
        y[:n] = 0.0
        size = np.abs(y).max()
        if not (0.0 < size < np.inf):
            return True
        y /= size
        product, terms = factorization.cancellation((pattern.offsets, pattern.ends), rows, y)
        if product <= DEPENDENT * terms:
            return True
    return False
