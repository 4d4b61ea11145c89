"""The recursive Lagrangian of 3x3 rotations and positions. Hollerbach (1980), sec. IV."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.compiling import kernel
from sparsebody.classical.links import Links, Motion
from sparsebody.classical.matrices import (
    add_scaled,
    add_to,
    inner,
    multiply,
    multiply_by_transposed,
    multiply_from,
    multiply_vector,
    trace_of_product,
)


@kernel
def hollerbach_3x3(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,), of hinges Tr(dW_i/dq_i D_i) - g' dW_i/dq_i c_i.

    D_i, e_i and c_i are the integrals of y a', a' and y over link i and all after it, where y is a
    point's position in frame i and a its acceleration in the base's. A slide feels z . (e_i - m g).
    """
    n, kind = links.parent.size, motion.qd.dtype
    W, ddW, acceleration = _outwards(links, motion)
    D, e = np.empty((n, 3, 3), kind), np.empty((n, 3), kind)
    c, m, tau = np.empty((n, 3), kind), np.empty(n, kind), np.empty(n, kind)
    product, dW, moved = np.empty((3, 3), kind), np.empty((3, 3), kind), np.empty(3, kind)
    for i in range(n):
        multiply_by_transposed(links.pseudo_inertia[i, :3, :3], ddW[i], D[i])
        multiply_vector(ddW[i], links.moment[i], e[i])
        for a in range(3):
            for b in range(3):
                D[i, a, b] += links.moment[i, a] * acceleration[i, b]
            e[i, a] += links.mass[i] * acceleration[i, a]
        c[i], m[i] = links.moment[i], links.mass[i]
    for i in range(n - 1, -1, -1):
        p, r = links.parent[i], motion.translation[i]
        if links.revolute[i]:
            multiply(W[i], links.generator[i, :3, :3], dW)
            multiply_vector(dW, c[i], moved)
            tau[i] = trace_of_product(dW, D[i]) - inner(motion.gravity, moved)
        else:
            tau[i] = inner(W[i, :, 2], e[i]) - m[i] * inner(motion.gravity, W[i, :, 2])
        if p >= 0:
            multiply(motion.rotation[i], D[i], product)
            multiply_vector(motion.rotation[i], c[i], moved)
            for a in range(3):
                add_to(D[p, a], product[a])
                for b in range(3):
                    D[p, a, b] += r[a] * e[i, b]
                c[p, a] += moved[a] + m[i] * r[a]
            add_to(e[p], e[i])
            m[p] += m[i]
    return tau


@kernel
def _outwards(links: Links, motion: Motion) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rotations (n, 3, 3), their second derivatives, and origins' accelerations (n, 3)."""
    n, kind = links.parent.size, motion.qd.dtype
    W, dW, ddW = np.empty((n, 3, 3), kind), np.zeros((n, 3, 3), kind), np.zeros((n, 3, 3), kind)
    acceleration = np.zeros((n, 3), kind)
    by_q, term = np.empty((3, 3), kind), np.empty((3, 3), kind)
    for i in range(n):
        p, R, Q = links.parent[i], motion.rotation[i], links.generator[i, :3, :3]
        qd, qdd = motion.qd[i], motion.qdd[i]
        multiply_from(W, p, R, W[i])
        if p >= 0:
            multiply_vector(ddW[p], motion.translation[i], acceleration[i])
            add_to(acceleration[i], acceleration[p])
            multiply(dW[p], R, dW[i])
            multiply(ddW[p], R, ddW[i])
        if links.revolute[i]:
            multiply(dW[i], Q, term)  # of the parent's velocity, turned
            add_scaled(ddW[i], 2 * qd, term)
            multiply(W[i], Q, by_q)
            add_scaled(dW[i], qd, by_q)
            multiply(by_q, Q, term)
            add_scaled(ddW[i], qd * qd, term)
            add_scaled(ddW[i], qdd, by_q)
        else:
            for a in range(3):
                acceleration[i, a] += 2 * qd * dW[i, a, 2] + qdd * W[i, a, 2]
    return W, ddW, acceleration
