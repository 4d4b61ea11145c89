"""Loops over loops and joints: what circulates, and what that does at each joint."""

from __future__ import annotations

import numpy as np
from numba import njit

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.spatial.tuples import (
    Vector,
    add,
    cross,
    difference,
    dot,
    load_rotation,
    load_vector,
    scaled,
    store_vector,
    turned,
    turned_back,
)

TOLERANCE = 1e-8  # of freedoms and wrenches of unit size
NOISE = 1e-15


@njit(cache=True)
def _orthonormal(vectors: FloatArray, n: int, basis: FloatArray) -> tuple[int, float]:
    """Fill `basis` with the span of vectors[:n] and then its complement; return rank and gap.

    Gram-Schmidt, the largest remainder first; overwrites `vectors`.
    """
    rank, least, largest = 0, np.inf, 0.0
    while rank < 6:
        best, size = -1, 0.0
        for i in range(n):
            length = _length(vectors[i])
            if length > size:
                best, size = i, length
        largest = size
        if best < 0 or size <= TOLERANCE:
            break
        least = size
        _add(vectors[best], basis, rank)
        rank += 1
        for i in range(n):
            _take_away(vectors[i], basis[rank - 1])
    if rank == 6:
        largest = 0.0
    unit = np.empty(6)
    for filled in range(rank, 6):
        best, most = 0, -1.0
        for a in range(6):  # the unit vector that is least covered
            left = 1.0
            for k in range(filled):
                left -= basis[k, a] ** 2
            if left > most:
                best, most = a, left
        unit[:] = 0.0
        unit[best] = 1.0
        for k in range(filled):
            _take_away(unit, basis[k])
        _add(unit, basis, filled)
    return rank, least / max(largest, NOISE)


@njit(cache=True)
def _add(vector: FloatArray, basis: FloatArray, place: int) -> None:
    """Put what `vector` adds to basis[:place] there, normalized; orthogonalized once more."""
    basis[place] = vector
    for _ in range(2):
        length = _length(basis[place])
        for a in range(6):
            basis[place, a] /= length
        for k in range(place):
            _take_away(basis[place], basis[k])


@njit(cache=True)
def _length(vector: FloatArray) -> float:
    square = 0.0
    for a in range(6):
        square += vector[a] * vector[a]
    return float(np.sqrt(square))


@njit(cache=True)
def _take_away(vector: FloatArray, unit: FloatArray) -> None:
    part = 0.0
    for a in range(6):
        part += vector[a] * unit[a]
    for a in range(6):
        vector[a] -= part * unit[a]


@njit(cache=True)
def _store(linear: Vector, angular: Vector, vector: FloatArray) -> None:
    """Fill a vector of unit length."""
    store_vector(vector, 0, angular)
    store_vector(vector, 3, linear)
    length = _length(vector)
    for a in range(6):
        vector[a] /= length


@njit(cache=True)
def fill_freedoms(
    first_row: IntArray, subspace: FloatArray, sizes: FloatArray, free: FloatArray, n_free: IntArray
) -> None:
    """Fill the freedoms (size * angular, linear) of every joint in S axes, orthonormal."""
    rows, basis = np.empty((12, 6)), np.empty((6, 6))
    for j in range(len(sizes)):
        n = min(first_row[j + 1] - first_row[j], 12)
        for k in range(n):
            row = subspace[first_row[j] + k]
            moment = scaled(1.0 / sizes[j], load_vector(row, 0))
            _store(load_vector(row, 3), moment, rows[k])
        rank, _ = _orthonormal(rows, n, basis)
        n_free[j] = 6 - rank
        free[j, : 6 - rank] = basis[rank:]


@njit(cache=True)
def fill_circulations(
    start: IntArray,
    edge: IntArray,
    axes: FloatArray,
    origin: FloatArray,
    sizes: FloatArray,
    free: FloatArray,
    n_free: IntArray,
    dimension: IntArray,
    wrench: FloatArray,
    center: FloatArray,
    length: FloatArray,
    gap: FloatArray,
) -> None:
    """Fill what the freedoms of each cycle leave; the last five arrays start at zero."""
    longest = 0
    for c in range(len(start) - 1):
        longest = max(longest, start[c + 1] - start[c])
    motions, basis = np.empty((6 * longest, 6)), np.empty((6, 6))
    for c in range(len(start) - 1):
        joints = edge[start[c] : start[c + 1]]
        for j in joints:
            for a in range(3):
                center[c, a] += origin[j, a] / len(joints)
        middle = load_vector(center[c], 0)
        for j in joints:
            arm = difference(middle, load_vector(origin[j], 0))
            length[c] = max(length[c], np.sqrt(dot(arm, arm)), sizes[j])
        n = 0
        for j in joints:
            arm = difference(middle, load_vector(origin[j], 0))
            R = load_rotation(axes[j])
            for k in range(n_free[j]):
                w = scaled(1.0 / sizes[j], turned(R, load_vector(free[j, k], 0)))
                v = add(turned(R, load_vector(free[j, k], 3)), cross(w, arm))
                _store(scaled(1.0 / length[c], v), w, motions[n])
                n += 1
        rank, gap[c] = _orthonormal(motions, n, basis)
        dimension[c] = 6 - rank
        wrench[c, : 6 - rank] = basis[rank:]


@njit(cache=True)
def spread(
    start: IntArray,
    edge: IntArray,
    sign: IntArray,
    axes: FloatArray,
    origin: FloatArray,
    sizes: FloatArray,
    dimension: IntArray,
    wrench: FloatArray,
    center: FloatArray,
    length: FloatArray,
    weight: FloatArray,
    share: FloatArray,
    sample: FloatArray,
) -> None:
    """Fill what the circulations do at the joints; the last two arrays start at zero."""
    part, square = np.empty(6), np.empty(6)
    for c in range(len(start) - 1):
        for place in range(start[c], start[c + 1]):
            j = edge[place]
            R = load_rotation(axes[j])
            arm = difference(load_vector(center[c], 0), load_vector(origin[j], 0))
            arm = scaled(1.0 / length[c], arm)
            square[:] = 0.0
            for i in range(dimension[c]):
                force = load_vector(wrench[c, i], 3)
                moment = add(load_vector(wrench[c, i], 0), cross(arm, force))
                store_vector(part, 0, turned_back(R, moment))
                store_vector(part, 3, turned_back(R, force))
                for a in range(6):
                    square[a] += part[a] ** 2
                    size = sign[place] * part[a] * (length[c] / sizes[j] if a < 3 else 1.0)
                    for k in range(weight.shape[2]):
                        sample[j, a, k] += size * weight[c, i, k]
            for a in range(6):
                share[j, a] = max(share[j, a], np.sqrt(square[a]))
