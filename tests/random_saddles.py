"""Random saddle-point matrices, their dense solution, and elimination orders, for the tests."""

import itertools

import numpy as np
from random_mechanisms import random_rotation
from scipy.sparse.linalg import splu

import sparsebody as sb
from sparsebody.ordering.heuristics import natural
from sparsebody.sparse.saddle import SaddleMatrix, saddle_csc, saddle_residual
from sparsebody.spatial import plucker_transform


def random_pattern(rng, n_primal, n_loops):
    """A random tree from the world, plus loops; dual blocks of 1 to 8 rows, some parallel."""
    sizes = rng.choice([3, 6], n_primal)
    free = sizes.astype(int)
    ends, dual = [], []

    def joint(first, second, most):
        rows = int(rng.integers(1, most + 1))
        free[second] -= rows
        ends.append((first, second) if rng.random() < 0.5 else (second, first))
        dual.append(rows)

    for i in range(n_primal):
        joint(int(rng.integers(-1, i)) if i else -1, i, max(1, sizes[i] - 2))
    for _ in range(n_loops):
        second = int(np.argmax(free))
        if free[second] < 2:
            break
        first = (second + int(rng.integers(1, n_primal))) % n_primal
        joint(ends[0][0] if rng.random() < 0.2 else first, second, 1)
    block_sizes = np.concatenate([sizes, dual]).astype(np.intp)
    return sb.BlockPattern(block_sizes, np.array(ends, dtype=np.intp))


def random_matrix(rng, pattern, decades=0.0):
    """Masses over 2 `decades` decades; a dual block that is too large for its body is cut."""
    n, width = pattern.n_primal, 6
    diagonal, inverse = np.zeros((2, n, width, width))
    for i in range(n):
        k = pattern.block_sizes[i]
        half = rng.normal(size=(k, k))
        mass = 10 ** rng.uniform(-decades, decades)
        diagonal[i, :k, :k] = mass * (half @ half.T / k + np.eye(k))
        inverse[i, :k, :k] = np.linalg.inv(diagonal[i, :k, :k])
    rows = rng.normal(size=(pattern.n_rows - pattern.n_primal_rows, 2, width))
    dual = np.repeat(np.arange(pattern.n_dual), pattern.block_sizes[n:])
    ends = pattern.ends[dual]
    used = np.where(ends < 0, 0, pattern.block_sizes[ends])
    rows *= np.arange(width) < used[:, :, None]
    return SaddleMatrix(pattern, diagonal, inverse, rows)


def scaled_dense(matrix):
    """The dense matrix and a scale that makes masses irrelevant."""
    dense = saddle_csc(matrix).toarray()
    n = matrix.pattern.n_primal_rows
    primal = np.diag(dense)[:n] ** -0.5
    dual = 1 / np.linalg.norm(dense[n:, :n] * primal, axis=1)
    return dense, np.concatenate([primal, dual])


def dense_solution(matrix, rhs):
    """The oracle: numpy on the scaled dense matrix, with one step of refinement."""
    dense, scale = scaled_dense(matrix)
    scaled = dense * np.outer(scale, scale)
    x = scale[:, None] * np.linalg.solve(scaled, scale[:, None] * rhs)
    residual = rhs - dense @ x
    return x + scale[:, None] * np.linalg.solve(scaled, scale[:, None] * residual)


def scaled_error(matrix, x, exact):
    """max |x - exact| in the scaled unknowns, relative."""
    _, scale = scaled_dense(matrix)
    difference, size = (x - exact) / scale[:, None], exact / scale[:, None]
    return np.abs(difference).max() / np.abs(size).max()


ORDERS = {
    "natural": lambda rng, pattern: natural(pattern),
    "random": lambda rng, pattern: rng.permutation(pattern.n_blocks),
    "duals first": lambda rng, pattern: np.arange(pattern.n_blocks)[::-1].copy(),
    "bodies first, joints at random": lambda rng, pattern: np.concatenate(
        [rng.permutation(pattern.n_primal), pattern.n_primal + rng.permutation(pattern.n_dual)]
    ),
    "joint after both its bodies": lambda rng, pattern: along(pattern),
}


def along(pattern):
    """Each joint right after its later body."""
    key = np.concatenate([np.arange(pattern.n_primal), pattern.ends.max(axis=1) + 0.5])
    return np.argsort(key, kind="stable")


