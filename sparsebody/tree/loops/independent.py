"""Independent velocities of a mechanism with loops: qd = G yd, qdd = G ydd + g."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lstsq, svd

from sparsebody.arrays import FloatArray
from sparsebody.tree.loops.loop_constraints import loop_matrix, loop_right_hand_side, loop_rows
from sparsebody.tree.problem import TreeProblem

DEPENDENT = 1e-9  # singular values below this, relative, of K with rows made comparable


def independent_velocities(problem: TreeProblem) -> tuple[FloatArray, FloatArray]:
    """Return G (n_velocities, n - r) and g (n_velocities,) with K G = 0 and K g = k.

    Rows of G at driven coordinates are zero, and g has their accelerations. Featherstone (2008),
    eqs. (8.41) and (8.42).
    """
    rows = loop_rows(problem)
    K, k = loop_matrix(problem, rows), loop_right_hand_side(problem, rows)
    is_free = np.ones(problem.tree.n_velocities, dtype=np.bool_)
    if len(problem.is_driven):
        is_free = ~problem.is_driven
    K = K[:, is_free]
    scale = 1.0 / np.linalg.norm(rows.wrench, axis=(1, 2))  # K may have rows that are but rounding
    null = null_space(scale[:, None] * K)
    G, g = np.zeros((len(is_free), null.shape[1])), problem.driven_qdd.copy()
    G[is_free] = null
    if len(K):
        g[is_free] += lstsq(scale[:, None] * K, scale * k, cond=DEPENDENT)[0]
    return G, g


def null_space(K: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the columns x with K x = 0."""
    if K.size == 0:
        return np.eye(K.shape[1])
    _, singular, Vt = svd(K)
    rank = int(np.count_nonzero(singular > DEPENDENT * singular[0])) if singular[0] > 0.0 else 0
    return Vt[rank:].T
