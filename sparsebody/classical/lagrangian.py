"""Recursive Lagrangians of 4x4 matrices. Waters (1979); Hollerbach (1980), sec. III."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.classical.compiling import kernel
from sparsebody.classical.links import Links, Motion
from sparsebody.classical.matrices import (
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