def pivoted_solution(matrix, rhs):
    """Return that by LU with partial pivoting, with one step of refinement."""
    factors = splu(saddle_csc(matrix))
    x = factors.solve(rhs)
    return x + factors.solve(saddle_residual(matrix, x, rhs))


def solution_error(symbolic, matrix):
    """Return the scaled error of a factorization for two random right-hand sides."""
    rhs = np.random.default_rng(1).normal(size=(matrix.pattern.n_rows, 2))
    x = symbolic.factorize(matrix).solve(rhs)
    return scaled_error(matrix, x, dense_solution(matrix, rhs))


def draw(seed, n_primal=7, n_loops=3, decades=0.0):
    """The first matrix from this seed on that is well-conditioned, scaled to unit rows."""
    rng = np.random.default_rng(seed)
    while True:
        matrix = random_matrix(rng, random_pattern(rng, n_primal, n_loops), decades)
        dense, scale = scaled_dense(matrix)
        if np.linalg.cond(dense * np.outer(scale, scale)) < 1e5:
            return matrix


def rigid_matrix(rng, ends, joints, inertias=None, poses=None):
    """Bodies and joints in space: each joint gives wrenches (rows, 6) at the world's origin."""
    n = int(np.max(ends)) + 1
    sizes = np.array([6] * n + [len(wrenches) for wrenches in joints], dtype=np.intp)
    pattern = sb.BlockPattern(sizes, np.asarray(ends, dtype=np.intp).reshape(-1, 2))
    inertias = inertias or [np.diag([1.0, 1.5, 2.0, 3.0, 3.0, 3.0])] * n
    poses = poses or [plucker_transform(random_rotation(rng), rng.normal(size=3)) for _ in range(n)]
    rows = np.zeros((sum(map(len, joints)), 2, 6))
    start = 0
    for (first, second), wrenches in zip(pattern.ends, joints, strict=True):
        part = rows[start : start + len(wrenches)]
        if first >= 0:
            part[:, 0] = -np.asarray(wrenches) @ poses[first]
        if second >= 0:
            part[:, 1] = np.asarray(wrenches) @ poses[second]
        start += len(wrenches)
    return SaddleMatrix(pattern, np.array(inertias), np.linalg.inv(inertias), rows)


def hinge(position, axis=(0.0, 0.0, 1.0)):
    """The five wrenches of a hinge at a world point, as (5, 6) rows on motions at the origin."""
    axis = np.asarray(axis, dtype=float)
    turns = np.linalg.svd(axis[None, :])[2][1:]
    # the velocity of the hinge's point is v + w x p = v - P w
    moves = np.hstack([np.cross(position, np.eye(3)), np.eye(3)])
    return np.vstack([np.hstack([turns, np.zeros((2, 3))]), moves])


def loop_of_hinges(rng, n_bars, size=1.0, masses=None, axes=None):
    """A closed planar chain of bars, the last one hinged to the ground like the first."""
    ends = [(i - 1, i) for i in range(n_bars)] + [(n_bars - 1, -1)]
    angles = np.sort(rng.uniform(0, 2 * np.pi, n_bars + 1))
    points = size * np.column_stack([np.cos(angles), np.sin(angles), np.zeros(n_bars + 1)])
    axes = [(0.0, 0.0, 1.0)] * (n_bars + 1) if axes is None else axes
    joints = [hinge(point, axis) for point, axis in zip(points, axes, strict=True)]
    masses = np.ones(n_bars) if masses is None else masses
    arm = size**2 / 10
    inertias = [m * np.diag([arm, 1.5 * arm, 2 * arm, 1, 1, 1]) for m in masses]
    poses = [plucker_transform(np.eye(3), -(a + b) / 2) for a, b in itertools.pairwise(points)]
    return rigid_matrix(rng, ends, joints, inertias, poses)


def hinge_rows(arm, rows):
    """Rows (rows, 6) of a hinge along y, seen from the center of mass; the last two in plane."""
    point = np.array([arm[0], 0.0, arm[1]])
    moves = np.hstack([np.cross(point, np.eye(3)[[1, 0, 2]]), np.eye(3)[[1, 0, 2]]])
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


def scaled_rows(matrix):
    """Return A D^-1/2 (n_dual_rows, 2, width), rows of unit norm, equal ends summed."""
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
