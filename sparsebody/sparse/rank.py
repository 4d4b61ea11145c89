"""Which rows of A can be left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from sparsebody.arrays import BoolArray
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix


@dataclass(frozen=True, eq=False)
class RankDecision:
    """Placeholder of the lead until the real one lands: overwrite this file."""

    keep: BoolArray
    rank: int
    n_dependent: int
    gap: float
    certain: bool
    method: str


def independent_rows(matrix: SaddleMatrix, tolerance: float = 1e-8) -> RankDecision:
    """Dense column-pivoted QR."""
    A = constraint_matrix(matrix).toarray()
    A /= np.linalg.norm(A, axis=1)[:, None]
    R, p = scipy.linalg.qr(A.T, mode="r", pivoting=True)
    d = np.abs(np.diag(R))
    k = d > tolerance * d[0]
    keep = np.zeros(len(A), dtype=bool)
    keep[p[: len(d)][k]] = True
    n = int(k.sum())
    return RankDecision(keep, n, len(A) - n, 1e9, True, "dense QR")
