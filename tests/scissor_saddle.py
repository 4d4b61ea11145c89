"""The saddle-point matrix of a scissor lift of any length, for the tests."""

import numpy as np

from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix


def hinge_rows(arm: tuple[float, float], rows: int) -> np.ndarray:
    """Rows (rows, 6) of a hinge along y, seen from the center of mass; the last two in plane."""
    place = np.array([arm[0], 0.0, arm[1]])
    moves = np.hstack([np.cross(place, np.eye(3)[[1, 0, 2]]), np.eye(3)[[1, 0, 2]]])
    return np.vstack([np.eye(6)[[0, 2]], moves])[5 - rows :]


def scissor(n: int) -> SaddleMatrix:
    """Pairs of crossed bars; of the two hinges between pairs one keeps 5 rows and one 2."""
    x, z = 0.5, 0.2  # half of a bar
    ends, rows = [(-1, 0)], [(None, hinge_rows((-x, -z), 5))]
    for k in range(0, n, 2):
        ends.append((k, k + 1))
        rows.append((hinge_rows((0, 0), 5), hinge_rows((0, 0), 5)))
    for k in range(0, n - 2, 2):
        ends += [(k, k + 3), (k + 1, k + 2)]
        rows.append((hinge_rows((x, z), 5), hinge_rows((x, -z), 5)))
        rows.append((hinge_rows((-x, z), 2), hinge_rows((-x, -z), 2)))
    values = np.zeros((sum(len(second) for _, second in rows), 2, 6))
    start = 0
    for first, second in rows:
        part = values[start : start + len(second)]
        if first is not None:
            part[:, 0] = -first
        part[:, 1] = second
        start += len(second)
    sizes = np.array([6] * n + [len(second) for _, second in rows], dtype=np.intp)
    pattern = BlockPattern(sizes, np.array(ends, dtype=np.intp))
    diagonal = np.tile(np.diag([0.02, 0.1, 0.08, 1.0, 1.0, 1.0]), (n, 1, 1))
    return SaddleMatrix(pattern, diagonal, np.linalg.inv(diagonal), values)
