"""Constraint rows made comparable: A D^-1/2 with rows of unit norm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.sparse.levels import cuthill_mckee
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.saddle import SaddleMatrix


@dataclass(frozen=True, eq=False)
class PartOfRows:
    """The rows of some dual blocks, on the primal blocks that these touch."""

    pattern: BlockPattern  # numbered from 0
    rows: FloatArray  # (n_rows, 2, width)
    index: IntArray  # (n_rows,) which rows of the whole they are


def whitened_rows(matrix: SaddleMatrix) -> FloatArray:
    """Return the rows of A D^-1/2 scaled to unit norm, (n_dual_rows, 2, width); zero rows stay.

    A row with both ends on one primal block has its sum on the first end.
    """
    everything = np.arange(matrix.pattern.n_dual, dtype=np.intp)
    primal = np.arange(matrix.pattern.n_primal, dtype=np.intp)
    return _part(matrix, everything, primal, primal.copy(), matrix.inverse).rows


def part_of_rows(
    matrix: SaddleMatrix, dual: IntArray, label: IntArray, sweep: bool = False
) -> PartOfRows:
    """Return the rows of the dual blocks `dual`, counted from 0, scaled to unit norm only.

    `label` (n_primal,) is -1 everywhere, before and after: room for numbers. With `sweep`, primal
    blocks are numbered breadth first, from the end where more of them touch nothing else, and dual
    ones by the first of their primal blocks; otherwise they are numbered as `dual` lists them.
    """
    pattern = matrix.pattern
    primal = _numbered(pattern.ends, dual, label)
    if sweep:
        order = _grounded_first(_restricted(pattern, dual, primal, label))
        primal = primal[order]
        label[primal] = np.arange(len(primal))
        dual = dual[_by_first_end(pattern.ends, dual, label, len(primal))]
    unit = np.eye(matrix.rows.shape[2])[None]
    part = _part(matrix, dual, primal, label, unit)
    label[primal] = -1
    return part


def _restricted(
    pattern: BlockPattern, dual: IntArray, primal: IntArray, label: IntArray
) -> BlockPattern:
    """Return the pattern of some blocks in new numbers."""
    sizes = pattern.block_sizes[np.concatenate([primal, pattern.n_primal + dual])]
    return BlockPattern(sizes, _relabelled(pattern.ends, dual, label))


def _grounded_first(pattern: BlockPattern) -> IntArray:
    """Return the primal blocks breadth first, from the end with more grounded ones."""
    order = cuthill_mckee(pattern)
    grounded = np.zeros(pattern.n_primal, dtype=np.bool_)
    grounded[pattern.ends[(pattern.ends < 0).any(axis=1)].max(axis=1, initial=0)] = True
    place = np.flatnonzero(grounded[order])
    is_last = len(place) > 0 and 2 * place.mean() > pattern.n_primal - 1
    return order[::-1] if is_last else order


def _part(
    matrix: SaddleMatrix, dual: IntArray, primal: IntArray, label: IntArray, inverse: FloatArray
) -> PartOfRows:
    """Return the rows of some dual blocks, in this sequence; `inverse` is D^-1, or one for all."""
    pattern = matrix.pattern
    part = _restricted(pattern, dual, primal, label)
    n = part.n_primal
    first = pattern.offsets[pattern.n_primal + dual] - pattern.n_primal_rows
    shift = first - (part.offsets[n:-1] - part.n_primal_rows)
    index = np.repeat(shift, part.block_sizes[n:])
    index += np.arange(len(index))
    rows = np.zeros((len(index), *matrix.rows.shape[1:]))
    values = np.ascontiguousarray(inverse), np.ascontiguousarray(matrix.rows)
    _whiten(*_structure(part), primal, index, *values, rows)
    return PartOfRows(part, rows, index)


def _structure(pattern: BlockPattern) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Return what the kernel has to know of a pattern."""
    sizes = np.ascontiguousarray(pattern.block_sizes, dtype=np.intp)
    ends = np.ascontiguousarray(pattern.ends, dtype=np.intp)
    return (*pattern.adjacency, sizes, pattern.offsets, ends)


@njit(cache=True)
def _numbered(ends: IntArray, dual: IntArray, label: IntArray) -> IntArray:
    """Return the primal blocks that `dual` touch, and number them in `label`."""
    found = np.empty(2 * len(dual), dtype=np.intp)
    n = 0
    for j in dual:
        for side in range(2):
            if ends[j, side] >= 0 and label[ends[j, side]] < 0:
                label[ends[j, side]] = n
                found[n] = ends[j, side]
                n += 1
    return found[:n].copy()


@njit(cache=True)
def _relabelled(ends: IntArray, dual: IntArray, label: IntArray) -> IntArray:
    """Return the ends of `dual` in new numbers."""
    relabelled = np.full((len(dual), 2), -1, dtype=np.intp)
    for k in range(len(dual)):
        for side in range(2):
            if ends[dual[k], side] >= 0:
                relabelled[k, side] = label[ends[dual[k], side]]
    return relabelled


