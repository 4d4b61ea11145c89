"""Solutions of small systems of doubles without any rounding, by integers."""

from fractions import Fraction

import numpy as np


def exact_solution(matrix, right):
    """Return x of a regular dense matrix (n, n) as fractions. Bareiss (1968)."""
    rows = [_integers([*row, b]) for row, b in zip(matrix.tolist(), right.tolist(), strict=True)]
    n, before = len(rows), 1
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(k + 1, n):
            factor, row = rows[i][k], rows[k]
            rows[i] = [
                0 if j < k else (row[k] * value - factor * row[j]) // before
                for j, value in enumerate(rows[i])
            ]
        before = rows[k][k]
    x = [Fraction(0)] * n
    for i in range(n - 1, -1, -1):
        known = sum((rows[i][j] * x[j] for j in range(i + 1, n)), Fraction(0))
        x[i] = (rows[i][n] - known) / rows[i][i]
    return x


def _integers(row):
    """Return the row times a power of two, and exactly."""
    fractions = [Fraction(value) for value in row]
    scale = max(f.denominator for f in fractions)
    return [int(f * scale) for f in fractions]


def relative_difference(x, exact):
    """Return max |x - exact| / max |exact|, the difference taken before rounding."""
    largest = max(map(abs, exact))
    pairs = zip(np.asarray(x).tolist(), exact, strict=True)
    return float(max(abs(Fraction(a) - b) for a, b in pairs) / largest)
