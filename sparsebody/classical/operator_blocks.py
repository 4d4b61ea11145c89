"""What spatial operators are made of: 6x6 blocks of any kind of number, and their assembly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve_triangular

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.errors import SingularSystemError

Matrix = Any  # a NumPy array, of floats or of objects, or a SciPy sparse array
STORAGES = ("dense", "sparse")
_CANCELLED = 1e-13  # relative


def cross_matrix(vectors: FloatArray) -> FloatArray:
    """Return l~ (n, 3, 3) of vectors l (n, 3): l~ x = l × x."""
    matrix = np.zeros((len(vectors), 3, 3), vectors.dtype)
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        matrix[:, c, b], matrix[:, b, c] = vectors[:, a], -vectors[:, a]
    return matrix


def shift_operators(vectors: FloatArray) -> FloatArray:
    """Return [1, l~; 0, 1] (n, 6, 6): forces, moment first, moved from the end of l to its start.

    Its transpose moves velocities from the start to the end. Liu (2011), phi(2).
    """
    operators = np.zeros((len(vectors), 6, 6), vectors.dtype)
    operators[:, range(6), range(6)] = 1
    operators[:, :3, 3:] = cross_matrix(vectors)
    return operators


def turn_operators(rotations: FloatArray) -> FloatArray:
    """Return [R, 0; 0, R] (n, 6, 6) of rotations (n, 3, 3)."""
    operators = np.zeros((len(rotations), 6, 6), rotations.dtype)
    operators[:, :3, :3] = operators[:, 3:, 3:] = rotations
    return operators


def body_masses(mass: FloatArray, com: FloatArray, inertia: FloatArray) -> FloatArray:
    """Return M(k) = [J, m p~; -m p~, m 1] (n, 6, 6), J about the joint. Liu (2011), (5).

    Parameters
    ----------
    mass, com, inertia : (n,), (n, 3), (n, 3, 3) array
        m [kg], p [m], and the inertia about the center of mass [kg m^2].
    """
    p, m = cross_matrix(com), mass[:, None, None]
    masses = np.zeros((len(mass), 6, 6), mass.dtype)
    masses[:, :3, :3] = inertia - m * (p @ p)
    masses[:, :3, 3:], masses[:, 3:, :3] = m * p, -m * p
    masses[:, range(3, 6), range(3, 6)] = mass[:, None]
    return masses


class ArticulatedBlocks(NamedTuple):
    """Blocks of the articulated-body operators, bodies from the tip to the base."""

    P: FloatArray  # (n, 6, 6) articulated inertias
    D: FloatArray  # (n, 1, 1) H P H*
    G: FloatArray  # (n, 6, 1) P H* D^-1


def articulated_blocks(
    parent: IntArray, shifts: FloatArray, subspace: FloatArray, masses: FloatArray
) -> ArticulatedBlocks:
    """Return the blocks for which P = M + eps (1 - G H) P eps*, from the tips to the base.

    Parameters
    ----------
    parent : (n,) int array
        The later body on which each hangs, n for the base.
    shifts, subspace, masses : (n, 6, 6), (n, 6), (n, 6, 6) array
        phi(k+1, k), H(k) and M(k).

    Raises
    ------
    SingularSystemError
        Naming the joint, if D is not positive, or is what rounding leaves of what it was before
        the joints of the children were let go.
    """
    n, P, H, held = len(parent), masses.copy(), subspace, masses.copy()
    D, G = np.empty((n, 1, 1), P.dtype), np.empty((n, 6, 1), P.dtype)
    is_rounded = P.dtype == float
    for k, p in enumerate(parent):
        U = P[k] @ H[k]
        D[k] = H[k] @ U
        least = _CANCELLED * (H[k] @ held[k] @ H[k]) if is_rounded else 0
        if D[k, 0, 0] == 0 or (is_rounded and not D[k, 0, 0] > least):
            raise SingularSystemError(
                f"joint {n - k}: nothing resists its motion, H P H* is {D[k, 0, 0]}; give the "
                "links that it carries an inertia about its axis, or mass along it"
            )
        G[k, :, 0] = U / D[k, 0, 0]
        if p < n:
            if is_rounded:
                held[p] += shifts[k] @ P[k] @ shifts[k].T
            P[p] += shifts[k] @ (P[k] - G[k] * U) @ shifts[k].T
    return ArticulatedBlocks(P, D, G)


def assembled(
    storage: str, rows: IntArray, columns: IntArray, blocks: FloatArray, shape: tuple[int, int]
) -> Matrix:
    """Return a matrix of `shape` blocks of which these (m, r, c) are not zero."""
    _, r, c = blocks.shape
    size = (shape[0] * r, shape[1] * c)
    if storage == "dense":
        matrix = np.zeros((shape[0], r, shape[1], c), blocks.dtype)
        matrix[rows, :, columns, :] = blocks
        return matrix.reshape(size)
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


def series_times(eps: Matrix, x: FloatArray, n: int, *, transposed: bool = False) -> FloatArray:
    """Return (1 - eps)^-1 x, or (1 - eps*)^-1 x, without the inverse; eps is below the diagonal."""
    step = eps.T if transposed else eps
    if sparse.issparse(step):
        left = sparse.eye_array(step.shape[0], format="csr") - step
        return spsolve_triangular(left.tocsr(), x, lower=not transposed, unit_diagonal=True)
    total = x
    for _ in range(n - 1):
        total = x + step @ total
    return total
