"""Solutions of small systems of doubles without any rounding, by fractions."""

from fractions import Fraction

import numpy as np


def exact_solution(matrix, right):
    """Return x of a regular dense matrix (n, n) as fractions, by Gauss and Jordan."""
    rows = np.array([[Fraction(value) for value in row] for row in np.c_[matrix, right].tolist()])
    for k in range(len(rows)):
        pivot = k + np.flatnonzero(rows[k:, k])[0]
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k] /= rows[k, k]
        for i in np.flatnonzero(rows[:, k]):
            if i != k:
                rows[i] -= rows[i, k] * rows[k]
    return rows[:, -1]


def relative_difference(x, exact):
    """Return max |x - exact| / max |exact|, the difference taken before rounding."""
    exactly = np.array([Fraction(value) for value in np.asarray(x).tolist()])
    return float(np.abs(exactly - exact).max() / np.abs(exact).max())
