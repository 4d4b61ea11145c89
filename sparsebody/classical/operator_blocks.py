"""What spatial operators are made of: 6x6 blocks of any kind of number, and their assembly."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sparsebody.arrays import FloatArray, IntArray

Matrix = Any  # a NumPy array, of floats or of objects, or a SciPy sparse array
STORAGES = ("dense", "sparse")


def cross_matrix(vectors: FloatArray) -> FloatArray:
    """Return l~ (n, 3, 3) of vectors l (n, 3): l~ x = l × x."""
    found = np.zeros((len(vectors), 3, 3), vectors.dtype)
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        found[:, c, b], found[:, b, c] = vectors[:, a], -vectors[:, a]
    return found


def shift_operators(vectors: FloatArray) -> FloatArray:
    """Return [1, l~; 0, 1] (n, 6, 6): forces, moment first, moved from the end of l to its start.

    Its transpose moves velocities from the start to the end. Liu (2011), phi(2).
    """
    found = np.zeros((len(vectors), 6, 6), vectors.dtype)
    found[:, range(6), range(6)] = 1
    found[:, :3, 3:] = cross_matrix(vectors)
    return found


def turn_operators(rotations: FloatArray) -> FloatArray:
    """Return [R, 0; 0, R] (n, 6, 6) of rotations (n, 3, 3)."""
    found = np.zeros((len(rotations), 6, 6), rotations.dtype)
    found[:, :3, :3] = found[:, 3:, 3:] = rotations
    return found


def body_masses(mass: FloatArray, com: FloatArray, inertia: FloatArray) -> FloatArray:
    """Return M(k) = [J, m p~; -m p~, m 1] (n, 6, 6), J about the joint. Liu (2011), (5).

    Parameters
    ----------
    mass, com, inertia : (n,), (n, 3), (n, 3, 3) array
        m [kg], p [m], and the inertia about the center of mass [kg m^2].
    """
    p, m = cross_matrix(com), mass[:, None, None]
    found = np.zeros((len(mass), 6, 6), mass.dtype)
    found[:, :3, :3] = inertia - m * (p @ p)
    found[:, :3, 3:], found[:, 3:, :3] = m * p, -m * p
    found[:, range(3, 6), range(3, 6)] = mass[:, None]
    return found


def assembled(
    storage: str, rows: IntArray, columns: IntArray, blocks: FloatArray, shape: tuple[int, int]
) -> Matrix:
    """Return a matrix of `shape` blocks of which these (m, r, c) are not zero."""
    _, r, c = blocks.shape
    size = (shape[0] * r, shape[1] * c)
    if storage == "dense":
        found = np.zeros((shape[0], r, shape[1], c), blocks.dtype)
        found[rows, :, columns, :] = blocks
        return found.reshape(size)
    i = np.broadcast_to(r * rows[:, None, None] + np.arange(r)[:, None], blocks.shape)
    j = np.broadcast_to(c * columns[:, None, None] + np.arange(c), blocks.shape)
    kept = blocks != 0
    return sparse.csr_array((blocks[kept], (i[kept], j[kept])), shape=size)


def identity(storage: str, size: int, kind: Any) -> Matrix:
    """Return the unit matrix."""
    return np.eye(size, dtype=kind) if storage == "dense" else sparse.eye_array(size, format="csr")


def summed_series(eps: Matrix, one: Matrix, n: int) -> Matrix:
    """Return 1 + eps + ... + eps^(n-1) = (1 + eps) (1 + eps^2) (1 + eps^4) ...

    This is (1 - eps)^-1 for eps^n = 0, as it is where each of n bodies hangs on a later one.
    """
    total, power, reached = one + eps, eps, 2
    while reached < n:
        power = power @ power
        total, reached = total + total @ power, 2 * reached
    return total
