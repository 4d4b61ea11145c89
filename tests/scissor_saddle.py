"""The saddle-point matrix of a scissor lift of any length, for the tests."""

import numpy as np

import sparsebody as sb
from sparsebody.sparse.saddle import SaddleMatrix


def hinge_rows(arm, rows):
    """Rows (rows, 6) of a hinge along y, seen from the center of mass; the last two in plane."""
    place = np.array([arm[0], 0.0, arm[1]])
    moves = np.hstack([np.cross(place, np.eye(3)[[1, 0, 2]]), np.eye(3)[[1, 0, 2]]])
    return np.vstack([np.eye(6)[[0, 2]], moves])[5 - rows :]


def scissor(n):
    """Pairs of crossed bars; of the two hinges between pairs one keeps 5 rows and one 2."""
    x, z, half = 0.5, 0.2, n // 2  # half of a bar; pairs
    left = 2 * np.arange(half)  # of pairs, from the ground up
    between = np.stack([left, left + 3, left + 1, left + 2], axis=1)[:-1].reshape(-1, 2)
    ends = np.concatenate([[(-1, 0)], np.stack([left, left + 1], axis=1), between])
    base = np.stack([np.zeros((5, 6)), hinge_rows((-x, -z), 5)], axis=1)
    crossing = np.stack([-hinge_rows((0, 0), 5), hinge_rows((0, 0), 5)], axis=1)
    right = np.stack([-hinge_rows((x, z), 5), hinge_rows((x, -z), 5)], axis=1)
    other = np.stack([-hinge_rows((-x, z), 2), hinge_rows((-x, -z), 2)], axis=1)
    outer = np.concatenate([right, other])
    parts = [base, np.tile(crossing, (half, 1, 1)), np.tile(outer, (half - 1, 1, 1))]
    sizes = np.concatenate([[6] * n, [5] * (1 + half), np.tile([5, 2], half - 1)])
    pattern = sb.BlockPattern(sizes.astype(np.intp), ends.astype(np.intp))
    diagonal = np.tile(np.diag([0.02, 0.1, 0.08, 1.0, 1.0, 1.0]), (n, 1, 1))
    return SaddleMatrix(pattern, diagonal, np.linalg.inv(diagonal), np.concatenate(parts))
