"""Constraint rows as multipliers see them: A D^-1/2 with rows of unit norm."""

import numpy as np


def whitened_rows(matrix):
    """Return (n_dual_rows, 2, width); equal ends have their sum on the first."""
    n, width = matrix.pattern.n_primal, matrix.rows.shape[2]
    root = np.zeros((n + 1, width, width))  # the last one answers for -1
    for i, size in enumerate(matrix.pattern.block_sizes[:n]):
        root[i, :size, :size] = np.linalg.cholesky(matrix.inverse[i, :size, :size])
    ends = matrix.pattern.ends[matrix.row_block]
    rows = np.einsum("rsa,rsab->rsb", matrix.rows, root[ends])
    same = ends[:, 0] == ends[:, 1]
    rows[same, 0] += rows[same, 1]
    rows[same, 1] = 0.0
    norm = np.linalg.norm(rows, axis=(1, 2))
    return rows / np.where(norm > 0.0, norm, 1.0)[:, None, None]
