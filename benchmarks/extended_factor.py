"""LU factors, as doubles, that references in extended precision are corrected with."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csc_array, diags_array
from scipy.sparse.linalg import SuperLU, splu

from sparsebody.arrays import BoolArray, FloatArray, IntArray


class Factor:
    """LU factors of [D A'; A 0] as doubles, kept rows only, everything scaled."""

    def __init__(
        self,
        inertia: FloatArray,
        mass: FloatArray,
        values: FloatArray,
        ends: IntArray,
        keep: BoolArray,
    ) -> None:
        n, self.kept, self.m = 6 * len(mass), np.flatnonzero(keep), len(keep)
        values, ends = values[self.kept], ends[self.kept]
        moving = np.broadcast_to((ends < len(mass))[:, :, None], values.shape)
        row = np.broadcast_to(np.arange(len(ends))[:, None, None], values.shape)
        column = 6 * ends[:, :, None] + np.arange(6)
        shape = (len(self.kept), n)
        A = coo_array((values[moving], (row[moving], column[moving])), shape=shape).tocsr()
        body = np.arange(len(mass))
        turning = 6 * body[:, None, None] + np.zeros((1, 3, 3), dtype=int)
        i, k = turning + np.arange(3)[:, None], turning + np.arange(3)
        sliding = (6 * body[:, None] + np.arange(3, 6)).ravel()
        entries = np.concatenate([inertia.ravel(), np.repeat(mass, 3)])
        places = (np.concatenate([part.ravel(), sliding]) for part in (i, k))
        D = coo_array((entries, tuple(places)), shape=(n, n)).tocsr()
        root = 1.0 / np.sqrt(D.diagonal())
        A = A @ diags_array(root)
        norm = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
        self.scale = np.concatenate([root, 1.0 / norm])
        unscaled = coo_array(diags_array(root) @ D @ diags_array(root))
        A = coo_array(diags_array(1.0 / norm) @ A)
        size = n + len(self.kept)
        K = coo_array(
            (
                np.concatenate([unscaled.data, A.data, A.data]),
                (
                    np.concatenate([unscaled.row, n + A.row, A.col]),
                    np.concatenate([unscaled.col, A.col, n + A.row]),
                ),
            ),
            shape=(size, size),
        )
        self.n = n
        self.factors: SuperLU = splu(csc_array(K), permc_spec="COLAMD", diag_pivot_thresh=1.0)

    def solve(self, force: FloatArray, rate: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a (n,) and lambda (m,), zero where rows are left out."""
        right = np.concatenate([force, rate[self.kept]])
        x = self.scale * self.factors.solve(self.scale * right)
        lam = np.zeros(self.m)
        lam[self.kept] = x[self.n :]
        return x[: self.n], lam
