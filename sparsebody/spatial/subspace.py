"""Subspaces of motion and force vectors, given by a basis, the columns of a (6, n) array."""

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.errors import ShapeError
from sparsebody.tolerances import SUBSPACE_TOLERANCE, TIE_TOLERANCE


def orthogonal_complement(subspace: ArrayLike) -> FloatArray:
    """Return T (6, 6 - n), orthonormal, with T' S = 0: forces that constrain motions, or back.

    T depends on what S (6, n) spans, not on the basis, and is made of unit vectors where S is.
    RBDA sec. 3.2, table 3.1.
    """
    S = np.asarray(subspace, dtype=float)
    if S.ndim != 2 or S.shape[0] != 6 or S.shape[1] > 6:
        raise ShapeError(f"subspace must have shape (6, n) with n <= 6, got {S.shape}")
    if not np.all(np.isfinite(S)):
        raise ShapeError(f"subspace must hold finite numbers, got {S.tolist()}")
    norms = np.linalg.norm(S, axis=0)
    S = S / np.where(norms > 0.0, norms, 1.0)
    values = np.linalg.svd(S, compute_uv=False)
    if np.any(values <= SUBSPACE_TOLERANCE * np.max(values, initial=0.0)):
        raise ShapeError(
            f"the {S.shape[1]} columns of subspace depend on each other; leave out the "
            "redundant ones"
        )
    basis, rows = np.zeros_like(S), np.any(S != 0.0, axis=1)  # zero in the rows where S is
    basis[rows] = np.linalg.qr(S[rows])[0]
    projector = np.eye(6) - basis @ basis.T
    complement = np.empty((6, 6 - basis.shape[1]))
    for column in complement.T:  # Cholesky with diagonal pivoting; each pivot is at least 1/6
        diagonal = np.diagonal(projector)
        pivot = int(np.argmax(diagonal >= np.max(diagonal) - TIE_TOLERANCE))
        column[:] = projector[pivot] / np.sqrt(diagonal[pivot])
        projector -= np.outer(column, column)
    return complement
