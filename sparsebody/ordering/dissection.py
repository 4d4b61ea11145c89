"""Nested dissection with separators made of joints, cut along coordinates of the bodies."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.ordering.minimum_degree import in_phases
from sparsebody.sparse.levels import primal_graph
from sparsebody.sparse.pattern import BlockPattern

_SMALL = 6  # bodies in a part that is not cut any more
_MIDDLE = 0.25  # share of the bodies that each half gets at least
_PASSES = 6  # over the bodies of a part, to move those at the cut to the better side


def dissected(pattern: BlockPattern, coordinates: FloatArray) -> IntArray:
    """Cut the bodies in two, again and again; eliminate the joints of a cut after both sides.

    Every part is cut across the coordinate along which the fewest rows of joints are cut, counted
    against the size of the halves; then bodies at the cut change sides where that cuts fewer.
    Within a part, and within a cut, minimum degree decides. Admissible.

    Parameters
    ----------
    pattern : BlockPattern
        What is to be eliminated.
    coordinates : (n_primal, k) float array
        Anything that neighbours differ little in: positions, distances in the graph, eigenvectors.

    References
    ----------
    George (1973); Heath and Raghavan (1995), SIAM J. Matrix Anal. 16, 1, for cuts by coordinates;
    Fiduccia and Mattheyses (1982) for the moves.
    """
    indptr, beyond = primal_graph(pattern)
    joint = pattern.adjacency[1][: indptr[-1]] - pattern.n_primal
    rows = pattern.block_sizes[pattern.n_primal + joint].astype(np.intp)
    coordinates = np.ascontiguousarray(coordinates, dtype=float)
    cut_at = np.zeros(pattern.n_dual, dtype=np.intp)  # depth at which a joint is cut, from one on
    _dissect(indptr, beyond, rows, joint, coordinates, cut_at)
    phase = np.zeros(pattern.n_blocks, dtype=np.intp)
    deepest = cut_at.max(initial=0)
    phase[pattern.n_primal :] = np.where(cut_at > 0, deepest + 1 - cut_at, 0)
    return in_phases(pattern, phase)


@njit(cache=True)
def _dissect(
    indptr: IntArray,
    beyond: IntArray,
    rows: IntArray,
    joint: IntArray,
    coordinates: FloatArray,
    cut_at: IntArray,
) -> None:
    """Fill `cut_at` for every joint that is cut; the others keep zero."""
    n = len(coordinates)
    order = np.arange(n)
    side = np.zeros(n, dtype=np.int8)  # of the part that is being cut; 2: moved in this pass
    part = np.zeros(n, dtype=np.intp)
    stack = np.zeros((8 * 64, 3), dtype=np.intp)  # first, end, depth
    stack[0, 1], stack[0, 2] = n, 1
    depth, n_parts = 1, 1
    while depth > 0:
        depth -= 1
        first, end, level = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if end - first <= _SMALL:
            continue
        middle = _split(order[first:end], indptr, beyond, rows, coordinates, part, side) + first
        for k in range(first, end):
            body = order[k]
            for entry in range(indptr[body], indptr[body + 1]):
                other = beyond[entry]
                if other >= 0 and part[other] == part[body] and side[other] != side[body]:
                    cut_at[joint[entry]] = level
        for k in range(middle, end):
            part[order[k]] = n_parts
        n_parts += 1
        if middle > first and middle < end:
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = first, middle, level + 1
            stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = middle, end, level + 1
            depth += 2


@njit(cache=True)
def _split(
    bodies: IntArray,
    indptr: IntArray,
    beyond: IntArray,
    rows: IntArray,
    coordinates: FloatArray,
    part: IntArray,
    side: np.ndarray,
) -> int:
    """Sort `bodies` into two sides, mark them in `side`; return the size of the first."""
    n = len(bodies)
    here = part[bodies[0]]
    best_cost, best_axis, best_size = np.inf, 0, n // 2
    for axis in range(coordinates.shape[1]):
        sequence = np.argsort(coordinates[bodies, axis], kind="mergesort")
        for body in bodies:
            side[body] = 1
        cut = 0
        for k in range(n - 1):
            body = bodies[sequence[k]]
            side[body] = 0
            for entry in range(indptr[body], indptr[body + 1]):
                other = beyond[entry]
                if other >= 0 and other != body and part[other] == here:
                    cut += rows[entry] if side[other] == 1 else -rows[entry]
            size = min(k + 1, n - 1 - k)
            if size >= _MIDDLE * n and _cost(cut, size, n) < best_cost:
                best_cost, best_axis, best_size = _cost(cut, size, n), axis, k + 1
    sequence = np.argsort(coordinates[bodies, best_axis], kind="mergesort")
    for k in range(n):
        side[bodies[sequence[k]]] = 0 if k < best_size else 1
    size = _moved(bodies[sequence], best_size, indptr, beyond, rows, part, side)
    to, sorted_bodies = 0, np.empty_like(bodies)
    for wanted in range(2):
        for k in range(n):
            if side[bodies[sequence[k]]] == wanted:
                sorted_bodies[to] = bodies[sequence[k]]
                to += 1
    bodies[:] = sorted_bodies
    return size


@njit(cache=True)
def _cost(cut: int, size: int, n: int) -> float:
    """Return what a cut costs: work grows with its cube, and with that of the greater part left."""
    return (cut + 1.0) * (n / (2.0 * size)) ** 0.5


@njit(cache=True)
def _moved(
    bodies: IntArray,
    size: int,
    indptr: IntArray,
    beyond: IntArray,
    rows: IntArray,
    part: IntArray,
    side: np.ndarray,
) -> int:
    """Move bodies to the other side where fewer rows are cut then; return the size of the first."""
    n, here = len(bodies), part[bodies[0]]
    for _ in range(_PASSES):
        has_changed = False
        for body in bodies:
            gain = 0
            for entry in range(indptr[body], indptr[body + 1]):
                other = beyond[entry]
                if other >= 0 and other != body and part[other] == here:
                    gain += rows[entry] if side[other] != side[body] else -rows[entry]
            new_size = size + 1 if side[body] == 1 else size - 1
            smaller, now = min(new_size, n - new_size), min(size, n - size)
            if (gain > 0 and smaller >= _MIDDLE * n) or (gain == 0 and smaller > now):
                side[body] = 1 - side[body]
                size, has_changed = new_size, True
        if not has_changed:
            break
    return size
