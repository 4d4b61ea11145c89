"""Recursive Lagrangians: 4x4 matrices, and 3x3 rotations with positions.

Waters (1979); Hollerbach (1980), sec. III and IV.
"""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.arm_links import Links, Motion, kernel
from sparsebody.classical.kernels.matrices import (
    add_scaled,
    add_to,
    copy,
    homogeneous,
    homogeneous_point,
    inner,
    multiply,
    multiply_by_transposed,
    multiply_from,
    multiply_vector,
    trace,
    trace_of_product,
)


@kernel
def waters(links: Links, motion: Motion) -> FloatArray:
    """Return tau_i (n,), the sums of Tr(dW_j/dq_i J_j ddW_j') - m_j g' dW_j/dq_i r_j over j."""
    n, kind = links.parent.size, motion.qd.dtype
    A, first, ddW = _outwards(links, motion)
    tau = np.zeros(n, kind)
    by_q = np.empty((n, n, 4, 4), kind)  # dW_j/dq_i
    left, product = np.empty((4, 4), kind), np.empty((4, 4), kind)
    r, moved = np.empty(4, kind), np.empty(4, kind)
    for j in range(n):
        homogeneous_point(links, j, r)
        i = j
        while i >= 0:
            if i == j:
                copy(first[j], by_q[j, j])
            else:
                multiply(by_q[links.parent[j], i], A[j], by_q[j, i])
            multiply(by_q[j, i], links.pseudo_inertia[j], left)
            multiply_by_transposed(left, ddW[j], product)
            tau[i] += trace(product)
            multiply_vector(by_q[j, i], r, moved)
            tau[i] -= links.mass[j] * inner(motion.gravity, moved)
            i = links.parent[i]
    return tau


@kernel
def hollerbach_4x4(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,) = Tr(dW_i/dq_i D_i) - g' dW_i/dq_i c_i, with D and c by recursion inwards."""
    n, kind = links.parent.size, motion.qd.dtype
    A, first, ddW = _outwards(links, motion)
    D, c = np.empty((n, 4, 4), kind), np.empty((n, 4), kind)
    product, moved, tau = np.empty((4, 4), kind), np.empty(4, kind), np.empty(n, kind)
    for i in range(n):
        multiply_by_transposed(links.pseudo_inertia[i], ddW[i], D[i])
        for a in range(4):
            c[i, a] = links.pseudo_inertia[i, 3, a]  # m r, known from the start
    for i in range(n - 1, -1, -1):
        multiply(first[i], D[i], product)
        multiply_vector(first[i], c[i], moved)
        tau[i] = trace(product) - inner(motion.gravity, moved)
        p = links.parent[i]
        if p >= 0:
            multiply(A[i], D[i], product)
            multiply_vector(A[i], c[i], moved)
            for row in range(4):
                add_to(D[p, row], product[row])
            add_to(c[p], moved)
    return tau


@kernel
def _outwards(links: Links, motion: Motion) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return A, dW_i/dq_i and the second time derivatives of W_i: (n, 4, 4) each."""
    n, kind = links.parent.size, motion.qd.dtype
    A, W, first = np.empty((n, 4, 4), kind), np.empty((n, 4, 4), kind), np.empty((n, 4, 4), kind)
    dW, ddW = np.zeros((n, 4, 4), kind), np.zeros((n, 4, 4), kind)
    dA, ddA, term = np.empty((4, 4), kind), np.empty((4, 4), kind), np.empty((4, 4), kind)
    homogeneous(links, motion, A)
    for i in range(n):
        p, qd = links.parent[i], motion.qd[i]
        multiply(A[i], links.generator[i], dA)
        multiply(dA, links.generator[i], ddA)
        multiply_from(W, p, A[i], W[i])
        multiply_from(W, p, dA, first[i])
        if p >= 0:
            multiply(dW[p], A[i], dW[i])
            multiply(ddW[p], A[i], ddW[i])
            multiply(dW[p], dA, term)
            add_scaled(ddW[i], 2 * qd, term)
        add_scaled(dW[i], qd, first[i])
        multiply_from(W, p, ddA, term)
        add_scaled(ddW[i], qd * qd, term)
        add_scaled(ddW[i], motion.qdd[i], first[i])
    return A, first, ddW


@kernel
def hollerbach_3x3(links: Links, motion: Motion) -> FloatArray:
    """Return tau (n,), of hinges Tr(dW_i/dq_i D_i) - g' dW_i/dq_i c_i.

    D_i, e_i and c_i are the integrals of y a', a' and y over link i and all after it, where y is a
    point's position in frame i and a its acceleration in the base's. A slide feels z . (e_i - m g).
    """
    n, kind = links.parent.size, motion.qd.dtype
    W, ddW, acceleration = _rotations_outwards(links, motion)
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
def _rotations_outwards(links: Links, motion: Motion) -> tuple[FloatArray, FloatArray, FloatArray]:
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
