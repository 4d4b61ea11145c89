"""Rows of A between random bodies, for the tests of fronts."""

import numpy as np

import sparsebody as sb


def unit_rows(rng, pattern):
    """Random rows of unit norm that fit the pattern."""
    sizes = pattern.block_sizes
    ends = np.repeat(pattern.ends, sizes[pattern.n_primal :], axis=0)
    used = np.where(ends >= 0, sizes[ends], 0)[:, :, None] > np.arange(6)
    rows = rng.normal(size=(len(ends), 2, 6)) * used
    return rows / np.linalg.norm(rows, axis=(1, 2))[:, None, None]


def random_rows(rng, n_bodies, n_repeated=0, joints_per_body=3.0):
    """Joints of 1 to 4 rows between random bodies, or a body and the world; some are repeated."""
    n = int(rng.integers(2, joints_per_body * n_bodies))
    ends = np.array([rng.choice(n_bodies, 2, replace=False) for _ in range(n)])
    ends[rng.random(n) < 0.2, 0] = -1
    size = rng.integers(1, 5, n)
    pattern = sb.BlockPattern(np.concatenate([np.full(n_bodies, 6), size]), ends)
    rows = unit_rows(rng, pattern)
    again = rng.integers(0, n, n_repeated)
    start = np.cumsum([0, *size])
    more = [rows[start[j] : start[j + 1]] for j in again]
    sizes = np.concatenate([pattern.block_sizes, size[again]])
    return sb.BlockPattern(sizes, np.concatenate([ends, ends[again]])), np.concatenate(
        [rows, *more]
    )


def dense(pattern, rows):
    """A as a dense matrix, six columns a body."""
    ends = np.repeat(pattern.ends, pattern.block_sizes[pattern.n_primal :], axis=0)
    A = np.zeros((len(rows), 6 * pattern.n_primal))
    for r, (row, end) in enumerate(zip(rows, ends, strict=True)):
        for side in range(2):
            if end[side] >= 0:
                A[r, 6 * end[side] : 6 * end[side] + 6] += row[side]
    return A
