"""Implicit and explicit constraints on H qdd + C = tau. Featherstone (2008), (3.11) to (3.23).

Implicit: K qdd = k, with constraint forces K' lambda. Explicit: qdd = G ydd + g, with constraint
forces tau_c that do no work, G' tau_c = 0. Both describe the same motions if K G = 0, K g = k and
rank K + rank G = n. All matrices are dense; `right` is tau - C.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sparsebody.arrays import FloatArray


def implicit_system(
    H: FloatArray, K: FloatArray, right: FloatArray, k: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return matrix and right-hand side of (3.17), whose solution is [qdd; -lambda]."""
    m = len(K)
    return np.block([[H, K.T], [K, np.zeros((m, m))]]), np.concatenate([right, k])


def explicit_system(
    H: FloatArray, G: FloatArray, right: FloatArray, g: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return matrix and right-hand side of (3.18), whose solution is [qdd; tau_c; ydd]."""
    n, m = G.shape
    one, none = np.eye(n), np.zeros((n, m))
    matrix = np.block(
        [[H, -one, none], [-one, np.zeros((n, n)), G], [none.T, G.T, np.zeros((m, m))]]
    )
    return matrix, np.concatenate([right, -g, np.zeros(m)])


def dual_system(
    H: FloatArray, G: FloatArray, right: FloatArray, g: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return matrix and right-hand side of (3.19), whose solution is [tau_c; -ydd].

    The dual of (3.17): motions and forces have changed places. The sign of ydd is that for which
    the matrix is symmetric and its first equation is qdd = G ydd + g.
    """
    n, m = G.shape
    factor = cho_factor(H)
    matrix = np.block([[cho_solve(factor, np.eye(n)), G], [G.T, np.zeros((m, m))]])
    return matrix, np.concatenate([g - cho_solve(factor, right), np.zeros(m)])


def projected_system(
    H: FloatArray, C: FloatArray, G: FloatArray, g: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return H_G = G' H G and C_G = G' (C + H g) of H_G ydd + C_G = u = G' tau. (3.20), (3.21).

    The projection method: G' takes the constraint forces away. H_G is positive definite, the
    kinetic energy is yd' H_G yd / 2, and u' yd is the power of tau.
    """
    return G.T @ H @ G, G.T @ (C + H @ g)
