"""Cross products, and the equations H qdd + h = tau, term by term as the papers count them."""

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import kernel


@kernel
def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a x b, of vectors (3,)."""
    x = a[1] * b[2] - a[2] * b[1]
    y = a[2] * b[0] - a[0] * b[2]
    return np.array([x, y, a[0] * b[1] - a[1] * b[0]])


# --- H qdd + h = tau, from the lower triangle of H ---


@kernel
def forces(H: FloatArray, h: FloatArray, qdd: FloatArray) -> FloatArray:
    """Return tau (n,)."""
    tau = h.copy()
    for i in range(h.size):
        for j in range(h.size):
            tau[i] += H[max(i, j), min(i, j)] * qdd[j]
    return tau


@kernel
def accelerations(H: FloatArray, h: FloatArray, tau: FloatArray) -> FloatArray:
    """Return qdd (n,) by L D L'; the lower triangle of H (n, n) is destroyed."""
    n, b = h.size, tau - h
    for k in range(n):
        for i in range(k + 1, n):
            factor = H[i, k] / H[k, k]
            H[i, k + 1 : i + 1] -= H[k + 1 : i + 1, k] * factor
            b[i] -= factor * b[k]
        H[k + 1 :, k] /= H[k, k]
        b[k] /= H[k, k]
    for k in range(n - 1, -1, -1):
        for i in range(k + 1, n):
            b[k] -= H[i, k] * b[i]
    return b