@njit(cache=True)
def _by_first_end(ends: IntArray, dual: IntArray, label: IntArray, n_primal: int) -> IntArray:
    """Sort `dual` by the lower new number of their ends, then by the higher one."""
    lower, higher = np.empty(len(dual), dtype=np.intp), np.empty(len(dual), dtype=np.intp)
    for k in range(len(dual)):
        a, b = ends[dual[k], 0], ends[dual[k], 1]
        one = label[a] if a >= 0 else label[b]
        other = label[b] if b >= 0 else one
        lower[k], higher[k] = min(one, other), max(one, other)
    by_higher = _counting_sort(higher, np.arange(len(dual)), n_primal)
    return _counting_sort(lower, by_higher, n_primal)


@njit(cache=True)
def _counting_sort(keys: IntArray, order: IntArray, n: int) -> IntArray:
    """Return `order` sorted by keys[order], 0 .. n-1, equal ones as they were."""
    following = np.zeros(n + 1, dtype=np.intp)
    for key in keys:
        following[key + 1] += 1
    for k in range(n):
        following[k + 1] += following[k]
    found = np.empty_like(order)
    for k in order:
        found[following[keys[k]]] = k
        following[keys[k]] += 1
    return found


@njit(cache=True)
def _whiten(
    indptr: IntArray,
    indices: IntArray,
    sizes: IntArray,
    offsets: IntArray,
    ends: IntArray,
    primal: IntArray,
    index: IntArray,
    inverse: FloatArray,
    rows: FloatArray,
    whitened: FloatArray,
) -> None:
    """Fill `whitened`, zero at first: row index[k] of A, with block primal[i] of D^-1 = L L'."""
    n, width = len(primal), rows.shape[2]
    root = np.zeros((width, width))
    first_row = offsets[n]
    for i in range(n):
        _cholesky(inverse[min(primal[i], len(inverse) - 1)], sizes[i], root)
        for entry in range(indptr[i], indptr[i + 1]):
            joint = indices[entry]
            for side in range(2):
                if ends[joint - n, side] != i:
                    continue
                to = 0 if ends[joint - n, 0] == i else 1
                for k in range(offsets[joint] - first_row, offsets[joint + 1] - first_row):
                    if width == 6:
                        _add_product_6(rows, index[k], side, root, whitened, k, to)
                    else:
                        _add_product(rows[index[k], side], root, sizes[i], whitened[k, to])
    for k in range(len(whitened)):
        square = 0.0
        for side in range(2):
            for a in range(width):
                square += whitened[k, side, a] ** 2
        if square > 0.0:
            scale = 1.0 / np.sqrt(square)
            for side in range(2):
                for a in range(width):
                    whitened[k, side, a] *= scale


@njit(cache=True)
def _add_product(row: FloatArray, root: FloatArray, n: int, total: FloatArray) -> None:
    """Add row' root to `total`."""
    for b in range(n):
        for a in range(b, n):
            total[b] += row[a] * root[a, b]


@njit(cache=True, fastmath={"contract"})
def _add_product_6(
    rows: FloatArray, k: int, side: int, root: FloatArray, total: FloatArray, place: int, to: int
) -> None:
    """Add rows[k, side]' root to total[place, to]; views would cost more than the sums."""
    r0, r1, r2 = rows[k, side, 0], rows[k, side, 1], rows[k, side, 2]
    r3, r4, r5 = rows[k, side, 3], rows[k, side, 4], rows[k, side, 5]
    x5 = r5 * root[5, 5]
    x4 = r4 * root[4, 4] + r5 * root[5, 4]
    x3 = r3 * root[3, 3] + r4 * root[4, 3] + r5 * root[5, 3]
    x2 = r2 * root[2, 2] + r3 * root[3, 2] + r4 * root[4, 2] + r5 * root[5, 2]
    x1 = r1 * root[1, 1] + r2 * root[2, 1] + r3 * root[3, 1] + r4 * root[4, 1] + r5 * root[5, 1]
    x0 = r0 * root[0, 0] + r1 * root[1, 0] + r2 * root[2, 0]
    x0 += r3 * root[3, 0] + r4 * root[4, 0] + r5 * root[5, 0]
    total[place, to, 0] += x0
    total[place, to, 1] += x1
    total[place, to, 2] += x2
    total[place, to, 3] += x3
    total[place, to, 4] += x4
    total[place, to, 5] += x5


@njit(cache=True)
def _cholesky(matrix: FloatArray, n: int, root: FloatArray) -> None:
    """Fill the lower triangle of root[:n, :n], and the rest with zeros."""
    root[n:] = 0.0
    for j in range(n):
        for i in range(j, n):
            value = matrix[i, j]
            for k in range(j):
                value -= root[i, k] * root[j, k]
            root[i, j] = np.sqrt(value) if i == j else value / root[j, j]
