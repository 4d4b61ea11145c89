"""Subspaces of motion and force vectors: complements, direct sums, and the split of a force.

A subspace is given by a basis, the columns of a (6, n) array. Orthogonality is that of the dual
spaces, power t's = 0 of a force and a motion; Featherstone (2008), sec. 3.2.
"""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray, floats
from sparsebody.errors import ShapeError
from sparsebody.tolerances import SUBSPACE_TOLERANCE, TIE_TOLERANCE


def orthogonal_complement(subspace: ArrayLike) -> FloatArray:
    """Return T (6, 6 - n), orthonormal, with T' S = 0: forces that constrain motions, or back.

    T depends on what S (6, n) spans, not on the basis, and is made of unit vectors where S is.
    RBDA sec. 3.2, table 3.1.
    """
    basis = _orthonormal_basis(subspace, "subspace")
    projector = np.eye(6) - basis @ basis.T
    complement = np.empty((6, 6 - basis.shape[1]))
    for column in complement.T:  # Cholesky with diagonal pivoting; each pivot is at least 1/6
        diagonal = np.diagonal(projector)
        pivot = int(np.argmax(diagonal >= np.max(diagonal) - TIE_TOLERANCE))
        column[:] = projector[pivot] / np.sqrt(diagonal[pivot])
        projector -= np.outer(column, column)
    return complement


def is_direct_sum(first: ArrayLike, second: ArrayLike) -> bool:
    """Say whether every 6-vector has one part in each of two subspaces. RBDA eq. (3.24)."""
    S1, S2 = _orthonormal_basis(first, "first"), _orthonormal_basis(second, "second")
    both = np.hstack([S1, S2])
    return both.shape[1] == 6 and _rank(both) == 6


def decompose(
    first: ArrayLike, second: ArrayLike, vector: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return alpha1 and alpha2 with v = S1 alpha1 + S2 alpha2. RBDA (3.26), (3.27).

    ShapeError where the direct sum of S1 (6, n1) and S2 (6, n2) is not the whole space.
    """
    S1, S2 = _basis(first, "first"), _basis(second, "second")
    v = floats(vector, (6,), "vector")
    if not is_direct_sum(S1, S2):
        raise ShapeError(
            f"subspaces of dimension {S1.shape[1]} and {S2.shape[1]} have no direct sum that is "
            "the whole space; the decomposition would not exist or not be unique"
        )
    alpha: FloatArray = np.linalg.solve(np.hstack([S1, S2]), v[..., None])[..., 0].astype(float)
    return alpha[..., : S1.shape[1]], alpha[..., S1.shape[1] :]


def split_force(
    inertia: ArrayLike, subspace: ArrayLike, force: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Split a force (..., 6) into what accelerates a body and what its constraint cancels.

    The first is I S inv(S' I S) S' f, in range(I S), for the inertia I (6, 6) and any basis S (6,
    n) of the motions left to the body; the second is in the orthogonal complement of S. RBDA eq.
    (3.28).
    """
    f = floats(force, (6,), "force")
    active = f @ apparent_inverse_inertia(inertia, subspace) @ np.asarray(inertia, dtype=float)
    return active, f - active


def apparent_inverse_inertia(inertia: ArrayLike, subspace: ArrayLike) -> FloatArray:
    """Return S inv(S' I S) S' (6, 6): from the force on a constrained body to its acceleration.

    The same for every basis S (6, n) of the motions left to it. RBDA example 3.1.
    """
    matrix, S = floats(inertia, (6, 6), "inertia"), _orthonormal_basis(subspace, "subspace")
    if matrix.ndim != 2:
        raise ShapeError(f"inertia must have shape (6, 6), got {matrix.shape}")
    try:
        factor = np.linalg.cholesky(S.T @ matrix @ S)
    except np.linalg.LinAlgError as error:
        raise ShapeError("inertia is not positive definite on the motion subspace") from error
    half = np.linalg.solve(factor, S.T)
    product: FloatArray = half.T @ half
    return product


def _basis(subspace: ArrayLike, name: str) -> FloatArray:
    """Return a basis as a finite array (6, n), n <= 6."""
    S = np.asarray(subspace, dtype=float)
    if S.ndim != 2 or S.shape[0] != 6 or S.shape[1] > 6:
        raise ShapeError(f"{name} must have shape (6, n) with n <= 6, got {S.shape}")
    if not np.all(np.isfinite(S)):
        raise ShapeError(f"{name} must hold finite numbers, got {S.tolist()}")
    return S


def _orthonormal_basis(subspace: ArrayLike, name: str) -> FloatArray:
    """Return orthonormal columns with the same span, exactly zero in the rows where S is zero."""
    S = _basis(subspace, name)
    norms = np.linalg.norm(S, axis=0)
    if np.all(norms > 0.0) and _rank(S / norms) == S.shape[1]:
        orthonormal, rows = np.zeros_like(S), np.any(S != 0.0, axis=1)
        orthonormal[rows] = np.linalg.qr(S[rows] / norms)[0]
        return orthonormal
    raise ShapeError(
        f"the {S.shape[1]} columns of {name} depend on each other; leave out the redundant ones"
    )


def _rank(matrix: FloatArray) -> int:
    """Return the number of singular values that do not vanish."""
    values = np.linalg.svd(matrix, compute_uv=False)
    return int(np.sum(values > SUBSPACE_TOLERANCE * np.max(values, initial=0.0)))
