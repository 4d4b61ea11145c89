"""Newton-Euler in four stages, on spatial vectors. After Vukobratovic, Stepanenko (1973)."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.matrices import (
    add_to,
    inner,
    multiply_transposed_vector,
    multiply_vector,
)


@kernel
def vukobratovic_stepanenko(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,); everything is a 6-vector or a 6x6 matrix in link coordinates."""
    n, kind = links.parent.size, motion.qd.dtype
    X = np.empty((n, 6, 6), kind)  # motions, from parent to link coordinates
    v, a = np.zeros((n, 6), kind), np.zeros((n, 6), kind)
    f, tau = np.empty((n, 6), kind), np.empty(n, kind)
    rate, product = np.empty(6, kind), np.empty(6, kind)
    base = np.zeros(6, kind)
    base[3:] = -motion.gravity
    for i in range(n):  # stage 1: velocities and accelerations
        p, subspace = links.parent[i], links.subspace[i]
        _spatial_transform(links, motion, i, X[i])
        if p >= 0:
            multiply_vector(X[i], v[p], v[i])
            multiply_vector(X[i], a[p], a[i])
        else:
            multiply_vector(X[i], base, a[i])
        for k in range(6):
            rate[k] = subspace[k] * motion.qd[i]
            v[i, k] += rate[k]
            a[i, k] += subspace[k] * motion.qdd[i]
        _motion_cross(v[i], rate, product)
        add_to(a[i], product)
    for i in range(n):  # stage 2: forces that accelerate the links
        multiply_vector(links.spatial_inertia[i], v[i], rate)
        _force_cross(v[i], rate, product)
        multiply_vector(links.spatial_inertia[i], a[i], f[i])
        add_to(f[i], product)
    for i in range(n - 1, -1, -1):  # stage 3: forces through the joints
        for k in range(6):
            f[i, k] -= motion.wrench[i, k]
        p = links.parent[i]
        if p >= 0:
            multiply_transposed_vector(X[i], f[i], product)
            add_to(f[p], product)
    for i in range(n):  # stage 4: along the joints
        tau[i] = inner(links.subspace[i], f[i])
    return tau


@kernel
def _spatial_transform(links: Links, motion: Motion, i: int, X: FloatArray) -> None:
    """Fill X (6, 6) = [E, 0; -E r x, E] with E = R'."""
    R, r = motion.rotation[i], motion.translation[i]
    X[:3, :3], X[3:, 3:], X[:3, 3:] = R.T, R.T, links.base[3, 0]
    for row in range(3):
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            X[3 + row, a] = R[c, row] * r[b] - R[b, row] * r[c]


@kernel
def _motion_cross(v: FloatArray, u: FloatArray, product: FloatArray) -> None:
    """Fill v x u. Featherstone (2008), (2.31)."""
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        product[a] = v[b] * u[c] - v[c] * u[b]
        product[3 + a] = v[b] * u[3 + c] - v[c] * u[3 + b] + v[3 + b] * u[c] - v[3 + c] * u[b]


@kernel
def _force_cross(v: FloatArray, f: FloatArray, product: FloatArray) -> None:
    """Fill v x* f. Featherstone (2008), (2.32)."""
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        product[a] = v[b] * f[c] - v[c] * f[b] + v[3 + b] * f[3 + c] - v[3 + c] * f[3 + b]
        product[3 + a] = v[b] * f[3 + c] - v[c] * f[3 + b]
